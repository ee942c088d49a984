"""How well unsupported sentences are told from supported ones: on sentences that people labelled.

Each line of the data is a question with the passages that a model was given and sentences of an answer, each
`supported` by the passages, or not: `contradicted`, `changed_number`, `changed_unit`, `negated`, `unrelated`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evals.datasets import default_folder, read_text
from evals.indexing import Bars, Report, bar, dataset_name
from evals.metrics import Interval, bootstrap_ratio
from pipeline.analysis import embedding_text
from pipeline.answering.citations import without_markers
from pipeline.answering.sentence_support import Evidence
from pipeline.answering.verification import Judge
from pipeline.errors import DatasetError
from pipeline.given_files import DATA_BYTES, read_given
from pipeline.models.base import Encoder, passage_vectors
from readers.cutting import SentenceCutter
from readers.levels import Section, document_id, section_id

if TYPE_CHECKING:
    from athena import Athena

SUPPORTED = "supported"


class GivenPassage(BaseModel):
    """One passage that the model was given."""

    model_config = ConfigDict(frozen=True)

    source: str
    heading_path: tuple[str, ...] = ()
    text: str = ""
    corpus: str = ""  # a folder of documents that are not ours: the text is given by offsets in its file
    start: int | None = None
    end: int | None = None


class Labelled(BaseModel):
    """One sentence of an answer, and what a person found it to be."""

    model_config = ConfigDict(frozen=True)

    text: str
    label: str
    wrong_marker: bool = False  # its marker names another passage than the one that supports it


class SupportItem(BaseModel):
    """One question with its passages and sentences."""

    model_config = ConfigDict(frozen=True)

    id: str = Field(validation_alias="_id")
    question: str
    passages: tuple[GivenPassage, ...]
    sentences: tuple[Labelled, ...]


@dataclass(frozen=True, slots=True)
class Flagged:
    """One sentence: what it is, and whether it was marked as unsupported."""

    item_id: str
    text: str
    label: str
    flagged: bool

    @property
    def wrong(self) -> bool:
        """True for a sentence that ought to be marked."""
        return self.label != SUPPORTED


@dataclass(frozen=True, slots=True)
class SupportReport:
    """The figures of the mark over a data set."""

    dataset: str
    questions: int
    sentences: int
    metrics: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]  # 95 %, by questions
    by_label: Mapping[str, float]  # the share that is marked
    counts: Mapping[str, int]
    ms_per_question: float


def evaluate_support(athena: Athena, path: Path, *, report: Bars | None = None) -> SupportReport:
    """Check labelled sentences by their passages, and compare what is marked with what people found."""
    items = load_support(path)
    found, ms = flag_sentences(
        items, cutter=athena.sentence_cutter(), encoder=athena.encoder, report=bar(report, "Checking")
    )
    return report_on(found, dataset=dataset_name(path), ms_per_question=ms)


def load_support(path: Path) -> list[SupportItem]:
    """The items of a file, or of all `.jsonl` files in a folder, with the passages' texts.

    Raises:
        DatasetError: a line cannot be read (it is named), or a file of somebody's documents is not there.
    """
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    texts = cache(read_text)
    items = [_with_texts(item, texts) for file in files for item in _items(file)]
    if not items:
        raise DatasetError(f"'{path}' has no labelled sentences.", "Name a .jsonl file, or a folder of them.")
    return items


def _items(path: Path) -> Iterator[SupportItem]:
    try:
        lines = read_given(path, most_bytes=DATA_BYTES, encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"Cannot read '{path}': {error}.", "Name a .jsonl file in UTF-8.") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield SupportItem.model_validate_json(line)
        except ValidationError as error:
            problem = error.errors()[0]
            where = ".".join(map(str, problem["loc"]))
            raise DatasetError(
                f"Cannot read line {number} of '{path}': {where}: {problem['msg']}.",
                "Mend the line and evaluate again.",
            ) from error


def _with_texts(item: SupportItem, texts: Callable[[Path], str]) -> SupportItem:
    return item.model_copy(update={"passages": tuple(_with_text(one, texts) for one in item.passages)})


def _with_text(passage: GivenPassage, texts: Callable[[Path], str]) -> GivenPassage:
    if passage.start is None:
        return passage
    text = texts(default_folder() / "docs" / passage.corpus / passage.source)
    return passage.model_copy(update={"text": text[passage.start : passage.end]})


def evidence_for(passages: Sequence[GivenPassage], *, cutter: SentenceCutter, encoder: Encoder) -> Evidence:
    """The passages as an index has them: cut into sentences, embedded with their headings."""
    leaves = [
        (number, leaf)
        for number, passage in enumerate(passages, start=1)
        for leaf in cutter.cut(_section(passage, number))
    ]
    vectors = passage_vectors([embedding_text(leaf) for _, leaf in leaves], encoder=encoder)
    return Evidence(leaves, {leaf.node_id: vector for (_, leaf), vector in zip(leaves, vectors, strict=True)})


def flag_sentences(
    items: Sequence[SupportItem],
    *,
    cutter: SentenceCutter,
    encoder: Encoder,
    report: Report | None = None,
) -> tuple[list[Flagged], float]:
    """Every sentence checked by all passages of its question, and the milliseconds that a question took.

    Cutting and embedding the passages is not counted: an index has that done.
    """
    found: list[Flagged] = []
    seconds = 0.0
    for done, item in enumerate(items, start=1):
        evidence = evidence_for(item.passages, cutter=cutter, encoder=encoder)
        started = time.perf_counter()
        judge = Judge(evidence, encoder=encoder)
        plain = [without_markers(sentence.text) for sentence in item.sentences]
        judge.prepare(plain)
        flagged = [not judge(text).supported for text in plain]
        seconds += time.perf_counter() - started
        found += [
            Flagged(item.id, sentence.text, sentence.label, flag)
            for sentence, flag in zip(item.sentences, flagged, strict=True)
        ]
        if report:
            report(done, len(items))
    return found, 1000 * seconds / len(items)


def report_on(found: Sequence[Flagged], *, dataset: str, ms_per_question: float) -> SupportReport:
    """Precision and recall of the mark; a question's sentences are drawn together."""
    right = _by_item(found, lambda item: item.flagged and item.wrong)
    marked = _by_item(found, lambda item: item.flagged)
    wrong = _by_item(found, lambda item: item.wrong)
    ratios = {
        "precision": bootstrap_ratio(right, marked),
        "recall": bootstrap_ratio(right, wrong),
        "f1": bootstrap_ratio([2 * n for n in right], [a + b for a, b in zip(marked, wrong, strict=True)]),
    }
    labels = sorted({item.label for item in found})
    of = {label: [item.flagged for item in found if item.label == label] for label in labels}
    return SupportReport(
        dataset=dataset,
        questions=len(marked),
        sentences=len(found),
        metrics={name: ratio.value for name, ratio in ratios.items()},
        intervals={name: _bounds(ratio) for name, ratio in ratios.items()},
        by_label={label: sum(flags) / len(flags) for label, flags in of.items()},
        counts={label: len(flags) for label, flags in of.items()},
        ms_per_question=ms_per_question,
    )


def _bounds(ratio: Interval) -> tuple[float, float]:
    return ratio.low, ratio.high


def _by_item(found: Sequence[Flagged], chosen: Callable[[Flagged], bool]) -> list[float]:
    """How many sentences of each question are such."""
    counts = dict.fromkeys((item.item_id for item in found), 0.0)
    for item in found:
        counts[item.item_id] += chosen(item)
    return list(counts.values())


def _section(passage: GivenPassage, number: int) -> Section:
    owner = document_id(f"{number}/{passage.source}")
    path = list(passage.heading_path)
    return Section(
        node_id=section_id(owner, path, number),
        text=passage.text,
        start_char_idx=0,
        end_char_idx=len(passage.text),
        metadata={
            "source": passage.source,
            "title": path[0] if path else "",
            "heading_path": path,
            "level": max(1, len(path)),
            "start_line": 1,
            "end_line": passage.text.count("\n") + 1,
        },
        document_id=owner,
    )
