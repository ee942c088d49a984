"""A tool: what clients are told of it, how its arguments are read, and what a call of it can use.

Arguments are read leniently ("5" for 5, one text for a list of one) and strictly (nothing unknown): a model
that is told what was wrong and what a right call looks like corrects itself.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from athena.tools.addresses import Addresses
from pipeline.errors import AthenaError, NotAllowed
from pipeline.stores.keys import RIGHTS

if TYPE_CHECKING:
    from athena import Athena
    from memory.user_memory import UserMemory

Shape = dict[str, Any]
Right = Literal["read", "remember", "write"]
Effect = Literal["reads", "adds", "changes", "destroys"]

SHOWN = 60
"""Characters of a wrong value that a message repeats."""
TYPES: Mapping[str, str] = {
    "string": "a text",
    "boolean": "true or false",
    "number": "a number",
    "array": "a list of texts",
    "object": "an object",
}


NO_RIGHT = {
    "read": "read documents",
    "remember": "keep conversations or memories",
    "write": "change documents",
}


class Refused(AthenaError):
    """A call that cannot be made as it is."""


class Parameters(BaseModel):
    """The arguments of a tool."""

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: the user whose conversations and memories these are, and what a key lets them do."""

    user: str
    rights: frozenset[str] = frozenset(RIGHTS)
    key_id: str = ""  # "" for this machine's own, without any key

    def require(self, right: str) -> None:
        """Nothing where the caller has the right; raises `NotAllowed`."""
        if right not in self.rights:
            raise NotAllowed(
                f"This key may not {NO_RIGHT[right]}.", f"Make one with `athena keys add NAME --may {right}`."
            )


@dataclass(frozen=True, slots=True)
class Call:
    """One call: who calls, of which Athena, and how to hear of a cancel and to tell how far it is."""

    athena: Athena
    caller: Caller
    addresses: Addresses
    stop: threading.Event
    tell: Callable[[str], None]  # what is being done, in a few words

    @property
    def memory(self) -> UserMemory:
        """The caller's memory."""
        return self.athena.memory_of(self.caller.user)


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One tool."""

    name: str
    title: str
    says: str  # one sentence of at most 15 words
    takes: type[Parameters]
    gives: type[object]  # a dataclass
    run: Callable[[Call, Any], Any]
    example: Mapping[str, Any]  # arguments of a right call
    right: Right = "read"
    effect: Effect = "reads"
    repeatable: bool = True  # the same call again changes nothing more

    @cached_property
    def input_schema(self) -> Shape:
        """JSON schema of the arguments."""
        schema = self.takes.model_json_schema()
        plain = {"type": "object", "properties": schema.get("properties", {}), "additionalProperties": False}
        if required := schema.get("required"):
            plain["required"] = required
        return _untitled(plain)

    @cached_property
    def output_schema(self) -> Shape:
        """JSON schema of the result."""
        return _untitled(TypeAdapter(self.gives).json_schema(mode="serialization"))

    @property
    def right_call(self) -> str:
        """How to call it."""
        return f"Call it like this: {self.name}({json.dumps(self.example, ensure_ascii=False)})"

    def read(self, arguments: Mapping[str, Any]) -> Parameters:
        """The arguments as the tool takes them; raises `Refused` with the right call."""
        given = {name: value for name, value in arguments.items() if value is not None}  # null = not given
        try:
            return self.takes.model_validate(given)
        except ValidationError as error:
            wrong = [self._wrong(item) for item in error.errors()]
            raise Refused(" ".join(dict.fromkeys(wrong)), self.right_call) from error

    def _wrong(self, error: ErrorDetails) -> str:
        """One thing that is wrong with the arguments, in a sentence."""
        name, known = str(error["loc"][0]), self.input_schema["properties"]
        if error["type"] == "missing":
            return f"'{name}' is missing: {known[name]['description']}."
        if error["type"] == "extra_forbidden":
            near = get_close_matches(name, known, n=1)
            meant = f"; did you mean '{near[0]}'?" if near else f"; it takes {', '.join(known) or 'nothing'}."
            return f"{self.name} takes no '{_short(name)}'{meant}"
        value = _short(json.dumps(error["input"], ensure_ascii=False, default=str))
        return f"'{name}' is {value}, and must be {_wanted(known[name])}."


def shape_of(result: Any) -> Any:
    """A result as JSON has it: what is as its default is left out."""
    if is_dataclass(result):
        given = ((item, getattr(result, item.name)) for item in fields(result))
        return {item.name: shape_of(value) for item, value in given if not _is_default(item, value)}
    if isinstance(result, tuple | list):
        return [shape_of(item) for item in result]
    return result


def _is_default(item: Any, value: Any) -> bool:
    return item.default is not MISSING and value == item.default


def _untitled(schema: Shape) -> Shape:
    """The schema without the titles that pydantic makes of names, which say nothing more."""
    return {
        key: _untitled(value) if isinstance(value, dict) else value
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
    }


def _wanted(schema: Mapping[str, Any]) -> str:
    """What a parameter must be."""
    if choices := schema.get("enum"):
        return f"one of {', '.join(choices)}"
    kind = schema.get("type", "string")
    least, most = schema.get("minimum"), schema.get("maximum")
    if kind == "integer":
        return f"a whole number from {least} to {most:,}" if most else "a whole number"
    if kind == "array" and (most := schema.get("maxItems")):
        return f"a list of at most {most} texts" + _no_longer(schema["items"])
    if "maxLength" in schema:
        return f"a text{_no_longer(schema)}"
    if least := schema.get("minLength"):
        return "a text, and not empty" if least == 1 else f"a text of at least {least} characters"
    return TYPES[kind]


def _no_longer(schema: Mapping[str, Any]) -> str:
    longest = schema.get("maxLength")
    return f" of at most {longest:,} characters" if longest else ""


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
