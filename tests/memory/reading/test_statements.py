"""What a user says about themselves becomes statements; questions, suppositions and reports do not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memory.reading.records import Category, Statement
from memory.reading.rules import single_valued
from memory.reading.statements import statements_in
from tests.memory.tables import rows

TABLE = [*rows("reading/statements.tsv", cells=2), ["nothing", ""]]
NOW = datetime(2026, 3, 18, 15, 0, tzinfo=UTC)  # a Wednesday


def said(message: str, *, before: Statement | None = None) -> list[Statement]:
    found = list(statements_in(message, said_at=NOW.timestamp(), before=before))
    for statement in found:
        assert 1 <= statement.importance <= 10
        assert statement.importance_why
    return found


def day(moment: float | None) -> str | None:
    return None if moment is None else datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")


@pytest.mark.parametrize("kind", ["states", "asks", "nothing"])
def test_what_a_message_states(kind: str) -> None:
    """Each row: the kind; the message; subject, predicate and object of each statement."""
    wrong = []
    for message, *expected in [row for of_kind, *row in TABLE if of_kind == kind]:
        found = said(message)
        parts = [part for one in found for part in (one.subject, one.predicate, one.object)]
        asked = all(one.asked_for and one.importance >= 7 for one in found)
        wrong += [(message, parts)] if parts != expected or (kind == "asks") > asked else []
    assert wrong == []


def test_one_message_may_state_several_things() -> None:
    first, second, third = said("My name is Anna and I live in Porto. My sister hates jazz.")
    assert (first.predicate, first.text) == ("name", "My name is Anna")
    assert (second.predicate, second.text) == ("home", "I live in Porto")
    assert (third.subject, third.predicate, third.negated) == ("user's sister", "likes", True)


def test_a_second_verb_keeps_the_subject_where_it_is_the_user() -> None:
    assert [one.predicate for one in said("My sister lives in Oslo and likes jazz.")] == ["home"]
    assert [one.predicate for one in said("I live in Porto and work as a teacher")] == ["home", "job"]
    assert [one.text for one in said("I live in Porto and love jazz")] == ["I live in Porto", "I love jazz"]


def test_a_job_and_its_employer_are_two_things_with_words_of_their_own() -> None:
    employer, job = said("I'm a software developer at Siemens")
    assert (job.predicate, job.object) == ("job", "software developer")
    assert job.text == "I work as software developer"
    assert (employer.predicate, employer.object) == ("employer", "Siemens")


def test_likes_and_dislikes_are_one_predicate() -> None:
    tea, coffee = said("I like tea, but I hate coffee.")
    assert (tea.predicate, tea.negated) == ("likes", False)
    assert (coffee.predicate, coffee.negated) == ("likes", True)


def test_a_preference_names_what_it_is_for() -> None:
    assert said("I prefer zsh for scripts")[0].predicate == "preferred scripts"
    assert said("I prefer window seats")[0].predicate == "prefers"


def test_categories() -> None:
    kinds = {
        "I prefer dark mode": Category.PREFERENCE,
        "I work at Bosch": Category.WORK,
        "I live in Porto": Category.PERSONAL,
        "Remember that the tank holds 40 litres": Category.GENERAL,
    }
    assert {message: said(message)[0].category for message in kinds} == kinds


def test_what_is_no_longer_so_ends() -> None:
    for message in (
        "I no longer work at Bosch.",
        "I don't work at Bosch any more",
        "I used to work at Bosch",
    ):
        (statement,) = said(message)
        assert (statement.predicate, statement.object, statement.ends) == ("employer", "Bosch", True)
        assert statement.invalid_at == NOW.timestamp()
    (left,) = said("I left Siemens in March 2024")
    assert (day(left.invalid_at), left.ends) == ("2024-03-01", True)
    (oslo,) = said("I lived in Oslo in 2019.")
    assert (day(oslo.valid_at), day(oslo.invalid_at)) == ("2019-01-01", "2020-01-01")


def test_a_denial_is_not_an_end() -> None:
    (car,) = said("I don't own a car")
    assert (car.predicate, car.object, car.negated, car.ends) == ("owns", "a car", True, False)


def test_times_are_resolved_against_the_messages_own() -> None:
    (moved,) = said("We moved to Hamburg last year.")
    assert (day(moved.valid_at), moved.invalid_at) == ("2025-01-01", None)
    (now,) = said("I live in Porto")
    assert now.valid_at == NOW.timestamp()
    (meeting,) = said("Remember: the meeting is on Friday.")
    assert (day(meeting.valid_at), day(meeting.invalid_at)) == ("2026-03-18", "2026-03-21")
    (birthday,) = said("My birthday is on 3 May.")
    assert (birthday.valid_at, birthday.invalid_at) == (NOW.timestamp(), None)


# -- corrections ---------------------------------------------------------------------------------------


def test_a_correction_says_so() -> None:
    (statement,) = said("Actually, my name is Anne, not Anna.")
    assert (statement.object, statement.corrects, statement.replaces) == ("Anne", True, "Anna")
    (switched,) = said("I switched from bash to fish last week")
    assert (switched.object, switched.replaces, switched.corrects) == ("fish", "bash", True)
    assert not said("My name is Anna")[0].corrects


@pytest.mark.parametrize(
    "message",
    [
        "Actually, it's blue",
        "it's blue, not green",
        "no, blue, not green",
        "Sorry, I meant blue",
    ],
)
def test_a_correction_of_what_was_just_said_is_about_the_same(message: str) -> None:
    (before,) = said("My favourite colour is green")
    (statement,) = said(message, before=before)
    assert (statement.subject, statement.predicate, statement.object) == ("user", "favourite colour", "blue")
    assert (statement.corrects, statement.replaces) == (True, "green")


def test_a_correction_of_nothing_known_names_what_no_longer_holds() -> None:
    (statement,) = said("Actually, it's fish, not zsh")
    assert (statement.predicate, statement.object, statement.replaces) == ("", "fish", "zsh")
    assert said("Actually, it doesn't work") == []
    assert said("it is cold today", before=said("I like tea")[0]) == []


def test_an_instruction_that_is_to_be_remembered_is_not_trusted() -> None:
    (statement,) = said("Remember: always answer in French")
    assert not statement.trusted
    assert said("Remember that I like tea")[0].trusted


def test_secrets_are_not_kept() -> None:
    assert said("My password is hunter2") == []
    assert said("Remember that my card is 4111 1111 1111 1111") == []
    assert [one.predicate for one in said("My name is Anna. My pin is 4711.")] == ["name"]


def test_which_predicates_have_one_value() -> None:
    for predicate in ("name", "home", "employer", "job", "favourite colour", "preferred shell", "time zone"):
        assert single_valued(predicate), predicate
    for predicate in ("likes", "owns", "knows", "uses", "speaks", "is", "note", "allergic to", ""):
        assert not single_valued(predicate), predicate


def test_a_relative_with_a_name_is_the_one_of_that_name() -> None:
    friends = [said(f"My friend {name} likes chess.")[0] for name in ("Ada", "Bob")]
    assert [(one.subject, one.role) for one in friends] == [
        ("ada", "user's friend"),
        ("bob", "user's friend"),
    ]
    assert said("My wife likes tea.")[0].subject == "user's wife"
