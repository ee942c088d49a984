"""Cases as folders in BEIR's layout, as `evals/datasets.py` reads them: written, and taken over from any."""

from __future__ import annotations

import json
import time
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.cases import gold_at
from evals.datasets import Qrels, Question, Span, load_queries, relevant_to
from pipeline.answer import Citation
from pipeline.answering.citations import provenance, quote_hash
from pipeline.errors import DatasetError
from pipeline.messages import Message
from pipeline.stores.cases import Case
from pipeline.words import well_formed

if TYPE_CHECKING:
    from pipeline.stores.base import SectionStore, StoredDocument

SPLIT = "test"


def write_cases(folder: Path, cases: Sequence[Case]) -> None:
    """Write a new folder with the cases: questions, the sections of their gold, and which belong together.

    Raises `DatasetError` where it is there already, or cannot be written.
    """
    golds = [(case.id, gold) for case in cases for gold in case.gold]
    sections = {_name(gold): gold for _, gold in golds}
    corpus = ({"_id": name, "title": _title(g), "text": g.section_text} for name, g in sections.items())
    judged = dict.fromkeys(f"{case_id}\t{_name(gold)}\t1" for case_id, gold in golds)
    try:
        (folder / "qrels").mkdir(parents=True)
        _write(folder / "corpus.jsonl", map(_json, corpus))
        _write(folder / "queries.jsonl", (_json(_question(case)) for case in cases))
        _write(folder / "qrels" / f"{SPLIT}.tsv", ["query-id\tcorpus-id\tscore", *judged])
    except FileExistsError as error:
        raise DatasetError(
            f"'{folder}' is there already.", "Name a folder that does not exist yet."
        ) from error
    except OSError as error:
        raise DatasetError(
            f"Cannot write '{folder}': {error.strerror or error}.", "Make room, or name another folder."
        ) from error


def read_cases(folder: Path, sections: SectionStore, *, user: str, taken: Collection[str] = ()) -> list[Case]:
    """The questions of a folder as a user's cases, their gold found in what is indexed.

    Ids that are `taken` by others' cases get new ones; read again, a question has the same. Gold that stands
    nowhere is kept: its case is *moved*. Raises `DatasetError`, also for a question of which nothing says
    what answers it, and for an id that two questions have.
    """
    queries, qrels = load_queries(folder), relevant_to(folder, SPLIT)
    _check_ids(queries, folder)
    documents = {info.source: sections.document(info.source) for info in sections.documents()}
    return [
        Case(
            id=_id(query, user, taken),
            question=well_formed(query.text),
            created_at=time.time(),
            user=user,
            history=tuple(Message(said.role, well_formed(said.text)) for said in query.history),
            gold=tuple(_gold(query, qrels, documents, folder=folder)) if query.answerable else (),
            scope=query.scope,
        )
        for query in queries
    ]


def _check_ids(queries: Sequence[Question], folder: Path) -> None:
    """Nothing; raises `DatasetError` for an id that comes twice: qrels cannot tell its questions apart."""
    counts = Counter(query.id for query in queries)
    if double := next((name for name, count in counts.items() if count > 1), ""):
        raise DatasetError(
            f"The id '{double:.80}' comes twice in '{folder / 'queries.jsonl'}'.",
            "Give each question an id of its own, or take one of them out.",
        )


def _question(case: Case) -> dict[str, Any]:
    return {
        "_id": case.id,
        "text": case.question,
        "history": [asdict(message) for message in case.history],
        "answerable": bool(case.gold),
        "answers": [{"text": gold.quote} for gold in case.gold],  # the qrels say where it stands
        "scope": list(case.scope),
    }


def _name(gold: Citation) -> str:
    return f"{gold.source}#{' > '.join(gold.heading_path)}"


def _title(gold: Citation) -> str:
    return gold.heading_path[-1] if gold.heading_path else gold.source


def _json(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False)


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _id(query: Question, user: str, taken: Collection[str]) -> str:
    what = well_formed(_json({"user": user, "id": query.id, "text": query.text}))
    made = str(uuid.uuid5(uuid.NAMESPACE_URL, what))
    try:
        known = str(uuid.UUID(query.id))  # one that was exported
    except ValueError:
        return made
    return made if known in taken else known


def _gold(
    query: Question, qrels: Qrels, documents: Mapping[str, StoredDocument], *, folder: Path
) -> Iterator[Citation]:
    judged = [name.partition("#") for name in qrels.get(query.id, ())]
    where = [source for source, _, _ in judged if source in documents] or [*documents]
    named = map(partial(_found, documents=documents, where=where), (*query.gold, *query.spans))
    found = [gold for gold in named if gold.quote] or [
        gold_at(document, section.start_char_idx or 0, section.end_char_idx or 0)
        for source, _, path in judged
        if (document := documents.get(source))
        for section in document.sections
        if " > ".join(section.metadata["heading_path"]) == path
    ]
    if not found:
        raise DatasetError(
            f"Nothing says what answers question '{query.id}' of '{folder}'.",
            "Give it `answers`, judge an indexed section in the qrels (`SOURCE#HEADING > PATH`), or say "
            '`"answerable": false`.',
        )
    yield from dict.fromkeys(found)


def _found(span: Span, *, documents: Mapping[str, StoredDocument], where: Sequence[str]) -> Citation:
    """A span where it stands in the documents of today; as it is given where it stands nowhere."""
    sources = [span.source] if span.source else where
    start = span.start or 0
    for document in filter(None, map(documents.get, sources)):
        quote = span.text or document.text[start : span.end]
        given = _as_given(document.info.source, start, quote)
        fate = provenance(given, document.text)
        if fate.status in ("same", "moved") and fate.start is not None and fate.end is not None:
            return gold_at(document, fate.start, fate.end)
    return _as_given(sources[0] if sources else "", start, span.text)


def _as_given(source: str, start: int, quote: str) -> Citation:
    return Citation(
        marker=1,
        source=source,
        heading_path=(),
        start=start,
        end=start + len(quote),
        start_line=1,
        end_line=1,
        quote=quote,
        verified=False,
        section_id="",
        file_hash="",
        quote_hash=quote_hash(quote),
        section_text=quote,
        section_start=start,
    )
