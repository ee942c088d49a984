"""Questions to documents, as strangers typed them, are neither requests to the memory nor statements."""

from __future__ import annotations

import pytest

from evals.calibration.extraction import load_statements
from memory.reading.commands import asked_of_memory
from memory.reading.statements import statements_in
from tests.memory.tables import strangers


@pytest.mark.parametrize("corpus", ["manuals", "missions", "opensearch-docs", "rust-book"])
def test_no_question_to_documents_is_taken_for_the_memory(corpus: str) -> None:
    for question in strangers(corpus):
        assert asked_of_memory(question) is None, question
        stated = [item for item in statements_in(question, said_at=1.7e9) if not item.only_of_known]
        assert not stated, question


def test_no_statement_is_taken_for_a_request_unless_it_is_one() -> None:
    for message, _ in load_statements("dev"):
        command = asked_of_memory(message)
        assert command is None or "remember" in message.casefold(), message
