"""An agent's output by schema: the model gives it as the arguments of a tool that only it sees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphs.engine import canonical, schemas
from graphs.engine.errors import DefinitionError
from graphs.engine.messages import Message, tool_result
from graphs.engine.ports import Json

#: The name under which the model gives its output.
NAME = "final_answer"


class OutputSchema:
    """What an output must fit: a JSON Schema, a Pydantic model, or a type. Raises `SchemaError` for none of these."""

    def __init__(self, shape: Any) -> None:
        self.shape = shape
        schema = schemas.of(shape)
        if not isinstance(schema, Mapping):
            raise DefinitionError(f"output_schema={shape!r:.100} is no schema")
        self.schema: Mapping[str, Any] = schema
        # A model calls tools with an object; another shape travels in one.
        self._wrapped = schema.get("type") != "object"

    @property
    def spec(self) -> dict[str, Any]:
        """The tool as the model is told of it."""
        inner = dict(self.schema)
        whole = {"type": "object", "properties": {"value": inner}, "required": ["value"]} if self._wrapped else inner
        return {"name": NAME, "description": "Give the final answer. Call it once, at the end.", "inputSchema": whole}

    def read(self, message: Message) -> tuple[bool, Json, str]:
        """Whether a reply gives an output that fits, the output, and else what is wrong with the one it gives."""
        calls = [one for one in message.tool_calls if one["name"] == NAME]
        if not calls:
            return self._read_text(message) if not message.tool_calls else (False, None, "")
        given = calls[0].get("input") or {}
        value = given.get("value") if self._wrapped else given
        return self._checked(value)

    def loaded(self, value: Json) -> Any:
        """The output as its author's type has it: an object of the Pydantic model where the schema was one."""
        validate = getattr(self.shape, "model_validate", None)
        return value if validate is None else validate(value)

    def _read_text(self, message: Message) -> tuple[bool, Json, str]:
        try:
            return self._checked(canonical.loads(message.text().encode()))
        except ValueError:
            return False, None, f"call {NAME} with the answer"

    def _checked(self, value: Any) -> tuple[bool, Json, str]:
        filled = schemas.fill(self.schema, canonical.copy(value))
        problems = schemas.validate(self.schema, filled)
        told = "; ".join(f"{where or '/'}: {text}" for where, text in problems)
        return not problems, filled, told


def following(message: Message, wrong: str) -> Message | None:
    """What follows a reply that gives an answer, so that none of its calls stands open; None behind an answer in text.

    `wrong` says why the answer does not fit, and is empty where it was taken. Other calls of the reply are not made.
    """
    refusal = f"The answer does not fit: {wrong}"
    if not message.tool_calls:
        return Message.text_message(refusal) if wrong else None
    beside = "Not called: the answer beside it does not fit." if wrong else "Not called: the answer was given."
    results = [("error", beside)] * len(message.tool_calls)
    at = next(index for index, one in enumerate(message.tool_calls) if one["name"] == NAME)
    results[at] = ("error", refusal) if wrong else ("success", "Taken.")
    return Message.tool_result_message(
        [
            {"toolResult": tool_result(call["toolUseId"], *result)}
            for call, result in zip(message.tool_calls, results, strict=True)
        ]
    )
