"""How checking citations was calibrated: `python -m evals.calibration.verification DATA`.

*Nearness*: sentences that people wrote with the spans that bear them out (SciFact's claims with their gold
evidence; MTRAG-UN's reference answers, each sentence with the best span of a judged passage), against the
same sentences with another sentence of that document, and with the best span of a document of another
question. *Facts*: sentences of the manuals as they are, rewritten without changing what they state, and
with one number, id, unit, command or negation changed.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from typer import echo

from evals.datasets import default_folder, load_corpus, load_qrels
from evals.metrics import auroc
from evals.runs.indexing import section_of
from pipeline.answering.facts import COMMAND, IDENTIFIER, facts_of
from pipeline.answering.verification import (
    CLOSENESS,
    COVERAGE,
    THRESHOLD,
    missing_facts,
    states_something,
    support_signals,
)
from pipeline.models.base import Encoder
from readers.levels import Section, Sentence

if TYPE_CHECKING:
    from athena import Athena
    from evals.datasets import Document

SEED = 7
MOST_SENTENCES = 250  # of each collection
MOST_MANUAL_SENTENCES = 800
SHARES = (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 1.0)
THRESHOLDS = (0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6)
KINDS = ("supported", "same document", "other document")

Change = Callable[[str, random.Random], str | None]


@dataclass(frozen=True, slots=True)
class Pair:
    """One sentence with one span: how near they are, and what the rules miss in the span."""

    collection: str
    kind: str  # one of KINDS
    closeness: float
    coverage: float
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Written:
    """A sentence that a person wrote, the span that bears it out, its document and another one."""

    collection: str
    sentence: str
    evidence: str
    same: tuple[str, ...]  # the other sentences of the evidence's document
    other: tuple[str, ...]  # sentences of a document of another question


class Sentences:
    """The sentences of a collection's documents, cut once."""

    def __init__(self, athena: Athena, documents: Sequence[Document]) -> None:
        self._cutter = athena.sentence_cutter()
        self._documents = {document.id: document for document in documents}
        self._known: dict[str, tuple[str, ...]] = {}

    def __call__(self, document_id: str) -> tuple[str, ...]:
        """Those of one document, in order."""
        if document_id not in self._known:
            section = section_of(self._documents[document_id])
            self._known[document_id] = tuple(sentence.text for sentence in self._cutter.cut(section))
        return self._known[document_id]


def scifact(athena: Athena, folder: Path, chance: random.Random) -> Iterator[Written]:
    """Claims that the evidence supports, with their gold sentences."""
    documents = load_corpus(folder)
    sentences = Sentences(athena, documents)
    lines = (folder / "sentence_gold_dev.jsonl").read_text(encoding="utf-8").splitlines()
    for row in map(json.loads, lines):
        for evidence in row["evidence"]:
            own = sentences(evidence["doc_id"])
            gold = evidence["sentences"]
            if evidence["label"] != "SUPPORT" or max(gold) >= len(own):
                continue
            rest = tuple(text for index, text in enumerate(own) if index not in gold)
            stranger = sentences(chance.choice(documents).id)
            text = " ".join(own[index] for index in gold)
            yield Written("SciFact", row["claim"], text, rest, stranger)


def mtrag(athena: Athena, folder: Path, chance: random.Random) -> Iterator[Written]:
    """Sentences of reference answers, with the best sentence of the passages judged relevant."""
    sentences = Sentences(athena, load_corpus(folder))
    qrels = load_qrels(folder, "test")
    lines = (folder / "queries.jsonl").read_text(encoding="utf-8").split("\n")
    rows = [json.loads(line) for line in lines if line]
    answered = [row for row in rows if row.get("answerability") == ["ANSWERABLE"] and row["_id"] in qrels]
    for row in chance.sample(answered, len(answered)):
        relevant = set(qrels[row["_id"]])
        strangers = sorted({doc for judged in qrels.values() for doc in judged} - relevant)
        own = [text for doc in sorted(relevant) for text in sentences(doc)]
        stated = [text for text in _split(athena, row["answer"]) if states_something(text)]
        if not stated or len(own) < 2:
            continue
        sentence = chance.choice(stated)
        best = _best(sentence, own, athena.encoder)
        rest = tuple(text for text in own if text != best)
        yield Written("MTRAG-UN", sentence, best, rest, sentences(chance.choice(strangers)))


def _split(athena: Athena, text: str) -> list[str]:
    section = Section("answer", text, {}, 0, len(text), document_id="")
    return [sentence.text for sentence in athena.sentence_cutter().cut(section)]


def _best(sentence: str, spans: Sequence[str], encoder: Encoder) -> str:
    """The span that a marker would be resolved to."""
    vectors = encoder.encode_passages([sentence, *spans])
    closeness = vectors[1:] @ vectors[0]
    return spans[int(closeness.argmax())]


def pairs(written: Written, encoder: Encoder, chance: random.Random) -> Iterator[Pair]:
    """The sentence with its evidence, with another sentence, and with the best of another document."""
    spans = {KINDS[0]: written.evidence, KINDS[2]: _best(written.sentence, written.other, encoder)}
    if written.same:
        spans[KINDS[1]] = chance.choice(written.same)
    for kind, span in spans.items():
        closeness, coverage = support_signals(written.sentence, span, encoder=encoder)
        missing = missing_facts(written.sentence, [span])
        yield Pair(written.collection, kind, closeness, coverage, missing)


