"""What a thread must come to, worked out with dicts and sets from the rules alone, without any code of the engine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.model.plans import Node, Plan, output_of

Task = tuple[str, int]
Place = tuple[str, int, int]


class Reference:
    """One thread. `superstep()` brings it from one checkpoint to the next; `answers` is what people have said so."""

    def __init__(self, plan: Plan, given: Any) -> None:
        self.plan = plan
        self.step = 0
        self.status = "ready"
        self.broken = True
        self.answers: dict[Place, Any] = {}
        self.tasks: dict[Task, dict[str, Any]] = {}
        self.frames: dict[Task | None, dict[str, Any]] = {}
        self.visits: dict[str, int] = {}
        self.log: list[str] = []
        self.sum = 0
        self.output: Any = None
        self.open_frame(None, plan, "", (), given)

    # What a test compares

    @property
    def open(self) -> set[Place]:
        """The questions that a person is asked."""
        if self.status in ("completed", "cancelled"):
            return set()
        return {place for task in self.tasks.values() for place in task["asked"]} - set(self.answers)

    @property
    def names(self) -> set[str]:
        """The tasks that are not over, as the engine's cells spell them."""
        return {f"{path}#{visit}" for path, visit in self.tasks}

    # One wake

    def wakes(self) -> bool:
        """Whether a job that takes up the thread has something to do."""
        if self.status in ("completed", "cancelled", "failed"):
            return False
        return self.status != "interrupted" or any(self.decided(task) for task in self.tasks.values())

    def decided(self, task: dict[str, Any]) -> bool:
        return any(place in self.answers for place in task["waits"] or ())

    def superstep(self) -> None:
        """Run everything that can run, apply it in node order, and say how the thread stands."""
        asked_anew = False
        ran = sorted((key for key, task in self.tasks.items() if self.runs(task)), key=self.rank)
        passes = [(key, self.run(key)) for key in ran]
        for key, (how, value) in passes:
            task = self.tasks[key]
            if how == "waits":
                asked_anew = asked_anew or any(place not in (task["waits"] or ()) for place in value)
                task["waits"], task["failed"] = value, False
                task["asked"] = task["asked"] | set(value)
            elif how == "failed":
                task["waits"], task["failed"] = None, True
            else:
                self.finish(key, value)
        self.settle()
        self.conclude(asked_anew)
        self.step += 1

    def runs(self, task: dict[str, Any]) -> bool:
        if task["nested"]:
            return False
        return task["failed"] or task["waits"] is None or self.decided(task)

    def run(self, key: Task) -> tuple[str, Any]:
        """How a pass ends: it waits for places, it failed, or it has an output."""
        path, visit = key
        node: Node = self.tasks[key]["node"]
        places = [(path, visit, number) for number in range(node.asks)]
        missing = [place for place in places if place not in self.answers]
        if missing:
            return "waits", tuple(missing if node.together else missing[:1])
        if node.flaky and self.broken:
            # What it asked is answered and stays so: nothing of it is open.
            return "failed", None
        given = self.tasks[key]["input"]
        return "output", output_of(node, path, visit, given, [self.answers[place] for place in places])

    def conclude(self, asked_anew: bool) -> None:
        root = self.frames[None]
        if any(task["failed"] for task in self.tasks.values()):
            self.status = "failed"
        elif self.quiet(None):
            self.status, self.output = "completed", self.output_of_frame(root)
        elif not any(task["waits"] is None and not task["nested"] for task in self.tasks.values()):
            self.status = "interrupted"
        else:
            self.status = "interrupted" if asked_anew and self.plan.pause == "superstep" else "running"

    # Frames and tasks

    def open_frame(self, outer: Task | None, plan: Plan, prefix: str, rank: tuple[int, ...], given: Any) -> None:
        self.frames[outer] = {
            "plan": plan, "prefix": prefix, "rank": rank, "arrived": {}, "fresh": {}, "outputs": {},
        }  # fmt: skip
        for name in plan.entries:
            self.schedule(outer, name, given)

    def schedule(self, frame: Task | None, name: str, given: Any) -> None:
        around = self.frames[frame]
        node = next(one for one in around["plan"].nodes if one.id == name)
        path = around["prefix"] + name
        self.visits[path] = self.visits.get(path, 0) + 1
        key = (path, self.visits[path])
        rank = (*around["rank"], around["plan"].nodes.index(node))
        self.tasks[key] = {
            "node": node, "frame": frame, "input": given, "waits": None, "failed": False, "nested": False,
            "asked": frozenset(), "rank": rank,
        }  # fmt: skip
        if node.inner is not None:
            self.tasks[key]["nested"] = True
            self.open_frame(key, node.inner, f"{path}/", rank, given)

    def rank(self, key: Task) -> tuple[tuple[int, ...], int]:
        return self.tasks[key]["rank"], key[1]

    def finish(self, key: Task, output: Any) -> None:
        task = self.tasks.pop(key)
        node: Node = task["node"]
        frame, around = task["frame"], self.frames[task["frame"]]
        if frame is None and node.inner is None:
            self.log.append(output["by"])
            self.sum += key[1]
        plan: Plan = around["plan"]
        if node.id in plan.terminals:
            around["outputs"][node.id] = output
        back = {target for source, target in plan.back if source == node.id}
        on = [target for source, target in plan.edges if source == node.id]
        loops = any(source == node.id for source, _ in plan.back)
        for target in sorted(back) if loops and output["again"] else on:
            self.arrive(frame, target, node.id, output)

    def sources(self, plan: Plan, name: str) -> list[str]:
        found = {source for source, target in (*plan.edges, *plan.back) if target == name}
        return [node.id for node in plan.nodes if node.id in found]

    def arrive(self, frame: Task | None, target: str, source: str, output: Any) -> None:
        around = self.frames[frame]
        node = next(one for one in around["plan"].nodes if one.id == target)
        if len(self.sources(around["plan"], target)) < 2:
            self.schedule(frame, target, output)
        elif node.join == "any":
            around["fresh"].setdefault(target, {})[source] = output
        else:
            around["arrived"].setdefault(target, {}).setdefault(source, []).append(output)

    # Joins

    def settle(self) -> None:
        done: set[Task | None] = set()
        while left := [id for id in self.frames if id not in done]:
            id = max(left, key=lambda one: -1 if one is None else one[0].count("/"))
            done.add(id)
            self.settle_frame(id)

    def settle_frame(self, id: Task | None) -> None:
        frame = self.frames[id]
        order = [node.id for node in frame["plan"].nodes]
        for name in sorted(frame["fresh"], key=order.index):
            came = frame["fresh"].pop(name)
            self.schedule(id, name, {source: came[source] for source in order if source in came})
        for name in self.firing(id):
            self.fire(id, name)
        if id is not None and self.quiet(id):
            output = self.output_of_frame(frame)
            del self.frames[id]
            self.finish(id, output)

    def firing(self, id: Task | None) -> list[str]:
        """The joins that nothing else in their frame can still bring an arrival to."""
        frame = self.frames[id]
        plan: Plan = frame["plan"]
        waiting = [node.id for node in plan.nodes if node.id in frame["arrived"]]
        active = {task["node"].id for task in self.tasks.values() if task["frame"] == id}
        held: set[str] = set()
        while True:
            leaders = active | held
            more = {
                name for name in waiting if name not in held and any(name in self.after(plan, one) for one in leaders)
            }
            if not more:
                break
            held |= more
        free = [name for name in waiting if name not in held]
        first = [name for name in free if not any(name in self.after(plan, one) for one in free if one != name)]
        if first:
            return first
        for name in free:
            leading = [one for one in free if one != name and name in self.after(plan, one)]
            if all(one in self.after(plan, name) for one in leading):
                return [name]
        return []

    def after(self, plan: Plan, name: str) -> set[str]:
        """The nodes that a node can lead to."""
        found: set[str] = set()
        todo = [name]
        while todo:
            at = todo.pop()
            for source, target in (*plan.edges, *plan.back):
                if source == at and target not in found:
                    found.add(target)
                    todo.append(target)
        return found

    def fire(self, id: Task | None, name: str) -> None:
        frame = self.frames[id]
        came = frame["arrived"].pop(name)
        given = {source: came[source][0] for source in self.sources(frame["plan"], name) if source in came}
        rest = {source: outputs[1:] for source, outputs in came.items() if outputs[1:]}
        if rest:
            frame["arrived"][name] = rest
        node = next(one for one in frame["plan"].nodes if one.id == name)
        alone = node.join == "merge" and len(given) == 1
        self.schedule(id, name, next(iter(given.values())) if alone else given)

    def quiet(self, id: Task | None) -> bool:
        frame = self.frames[id]
        active: Iterable[Any] = (task for task in self.tasks.values() if task["frame"] == id)
        return not any(True for _ in active) and not frame["arrived"] and not frame["fresh"]

    def output_of_frame(self, frame: dict[str, Any]) -> Any:
        outputs = frame["outputs"]
        if len(outputs) == 1:
            return next(iter(outputs.values()))
        return {node.id: outputs[node.id] for node in frame["plan"].nodes if node.id in outputs} or None
