"""Usage: what models' servers report is kept with each turn, and counted from the turns that are stored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from athena import Athena, open_athena
from athena.cli import app
from athena.settings import Settings
from athena.usage import usage
from pipeline.answer import Answer, Usage
from pipeline.models.tokens import count_tokens
from pipeline.options import PriceOptions
from pipeline.steps.records import Step
from pipeline.steps.spending import usage_of
from tests.servers import OllamaServer, Reply
from tests.ui.conftest import VALVES

QUESTION = "When does the LN2 tank show OFFLINE?"
ANSWER = ("The LN2 tank shows OFFLINE ", "when its switch is off [1].")


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    with OllamaServer() as opened:
        yield opened


@pytest.fixture
def athena(tmp_path: Path, server: OllamaServer) -> Iterator[Athena]:
    """Athena with a model of a fake server, at 2 and 10 for 1,000 tokens."""
    settings = Settings(
        data_dir=tmp_path / "data", llm=f"ollama/{server.models[0]}", ollama_url=server.url, hyde="off",
        cross_encoder="none", price_in=2, price_out=10, memory="none",
    )  # fmt: skip
    (tmp_path / "valves.md").write_text(VALVES, encoding="utf-8")
    with open_athena(settings) as opened:
        opened.ingest([tmp_path / "valves.md"])
        yield opened


def test_a_turn_keeps_the_tokens_that_the_server_reports_and_their_cost(
    athena: Athena, server: OllamaServer
) -> None:
    server.reply_with(Reply(ANSWER, prompt_tokens=500))
    answer = athena.ask(QUESTION)
    used = athena.conversations.turn(answer.turn_id).answer.usage
    assert used == answer.usage and used is not None
    assert (used.tokens_in, used.estimated, used.model) == (500, False, f"ollama/{server.models[0]}")
    assert used.cost == pytest.approx((500 * 2 + used.tokens_out * 10) / 1000)


def test_tokens_that_are_not_reported_are_counted_and_said_to_be(
    athena: Athena, server: OllamaServer
) -> None:
    server.reply_with(Reply(ANSWER, prompt_tokens=None))
    used = athena.ask(QUESTION).usage
    assert used is not None and used.estimated
    sent = server.chats[-1].body["messages"]
    assert used.tokens_in == sum(count_tokens(str(message["content"])) for message in sent)


def test_spending_adds_up_with_its_cost() -> None:
    spent = [Usage(10, 5, model="ollama/a"), Usage(1, 1, estimated=True, model="ollama/b")]
    prices = PriceOptions(price_in=1, price_out=2)
    assert usage_of(spent[:1], PriceOptions()) == Usage(10, 5, cost=None, model="ollama/a")
    assert usage_of(spent, prices) == Usage(11, 6, estimated=True, cost=0.023, model="ollama/a")
    before = Usage(100, 100, cost=0.3, model="ollama/a")
    assert usage_of(spent[:1], prices, before=before) == Usage(110, 105, cost=0.32, model="ollama/a")


def test_the_report_is_what_the_stored_turns_say(athena: Athena, server: OllamaServer) -> None:
    server.reply_with(Reply(ANSWER, prompt_tokens=500), Reply(ANSWER, prompt_tokens=300))
    first = athena.ask(QUESTION)
    athena.ask(QUESTION, user="bob")
    athena.use(athena.settings.model_copy(update={"llm": "none"}))
    athena.ask(QUESTION)
    athena.ask("Who won the football cup final?")
    kept = athena.conversations
    stored = [turn.answer for info in kept.list() for turn in kept.get(info.id).turns]
    by_model = usage(athena.conversations, "model")
    total = by_model["total"]
    assert (total.turns, total.answers, total.abstentions, total.tokens_in) == (4, 3, 1, 800)
    assert total.cost == pytest.approx(sum(answer.usage.cost or 0 for answer in stored if answer.usage))
    assert total.p95_s == max(answer.seconds for answer in stored)
    assert [*by_model] == ["none", first.model, "total"]
    none = by_model["none"]
    assert (none.turns, none.tokens_in, none.tokens_out, none.cost) == (2, None, None, None)
    assert len(usage(athena.conversations, "day")) == 2
    assert usage(athena.conversations, "user")["bob"].tokens_in == 300


def test_answers_with_memories_are_counted_with_how_near_these_were(athena: Athena) -> None:
    known = athena.conversations.create().info.id
    for near in ([0.9, 0.5], [0.4], []):
        step = Step("recall", data={"recalled": [{"memory_id": "m", "relevance": value} for value in near]})
        answer = Answer("Why?", "Why?", "", "quote", "", abstained=False, verdict="answered", steps=(step,))
        athena.conversations.save_turn(known, answer)
    total = usage(athena.conversations, "day")["total"]
    assert (total.turns, total.recalls, total.relevance) == (3, 2, (0.4, 0.5, 0.9))


def test_the_command_prints_what_is_stored(athena: Athena, server: OllamaServer) -> None:
    athena.use(athena.settings.model_copy(update={"price_in": 0, "price_out": 0}))
    server.reply_with(Reply(ANSWER, prompt_tokens=None))
    athena.ask(QUESTION)
    folder = str(athena.settings.data_dir)
    done = CliRunner().invoke(app, ["usage", "--data-dir", folder, "--json"])
    total = json.loads(done.stdout)["total"]
    assert total["turns"] == 1 and total["cost"] is None and total["estimated"]
    assert "total" in CliRunner().invoke(app, ["usage", "--data-dir", folder, "--by", "day"]).stdout


def test_a_conversation_that_is_deleted_meanwhile_is_not_counted(
    athena: Athena, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, stays = (athena.conversations.create(title).info for title in ("Gone", "Stays"))
    listed = [gone, stays]
    monkeypatch.setattr(athena.conversations, "list", lambda **_: listed)
    athena.conversations.delete(gone.id)
    assert usage(athena.conversations, "day")["total"].turns == 0
