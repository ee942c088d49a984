"""Cases: made of what was asked, passing, failing, moved with their manual, and what follows of a replay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from athena import Athena, open_athena
from athena.settings import Settings
from evals.cases import gold_at, locate, new_case, replay
from pipeline.errors import UnknownConversation
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
