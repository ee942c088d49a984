"""Rated answers become a question set that `eval answers` reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from athena import open_athena
from athena.settings import Settings
from evals.answers import evaluate_answers
from evals.datasets import load_queries
from evals.ratings import write_rated
from pipeline.errors import DatasetError


@pytest.mark.slow
def test_thumbs_become_questions_that_are_asked_again(tmp_path: Path) -> None:
    (tmp_path / "pump.md").write_text("# Pump\n\nThe pump runs at 4200 rpm.\n", encoding="utf-8")
    with open_athena(Settings(data_dir=tmp_path / "data", llm="none", cross_encoder="none")) as athena:
        athena.ingest([tmp_path / "pump.md"])
        good = athena.ask("How fast does the pump run?")
        athena.conversations.set_feedback(good.turn_id, 1)
        refused = athena.ask("Who won the football cup in 1998?", conversation_id=good.conversation_id)
        athena.conversations.set_feedback(refused.turn_id, 1)
        bad = athena.ask("What is the pump?", user="Ada")
        athena.conversations.set_feedback(bad.turn_id, -1)
        athena.ask("What hums?")
        folder = tmp_path / "rated"
        assert write_rated(athena.conversations, folder) == 3
        found = {query.id: query for query in load_queries(folder)}
        first, second, third = (found[one.turn_id] for one in (good, refused, bad))
        assert first.answers[0].source == "pump.md" and "4200 rpm" in first.answers[0].text
        assert second.judged is False
        assert second.history[0].text == "How fast does the pump run?"
        assert third.judged is None
        report = evaluate_answers(athena, folder, indexed=True)
        assert report.metrics["any_quote"] == 1
        assert report.unjudged == (bad.turn_id,)
        with pytest.raises(DatasetError, match="rated"):
            write_rated(athena.conversations, folder)
        assert write_rated(athena.conversations, tmp_path / "hers", user="Ada") == 1
