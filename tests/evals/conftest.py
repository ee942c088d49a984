"""A small data set in BEIR's layout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

CORPUS = [
    {"_id": "fan", "title": "Cabin fan", "text": "The cabin fan moves the air. A broken fan shows OFFLINE."},
    {"_id": 42, "title": "Radio", "text": "Call the ground on S-band. The antenna points at Earth."},
    {
        "_id": "tank",
        "title": "Nitrogen tank",
        "text": "LN2 tanks hold nitrogen.\n\nTheir valve opens at 5 bar.",
    },
    {"_id": "title only", "title": "Emergency lamp", "text": ""},
    {"_id": "text only", "text": "Water boils in the sublimator."},
]
QUERIES = [
    {"_id": "q1", "text": "What does a broken fan show?", "answer": "OFFLINE"},
    {"_id": "q2", "text": "Where does the antenna point?", "answer": "at Earth"},
    {
        "_id": "q3",
        "text": "And at which pressure does its valve open?",
        "history": [
            {"role": "user", "text": "What does the LN2 tank hold?"},
            {"role": "assistant", "text": "Nitrogen."},
        ],
        "answer": "5 bar",
    },
    {"_id": "q4", "text": "Who won the football cup final?", "answerable": False},
]
QRELS = "query-id\tcorpus-id\tscore\r\nq1\tfan\t1\r\nq2\t42\t1\r\nq3\ttank\t2\r\nq3\tfan\t0\r\n"


@pytest.fixture(scope="session")
def beir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data set's folder, to be read only."""
    folder = tmp_path_factory.mktemp("beir") / "lunar"
    (folder / "qrels").mkdir(parents=True)
    for name, rows in (("corpus", CORPUS), ("queries", QUERIES)):
        text = "\n".join(json.dumps(row) for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    (folder / "qrels" / "test.tsv").write_bytes(QRELS.encode())
    (folder / "qrels" / "dev.tsv").write_text("q1\ttitle only\t1\n", encoding="utf-8")
    return folder
