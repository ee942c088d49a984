"""How well entities, relations and statements are extracted: `python -m evals.calibration.extraction`.

Precision and recall over labelled sentences of the manuals, of the Rust book, and written for this
(`evals/data/memory/relations`). An entity is right where its normalised name and its kind are; a relation
where its label is and, for both ends, the content words of one side contain the other's.

Then natural statements with dates, denials, corrections and typing errors, and messages that state nothing
(`evals/data/memory/statements`), all said on Wednesday, 2026-03-18 at 15:00 UTC. One is right where all of it
is: subject, predicate, object, since when, until when, denied, ended, what it replaces.

Rules are made on `--half dev`; the other half is printed where none is named, and nobody looks into it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from typer import echo

from evals.datasets import default_folder, read_text
from memory.reading.entities import entities_in, normalised
from memory.reading.intervals import UNKNOWN
from memory.reading.relations import relations_in
from memory.reading.statements import statements_in
from pipeline.errors import DatasetError
from pipeline.terms import content_terms

DATA = Path(__file__).parents[1] / "data" / "memory"
RELATIONS = DATA / "relations"
SAID_AT = datetime(2026, 3, 18, 15, 0, tzinfo=UTC).timestamp()

Named = tuple[str, str]  # normalised name, kind
Related = tuple[str, str, str]  # subject, label, object
Stated = Mapping[str, Any]  # subject, predicate, object, and what else is said


@dataclass(frozen=True, slots=True)
class LabelledSentence:
    """A sentence, and what a person found in it."""

    id: str
    corpus: str
    text: str
    entities: frozenset[Named]
    relations: tuple[Related, ...]


@dataclass(frozen=True, slots=True)
class Counts:
    """How many were right, found, and to be found."""

    right: int = 0
    found: int = 0
    labelled: int = 0

    def __add__(self, other: Counts) -> Counts:
        """The sum of both."""
        return Counts(self.right + other.right, self.found + other.found, self.labelled + other.labelled)

    @property
    def precision(self) -> float:
        """The share of what was found that is right; 1 where nothing was found."""
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """The share of what was to be found that was; 1 where there was nothing."""
        return self.right / self.labelled if self.labelled else 1.0


def load_labelled(path: Path) -> list[LabelledSentence]:
    """The sentences of a file, those that are not ours read from the test data.

    Raises:
        DatasetError: a file is not there, or a line cannot be read (it is named).
    """
    texts = cache(read_text)
    found = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line:
            continue
        try:
            row = json.loads(line)
            text = row.get("text")
            if text is None:
                source = default_folder() / "docs" / row["corpus"] / row["source"]
                text = texts(source)[row["start"] : row["end"]]
            entities = frozenset((normalised(text[start:end]), kind) for start, end, kind in row["entities"])
            relations = tuple((text[a:b], label, text[c:d]) for (a, b), label, (c, d) in row["relations"])
        except (KeyError, ValueError) as error:
            raise DatasetError(
                f"Cannot read line {number} of '{path}': {error}.", "Mend the line and evaluate again."
            ) from error
        found.append(LabelledSentence(row["_id"], row["corpus"], text, entities, relations))
    return found


def entity_counts(sentence: LabelledSentence) -> Counts:
    """The entities of one sentence, each name once."""
    found = _named(sentence.text)
    return Counts(len(found & sentence.entities), len(found), len(sentence.entities))


def relation_counts(sentence: LabelledSentence) -> Counts:
    """The relations of one sentence; each labelled one is found once."""
    found = _related(sentence.text)
    left = list(sentence.relations)
    right = 0
    for relation in found:
        match = next((one for one in left if agree(relation, one)), None)
        if match:
            left.remove(match)
            right += 1
    return Counts(right, len(found), len(sentence.relations))


def agree(found: Related, labelled: Related) -> bool:
    """Whether both say the same: one label, and ends of which one contains the other's words."""
    return found[1] == labelled[1] and all(_contains(found[end], labelled[end]) for end in (0, 2))


def _contains(one: str, other: str) -> bool:
    if normalised(one) == normalised(other):
        return True
    first, second = set(content_terms(normalised(one))), set(content_terms(normalised(other)))
    return bool(first and second) and (first <= second or second <= first)


def _named(text: str) -> frozenset[Named]:
    return frozenset((entity.normalised, entity.kind.value) for entity in entities_in(text))


def _related(text: str) -> list[Related]:
    return [(one.subject, one.label, one.object) for one in relations_in(text)]


def rows_of(sentences: Sequence[LabelledSentence]) -> Iterator[tuple[str, Counts]]:
    """A name and the counts for each line of the table."""
    for what, count in (("entities", entity_counts), ("relations", relation_counts)):
        by_corpus: dict[str, Counts] = {}
        for sentence in sentences:
            by_corpus[sentence.corpus] = by_corpus.get(sentence.corpus, Counts()) + count(sentence)
        total = Counts()
        for corpus, counts in sorted(by_corpus.items()):
            total += counts
            yield f"{what}, {corpus}", counts
        yield f"**{what}**", total


def print_report(sentences: Sequence[LabelledSentence], *, half: str) -> None:
    """The table of one half."""
    echo(f"| {half}: {len(sentences)} sentences | precision | recall | right | found | labelled |")
    echo("|---|---|---|---|---|---|")
    both = Counts()
    for name, counts in rows_of(sentences):
        echo(_row(name, counts))
        both += counts if name.startswith("**") else Counts()
    echo(_row("**both**", both))


def _row(name: str, counts: Counts) -> str:
    return (
        f"| {name} | {counts.precision:.2f} | {counts.recall:.2f} "
        f"| {counts.right} | {counts.found} | {counts.labelled} |"
    )


def load_statements(half: str) -> list[tuple[str, list[Stated]]]:
    """The messages of a half, each with what it states."""
    rows = [json.loads(line) for line in read_text(DATA / "statements" / f"{half}.jsonl").split("\n") if line]
    return [(row["text"], row["statements"]) for row in rows]


def stated(message: str) -> list[Stated]:
    """What the rules read in a message, as it is labelled: without what is not said."""
    return [
        {
            "subject": item.subject,
            "predicate": item.predicate,
            "object": item.object,
            **({} if item.valid_at == SAID_AT else {"since": _day(item.valid_at)}),
            **({} if item.invalid_at is None else {"until": _day(item.invalid_at)}),
            **{name: True for name in ("negated", "ends") if getattr(item, name)},
            **({"replaces": item.replaces} if item.replaces else {}),
        }
        for item in statements_in(message, said_at=SAID_AT)
        if not item.only_of_known
    ]


def _day(moment: float) -> str:
    return "?" if moment == UNKNOWN else datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")


def print_statements(rows: Sequence[tuple[str, list[Stated]]], *, half: str) -> None:
    """The table of one half's statements."""
    found = [(stated(text), expected) for text, expected in rows]
    right = sum(item in expected for got, expected in found for item in got)
    whole = sum(got == expected for got, expected in found)
    count, labelled = (sum(len(pair[place]) for pair in found) for place in (0, 1))
    echo(f"| {half} | messages read right | statements right | found | labelled |")
    echo("|---|---|---|---|---|")
    echo(f"| {len(rows)} messages | {whole} | {right} | {count} | {labelled} |")


def main() -> None:
    """Print how well one half's labels are found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--half", choices=("dev", "test"), default="test")
    half = parser.parse_args().half
    print_report(load_labelled(RELATIONS / f"{half}.jsonl"), half=half)
    echo()
    print_statements(load_statements(half), half=half)


if __name__ == "__main__":
    main()
