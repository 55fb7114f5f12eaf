"""Looking at a graph without running it: every pause it can make, and what would go wrong at one.

The source of nodes and tools is read, and of the author's own functions that they call; nothing is run. What has no
source is said to be unreadable. `# sayso: allow <rule>` on the line of a finding (for findings about a node as a whole,
on the line of its `def`) silences it; it is listed as silenced then.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from graphs.engine import asking, schemas
from graphs.engine.errors import DefinitionError, SaysoError
from graphs.engine.functions import FunctionNode
from graphs.engine.graph import CompiledGraph, Graph, NodeBody, Place
from graphs.engine.inspection import branches, sources
from graphs.engine.inspection.passages import through
from graphs.engine.inspection.sites import Passage, Question, argument
from graphs.engine.inspection.sources import UNKNOWN
from graphs.engine.workflow import compiled

ERROR, WARNING, NOTE = "error", "warning", "note"
#: What each rule is called and how it is mended.
WAYS: Mapping[str, str] = {
    "definition": "mend the definition as the message says",
    "effect-before-question": "wrap the call: ctx.once(key, fn, ...), in an async node await ctx.aonce(...), or move it"
    " behind the question",
    "unstable-key": "give each question a key of its own that is the same in every pass: ask(..., key=...)",
    "swallowed-pause": "catch Exception instead, or end the handler with a bare `raise`",
    "unsupported-schema": "use a local JSON Schema 2020-12, a Pydantic model or a type",
    "unjoined-branches": "lead both into one node that joins them, or make them exclude each other by routes",
    "unreachable": "lead an edge there, or take the node out; give a loop a way out",
    "unreadable": "nothing to mend; what such a node asks shows in a rehearsal",
    "unknown-queue": "make the queue in the admin, or name one that exists; until then the question goes to the"
    " graph's queue",
}
_ALLOW = re.compile(r"#\s*sayso:\s*allow\s+([\w, -]+)")
_ARGUMENTS: Mapping[str, Mapping[str, tuple[int, str]]] = {
    "ask": {"message": (0, "message"), "schema": (-1, "schema"), "queue": (-1, "queue"), "wait": (-1, "expires_in")},
    "request_human_input": {"message": (1, "question")},
    "interrupt": {"message": (-1, "message"), "schema": (-1, "response_schema")},
    "request_input": {"message": (1, "message"), "schema": (3, "response_schema")},
    "hook": {"message": (1, "reason"), "name": (0, "name")},
    "raised": {"message": (-1, "question")},
}


@dataclass(frozen=True, slots=True)
class Pause:
    """One place where a graph can stop for a person.

    `style` is the way of asking; `message` is the text as far as it is written down, with `{…}` for what a run fills
    in; `schema` is what an answer must fit, None where anything goes, a text where only a run can tell; `queue` is the
    team that hears of it; `expires` the time it has, as written. `path` names the node, behind a colon the tool.
    """

    path: str
    style: str
    message: str
    schema: Any = None
    queue: str = ""
    expires: str = ""
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong or worth knowing: `severity` is error, warning or note, `rule` its name, `way` the way
    out. `silenced` says that the author has allowed it."""

    severity: str
    rule: str
    path: str
    message: str
    file: str = ""
    line: int = 0
    silenced: bool = False

    @property
    def way(self) -> str:
        """How it is mended."""
        return WAYS[self.rule]

    @property
    def fails(self) -> bool:
        """Whether it makes the look-over fail."""
        return self.severity == ERROR and not self.silenced


@dataclass(slots=True)
class LookedOver:
    """What was seen of one graph."""

    graph_id: str
    pauses: list[Pause] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def lint(graph: Any) -> list[Finding]:
    """What is wrong with a graph, workflow or agent, errors first. A `Graph` that cannot be compiled is one finding."""
    return look_over(graph).findings


def pauses(graph: Any) -> list[Pause]:
    """Every pause a graph can make, in node order. Raises `DefinitionError` where it cannot be compiled."""
    return look_over(compiled(graph)).pauses


def look_over(graph: Any) -> LookedOver:
    """Pauses and findings of one graph."""
    try:
        whole = compiled(graph)
    except DefinitionError as error:
        name = str(getattr(graph, "id", "") or getattr(graph, "name", ""))
        return LookedOver(name, [], [Finding(ERROR, "definition", "", str(error))])
    look = _Look(whole)
    look.graph()
    return look.seen()


