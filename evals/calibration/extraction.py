"""How well entities and relations are extracted: `python -m evals.calibration.extraction [--half test]`.

Precision and recall over labelled sentences of the manuals, of the Rust book, and written for this
(`evals/data/memory/relations`). An entity is right where its normalised name and its kind are; a relation
where its label is and, for both ends, the content words of one side contain the other's. Rules are made on
`dev`; `--misses` prints what went wrong there, and is refused for `test`.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from typer import echo

from evals.datasets import default_folder, read_text
from memory.extracting import entities_in, normalised, relations_in
from pipeline.errors import DatasetError
from pipeline.terms import content_terms

DATA = Path(__file__).parents[1] / "data" / "memory" / "relations"

Named = tuple[str, str]  # normalised name, kind
Stated = tuple[str, str, str]  # subject, label, object


@dataclass(frozen=True, slots=True)
class LabelledSentence:
    """A sentence, and what a person found in it."""

    id: str
    corpus: str
    text: str
    entities: frozenset[Named]
    relations: tuple[Stated, ...]


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
    found = _stated(sentence.text)
    left = list(sentence.relations)
    right = 0
    for relation in found:
        match = next((one for one in left if agree(relation, one)), None)
        if match:
            left.remove(match)
            right += 1
    return Counts(right, len(found), len(sentence.relations))


def agree(found: Stated, labelled: Stated) -> bool:
    """Whether both say the same: one label, and ends of which one contains the other's words."""
    return found[1] == labelled[1] and all(_contains(found[end], labelled[end]) for end in (0, 2))


def _contains(one: str, other: str) -> bool:
    if normalised(one) == normalised(other):
        return True
    first, second = set(content_terms(normalised(one))), set(content_terms(normalised(other)))
    return bool(first and second) and (first <= second or second <= first)


def _named(text: str) -> frozenset[Named]:
    return frozenset((entity.normalised, entity.kind.value) for entity in entities_in(text))


def _stated(text: str) -> list[Stated]:
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


def print_misses(sentences: Sequence[LabelledSentence]) -> None:
    """Each sentence of which something was missed or found wrongly."""
    for sentence in sentences:
        found, stated = _named(sentence.text), _stated(sentence.text)
        missed = [one for one in sentence.relations if not any(agree(it, one) for it in stated)]
        wrong = [one for one in stated if not any(agree(one, it) for it in sentence.relations)]
        if found == sentence.entities and not missed and not wrong:
            continue
        echo(f"{sentence.id} {sentence.text}")
        for sign, items in (
            ("-", sorted(sentence.entities - found)),
            ("+", sorted(found - sentence.entities)),
            ("- ->", missed),
            ("+ ->", wrong),
        ):
            for item, times in Counter(items).items():
                echo(f"   {sign} {item}{f' ({times} times)' if times > 1 else ''}")


def half_chosen(description: str | None) -> argparse.Namespace:
    """Which half the command line asks for, `half`, and whether to show its `misses`."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0] if description else "")
    parser.add_argument("--half", choices=("dev", "test"), default="test")
    parser.add_argument("--misses", action="store_true", help="print what was missed or wrong (dev only)")
    chosen = parser.parse_args()
    if chosen.misses and chosen.half == "test":
        parser.error("rules are made on dev; nobody looks into test")
    return chosen


def main() -> None:
    """Print how well one half's labels are found."""
    chosen = half_chosen(__doc__)
    sentences = load_labelled(DATA / f"{chosen.half}.jsonl")
    if chosen.misses:
        print_misses(sentences)
    print_report(sentences, half=chosen.half)


if __name__ == "__main__":
    main()
