"""Judges: rules by hand, a model on a fake server that answers, stalls, breaks off and talks nonsense."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from athena import open_athena
from athena.assistant import Athena
from athena.cli import app
from athena.settings import Settings
from evals.answers import evaluate_answers
from evals.datasets import held_out
from evals.judges import CASES, RIGHT, TESTED, Scores, load_cases, open_judge, try_judge
from evals.rules import Similarity, abstains, rule_on
from evals.support import GivenPassage, evidence_for
from pipeline.answering.verification import Judge
from pipeline.errors import ConfigurationError, DatasetError, ModelError, ModelTimeout, ModelUnavailable
from tests.servers import Messages, OllamaServer, Reply

GRADE = json.dumps({"reason": "so it says", "score": 2})
SENTENCES = json.dumps({"sentences": [{"number": 1, "reason": "so it says", "score": 3}]})


def graded(*texts: str) -> list[Reply]:
    return [Reply((text,)) for text in texts]


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    with OllamaServer() as server:
        yield server


@pytest.fixture
def athena(server: OllamaServer, tmp_path: Path) -> Iterator[Athena]:
    settings = Settings(
        data_dir=tmp_path / "data", llm="none", ollama_url=server.url, request_timeout_s=1, rerank=False
    )
    athena = open_athena(settings)
    yield athena
    athena.close()


# -- by rule ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "reference", "accepted", "why"),
    [
        ("The pump runs at 4200 rpm.", "At 4200 rpm.", True, ""),
        ("The pump runs at 2400 rpm.", "At 4200 rpm.", False, "not supported"),
        ("The pump runs.", "At 4200 rpm.", False, "lacks 4200"),
        ("Set `MODE RUN` now.", "Use `MODE RUN`.", False, "not supported"),
        ("The documents do not say that.", "At 4200 rpm.", False, "abstained"),
        ("The documents do not say that.", "", True, ""),
        ("The pump runs at 4200 rpm.", "", False, "should have abstained"),
        ("The pump runs smoothly.", "It is worn when it clicks.", False, "says 0%"),
    ],
)
def test_rules_by_hand(athena: Athena, said: str, reference: str, accepted: bool, why: str) -> None:
    passages = [
        GivenPassage(source="pump.md", heading_path=("Pump",), text="The pump runs at 4200 rpm, smoothly.")
    ]
    evidence = evidence_for(passages, cutter=athena.sentence_cutter(), encoder=athena.encoder)
    ruling = rule_on(said, reference=reference, judge=Judge(evidence, encoder=athena.encoder))
    assert (ruling.accepted, ruling.reason.startswith(why)) == (accepted, True), ruling


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I couldn't find that in the manuals.", True),
        ("No thickness is given in the documents.", True),
        ("The tank is not vented while the lander approaches.", False),
        ("The manuals do not say so. The tank holds 58 kg.", False),
    ],
)
def test_what_an_abstention_reads_like(text: str, expected: bool) -> None:
    assert abstains(text) is expected


def test_rules_refuse_wrong_answers_and_accept_right_ones(athena: Athena) -> None:
    report = try_judge(athena, "rules")
    assert report.cases == 60
    assert {label: count["of"] for label, count in report.accepted.items()} == dict.fromkeys(
        report.accepted, 10
    )
    assert len(report.accepted) == 6
    assert report.wrong_accepted <= 0.3
    assert report.right_accepted >= 0.9
    held = [case for case in load_cases(CASES) if held_out(case.id)]
    assert {label: count["of"] for label, count in report.held_out.items()} == dict.fromkeys(
        report.accepted, 5
    )
    right = [report.held_out[label]["accepted"] for label in RIGHT]
    wrong = sum(count["accepted"] for label, count in report.held_out.items() if label not in RIGHT)
    assert (len(held), sum(right) >= 9, wrong <= 8) == (30, True, True)


def test_the_nearer_text_is_more_alike() -> None:
    similarity = Similarity()
    near, far = (similarity("Two hours.", text) for text in ("It lasts two hours.", "Radishes grow."))
    assert 0 <= far < near <= 1
    assert (similarity("Two hours.", "Two hours."), similarity("Two hours.", " ")) == (1.0, 0.0)


# -- by a model ---------------------------------------------------------------------------------------


def test_a_model_scores_three_things_at_temperature_0(server: OllamaServer, athena: Athena) -> None:
    server.reply_with(*graded(f"Well: {GRADE} I think.", SENTENCES, GRADE))
    scores = open_judge(athena, "ollama/llama3.2").scores("How fast?", ["It runs at 4200 rpm."], "4200 rpm.")
    assert scores == Scores(
        "ollama/llama3.2",
        context_relevance=pytest.approx(2 / 3),
        groundedness=1.0,
        answer_relevance=pytest.approx(2 / 3),
        sentences=({"text": "4200 rpm.", "score": 1.0, "reason": "so it says"},),
        reasons={"context_relevance": "so it says", "answer_relevance": "so it says"},
    )
    assert scores.accepts is True
    asked = [request.body for request in server.requests if request.path == "/api/chat"]
    assert [body["options"]["temperature"] for body in asked] == [0.0] * 3
    assert "1: 4200 rpm." in asked[1]["messages"][-1]["content"]
    words = {re.search(r"</data (\w{8})>\n\nReply", body["messages"][-1]["content"]) for body in asked}
    assert None not in words


@pytest.mark.parametrize(
    "nonsense",
    [
        "I would say it is fine.",
        '{"score": 7}',
        '{"score": "good"}',
        "{" * 5000,
        '{"sentences": [{"number": 2, "score": 3}]}',
        "[1, 2",
    ],
)
def test_a_reply_that_does_not_parse_is_counted_and_is_not_0(
    server: OllamaServer, athena: Athena, nonsense: str
) -> None:
    server.reply_with(*graded(GRADE, nonsense, nonsense))
    scores = open_judge(athena, "ollama/llama3.2").scores("How fast?", ["It runs."], "It runs.")
    assert (scores.groundedness, scores.answer_relevance, scores.accepts) == (None, None, None)
    assert scores.unparsed == ("groundedness", "answer_relevance")


def test_what_does_not_come_is_told_and_three_in_a_row_end_it(server: OllamaServer, athena: Athena) -> None:
    fault = Reply((GRADE[:9], GRADE[9:]), cut_after=1)
    server.reply_with(*graded(GRADE), fault, fault, *graded(GRADE))
    judge = open_judge(athena, "ollama/llama3.2")
    scores = judge.scores("How fast?", ["It runs."], "It runs.")
    assert scores.groundedness is None
    assert "groundedness" in scores.failed
    server.reply_with(*[fault] * 12)
    with pytest.raises(ModelError, match="failed 3 times in a row"):
        for _ in range(2):
            judge.scores("How fast?", ["It runs."], "It runs.")


def test_a_judge_that_is_silent_from_the_beginning_is_not_waited_for_again(
    server: OllamaServer, athena: Athena
) -> None:
    server.reply_with(*[Reply(stall_before_headers=True)] * 3)
    with pytest.raises(ModelTimeout, match=r"no reply in time: .*sent nothing for 1 s") as raised:
        open_judge(athena, "ollama/llama3.2").scores("How fast?", ["It runs."], "It runs.")
    assert "ATHENA_REQUEST_TIMEOUT_S" in raised.value.fix  # which ends this wait, too
    assert len([request for request in server.requests if request.path == "/api/chat"]) == 1


def test_a_judge_that_falls_silent_is_waited_for_twice_and_not_again(
    server: OllamaServer, athena: Athena
) -> None:
    server.reply_with(*graded(GRADE), *[Reply(stall_before_headers=True)] * 6)
    with pytest.raises(ModelTimeout, match="no reply in time"):
        open_judge(athena, "ollama/llama3.2").scores("How fast?", ["It runs."], "It runs.")
    assert len([request for request in server.requests if request.path == "/api/chat"]) == 3


def test_of_a_judge_that_breaks_off_nothing_is_said_to_be_kept(server: OllamaServer, athena: Athena) -> None:
    server.reply_with(*[Reply((GRADE[:9], GRADE[9:]), cut_after=1)] * 3)
    with pytest.raises(ModelError, match="broke off") as raised:
        open_judge(athena, "ollama/llama3.2").scores("How fast?", ["It runs."], "It runs.")
    assert "kept" not in str(raised.value)


@pytest.mark.parametrize("name", ["foo", "foo/bar", "none", "rules", "ollama/", ""])
def test_a_judge_that_names_no_model_is_told_so_in_words_of_a_judge(athena: Athena, name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"The judge '{name}' names no model") as raised:
        open_judge(athena, name)
    assert "ATHENA_LLM" not in str(raised.value)


def test_a_judge_that_cannot_be_reached_is_an_error_before_anything_is_asked(
    athena: Athena, server: OllamaServer, beir: Path
) -> None:
    with pytest.raises(ModelUnavailable, match="The judge 'ollama/absent' cannot be asked") as raised:
        evaluate_answers(athena, beir, judge="ollama/absent")
    assert "pull" in raised.value.fix


def test_a_damaged_test_of_a_judge_is_named(athena: Athena) -> None:
    kept = athena.settings.data_dir / TESTED / "ollama%2Fllama3.2.json"
    kept.parent.mkdir(parents=True)
    for damaged in ('{"judge": "oll', "{}", "[]"):
        kept.write_text(damaged)
        with pytest.raises(DatasetError, match="it is no test of a judge, or cut off"):
            open_judge(athena, "ollama/llama3.2")


def test_a_judge_whose_replies_do_not_parse_has_no_share(
    server: OllamaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answer = lambda _: Reply(("Purple monkeys sing {{{",))
    monkeypatch.setenv("ATHENA_OLLAMA_URL", server.url)
    cases = tmp_path / "cases.jsonl"
    case = {"_id": "a", "question": "How fast?", "answer": "At 4200 rpm.", "label": "right", "passages": []}
    cases.write_text(json.dumps(case), encoding="utf-8")
    command = ["eval", "judge", "--judge", "ollama/llama3.2", "--cases", str(cases)]
    found = CliRunner().invoke(app, [*command, "--data-dir", str(tmp_path / "data")])
    assert found.exit_code == 1
    assert "right accepted -, others -; 1 said nothing" in found.stdout
    assert "0%" not in found.stdout and "0 of 1" not in found.stdout


def test_judged_scores_stand_beside_those_by_rule_with_the_judges_own_test(
    athena: Athena, server: OllamaServer, beir: Path
) -> None:
    def answer(messages: Messages) -> Reply:
        return Reply((SENTENCES if "Sentences of the answer" in messages[-1]["content"] else GRADE,))

    server.answer = answer
    tested = try_judge(athena, "ollama/llama3.2")
    assert tested.cases == 60
    found = evaluate_answers(athena, beir, judge="ollama/llama3.2")
    assert found.judge is not None
    assert found.judge["judge"] == "ollama/llama3.2"
    assert found.judge["metrics"]["answer_relevance"] == pytest.approx(2 / 3)
    assert found.judge["tested"]["wrong_accepted"] == tested.wrong_accepted
    assert set(found.judge["scores"]) == {"q1", "q2", "q3", "q4"}
    assert found.metrics["any_quote"] == 1
    assert found.metrics["groundedness"] == 1
