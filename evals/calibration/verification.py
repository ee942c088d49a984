"""How checking an answer's sentences was calibrated: `python -m evals.calibration.verification DATA`.

Fits the weights of `pipeline/answering/verification.py` on sentences with the passages they are checked by:
the development half of `evals/data/support`; SciFact's claims, which their evidence supports or contradicts;
sentences of MTRAG-UN's reference answers and of the manuals, as they are, with one number, unit, id, command
or "not" changed, and (MTRAG-UN) sentences of answers to other questions. Prints the weights, the shares that
are marked in each collection, and the precision and recall of the development half, tried on folds of it
that nothing was fitted on. The held-out half is not read.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from typer import echo

from evals.calibration.logistic import Floats, fit
from evals.datasets import default_folder, load_corpus, load_qrels
from evals.support import (
    SUPPORTED,
    Flagged,
    GivenPassage,
    Labelled,
    SupportItem,
    evidence_for,
    load_support,
    report_on,
)
from pipeline.answering.citations import without_markers
from pipeline.answering.literals import COMMAND, IDENTIFIER, literals_of
from pipeline.answering.sentence_support import signals_of
from pipeline.answering.verification import THRESHOLD, states_something
from pipeline.finding.verdict import sigmoid
from pipeline.models.base import passage_vectors
from readers.levels import Section, Sentence

if TYPE_CHECKING:
    from athena import Athena
    from evals.datasets import Document

SEED = 7
MOST_ITEMS = 250  # of each collection, so that none outweighs the others
OTHERS = 4  # passages of other documents beside those that a sentence is about
FOLDS = 10
THRESHOLDS = (0.4, 0.5, 0.6, 0.7)
DEV = Path("evals/data/support/dev.jsonl")
DEV_NAME = "support, dev"

Change = Callable[[str, random.Random], str | None]


@dataclass(frozen=True, slots=True)
class Example:
    """One sentence: its signals by name, and whether its passages support it."""

    collection: str
    item_id: str
    text: str
    label: str
    values: dict[str, float]

    @property
    def supported(self) -> bool:
        """True for a sentence that must not be marked."""
        return self.label == SUPPORTED


# -- collections ---------------------------------------------------------------------------------------


def scifact(folder: Path, chance: random.Random) -> Iterator[SupportItem]:
    """Claims that all of their evidence supports, or contradicts."""
    documents = {document.id: document for document in load_corpus(folder)}
    for line in (folder / "sentence_gold_dev.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        labels = {evidence["label"] for evidence in row["evidence"]}
        if len(labels) == 1:
            label = SUPPORTED if labels == {"SUPPORT"} else "contradicted"
            own = sorted({evidence["doc_id"] for evidence in row["evidence"]})
            given = _with_others(own, documents, chance)
            yield _item(f"scifact {row['_id']}", given, [Labelled(text=row["claim"], label=label)])


def mtrag(athena: Athena, folder: Path, chance: random.Random) -> Iterator[SupportItem]:
    """Sentences of reference answers with the passages judged relevant; changed; and of other answers."""
    documents = {document.id: document for document in load_corpus(folder)}
    qrels = load_qrels(folder, "test")
    lines = (folder / "queries.jsonl").read_text(encoding="utf-8").split("\n")
    rows = [json.loads(line) for line in lines if line]
    rows = [row for row in rows if row.get("answerability") == ["ANSWERABLE"] and row["_id"] in qrels]
    stated = {row["_id"]: [t for t in _split(athena, row["answer"]) if states_something(t)] for row in rows}
    for row in rows[:MOST_ITEMS]:
        own = sorted(qrels[row["_id"]])
        found = [Labelled(text=text, label=SUPPORTED) for text in stated[row["_id"]]]
        found += [changed for text in stated[row["_id"]] for changed in _changed(text, CHANGES, chance)]
        other = chance.choice(rows)["_id"]
        if stated[other] and not set(qrels[other]) & set(own):
            found.append(Labelled(text=chance.choice(stated[other]), label="unrelated"))
        yield _item(f"mtrag {row['_id']}", _with_others(own, documents, chance), found)


def manuals(athena: Athena, corpus: Path, chance: random.Random) -> Iterator[SupportItem]:
    """The prose of the manuals' sections: as it is, written otherwise, and changed."""
    sections: list[tuple[Section, list[Sentence]]] = []
    texts: list[str] = []
    for path in sorted(corpus.rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        read, sentences = athena.reader.cut(text, source=path.relative_to(corpus).as_posix())
        sections += [(section, sentences) for section in read]
        texts.append(text)
    names = sorted({name for text in texts for name in IDENTIFIER.findall(text)})
    commands = sorted({command for text in texts for command in COMMAND.findall(text)})
    changes = CHANGES | {"changed_id": other_identifier(names), "changed_command": other_command(commands)}
    for section, sentences in chance.sample(sections, min(len(sections), MOST_ITEMS)):
        others = [other for other, _ in chance.sample(sections, OTHERS) if other is not section]
        prose = [
            sentence.text
            for sentence in sentences
            if sentence.section_id == section.node_id and sentence.metadata["kind"] in ("prose", "list_item")
        ]
        if not prose:
            continue
        text = chance.choice(prose)
        labelled = [
            Labelled(text=restated(text, chance) or text, label=SUPPORTED),
            *_changed(text, changes, chance),
        ]
        yield _item(f"manuals {section.node_id}", [_given(one) for one in (section, *others)], labelled)


def _item(name: str, passages: Sequence[GivenPassage], sentences: Sequence[Labelled]) -> SupportItem:
    return SupportItem(_id=name, question="", passages=tuple(passages), sentences=tuple(sentences))


def _with_others(
    own: Sequence[str], documents: dict[str, Document], chance: random.Random
) -> list[GivenPassage]:
    others = chance.sample([name for name in documents if name not in own], OTHERS)
    return [
        GivenPassage(source=name, heading_path=(documents[name].title,), text=documents[name].text)
        for name in (*own, *others)
        if name in documents
    ]


def _given(section: Section) -> GivenPassage:
    path = tuple(section.metadata["heading_path"])
    return GivenPassage(source=section.metadata["source"], heading_path=path, text=section.text)


def _split(athena: Athena, text: str) -> list[str]:
    section = Section("answer", text, {}, 0, len(text), document_id="")
    return [sentence.text for sentence in athena.sentence_cutter().cut(section)]


# -- changes -------------------------------------------------------------------------------------------

DIGITS = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w.-])")
AUXILIARY = re.compile(r"\b(is|are|was|were|must|can|will|should|does|do|has)\b(?! not)", re.IGNORECASE)
UNIT_SWAPS = {
    "kPa": "bar",
    "min": "h",
    "h": "min",
    "kg": "g",
    "W": "kW",
    "V": "mV",
    "%": "kg",
    "A": "mA",
    "°C": "K",
}
RESTATED = {
    "%": " percent",
    " min": " minutes",
    " h": " hours",
    " kg": " kilograms",
    " V": " volts",
    " W": " watts",
}


