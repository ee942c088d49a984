"""Questions to documents, as strangers typed them, are neither requests to the memory nor statements."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evals.calibration.statements import load_statements
from memory.extracting import asked_of_memory, statements_in

STRANGERS = Path(__file__).parents[3] / "evals" / "data" / "strangers"


@pytest.mark.parametrize("corpus", ["manuals", "missions", "opensearch-docs", "rust-book"])
def test_no_question_to_documents_is_taken_for_the_memory(corpus: str) -> None:
    lines = (STRANGERS / corpus / "dev" / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    for question in (json.loads(line)["text"] for line in lines):
        assert asked_of_memory(question, is_known=lambda _: True) is None, question
        stated = [item for item in statements_in(question, said_at=1.7e9) if not item.only_of_known]
        assert not stated, question


def test_no_statement_is_taken_for_a_request_unless_it_is_one() -> None:
    for message, _ in load_statements("dev"):
        command = asked_of_memory(message, is_known=lambda _: True)
        assert command is None or "remember" in message.casefold(), message
