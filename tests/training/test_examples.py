"""Questions as they are typed in a hurry, and what is drawn of the data."""

from random import Random

from training.augment import hurried, keywords, mistyped
from training.data import Data, Negatives, Question, Section
from training.examples import Examples, held_out_examples

HELD_OUT, TRAINED_ON = "juanfont/headscale", "ory/docs"  # by the hashes of their names


def test_keywords_keep_what_turns_the_meaning() -> None:
    assert keywords("Why is the pump not running?") == "pump not running"
    assert keywords("What is it?") == "What is it?"


def test_a_slip_keeps_the_first_and_last_letter() -> None:
    words = {mistyped("coolant", Random(seed)) for seed in range(50)}
    assert "coolant" not in words - {"coolant"}
    assert all(word.startswith("c") and word.endswith("t") and 6 <= len(word) <= 8 for word in words)


def test_an_earlier_question_stands_before_the_one_that_counts() -> None:
    asked = {hurried("Who is the pilot?", Random(seed), before="How do I find a leak?") for seed in range(99)}
    assert "Who is the pilot?" in asked
    assert "How do I find a leak? Who is the pilot?" in asked
    assert any(one == "who is the pilot" for one in asked)


def test_held_out_repositories_are_never_drawn_and_the_same_seed_draws_the_same() -> None:
    data = both()
    assert data.held_out() == {HELD_OUT}
    drawn = [Examples(data, Random(7)).draw(200, progress=0.05) for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert not any(HELD_OUT in text for one in drawn[0] for text in (one.question, *one.passages))
    assert all(len(set(one.passages)) == 4 for one in drawn[0])

    (held_out,) = held_out_examples(data, number=5)
    assert held_out.passages[0].startswith(f"{HELD_OUT} 0 ")
    assert len(held_out.passages) == 8


def both() -> Data:
    """A repository that is held out and one that is not, with thirty sections each and one question."""
    sections = [
        Section(name, "a.md", (f"Part number {number}",), f"{name} {number} " + "word " * 30)
        for name in (HELD_OUT, TRAINED_ON)
        for number in range(30)
    ]
    questions = [Question("How many parts are there?", "question", first) for first in (0, 30)]
    negatives = {
        one: Negatives(one, tuple(range(30 * one + 2, 30 * one + 20)), (30 * one + 1,)) for one in (0, 1)
    }
    return Data(sections, questions, negatives)