def other_number(text: str, chance: random.Random) -> str | None:
    """One number is another one."""
    stated = {number for number, _ in literals_of(text).numbers}
    found = [match for match in DIGITS.finditer(text) if match[0] in stated]
    if not found:
        return None
    match = chance.choice(found)
    value = str(int(float(match[0])) + chance.randint(1, 9))
    changed = text[: match.start()] + value + text[match.end() :]
    return None if value in {number for number, _ in literals_of(text).numbers} else changed


def other_unit(text: str, chance: random.Random) -> str | None:  # noqa: ARG001
    """One number stands with another unit."""
    for unit, other in UNIT_SWAPS.items():
        changed = re.sub(rf"(?<=\d)(\s?){re.escape(unit)}(?![\w/])", rf"\1{other}", text, count=1)
        if changed != text:
            return changed
    return None


def other_identifier(names: Sequence[str]) -> Change:
    """One id is another part's."""

    def change(text: str, chance: random.Random) -> str | None:
        found = IDENTIFIER.search(text)
        others = [name for name in names if name.casefold() not in text.casefold()]
        return text.replace(found[0], chance.choice(others)) if found and others else None

    return change


def other_command(commands: Sequence[str]) -> Change:
    """One command is another one."""

    def change(text: str, chance: random.Random) -> str | None:
        found = COMMAND.search(text)
        others = [command for command in commands if command not in text]
        return text.replace(found[0], f"`{chance.choice(others)}`") if found and others else None

    return change


def negated(text: str, chance: random.Random) -> str | None:  # noqa: ARG001
    """It says the opposite: "not" is put in, or taken out."""
    if re.search(r"\bnot\b ", text):
        return re.sub(r"\bnot\b ", "", text)
    changed = AUXILIARY.sub(r"\1 not", text, count=1)
    return changed if changed != text else None


def restated(text: str, chance: random.Random) -> str | None:  # noqa: ARG001
    """The same facts, written in another way: units in words, thousands with commas."""
    changed = re.sub(r"(?<![\w.,-])(\d{1,3})(\d{3})(?![\w.,-])", r"\1,\2", text)
    for unit, words in RESTATED.items():
        changed = re.sub(rf"(?<=\d){re.escape(unit)}(?![\w/])", words, changed)
    return changed if changed != text else None