class _Look:
    """One look over one graph, the graphs inside it among its nodes."""

    def __init__(self, graph: CompiledGraph, prefix: str = "", queue: str = "") -> None:
        self.whole, self.prefix, self.queue = graph, prefix, queue
        self.pauses: list[Pause] = []
        self.findings: list[Finding] = []

    def seen(self) -> LookedOver:
        """All of it, each thing once, errors first."""
        pauses = [one for index, one in enumerate(self.pauses) if one not in self.pauses[:index]]
        findings = list(dict.fromkeys(_silenced(one) for one in self.findings))
        findings.sort(key=lambda one: (ERROR, WARNING, NOTE).index(one.severity))
        return LookedOver(self.whole.id, pauses, findings)

    def graph(self) -> None:
        """Every node, then how they hang together."""
        for place in self.whole.places.values():
            self._node(place)
        graphs = {
            "": self.whole,
            **{f"{path}/": one.node.body for path, one in self.whole.places.items() if _nested(one)},
        }
        for prefix, graph in graphs.items():
            for problem in branches.problems(graph):
                file, line = _defined(graph.nodes[problem.node].body)
                path = f"{self.prefix}{prefix}{problem.node}"
                self.findings.append(Finding(ERROR, problem.rule, path, problem.message, file, line))

    def _node(self, place: Place) -> None:
        node, path = place.node, f"{self.prefix}{place.path}"
        queue = place.graph.queue or self.whole.queue or self.queue
        file, line = _defined(node.body)
        if place.gated_before:
            self._structural(path, f"Go on to “{node.label}”?", queue, file, line)
        if node.crash == "at_most_once":
            self._doubt(path, node.id, queue, file, line)
        if (toolbox := getattr(node.body, "toolbox", None)) is not None:
            self._tools(path, toolbox, getattr(node.body, "queue", "") or queue, node.id)
        elif node.kind == "node":
            self._body(path, node.body, queue, rerun=node.rerun_on_resume)
            if node.on_error is not None:
                self._body(path, node.on_error.fn, queue, rerun=node.rerun_on_resume)
        elif not _nested(place):
            self._unreadable(path, node.body)
        if place.gated_after:
            self._structural(path, f"Go on after “{node.label}”?", queue, file, line)

    def _structural(self, path: str, message: str, queue: str, file: str, line: int) -> None:
        self.pauses.append(Pause(path, "structural", message, asking.STRUCTURAL_SCHEMA, queue, "", file, line))

    def _doubt(self, path: str, key: str, queue: str, file: str, line: int) -> None:
        text = f"“{key}” of {path.rpartition('/')[2]} was cut off while it ran. Did it happen?"
        self.pauses.append(Pause(path, "effect", text, asking.EFFECT_SCHEMA, queue, "", file, line))

    # Tools

    def _tools(self, path: str, toolbox: Any, queue: str, node_id: str) -> None:
        owner = toolbox.owner or node_id
        for callback in toolbox.hooks.callbacks():
            self._body(path, callback, queue, rerun=True)
        for tool in toolbox.tools.values():
            at, (file, line) = f"{path}:{tool.name}", _defined(tool.fn)
            if toolbox.gates(tool.name) or callable(tool.require_confirmation) or toolbox.predicates:
                sometimes = "" if toolbox.gates(tool.name) else " (where a rule says so)"
                text, schema = f"{owner} wants to call {tool.name}{sometimes}", toolbox.schema_of(tool.name)
                self.pauses.append(Pause(at, "tool", text, schema, queue, "", file, line))
            if tool.crash == "at_most_once":
                self._doubt(at, tool.name, queue, file, line)
            self._body(at, tool.fn, queue, rerun=True)
            if tool.long_running:
                text, given = f"{owner} waits for the result of {tool.name}", getattr(tool, "response_schema", None)
                schema = self._schema(at, given, file, line)
                self.pauses.append(Pause(at, "tool", text, schema, queue, "", file, line))

    # Bodies

    def _body(self, path: str, given: Any, queue: str, *, rerun: bool) -> None:
        body = sources.read(given)
        if body is None:
            self._unreadable(path, given)
            return
        found = through(body, rerun=rerun)
        for question in found.questions:
            self._question(path, question, queue)
        for site in found.doubtful:
            self._doubt(path, site.text, queue, site.file, site.line)
        self.findings += _of_passage(path, found)
        for child in found.children:
            self._child(path, child, queue)

    def _child(self, path: str, child: Any, queue: str) -> None:
        if isinstance(child, (CompiledGraph, Graph, NodeBody)):
            graph = compiled(child)
            inner = _Look(graph, f"{path}/", queue)
            inner.graph()
            self.pauses += inner.pauses
            self.findings += inner.findings
        elif callable(child):
            self._body(path, child.func if isinstance(child, FunctionNode) else child, queue, rerun=False)

    def _unreadable(self, path: str, body: Any) -> None:
        name = getattr(body, "__qualname__", type(body).__qualname__)
        self.findings.append(
            Finding(NOTE, "unreadable", path, f"{name} has no source to read, so its questions are unknown")
        )

    def _question(self, path: str, question: Question, queue: str) -> None:
        places, site = _ARGUMENTS[question.style], question.site
        given = {name: argument(question.call, *place) for name, place in places.items()}
        if question.style == "raised":
            inner = question.call.args[0] if question.call.args else None
            given["message"] = argument(inner, 1, "question") if isinstance(inner, ast.Call) else None
        if question.style == "hook" and not isinstance(question.scope.value(given["message"]), str):
            given["message"] = given["name"]  # what a reviewer reads where the reason is no text
        schema = self._schema_of(path, question, given.get("schema"))
        named = question.scope.value(given.get("queue"))
        self.pauses.append(
            Pause(
                path,
                "request_human_input" if question.style == "raised" else question.style,
                _text(given.get("message"), question),
                schema,
                named if isinstance(named, str) and named else queue,
                ast.unparse(wait) if (wait := given.get("wait")) is not None else "",
                site.file,
                site.line,
            )
        )

    def _schema_of(self, path: str, question: Question, given: ast.expr | None) -> Any:
        if given is None:
            return None
        value = question.scope.value(given)
        if value is UNKNOWN or isinstance(value, sources.Body):
            return ast.unparse(given)
        return self._schema(path, value, question.site.file, question.site.line)

    def _schema(self, path: str, given: Any, file: str, line: int) -> Any:
        try:
            return schemas.of(given)
        except SaysoError as error:
            self.findings.append(Finding(ERROR, "unsupported-schema", path, str(error), file, line))
            return None