def print_nearness(found: Sequence[Pair]) -> None:
    """AUROC by how the two signals are weighed, and rates by threshold."""
    collections = sorted({pair.collection for pair in found})
    echo("AUROC of the supported sentences against:\n")
    headings = [f"{c}, {k}" for c in collections for k in KINDS[1:]]
    echo("| share of the embedding | " + " | ".join(headings) + " |")
    echo("|---|" + "---|" * (2 * len(collections)))
    for share in SHARES:
        figures = [_auroc(found, c, k, share) for c in collections for k in KINDS[1:]]
        echo(f"| {share} | " + " | ".join(f"{figure:.3f}" for figure in figures) + " |")
    echo("\nShares that are marked as unsupported by nearness alone:\n")
    echo("| threshold | " + " | ".join(f"{c}, {k}" for c in collections for k in KINDS) + " |")
    echo("|---|" + "---|" * (3 * len(collections)))
    for threshold in sorted({*THRESHOLDS, THRESHOLD}):
        shares = [
            _mean([_score(pair, CLOSENESS) < threshold for pair in _of(found, c, k)])
            for c in collections
            for k in KINDS
        ]
        echo(f"| {threshold} | " + " | ".join(f"{value:.3f}" for value in shares) + " |")
    echo(f"\nShipped: {CLOSENESS} × embedding + {COVERAGE} × words, threshold {THRESHOLD}")
    for collection in collections:
        flagged = _mean([bool(pair.missing) for pair in _of(found, collection, KINDS[0])])
        echo(f"{collection}: the rules miss a fact in {flagged:.3f} of the supported sentences")


def _of(found: Sequence[Pair], collection: str, kind: str) -> list[Pair]:
    return [pair for pair in found if (pair.collection, pair.kind) == (collection, kind)]


def _score(pair: Pair, share: float) -> float:
    return share * pair.closeness + (1 - share) * pair.coverage


def _auroc(found: Sequence[Pair], collection: str, kind: str, share: float) -> float:
    chosen = _of(found, collection, KINDS[0]) + _of(found, collection, kind)
    value = auroc([_score(pair, share) for pair in chosen], [pair.kind == KINDS[0] for pair in chosen])
    return float("nan") if value is None else value


def _mean(values: Sequence[bool]) -> float:
    return sum(values) / len(values) if values else float("nan")


# -- facts -----------------------------------------------------------------------------------------------

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
    stated = facts_of(text).numbers
    found = [match for match in DIGITS.finditer(text) if facts_of(match[0]).numbers.keys() & stated.keys()]
    if not found:
        return None
    match = chance.choice(found)
    value = str(int(float(match[0])) + chance.randint(1, 9))
    changed = text[: match.start()] + value + text[match.end() :]
    return None if value in facts_of(text).numbers else changed


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
    return changed if changed != text and not facts_of(text).negated else None


def restated(text: str, chance: random.Random) -> str | None:  # noqa: ARG001
    """The same facts, written in another way: units in words, thousands with commas."""
    changed = re.sub(r"(?<![\w.,-])(\d{1,3})(\d{3})(?![\w.,-])", r"\1,\2", text)
    for unit, words in RESTATED.items():
        changed = re.sub(rf"(?<=\d){re.escape(unit)}(?![\w/])", words, changed)
    return changed if changed != text else None


def print_facts(sentences: Sequence[str], chance: random.Random) -> None:
    """The share of the manuals' sentences in which the rules find something missing, by what was changed."""
    names = sorted({name for text in sentences for name in IDENTIFIER.findall(text)})
    commands = sorted({command for text in sentences for command in COMMAND.findall(text)})
    changes: dict[str, Change] = {
        "as they are": lambda text, _: text,
        "written otherwise": restated,
        "another number": other_number,
        "another unit": other_unit,
        "another id": other_identifier(names),
        "another command": other_command(commands),
        "negated": negated,
    }
    echo("\n| manuals' sentences | tried | marked |\n|---|---|---|")
    for name, change in changes.items():
        tried = [(text, changed) for text in sentences if (changed := change(text, chance)) is not None]
        marked = _mean([bool(missing_facts(changed, [text])) for text, changed in tried])
        echo(f"| {name} | {len(tried)} | {marked:.3f} |")


def manual_sentences(athena: Athena, corpus: Path) -> list[str]:
    """The prose and list items of the manuals."""
    reader = athena.reader
    texts: list[str] = []
    for path in sorted(corpus.rglob("*.md")):
        _, sentences = reader.cut(path.read_text(encoding="utf-8"), source=path.name)
        texts += [sentence.text for sentence in sentences if _is_prose(sentence)]
    return texts


def _is_prose(sentence: Sentence) -> bool:
    return sentence.metadata["kind"] in ("prose", "list_item")


def main() -> None:
    """Parse, measure, print."""
    from athena import load_settings, open_athena

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", type=Path, default=default_folder())
    arguments = parser.parse_args()
    athena = open_athena(load_settings(llm="none"))
    chance = random.Random(SEED)  # noqa: S311  (a sample, not a secret)
    written = [
        *list(scifact(athena, arguments.data / "scifact", chance))[:MOST_SENTENCES],
        *list(mtrag(athena, arguments.data / "mtrag" / "mtragun_pooled", chance))[:MOST_SENTENCES],
    ]
    print_nearness([pair for item in written for pair in pairs(item, athena.encoder, chance)])
    manuals = manual_sentences(athena, Path("docs_corpus"))
    print_facts(chance.sample(manuals, min(len(manuals), MOST_MANUAL_SENTENCES)), chance)


if __name__ == "__main__":
    main()