CHANGES: dict[str, Change] = {
    "changed_number": other_number,
    "changed_unit": other_unit,
    "negated": negated,
}


def _changed(text: str, changes: dict[str, Change], chance: random.Random) -> Iterator[Labelled]:
    for label, change in changes.items():
        if (changed := change(text, chance)) is not None:
            yield Labelled(text=changed, label=label)


# -- fitting -------------------------------------------------------------------------------------------


def examples(athena: Athena, collection: str, items: Sequence[SupportItem]) -> Iterator[Example]:
    """The signals of every sentence."""
    cutter = athena.sentence_cutter()
    for item in items:
        evidence = evidence_for(item.passages, cutter=cutter, encoder=athena.encoder)
        plain = [without_markers(sentence.text) for sentence in item.sentences]
        vectors = passage_vectors(plain, encoder=athena.encoder)
        for text, vector, sentence in zip(plain, vectors, item.sentences, strict=True):
            yield Example(
                collection, item.id, text, sentence.label, signals_of(text, vector, evidence).values
            )


def fitted(rows: Sequence[Example]) -> tuple[Floats, float]:
    """Weights and intercept.

    The development half counts as much as all other collections together; in these, supported sentences as
    much as all that are not, and each way of being wrong as much as every other.
    """
    kinds = Counter((row.collection == DEV_NAME, row.label) for row in rows)
    wrong = sum(1 for dev, label in kinds if not dev and label != SUPPORTED)
    dev = sum(count for (is_dev, _), count in kinds.items() if is_dev)

    def weight(row: Example) -> float:
        if row.collection == DEV_NAME:
            return 1.0
        return dev / 2 / (1 if row.supported else wrong) / kinds[False, row.label]

    matrix = np.array([list(row.values.values()) for row in rows])
    labels = np.array([float(row.supported) for row in rows])
    return fit(matrix, labels, weights=np.array([weight(row) for row in rows]))


def in_folds(rows: Sequence[Example]) -> list[tuple[Example, float]]:
    """The development half's sentences with scores by weights that were fitted without their question."""
    names = sorted({row.item_id for row in rows if row.collection == DEV_NAME})
    random.Random(SEED).shuffle(names)  # noqa: S311  (a sample, not a secret)
    found = []
    for fold in range(FOLDS):
        left_out = set(names[fold::FOLDS])
        model = fitted([row for row in rows if row.item_id not in left_out])
        found += [(row, _score(row, model)) for row in rows if row.item_id in left_out]
    return found


def _score(row: Example, model: tuple[Floats, float]) -> float:
    weights, intercept = model
    return float(sigmoid(np.asarray(weights @ np.array(list(row.values.values())) + intercept)))


def print_report(rows: Sequence[Example]) -> None:
    """The weights and the tables."""
    model = fitted(rows)
    weights = dict(zip(rows[0].values, model[0], strict=True))
    echo(f"weights: { {name: round(float(weight), 2) for name, weight in weights.items()} }")
    echo(f"intercept: {model[1]:.2f}\n")
    echo("| development half, in folds: threshold | precision | recall |\n|---|---|---|")
    folds = in_folds(rows)
    for threshold in THRESHOLDS:
        flagged = [Flagged(row.item_id, row.text, row.label, score < threshold) for row, score in folds]
        metrics = report_on(flagged, dataset=DEV_NAME, ms_per_question=0).metrics
        echo(f"| {threshold} | {metrics['precision']:.3f} | {metrics['recall']:.3f} |")
    echo(f"\nMarked at {THRESHOLD}, by weights fitted on all:\n")
    echo("| collection | label | tried | marked |\n|---|---|---|---|")
    for collection, label in sorted({(row.collection, row.label) for row in rows}):
        chosen = [row for row in rows if (row.collection, row.label) == (collection, label)]
        marked = sum(_score(row, model) < THRESHOLD for row in chosen) / len(chosen)
        echo(f"| {collection} | {label} | {len(chosen)} | {marked:.3f} |")


def main() -> None:
    """Parse, measure, fit, print."""
    from athena import load_settings, open_athena

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", type=Path, default=default_folder())
    arguments = parser.parse_args()
    athena = open_athena(load_settings(llm="none"))
    chance = random.Random(SEED)  # noqa: S311  (a sample, not a secret)
    collections = {
        DEV_NAME: load_support(DEV),
        "SciFact": list(scifact(arguments.data / "scifact", chance)),
        "MTRAG-UN": list(mtrag(athena, arguments.data / "mtrag" / "mtragun_pooled", chance)),
        "manuals": list(manuals(athena, Path("docs_corpus"), chance)),
    }
    print_report([row for name, items in collections.items() for row in examples(athena, name, items)])


if __name__ == "__main__":
    main()
