"""Cases: questions that are asked again whenever something was changed, and what they should find."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Protocol

from pydantic import TypeAdapter

from pipeline.answer import Citation
from pipeline.errors import AthenaError
from pipeline.messages import Message
from pipeline.options import DEFAULT_USER
from pipeline.redaction import redacted
from pipeline.stores.erasing import Erasing


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A question after its history, and the spans of which its answer should show one.

    Without `gold` the documents do not answer it: it should have abstained. `passed` says how the last replay
    with the settings in use went, None where there was none or the gold is no longer there, `why` what was
    wrong with it, `passed_at` when one passed last. Times in seconds since the epoch, 0 = never.
    """

    id: str
    question: str
    created_at: float
    user: str = DEFAULT_USER
    history: tuple[Message, ...] = ()
    gold: tuple[Citation, ...] = ()
    scope: tuple[str, ...] = ()  # globs of the documents that are asked, none for all
    conversation_id: str = ""  # that it comes from; "" where it was imported
    turn_id: str = ""
    passed: bool | None = None
    why: str = ""
    passed_at: float = 0.0
    replayed_at: float = 0.0

    def says(self, words: Collection[str]) -> bool:
        """Whether it repeats one of these messages."""
        return self.question in words or any(message.text in words for message in self.history)


class Cases(Protocol):
    """All cases of one store; safe to use from several threads."""

    def put(self, *cases: Case) -> None:
        """Write cases whole, each in the place of one of its id."""

    def change(self, case_id: str, change: Callable[[Case], Case]) -> None:
        """Store what `change` makes of a case as it is at that moment; nothing where it is gone.

        It may be called again where somebody else writes meanwhile.
        """

    def list(self, user: str | None = None) -> Sequence[Case]:
        """Those of a user, or of all, the oldest first."""

    def delete(self, *ids: str) -> None:
        """Remove cases; one that is gone already is nothing to raise for."""

    def close(self) -> None:
        """Release files and connections."""


def case_json(case: Case) -> str:
    """A case as it is stored, without secrets."""
    return redacted(json.dumps(asdict(case), ensure_ascii=False))


def case_from(stored: str) -> Case:
    """The case of its JSON; raises ValueError where it is none."""
    case: Case = _adapter().validate_json(stored)
    return case


def case_without(stored: str, words: Erasing) -> str | None:
    """A stored case with forgotten words overwritten; None where it has none of them."""
    return words.answer(stored) if words.is_in(stored) else None


def case_of(cases: Cases, case_id: str) -> Case:
    """The case of an id; raises `AthenaError`."""
    found = next((case for case in cases.list() if case.id == case_id), None)
    if found is None:
        raise AthenaError(f"No case '{case_id}' is kept; it may have been deleted.", "Reload the list.")
    return found


@cache
def _adapter() -> TypeAdapter[Any]:
    return TypeAdapter(Case)
