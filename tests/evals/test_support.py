"""Labelled sentences: read, checked, and reported with hand arithmetic."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evals.datasets import default_folder, held_out
from evals.support import Flagged, flag_sentences, load_support, report_on
from pipeline.errors import DatasetError
from readers.cutting import SentenceCutter
from tests.fakes import FakeEncoder

DATA = Path(__file__).parents[2] / "evals" / "data" / "support"
ROW = {
    "_id": "v1",
    "question": "How fast is the fan?",
    "passages": [
        {
            "source": "ecs.md",
            "corpus": "manuals",
            "heading_path": ["Fan"],
            "text": "The fan hums at 4000 rpm.",
        },
        {"source": "eps.md", "corpus": "manuals", "heading_path": [], "text": "Cells feed bus A."},
    ],
    "sentences": [
        {"text": "The fan hums at 4000 rpm [2].", "label": "supported", "wrong_marker": True},
        {"text": "The fan hums at 5000 rpm [1].", "label": "changed_number", "wrong_marker": False},
        {"text": "Bananas grow in warm countries.", "label": "unrelated", "wrong_marker": False},
    ],
}


def test_sentences_are_checked_by_all_passages_of_their_question(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps(ROW) + "\n\n", encoding="utf-8")
    encoder = FakeEncoder()
    cutter = SentenceCutter(encoder.count_tokens)
    found, ms = flag_sentences(load_support(tmp_path), cutter=cutter, encoder=encoder)
    assert [(item.label, item.flagged) for item in found] == [
        ("supported", False), ("changed_number", True), ("unrelated", True),
    ]  # fmt: skip
    assert ms > 0


def test_precision_and_recall_of_the_mark() -> None:
    marks = [
        ("a", "supported", True),
        ("a", "negated", True),
        ("b", "negated", True),
        ("b", "unrelated", False),
    ]
    found = [Flagged(item, "text", label, flag) for item, label, flag in marks]
    report = report_on(found, dataset="x", ms_per_question=1.5)
    # three are marked, two of them rightly; of three that ought to be, two are
    assert report.metrics == pytest.approx({"precision": 2 / 3, "recall": 2 / 3, "f1": 2 / 3})
    assert report.by_label == {"negated": 1.0, "supported": 1.0, "unrelated": 0.0}
    assert report.counts == {"negated": 2, "supported": 1, "unrelated": 1}
    assert (report.questions, report.sentences) == (2, 4)
    low, high = report.intervals["recall"]
    assert 0 < low < high <= 1


def test_a_line_that_is_wrong_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps(ROW) + "\n{}\n", encoding="utf-8")
    with pytest.raises(DatasetError, match=r"Cannot read line 2 of .*bad\.jsonl"):
        load_support(path)
    with pytest.raises(DatasetError, match="has no labelled sentences"):
        load_support(tmp_path / "..")
    with pytest.raises(DatasetError, match="Cannot read"):
        load_support(tmp_path / "none.jsonl")


@pytest.mark.skipif(
    not (default_folder() / "docs").is_dir(), reason="the collections that it quotes are not beside the clone"
)
@pytest.mark.parametrize(("name", "held"), [("dev", False), ("test", True)])
def test_the_halves_are_those_of_the_ids(name: str, held: bool) -> None:
    items = load_support(DATA / f"{name}.jsonl")
    assert len(items) > 50
    assert all(held_out(item.id) is held for item in items)
