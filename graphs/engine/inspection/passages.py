"""One reading of a node's source from its first line to its last, along every way through it: which questions it may
ask, which effects beside the journal may come before one, and what would make an answer miss its question."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from graphs.engine.functions import FunctionNode
from graphs.engine.inspection import calls, sources
from graphs.engine.inspection.sites import Passage, Question, Site, argument, hides, suppresses
from graphs.engine.inspection.sources import UNKNOWN, Body, Scope

_DEEPEST, _MOST = 12, 1_000
_STARTERS = frozenset({"create_task", "ensure_future", "submit", "to_thread", "run_in_executor", "Thread", "map"})


def through(body: Body, *, rerun: bool) -> Passage:
    """Read a body. `rerun` says whether an answered `RequestInput` runs it again, so that what came before repeats."""
    reader = _Reader(body, rerun)
    reader.body(body)
    reader.finish()
    return reader.found


class _Reader:
    """Walks the statements in the order they run; `past` is what may have happened before, None where nothing runs."""

    def __init__(self, body: Body, rerun: bool) -> None:
        self.home, self.rerun = body.module, rerun
        self.found = Passage()
        self.current = body
        self.past: frozenset[Site | Question] | None = frozenset()
        self.stack: list[ast.AST] = []
        #: Functions that neither ask nor act: read once, since calls in loops in calls are many.
        self.barren: set[ast.AST] = set()
        self.reads, self.met, self.cut = 0, 0, 0
        self.loops: list[list[frozenset[Site | Question]]] = []
        self.returns: list[frozenset[Site | Question]] = []
        self.unordered = 0
        self.by_chance: list[Question] = []
        self.started: list[Question] = []

    @property
    def scope(self) -> Scope:
        return self.current.scope

    def body(self, body: Body) -> None:
        """Read one function where it is called; what is beyond the depth or calls itself is left out."""
        if body.tree in self.barren:
            return
        if body.tree in self.stack or len(self.stack) > _DEEPEST or self.reads > _MOST:
            self.cut += 1
            return
        self.reads += 1
        known = (self.past, self.met, self.cut)
        before, loops, self.loops = self.current, self.loops, []
        self.stack.append(body.tree)
        self.current = body
        returns = self._returned(body.statements)
        self.past = returns
        self.stack.pop()
        self.current, self.loops = before, loops
        if (self.past, self.met, self.cut) == known:
            self.barren.add(body.tree)

    def _returned(self, statements: Iterable[ast.stmt]) -> frozenset[Site | Question] | None:
        outer, self.returns = self.returns, []
        self.block(statements)
        ways = [*self.returns, *([] if self.past is None else [self.past])]
        self.returns = outer
        return frozenset().union(*ways) if ways else None

    def finish(self) -> None:
        """What shows only at the end: questions whose number depends on chance, or that are asked side by side."""
        counts = self.found.questions
        for question in self.by_chance:
            if sum(many for one, many in counts.items() if one.style == question.style and not one.keyed) > 1:
                self.found.unstable[question, "chance"] = None
        loose = [one for one in counts if not one.keyed and one.style != "request_input"]
        if self.started and (len(self.started) > 1 or len(loose) > 1):
            for question in dict.fromkeys(self.started):
                self.found.unstable[question, "together"] = None

    # Statements

    def block(self, statements: Iterable[ast.stmt]) -> None:
        """One statement after the other, until none can be reached."""
        for one in statements:
            if self.past is None:
                return
            method: Callable[[Any], None] = getattr(self, f"_{type(one).__name__.lower()}", self._plain)
            method(one)

    def _plain(self, one: ast.AST) -> None:
        for part in ast.iter_child_nodes(one):
            if isinstance(part, ast.expr):
                self.read(part)

    def _expr(self, one: ast.Expr) -> None:
        self.read(one.value, used=False)

    def _return(self, one: ast.Return) -> None:
        if one.value is not None:
            self.read(one.value)
        if self.past is not None:
            self.returns.append(self.past)
        self.past = None

    def _raise(self, one: ast.Raise) -> None:
        if one.exc is not None:
            self.read(one.exc)
            if calls.is_pause(one.exc, self.scope):
                call = one.exc if isinstance(one.exc, ast.Call) else ast.Call(one.exc, [], [])
                self._asked(ast.copy_location(call, one), "raised")
        self.past = None

    def _assign(self, one: ast.Assign) -> None:
        self.read(one.value)
        for target in one.targets:
            if isinstance(target, ast.Name) and calls.unordered(one.value, self.scope):
                self.scope.own[target.id] = frozenset()

    def _functiondef(self, one: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.scope.own[one.name] = self.current.inner(one, self.scope)

    _asyncfunctiondef = _functiondef

    def _import(self, one: ast.Import | ast.ImportFrom) -> None:
        self.scope.own.update(sources.imported(one))

    _importfrom = _import

    def _classdef(self, one: ast.ClassDef) -> None:
        return None

    def _if(self, one: ast.If) -> None:
        self.read(one.test)
        known = dict(self.found.questions)
        self._ways([lambda: self.block(one.body), lambda: self.block(one.orelse)])
        if calls.by_chance(one.test, self.scope):
            fresh = [question for question, many in self.found.questions.items() if many > known.get(question, 0)]
            self.by_chance += [question for question in fresh if not question.keyed]

    def _for(self, one: ast.For | ast.AsyncFor) -> None:
        self.read(one.iter)
        self._loop(one.body, calls.unordered(one.iter, self.scope))
        self.block(one.orelse)

    _asyncfor = _for

    def _while(self, one: ast.While) -> None:
        self.read(one.test)
        for_ever = isinstance(one.test, ast.Constant) and bool(one.test.value)
        self._loop(one.body, False, for_ever, one.test)
        self.block(one.orelse)

    def _loop(
        self, body: list[ast.stmt], unordered: bool, for_ever: bool = False, test: ast.expr | None = None
    ) -> None:
        before = self.past
        assert before is not None
        self.loops.append([])
        self.unordered += unordered
        for _ in range(2):  # what the first round did comes before what the second one asks
            self.block(body)
            if self.past is None:
                break
            if test is not None:
                self.read(test)
        self.unordered -= unordered
        left = [*self.loops.pop(), *([] if self.past is None else [self.past]), *([] if for_ever else [before])]
        self.past = frozenset().union(*left) if left else None

    def _break(self, one: ast.stmt) -> None:
        if self.loops and self.past is not None:
            self.loops[-1].append(self.past)
        self.past = None

    _continue = _break

    def _with(self, one: ast.With | ast.AsyncWith) -> None:
        many = self._count()
        hides = False
        for item in one.items:
            self.read(item.context_expr)
            hides = hides or suppresses(item.context_expr, self.scope)
        self.block(one.body)
        if hides and self._count() > many:
            self.found.swallowed[self._site(one, "suppress")] = None

    _asyncwith = _with

    def _try(self, one: ast.Try | ast.TryStar) -> None:
        before, many = self.past, self._count()
        assert before is not None
        self.block(one.body)
        asks = self._count() > many
        after = self.past
        self.block(one.orelse)
        ends = [] if self.past is None else [self.past]
        for handler in one.handlers:
            self.past = before | (after or frozenset())
            if asks and hides(handler, self.scope):
                self.found.swallowed[self._site(handler, "except")] = None
            self.block(handler.body)
            ends += [] if self.past is None else [self.past]
        self.past = frozenset().union(*ends) if ends else None
        if one.finalbody:
            self._finally(one.finalbody, before | (after or frozenset()), asks)

    _trystar = _try

    def _finally(self, body: list[ast.stmt], otherwise: frozenset[Site | Question], asks: bool) -> None:
        goes_on, self.past = self.past is not None, self.past if self.past is not None else otherwise
        if asks and any(isinstance(part, ast.Return) for part in body):
            self.found.swallowed[self._site(body[0], "finally")] = None
        self.block(body)
        if not goes_on:
            self.past = None

    def _match(self, one: ast.Match) -> None:
        self.read(one.subject)
        self._ways([*(lambda case=case: self.block(case.body) for case in one.cases), lambda: None])

    def _ways(self, ways: Iterable[Callable[[], None]]) -> None:
        """Each way from here by itself; what may have happened after them is what happened on any."""
        before, ends = self.past, []
        for way in ways:
            self.past = before
            way()
            ends += [] if self.past is None else [self.past]
        self.past = frozenset().union(*ends) if ends else None

    # Expressions

    def read(self, one: ast.expr, *, used: bool = True) -> None:
        """An expression's parts in the order they are evaluated, then what it does itself."""
        if isinstance(one, (ast.Lambda, ast.Constant)) or self.past is None:
            return
        if isinstance(one, (ast.Await, ast.Yield, ast.YieldFrom)):
            if one.value is not None:
                self.read(one.value, used=used or not isinstance(one, ast.Await))
        elif isinstance(one, ast.Call):
            self._call(one, used)
        elif isinstance(one, ast.IfExp):
            self.read(one.test)
            self._ways([lambda: self.read(one.body), lambda: self.read(one.orelse)])
        elif isinstance(one, ast.BoolOp):
            self.read(one.values[0])
            for part in one.values[1:]:
                self._ways([lambda part=part: self.read(part), lambda: None])  # type: ignore[misc]
        elif isinstance(one, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            self._comprehension(one)
        else:
            self._plain(one)

    def _comprehension(self, one: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        loose = sum(calls.unordered(part.iter, self.scope) for part in one.generators)
        for part in one.generators:
            self.read(part.iter)
        self.unordered += loose
        for _ in range(2):
            for test in (test for part in one.generators for test in part.ifs):
                self.read(test)
            for item in [one.key, one.value] if isinstance(one, ast.DictComp) else [one.elt]:
                self.read(item)
        self.unordered -= loose

    def _call(self, one: ast.Call, used: bool) -> None:
        kind = calls.kind_of(one, self.scope, self.home, used=used)
        if calls.name_of(one) in ("gather", *_STARTERS) and calls.target_of(one, self.scope) is not map:
            self._together(one)
        else:
            self._parts(one)
        if self.past is None:
            return
        if kind == calls.ASK:
            self._asked(one, calls.style_of(one, self.scope))
        elif kind == calls.REQUEST:
            self._asked(one, "request_input")
        elif kind == calls.ONCE:
            self._journaled(argument(one, 1, "fn"))
            if self.scope.value(argument(one, -1, "mode")) == "at_most_once":
                key = self.scope.value(argument(one, 0, "key"))
                self.found.doubtful[self._site(one, key if isinstance(key, str) else "")] = None
        elif kind == calls.CHILD:
            self._child(argument(one, 0, "child"))
        elif kind == calls.OWN:
            self._own(one)
        elif kind == calls.EFFECT:
            with self._kept():
                self._own(one)
            self._acted(self._site(one))

    def _parts(self, one: ast.Call) -> None:
        if isinstance(one.func, ast.Attribute):
            self.read(one.func.value)
        elif not isinstance(one.func, ast.Name):
            self.read(one.func)
        for part in [*one.args, *(keyword.value for keyword in one.keywords)]:
            self.read(part.value if isinstance(part, ast.Starred) else part)

    def _own(self, one: ast.Call) -> None:
        target = calls.target_of(one, self.scope)
        body = target if isinstance(target, Body) else self._readable(target)
        if body is not None:
            self.body(body)

    def _readable(self, target: Any) -> Body | None:
        given = target.func if isinstance(target, FunctionNode) else target
        return sources.read(given) if calls.own(given, self.home) or calls.own(type(given), self.home) else None

    def _acted(self, site: Site) -> None:
        self.met += 1
        for question in self.past or ():
            if isinstance(question, Question):
                self.found.bypassed[site, question] = None
        self.past = (self.past or frozenset()) | {site}

    def _asked(self, call: ast.Call, style: str) -> None:
        self.met += 1
        named = {"request_input": ("interrupt_id", 0), "hook": ("name", 0)}.get(style, ("key", -1))
        key = argument(call, named[1], named[0])
        fixed = key is None or (isinstance(key, ast.Constant) and (key.value is None or self.unordered > 0))
        question = Question(self._site(call), style, call, self.scope, not fixed)
        self.found.questions[question] = self.found.questions.get(question, 0) + 1
        if self.unordered and fixed:
            self.found.unstable[question, "unordered"] = None
        if style == "request_input" and not self.rerun:
            return
        for site in self.past or ():
            if isinstance(site, Site):
                self.found.bypassed[site, question] = None
        if style == "request_input":
            # The pass goes on to its end and is run again when the answer comes.
            self.past = (self.past or frozenset()) | {question}

    def _journaled(self, given: ast.expr | None) -> None:
        """What an effect or a child runs: settled when it finishes, and a question inside counts in a place of its own.
        It does begin the whole node anew."""
        body = self._referred(given)
        if body is None:
            return
        inner = _Reader(body, False)
        inner.home, inner.past, inner.stack = self.home, self.past, list(self.stack)
        inner.body(body)
        inner.finish()
        self.found.take(inner.found)
        self.met, self.cut = self.met + inner.met, self.cut + inner.cut

    def _child(self, given: ast.expr | None) -> None:
        target = self.scope.value(given) if given is not None else UNKNOWN
        if self._referred(given) is not None:
            self._journaled(given)
        elif target is not UNKNOWN:
            self.found.children.append(target)

    def _referred(self, given: ast.expr | None) -> Body | None:
        if isinstance(given, ast.Lambda):
            return self.current.inner(given, self.scope)
        target = self.scope.value(given) if given is not None else UNKNOWN
        if isinstance(target, Body):
            return target
        return None if target is UNKNOWN else self._readable(target)

    @contextmanager
    def _kept(self) -> Iterator[None]:
        before = self.past
        yield
        self.past = before

    def _together(self, one: ast.Call) -> None:
        """Calls that are started side by side, here or one after the other."""
        many = calls.name_of(one) == "map" or bool(self.loops)
        for part in [*one.args, *(keyword.value for keyword in one.keywords)]:
            before = dict(self.found.questions)
            inner = part.value if isinstance(part, ast.Starred) else part
            self.read(inner)
            if calls.name_of(one) != "gather" and (body := self._referred(inner)) is not None:
                self.body(body)
            fresh = [
                question
                for question, count in self.found.questions.items()
                if count > before.get(question, 0) and not question.keyed and question.style != "request_input"
            ]
            repeated = many or isinstance(part, ast.Starred)
            self.started += fresh * (2 if repeated else 1)

    # Places

    def _count(self) -> int:
        return sum(self.found.questions.values())

    def _site(self, one: Any, text: str = "") -> Site:
        named = text or ast.unparse(one.func)
        return Site(self.current.file, one.lineno, one.col_offset, named)