_WHY = {
    "chance": "is asked or not by chance (clock, randomness, environment), so that the next one may get its answer",
    "unordered": "is asked in a loop over things in no fixed order, so that another pass may ask them in another one",
    "together": "is asked side by side with another one without a key of its own",
}


def _of_passage(path: str, found: Passage) -> Iterator[Finding]:
    for site, question in found.bypassed:
        text = (
            f"{site.text}(...) runs before the question of line {question.site.line} and beside the journal: it is"
            " run again with each answer"
        )
        yield Finding(ERROR, "effect-before-question", path, text, site.file, site.line)
    for question, why in found.unstable:
        yield Finding(ERROR, "unstable-key", path, f"the question {_WHY[why]}", question.site.file, question.site.line)
    for site in found.swallowed:
        text = f"this {site.text} around a question takes its pause, so that nobody is asked and the task fails"
        yield Finding(ERROR, "swallowed-pause", path, text, site.file, site.line)


def _silenced(finding: Finding) -> Finding:
    said = _ALLOW.search(sources.line_of(finding.file, finding.line)) if finding.file else None
    allowed = said is not None and finding.rule in re.split(r"[\s,]+", said[1])
    return replace(finding, silenced=True) if allowed else finding


def _text(given: ast.expr | None, question: Question) -> str:
    if isinstance(given, ast.JoinedStr):
        parts = [
            str(one.value) if isinstance(one, ast.Constant) else f"{{{ast.unparse(one.value)}}}"
            for one in given.values
            if isinstance(one, (ast.Constant, ast.FormattedValue))
        ]
        return "".join(parts)
    value = question.scope.value(given) if given is not None else ""
    if isinstance(value, str):
        return value
    return f"{{{ast.unparse(given)}}}" if given is not None else ""


def _nested(place: Place) -> bool:
    return place.node.kind == "graph"


def _defined(body: Any) -> tuple[str, int]:
    read = None if isinstance(body, CompiledGraph) else sources.read(body)
    return ("", 0) if read is None else (read.file, read.line)
