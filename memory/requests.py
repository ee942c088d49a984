"""Requests to the memory: one table of exact forms. Every other message is an ordinary message."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from memory.guard import reads_as_instruction

Kind = Literal["remember", "recall", "forget", "known"]

LONGEST = 1_000  # characters: a longer message is a text, not a request

_POLITE = r"(?:(?:please|hey|ok|okay|athena)\b[, ]*)*(?:(?:can|could|would|will) you (?:please )?)?"
_END = r"(?:,? (?:please|athena))?"
_ALL = (
    r"(?:everything|all)(?: (?:that )?you (?:know|remember)| i(?:['’]ve)? (?:said|told you))?(?: about me)?"
)

FORMS: tuple[tuple[Kind, str], ...] = (
    ("known", r"what (?:do|can) you (?:know|remember)(?: about (?:me|us)| (?:of|from) me)?"),
    ("known", r"(?:show|list)(?: me)? (?:my|your|all)(?: my| your)? memories"),
    ("known", r"what have you (?:remembered|kept|noted)(?: about me)?"),
    ("recall", r"what do you (?:know|remember) about (?P<query>(?!me\b|us\b).+?)"),
    ("recall", r"what (?:did|have) i (?:say|said|tell you|told you) about (?P<query>.+?)"),
    ("recall", r"recall:? (?P<query>.+?)"),
    ("forget", rf"forget (?:{_ALL}|me|(?:my|your) memor(?:y|ies))"),
    ("forget", r"forget (?:that|about|what i said about|everything about) (?P<query>.+?)"),
    ("forget", r"forget:? (?P<query>.+?)"),
    ("remember", r"(?:(?:remember|note|keep in mind|don['’]?t forget)(?: that\b|:)|remember)(?P<query> .+?)"),
)
"""Kinds of requests with their forms. A form is the whole message; `query` is what it is about, or keeps."""

_FORMS = tuple(
    (kind, re.compile(f"{_POLITE}{form}{_END}", re.IGNORECASE | re.DOTALL)) for kind, form in FORMS
)
_NO_TEXT = re.compile(r"(?:that|this|it)?\W*", re.IGNORECASE)
_TO_DO = re.compile(r"\s*(?:to|how|when|where|why|what|whether|if|me|my lines)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MemoryRequest:
    """One request; `query` is what to remember, to look for or to forget, "" for everything."""

    kind: Kind
    query: str = ""
    start: int = 0  # of the query in the message
    end: int = 0


def request_in(message: str) -> MemoryRequest | None:
    """Return the request that a message is; None for every other message."""
    if len(message) > LONGEST:
        return None
    end = len(message.rstrip(" .!?\t\r\n"))
    start = len(message) - len(message.lstrip())
    for kind, form in _FORMS:
        if match := form.fullmatch(message, start, end):
            return _request(kind, match, message)
    return None


def _request(kind: Kind, match: re.Match[str], message: str) -> MemoryRequest | None:
    if "query" not in match.re.groupindex:
        return MemoryRequest(kind)
    start, end = match.span("query")
    start = end - len(message[start:end].lstrip())
    query = message[start:end]
    if kind == "remember" and (message.rstrip().endswith("?") or _TO_DO.match(query)):
        return None
    if kind == "forget" and (message.rstrip().endswith("?") or reads_as_instruction(message)):
        return None
    if kind == "forget" and re.match(r"to\b", query, re.IGNORECASE):
        return None
    return MemoryRequest(kind, "" if _NO_TEXT.fullmatch(query) else query, start, end)


def is_tool_request(message: str) -> bool:
    """Tell whether a message calls a tool directly, as "/restart pump": nothing is recalled for it."""
    return re.match(r"\s*/[a-z]\w*(?:\s|$)", message) is not None
