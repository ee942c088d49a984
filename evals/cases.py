"""Cases: made of answers, asked again with the settings in use or with others, and what follows from that."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Literal

from athena.settings_changes import Ask, asking_with
from evals.indexing import Report
from pipeline.answer import Answer, Citation
from pipeline.answering.citations import provenance, quote_hash
from pipeline.answering.kept_conversation import History
from pipeline.errors import UnknownDocument
from pipeline.stores.cases import Case
from pipeline.stores.conversations import Conversation, Turn, scope_of, unknown_turn
from pipeline.stores.globs import as_globs

if TYPE_CHECKING:
    from athena import Athena, Settings
    from pipeline.stores.base import SectionStore, StoredDocument

State = Literal["passing", "failing", "new", "moved"]

HALF = 0.5  # of the shorter of two spans, that they have in common


@dataclass(frozen=True, slots=True)
class Located:
    """A case with its gold where it stands now; `lost` is what stands nowhere any more as it was."""

    case: Case
    moved: bool = False  # some of it was found at another place
    lost: tuple[Citation, ...] = ()

    @property
    def state(self) -> State:
        """How it is shown: a manual that changed under it matters more than how it went before that."""
        if self.moved or self.lost:
            return "moved"
        return "new" if self.case.passed is None else "passing" if self.case.passed else "failing"


@dataclass(frozen=True, slots=True)
class Replayed:
    """One case asked again: how it went now, and whether it ever passed before."""

    located: Located
    passed: bool | None  # None where its gold is lost
    why: str  # in words, where it did not pass
    ms: float
    answer: Answer | None = None

    @property
    def case(self) -> Case:
        """The case, with its gold as it stands now."""
        return self.located.case

    @property
    def state(self) -> State:
        """How it went, or that its gold is lost."""
        return "moved" if self.passed is None else "passing" if self.passed else "failing"

    @property
    def regressed(self) -> bool:
        """Whether it fails and passed before."""
        return self.passed is False and self.case.passed_at > 0


# -- made ---------------------------------------------------------------------------------------------------


def new_case(conversation: Conversation, turn_id: str, *, gold: Sequence[Citation] = ()) -> Case:
    """A case of a stored answer's question after its history; without gold it should have abstained.

    Raises `UnknownConversation` where the conversation has no such turn.
    """
    turns = {turn.id: turn for turn in (*conversation.turns, *conversation.aside)}
    if turn_id not in turns:
        raise unknown_turn(turn_id)
    history = History()
    for turn in reversed([*_before(turns, turn_id)]):
        history.take(turn.answer)
    asked = turns[turn_id]
    return Case(
        id=str(uuid.uuid4()),
        question=asked.question,
        created_at=time.time(),
        user=conversation.info.user,
        history=tuple(history.said()),
        gold=tuple(gold),
        scope=scope_of(asked.answer),
        conversation_id=conversation.info.id,
        turn_id=turn_id,
    )


def gold_at(document: StoredDocument, start: int, end: int) -> Citation:
    """A span of a document as what should be found; offsets in the file, a section's or others."""
    inside = [section for section in document.sections if (section.start_char_idx or 0) <= start]
    section, text = (inside or document.sections)[-1], document.text
    quote = text[start:end]
    return Citation(
        marker=1,
        source=document.info.source,
        heading_path=tuple(section.metadata["heading_path"]),
        start=start,
        end=end,
        start_line=text.count("\n", 0, start) + 1,
        end_line=text.count("\n", 0, end) + 1,
        quote=quote,
        verified=True,
        section_id=section.node_id,
        file_hash=document.info.hash,
        quote_hash=quote_hash(quote),
        section_text=section.text,
        section_start=section.start_char_idx or 0,
        page=section.metadata.get("page"),
    )


def _before(turns: Mapping[str, Turn], turn_id: str) -> Iterator[Turn]:
    """The turns that one follows, the latest first."""
    while (before := turns[turn_id].after) and before in turns:
        turn_id = before
        yield turns[before]


