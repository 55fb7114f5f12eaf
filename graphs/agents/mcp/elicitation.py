"""What a server asks in the middle of a call: answered by a callback, or else by a person (H37).

The call is then given up, and made again with the same arguments once the person has answered; the stored answer is
given when the server asks again. So an open question needs neither this process nor the server's (Z55).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from graphs.agents.mcp.errors import ToolFailed
from graphs.engine import asking, canonical, effects
from graphs.engine.interrupts import Decision, Interrupt
from graphs.engine.ports import Json
from graphs.engine.scopes import Scope, current_scope, running_task
from graphs.engine.statuses import Outcome

if TYPE_CHECKING:
    from mcp.types import ElicitResult

#: How a question of a server is known.
KIND = "elicitation"
ACCEPT, DECLINE, CANCEL = "accept", "decline", "cancel"
_ACTIONS = {
    Outcome.APPROVED: ACCEPT,
    Outcome.ANSWERED: ACCEPT,
    Outcome.REJECTED: DECLINE,
    Outcome.CANCELLED: CANCEL,
    Outcome.EXPIRED: CANCEL,
}


@dataclass(frozen=True, slots=True)
class Elicitation:
    """What a server asks while it runs `tool` with `arguments`: a message and the JSON Schema of what it wants to know.

    With a `url` a person is to do something there instead, and no content is given. All of it is the server's text.
    """

    server: str
    tool: str
    arguments: Mapping[str, Any]
    message: str
    schema: Mapping[str, Any]
    url: str = ""


#: Answers an elicitation: `{"action": "accept", "content": {…}}`, `decline`, `cancel`, or None to ask a person.
ElicitationCallback = Callable[[Elicitation], Any]


class Elicitations:
    """The questions of one call, told apart by their number."""

    def __init__(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any],
        callback: ElicitationCallback | None,
        expires_in: timedelta | float | None,
    ) -> None:
        self.server = server
        self.tool = tool
        self.arguments = arguments
        self.callback = callback
        self.expires_in = expires_in
        self._number = 0

    async def answer(self, params: Any) -> ElicitResult:
        """What the server is told. Raises the pause where a person must answer first, RuntimeError where nobody can."""
        number = self._number
        self._number += 1
        asked = self._read(params)
        reply = await self._called_back(asked, number)
        if reply is None:
            reply = self._of_person(asked, number)
        return _result(asked, reply)

    def check_used(self, gave: str) -> None:
        """Raises `ToolFailed` where the server ended the call without asking what a person has answered: the answer,
        which may have been a no, had no part in what it did."""
        question = None if running_task() is None else _known(current_scope(KIND), self._number)
        if question is not None and question.decision is not None and not _has_url(question):
            action = _ACTIONS[question.decision.outcome]
            raise ToolFailed(
                f"{self.server} ran {self.tool} without asking again {question.question!r:.200}, so that the answer of "
                f"a person ({action}) had no part in it. It gave: {gave:.2000}"
            )

    def _read(self, params: Any) -> Elicitation:
        url = getattr(params, "url", "")
        if url and urlsplit(url).scheme not in ("http", "https"):
            raise ToolFailed(f"{self.server} wants a person to open {url!r:.200}, which is no web address")
        schema = {"type": "object", "properties": {}} if url else {"type": "object", **params.requested_schema}
        return Elicitation(self.server, self.tool, dict(self.arguments), params.message, schema, url)

    async def _called_back(self, asked: Elicitation, number: int) -> Json:
        """What the callback says, kept in the journal: it is not asked again in a call that is made again."""
        callback = self.callback
        if callback is None:
            return None

        async def ask() -> Json:
            said = callback(asked)
            return _plain(await said if isinstance(said, Awaitable) else said)

        if running_task() is None:
            return await ask()
        scope = current_scope(KIND)
        if _known(scope, number) is not None:
            return None
        # Bound to what was asked: another question at this place is another entry.
        digest = canonical.digest(asdict(asked))
        return await effects.settle(scope, f"callback:{number}.{digest[:16]}", ask, harmless=True)

    def _of_person(self, asked: Elicitation, number: int) -> dict[str, Json]:
        if running_task() is None:
            raise RuntimeError(f"{self.tool} of {self.server} asks, and nobody can answer where it is called directly")
        scope = current_scope(KIND)
        payload = {"server": asked.server, "tool": asked.tool, "arguments": asked.arguments}
        draft = asking.build(
            scope,
            "interrupt",
            asked.message,
            payload={**payload, "url": asked.url} if asked.url else payload,
            schema=asked.schema,
            reason=f"The MCP server {asked.server} asks while it runs {asked.tool}.",
            kind=KIND,
            name=asked.tool[: canonical.MAX_NAME],
            expires_in=self.expires_in,
        )
        decision = asking.pose(scope, draft, _key(number)).decision
        assert decision is not None
        return _action(decision)


def _key(number: int) -> str:
    return f"{KIND}:{number}"


def _known(scope: Scope, number: int) -> Interrupt | None:
    """The question that a person was asked at this place of the call, in this pass or an earlier one."""
    return scope.task.journal.question(f"{scope.prefix}interrupt:{_key(number)}", 0)


def _has_url(question: Interrupt) -> bool:
    """Whether it sent a person elsewhere: once they were there the server has no more to ask."""
    return isinstance(question.value, Mapping) and "url" in question.value


def _action(decision: Decision) -> dict[str, Json]:
    action = _ACTIONS[decision.outcome]
    return {"action": action, "content": decision.value if action == ACCEPT else None}


def _plain(said: Any) -> Json:
    """A callback's answer as JSON: a mapping, or a result of the SDK."""
    if said is None:
        return None
    dumped = said.model_dump(mode="json") if hasattr(said, "model_dump") else said
    if not isinstance(dumped, Mapping) or dumped.get("action") not in (ACCEPT, DECLINE, CANCEL):
        raise TypeError(f"an elicitation callback gives an action (accept, decline, cancel) or None, not {said!r:.200}")
    return {"action": dumped["action"], "content": canonical.encode(dumped.get("content"), "content")}


def _result(asked: Elicitation, reply: Any) -> ElicitResult:
    from mcp.types import ElicitResult

    accepted = reply["action"] == ACCEPT and not asked.url
    return ElicitResult(action=reply["action"], content=(reply["content"] or {}) if accepted else None)
