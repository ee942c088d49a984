"""Cases: made of what was asked, passing, failing, moved with their manual, and what follows of a replay."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from athena import Athena, open_athena
from athena.cli import app
from athena.settings import Settings
from evals.case_folders import read_cases
from evals.cases import gold_at, locate, new_case, replay
from evals.datasets import load_corpus, load_qrels, load_queries
from pipeline.errors import DatasetError, UnknownConversation
from pipeline.messages import Message
from pipeline.stores.cases import Case

VALVES = """# Valves

## LN2 tank

The LN2 tank shows OFFLINE when its switch is off. Close CB-4 first.

## Water tank

The water tank holds nine litres. Its valve opens at 5 bar.
"""
CREW = "# Crew\n\n## Sleep\n\nThe crew sleeps for seven hours.\n"
NINE = "The water tank holds nine litres."


@pytest.fixture
def athena(tmp_path: Path) -> Iterator[Athena]:
    """Athena without a language model, over two files in `manuals`."""
    (tmp_path / "manuals").mkdir()
    (tmp_path / "manuals" / "valves.md").write_text(VALVES, encoding="utf-8")
    (tmp_path / "manuals" / "crew.md").write_text(CREW, encoding="utf-8")
    with open_athena(Settings(data_dir=tmp_path / "data", llm="none", cross_encoder="none")) as opened:
        opened.ingest([tmp_path / "manuals"])
        yield opened


def case(athena: Athena, question: str, quote: str = "", source: str = "valves.md", **given: object) -> Case:
    """A case whose gold is a quote of a file; without one, it should abstain."""
    document = athena.store.sections.document(source)
    at = document.text.find(quote)
    gold = (gold_at(document, at, at + len(quote)),) if quote else ()
    made = Case(id=question, question=question, created_at=1.0, gold=gold)
    return replace(made, **given)  # type: ignore[arg-type]


def outcomes(athena: Athena, *cases: Case) -> list[bool | None]:
    return [found.passed for found in replay(athena, cases)]


def test_a_case_of_an_answer_has_the_question_its_history_and_its_scope(athena: Athena) -> None:
    first = athena.ask("What does the LN2 tank show?", paths="valves.md")
    athena.ask("What does it show?", conversation_id=first.conversation_id)
    second = athena.ask("And the water tank?", conversation_id=first.conversation_id)
    conversation = athena.conversations.get(first.conversation_id)
    made = new_case(conversation, second.turn_id, gold=second.citations[:1])
    assert (made.question, made.scope, made.user) == ("And the water tank?", ("valves.md",), "local")
    assert (made.turn_id, made.gold) == (second.turn_id, second.citations[:1])
    asked = [message.text for message in made.history if message.role == "user"]
    assert asked == ["What does the LN2 tank show?", "What does it show?"]
    assert "[1]" not in str(made.history) and made.history[1].role == "assistant"
    assert new_case(conversation, first.turn_id).history == ()
    with pytest.raises(UnknownConversation):
        new_case(conversation, "gone")


def test_a_case_of_another_version_has_what_that_follows(athena: Athena) -> None:
    begun = athena.ask("What does the LN2 tank show?")
    chat = athena.chat(conversation_id=begun.conversation_id)
    *_, last = chat.run("How long does the crew sleep?", instead_of=begun.turn_id)
    conversation = athena.conversations.get(begun.conversation_id)
    assert [turn.id for turn in conversation.aside] == [begun.turn_id]
    assert new_case(conversation, begun.turn_id).question == "What does the LN2 tank show?"
    assert new_case(conversation, last.answer.turn_id).history == ()  # type: ignore[union-attr]


def test_gold_of_a_section_or_a_sentence_says_where_it_stands(athena: Athena) -> None:
    document = athena.store.sections.document("valves.md")
    gold = case(athena, "?", NINE).gold[0]
    assert document.text[gold.start : gold.end] == gold.quote == NINE
    assert (gold.heading_path[-1], gold.start_line, gold.end_line) == ("Water tank", 9, 9)
    section = next(s for s in document.sections if s.node_id == gold.section_id)
    whole = gold_at(document, section.start_char_idx or 0, section.end_char_idx or 0)
    assert whole.quote == section.text and whole.section_id == gold.section_id


def test_what_shows_its_gold_or_rightly_abstains_passes(athena: Athena) -> None:
    asked = "How many litres does the water tank hold?"
    section = case(athena, asked, "The water tank holds nine litres. Its valve opens at 5 bar.", id="section")
    right, wrong = case(athena, asked, NINE), case(athena, asked, "seven hours", "crew.md", id="wrong")
    abstains, answers = case(athena, "Who won the football cup final?"), case(athena, asked, id="answers")
    assert outcomes(athena, right, section, wrong, abstains, answers) == [True, True, False, True, False]
    why = [found.why for found in replay(athena, [wrong, answers])]
    assert why[0].startswith("It shows valves.md › ") and why[1] == "It answered; the documents do not."
    missed = case(athena, "Who won the football cup final?", NINE, id="missed")
    assert next(replay(athena, [missed])).why == "It abstained."


def test_a_follow_up_is_asked_after_its_history(athena: Athena) -> None:
    said = (Message("user", "What is the water tank?"), Message("assistant", NINE))
    follow_up = case(athena, "And when does its valve open?", "Its valve opens at 5 bar.", history=said)
    assert outcomes(athena, follow_up) == [True]


def test_how_it_went_is_kept_but_with_other_settings_nothing_is(athena: Athena) -> None:
    asked = case(athena, "How many litres does the water tank hold?", NINE)
    athena.cases.put(asked)
    assert [found.state for found in locate(athena.cases.list(), athena.store.sections)] == ["new"]
    others = athena.settings.model_copy(update={"answerable_threshold": 1.0})
    (tried,) = replay(athena, athena.cases.list(), settings=others)
    assert (tried.passed, athena.cases.list()) == (False, [asked])
    (found,) = replay(athena, athena.cases.list())
    (kept,) = athena.cases.list()
    assert found.state == "passing" and kept.passed and kept.passed_at == kept.replayed_at > 0
    athena.use(others)
    (found,) = replay(athena, athena.cases.list())
    assert found.state == "failing" and found.regressed
    (again,) = athena.cases.list()
    assert (again.passed, again.passed_at) == (False, kept.passed_at)
    assert next(replay(athena, [again])).regressed  # until it is mended, not only the first time


def test_gold_is_found_again_where_the_manual_moved_it_and_said_to_be_lost_where_not(
    athena: Athena, tmp_path: Path
) -> None:
    athena.cases.put(case(athena, "How many litres does the water tank hold?", NINE))
    manual = tmp_path / "manuals" / "valves.md"
    manual.write_text(VALVES.replace("# Valves\n", "# Valves\n\nRead this first.\n"), encoding="utf-8")
    athena.ingest([manual.parent])
    (located,) = locate(athena.cases.list(), athena.store.sections)
    assert located.state == "moved" and located.case.gold[0].quote == NINE
    (found,) = replay(athena, athena.cases.list())
    assert (
        found.passed
        and athena.store.sections.document("valves.md").text[
            slice(found.case.gold[0].start, found.case.gold[0].end)
        ]
        == NINE
    )
    assert [state.state for state in locate(athena.cases.list(), athena.store.sections)] == ["passing"]
    manual.write_text(VALVES.replace(NINE, "It was taken out."), encoding="utf-8")
    athena.ingest([manual.parent])
    (found,) = replay(athena, athena.cases.list())
    assert (found.state, found.passed, found.regressed) == ("moved", None, False)
    assert "does not say any more" in found.why and athena.cases.list()[0].passed_at > 0


# -- with other settings, and the command ----------------------------------------------------------------


def invoked(athena: Athena, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["eval", "cases", "--data-dir", str(athena.settings.data_dir), *arguments])


@pytest.fixture
def on_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATHENA_LLM", "none")
    monkeypatch.setenv("ATHENA_CROSS_ENCODER", "none")


@pytest.mark.usefixtures("on_the_command_line")
def test_the_command_fails_where_one_that_passed_before_does(athena: Athena) -> None:
    nothing = invoked(athena)
    assert nothing.exit_code == 0 and "There is no case yet" in nothing.stdout
    right = case(athena, "How many litres does the water tank hold?", NINE)
    wrong = case(athena, "How long does the crew sleep?", NINE, id="wrong")
    athena.cases.put(right, wrong)
    done = invoked(athena, "--json")
    shape = json.loads(done.stdout)
    assert done.exit_code == 0 and shape["states"] == {"passing": 1, "failing": 1, "moved": 0}
    assert [one["before"] for one in shape["results"]] == [None, None] and shape["advice"] is None
    text = invoked(athena).stdout
    assert "failing" in text and "It shows crew.md" in text and max(map(len, text.splitlines())) <= 80
    tried = invoked(athena, "--set", "answerable_threshold=1", "--json")
    shape = json.loads(tried.stdout)
    assert tried.exit_code == 1 and shape["regressed"] == [right.id]
    assert shape["settings"] == {"answerable_threshold": "1"} and shape["advice"]["keep"] == "too few"
    assert shape["advice"]["missing"] > 0
    assert [kept.passed for kept in athena.cases.list()] == [True, False]  # what is tried is not kept
    said = invoked(athena, "--set", "answerable_threshold=1").stdout
    assert "Too few cases to tell" in said and "passed before" in said


@pytest.mark.usefixtures("on_the_command_line")
@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        ("alpha", 2, "is not NAME=VALUE"),
        ("alpha=7", 1, "ATHENA_ALPHA cannot be '7'"),
        ("alhpa=0.5", 1, "Did you mean 'alpha'?"),
        ("data_dir=other", 1, "no answer over this index depends on it"),
    ],
)
def test_a_setting_that_cannot_be_tried_is_refused(athena: Athena, given: str, code: int, said: str) -> None:
    athena.cases.put(case(athena, "How many litres does the water tank hold?", NINE))
    done = invoked(athena, "--set", given)
    assert done.exit_code == code and said in " ".join(done.output.replace("│", " ").split())


@pytest.mark.usefixtures("on_the_command_line")
def test_a_folder_has_all_of_the_cases_and_gives_them_back(athena: Athena, tmp_path: Path) -> None:
    said = (Message("user", "What is the water tank?"), Message("assistant", NINE))
    kept = [
        case(
            athena, "And what does it hold?", NINE, id=str(uuid.uuid4()), history=said, scope=("valves.md",)
        ),
        case(athena, "Who won the football cup final?", id=str(uuid.uuid4())),
    ]
    athena.cases.put(*kept)
    folder = tmp_path / "exported"
    assert invoked(athena, "--export", str(folder)).exit_code == 0
    assert invoked(athena, "--export", str(folder)).exit_code == 1  # it is there already
    (document,) = load_corpus(folder)
    assert document.id == "valves.md#Valves > Water tank" and NINE in document.text
    gold = {query.id: [span.source for span in query.gold] for query in load_queries(folder)}
    assert gold == {kept[0].id: [""], kept[1].id: []}  # the corpus has no such file
    assert load_qrels(folder, "test") == {kept[0].id: {document.id: 1}}
    assert {query.id: query.answerable for query in load_queries(folder)} == {
        kept[0].id: True,
        kept[1].id: False,
    }
    athena.cases.delete(*(one.id for one in kept))
    assert invoked(athena, "--import", str(folder)).exit_code == 0
    again = [replace(one, created_at=1.0) for one in athena.cases.list()]
    assert sorted(again, key=lambda one: one.question) == sorted(kept, key=lambda one: one.question)
    assert json.loads(invoked(athena, "--import", str(folder), "--user", "bob", "--json").stdout) == {
        "imported": 2
    }
    assert len(athena.cases.list("local")) == len(athena.cases.list("bob")) == 2
    both = ("--import", str(folder), "--export", str(tmp_path / "both"))
    assert json.loads(invoked(athena, *both, "--json").stdout) == {"imported": 2, "exported": 4}


def folder_of(tmp_path: Path, *rows: dict[str, object], qrels: str = "") -> Path:
    folder = tmp_path / "given"
    (folder / "qrels").mkdir(parents=True)
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (folder / "qrels" / "test.tsv").write_text(qrels, encoding="utf-8")
    return folder


def test_half_a_character_becomes_a_mark_that_can_be_kept(athena: Athena, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"_id": "\ud800", "text": "Who won \ud800?", "answerable": False})
    (found,) = read_cases(folder, athena.store.sections, user="ann")
    athena.cases.put(found)
    assert found.question == "Who won ??"


def test_questions_of_any_folder_become_cases_by_answers_or_judged_sections(
    athena: Athena, tmp_path: Path
) -> None:
    folder = folder_of(
        tmp_path,
        {"_id": "q1", "text": "How many litres?", "answers": [{"text": "holds nine  litres"}]},
        {"_id": "q2", "text": "How long does the crew sleep?"},
        {
            "_id": "q5",
            "text": "What opens?",
            "answer": "at 5 bar",
            "spans": [
                {"source": "crew.md", "start": 0, "end": 6},
                {"source": "gone.md", "start": 0, "end": 6},
            ],
        },
        {"_id": "q3", "text": "Who lost?", "answers": [{"text": "stands nowhere"}]},
        {"_id": "q4", "text": "Who won?", "answerable": False},
        qrels="q2\tcrew.md#Crew > Sleep\t1\n",
    )
    first, second, fifth, third, fourth = read_cases(folder, athena.store.sections, user="ann")
    assert first.gold[0].quote == "holds nine litres" and first.gold[0].source == "valves.md"
    assert second.gold[0].heading_path[-1] == "Sleep" and "seven hours" in second.gold[0].quote
    assert [gold.quote for gold in fifth.gold] == ["at 5 bar", "# Crew"]  # where else it stands, too
    assert fourth.gold == () and fourth.user == "ann"
    (located,) = locate([third], athena.store.sections)
    assert located.state == "moved" and located.lost == third.gold
    assert read_cases(folder, athena.store.sections, user="ann")[0].id == first.id


def test_an_id_that_two_questions_have_is_refused(athena: Athena, tmp_path: Path) -> None:
    rows = ({"_id": "q1", "text": text, "answerable": False} for text in ("Who won?", "Who lost?"))
    with pytest.raises(DatasetError, match=r"The id 'q1' comes twice in '.*queries\.jsonl'"):
        read_cases(folder_of(tmp_path, *rows), athena.store.sections, user="ann")


def test_a_question_of_which_nothing_says_what_answers_it_is_refused(athena: Athena, tmp_path: Path) -> None:
    spans = [{"source": "gone.md", "start": 0, "end": 6}]
    folder = folder_of(tmp_path, {"_id": "q1", "text": "Why?", "spans": spans}, qrels="q1\tgone.md#Gone\t1\n")
    with pytest.raises(DatasetError, match="Nothing says what answers question 'q1'"):
        read_cases(folder, athena.store.sections, user="ann")