# -- found again --------------------------------------------------------------------------------------------


def locate(cases: Iterable[Case], sections: SectionStore) -> list[Located]:
    """The cases with their gold where it stands in the documents of today."""

    @cache
    def document(source: str) -> StoredDocument | None:
        try:
            return sections.document(source)
        except UnknownDocument:
            return None

    return [_located(case, {gold.source: document(gold.source) for gold in case.gold}) for case in cases]


def _located(case: Case, documents: Mapping[str, StoredDocument | None]) -> Located:
    found, lost, moved = list[Citation](), list[Citation](), False
    for gold in case.gold:
        document = documents[gold.source]
        fate = provenance(gold, document.text if document else None)
        if fate.status == "same":
            found.append(gold)
        elif document and fate.status == "moved" and fate.start is not None and fate.end is not None:
            found.append(gold_at(document, fate.start, fate.end))
            moved = True
        else:
            lost.append(gold)
    if lost and not found:
        return Located(case, lost=tuple(lost))
    return Located(replace(case, gold=(*found, *lost)), moved, tuple(lost))


# -- asked again --------------------------------------------------------------------------------------------


def replay(
    athena: Athena, cases: Sequence[Case], *, settings: Settings | None = None, report: Report | None = None
) -> Iterator[Replayed]:
    """Ask each case again over the live index; the next is asked when the one before was taken.

    How it goes with the settings in use is kept with the case, and where its gold stands now; with others,
    nothing is. Raises what ends an answer.
    """
    ask = asking_with(athena, settings or athena.settings, traced=True)
    for done, located in enumerate(locate(cases, athena.store.sections), start=1):
        found = _replayed(located, ask)
        if settings is None:
            _keep(athena, found)
        if athena.tracer and found.answer:
            athena.tracer.score(found.answer.turn_id, {"case": float(bool(found.passed))}, why=found.why)
        if report:
            report(done, len(cases))
        yield found


def _replayed(located: Located, ask: Ask) -> Replayed:
    case = located.case
    known = [gold for gold in case.gold if gold not in located.lost]
    if case.gold and not known:
        gone = located.lost[0]
        return Replayed(located, None, f"'{gone.file}' does not say any more what should be found.", 0.0)
    started = time.perf_counter()
    answer = ask(case.question, history=case.history, paths=as_globs(case.scope))
    why = _missed(answer, known)
    return Replayed(located, not why, why, (time.perf_counter() - started) * 1000, answer)


def _missed(answer: Answer, gold: Sequence[Citation]) -> str:
    """What is wrong with an answer, in words; "" where it shows what it should."""
    if not gold:
        return "" if answer.abstained else "It answered; the documents do not."
    if answer.abstained:
        return "It abstained."
    folded = {unit.marker for unit in answer.units if unit.folded}
    shown = [citation for citation in answer.citations if citation.marker not in folded]
    if any(_overlap(citation, span) for citation in shown for span in gold):
        return ""
    first = shown[0] if shown else None
    return (
        f"It shows {' › '.join([first.file, *first.heading_path])} first." if first else "It cites nothing."
    )


def _overlap(one: Citation, other: Citation) -> bool:
    """Whether two spans of one file have at least half of the shorter in common."""
    common = min(one.end, other.end) - max(one.start, other.start)
    shorter = min(one.end - one.start, other.end - other.start)
    return one.source == other.source and common > 0 and common >= HALF * shorter


def _keep(athena: Athena, found: Replayed) -> None:
    now = time.time()

    def changed(case: Case) -> Case:
        passed_at = now if found.passed else case.passed_at
        gold = found.case.gold if found.located.moved else case.gold
        return replace(
            case, gold=gold, passed=found.passed, why=found.why, passed_at=passed_at, replayed_at=now
        )

    athena.cases.change(found.case.id, changed)
