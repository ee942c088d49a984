"""A set is checked before it is asked; two runs are compared; what was embedded is kept."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from athena import open_athena
from athena.settings import Settings
from evals import indexing
from evals.answers import evaluate_answers
from evals.checking import check
from evals.comparing import compare_runs
from evals.datasets import load_corpus
from pipeline.errors import DatasetError
from tests.servers import OllamaServer, Reply


def queries(folder: Path, *rows: Mapping[str, Any]) -> None:
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


@pytest.fixture
def own(beir: Path, tmp_path: Path) -> Path:
    """A copy of the set, to be spoilt."""
    return Path(shutil.copytree(beir, tmp_path / "lunar"))


def test_a_sound_set_has_nothing_wrong(beir: Path) -> None:
    found = check(beir)
    assert (found.questions, found.documents, found.wrong, found.unjudged) == (4, 5, (), ())
    assert [*found.counts_for.values()] == [3, 3, 0, 0, 1]


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        ({"_id": "q1", "text": "Fan?"}, "questions whose id comes twice: q1"),
        ({"_id": "q9", "text": " "}, "questions without text: q9"),
        ({"_id": "q9", "text": "?", "answer": "purple"}, "q9: stands in no document: purple"),
        (
            {"_id": "q9", "text": "?", "spans": [{"source": "fan", "start": 4, "end": 999}]},
            "q9: stands in no",
        ),
        ({"_id": "q9", "text": "?", "answers": [{"text": "5 bar", "source": "fan"}]}, "q9: stands in no"),
        (
            {"_id": "q9", "text": "?", "answerable": False, "answer": "5 bar"},
            "not answerable and have an answer",
        ),
    ],
)
def test_what_is_wrong_is_named(own: Path, row: dict[str, Any], wrong: str) -> None:
    with (own / "queries.jsonl").open("a", encoding="utf-8") as file:
        file.write("\n" + json.dumps(row))
    (told,) = check(own).wrong
    assert wrong in told


def test_qrels_that_name_what_is_not_there(own: Path) -> None:
    (own / "qrels" / "test.tsv").write_text("q1\tmoon\t1\nq8\tfan\t1\n", encoding="utf-8")
    assert check(own).wrong == (
        "qrels of questions that are not there: q8",
        "documents in qrels that are not there: moon",
    )


def test_what_is_odd_is_named(own: Path) -> None:
    queries(own, {"_id": "q1", "text": "?", "anser": "OFFLINE"}, {"_id": "new", "text": "?"})
    found = check(own)
    assert found.unjudged == ("new",)
    assert found.odd == (
        "questions without judgement: they count for no share: new",
        "no answers: quotes count only as being of a relevant document",
        'no question with "answerable": false: abstaining cannot be measured',
        "the field 'anser' (1 lines) is not read",
    )


def test_a_changed_corpus_is_wrong_and_says_what_to_do(own: Path, tmp_path: Path) -> None:
    manuals = tmp_path / "manuals"
    manuals.mkdir()
    (manuals / "fan.md").write_text("# Fan\n\nIt hums.\n", encoding="utf-8")
    queries(own, {"_id": "q1", "text": "?", "answers": ["hums"]})
    (own / "qrels" / "test.tsv").write_text("q1\tfan.md#Fan\t1\n", encoding="utf-8")
    (own / "dataset.json").write_text('{"version": 1, "corpus": "manuals", "sha256": "00"}', encoding="utf-8")
    (told,) = check(own, corpus=manuals).wrong
    assert "the corpus has changed" in told
    assert "python -m evals.spans" in told


# -- runs ---------------------------------------------------------------------------------------------


def run(path: Path, dataset: str = "lunar", **scores: float) -> Path:
    per_question = {name: {"nDCG@10": score} for name, score in scores.items()}
    path.write_text(
        json.dumps({"dataset": dataset, "per_question": per_question, "more": 1}), encoding="utf-8"
    )
    return path


def test_two_runs_are_paired_by_question(tmp_path: Path) -> None:
    many = {f"q{number}": 0.25 for number in range(40)}
    a = run(tmp_path / "a.json", **many, gone=1.0)
    b = run(tmp_path / "b.json", **dict.fromkeys(many, 0.75), new=1.0)
    found = compare_runs(a, b)
    (better,) = found.comparisons
    assert (better.a, better.b, better.difference, better.verdict) == ("b", "a", 0.5, "better")
    assert (found.questions, found.left_out) == (40, ("gone", "new"))
    (worse,) = compare_runs(b, a).comparisons
    assert (worse.difference, worse.verdict) == (-0.5, "worse")
    (same,) = compare_runs(a, a).comparisons
    assert (same.difference, same.verdict) == (0.0, "noise")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"dataset": "lunar", "per_q', "is not JSON, or cut off"),
        ('{"dataset": "lunar"}', "is no run: per_question"),
        ('{"dataset": "lunar", "per_question": {"q1": {"hit": NaN}}}', "per_question.q1.hit"),
        ('{"dataset": "solar", "per_question": {}}', "a run over lunar"),
        ('{"dataset": "lunar", "per_question": {}}', "have no question in common"),
    ],
)
def test_what_cannot_be_compared_is_an_error(tmp_path: Path, text: str, problem: str) -> None:
    a, b = run(tmp_path / "a.json", q1=1.0), tmp_path / "b.json"
    b.write_text(text, encoding="utf-8")
    with pytest.raises(DatasetError, match=problem):
        compare_runs(a, b)


# -- indexes and answers ------------------------------------------------------------------------------


def test_a_corpus_is_embedded_once_until_it_changes(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded: list[int] = []
    index_corpus = indexing.index_corpus

    def counting(*args: Any, **given: Any) -> indexing.Indexed:
        before = given["store"].sentences.count()
        done = index_corpus(*args, **given)
        embedded.append(done.sentences - before)
        return done

    monkeypatch.setattr(indexing, "index_corpus", counting)
    athena = open_athena(Settings(data_dir=tmp_path / "data", llm="none", rerank=False))
    first, again = evaluate_answers(athena, own), evaluate_answers(athena, own)
    with (own / "corpus.jsonl").open("a", encoding="utf-8") as file:
        file.write('\n{"_id": "new", "text": "A lamp hangs here."}')
    evaluate_answers(athena, own)
    assert embedded[0] > 0
    assert embedded == [first.sentences, 0, first.sentences + 1]
    assert again.metrics == first.metrics
    assert len(list((tmp_path / "data" / indexing.KEPT).iterdir())) == 2
    assert len(load_corpus(own)) == 6


def test_a_model_that_invents_is_found_out_without_trulens(beir: Path, tmp_path: Path) -> None:
    """What it writes is scored, not only what would be quoted."""
    with OllamaServer() as server:
        server.answer = lambda messages: Reply(
            ("A broken fan is replaced by 7 purple engines every week [1].",)
        )
        settings = Settings(
            data_dir=tmp_path / "data", llm="ollama/llama3.2", ollama_url=server.url, rerank=False, hyde="off"
        )
        found = evaluate_answers(open_athena(settings), beir, failures=True)
        quotes = evaluate_answers(open_athena(settings.model_copy(update={"llm": "none"})), beir)
    assert (found.llm, quotes.llm) == ("ollama/llama3.2", "")
    assert quotes.metrics["any_quote"] == 1
    assert found.metrics["answer_right"] == 0
    assert found.metrics["groundedness"] == 0
    assert (quotes.metrics["answer_right"], quotes.metrics["groundedness"]) == (None, 1)
    assert "not supported" in str(found.failures[0]["problems"])
