"""What becomes of a new memory, case by case; times are days."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memory.deciding.decisions import Deciding
from memory.reading.intervals import UNKNOWN
from memory.reading.records import Statement
from memory.recalling.user_index import UserIndex
from pipeline.stores.memories import Memory, MemoryChanges, MemorySource, UserMemories
from tests.memory.fake_memories import FakeEncoder

NOW = 1000.0
ENCODER = FakeEncoder()


def memory(text: str, about: str = "", *, at: float = 1.0, **given: object) -> Memory:
    """A memory; `about` is "subject predicate object"."""
    subject, predicate, thing = (*about.split(maxsplit=2), "", "", "")[:3]
    return Memory(
        id=str(given.pop("id", text)),
        user="local",
        text=text,
        subject=subject,
        predicate=predicate,
        object=thing,
        valid_at=at,
        created_at=at,
        embedding=ENCODER.encode_query(text).tobytes(),
        embedded_by="fake",
        **given,  # type: ignore[arg-type]
    )


Candidate = tuple[Memory, Statement]


def said(memory: Memory, **given: object) -> Candidate:
    """A memory as it was said."""
    about = {name: getattr(memory, name) for name in ("subject", "predicate", "object")}
    return memory, Statement(**(about | given))  # type: ignore[arg-type]


def decided(known: list[Memory], *candidates: Candidate) -> tuple[dict[str, Memory], list[str]]:
    """All memories by text afterwards, and the outcomes."""
    index = UserIndex(UserMemories(user="local", version=1, memories=tuple(known)))
    deciding = Deciding(index=index, now=NOW)
    for candidate in candidates:
        deciding.decide(*candidate)
    index.follow(deciding.changes, version=2)
    return {item.text: item for item in index.memories.values()}, [item[0] for item in deciding.outcomes]


def home(text: str, place: str, *, at: float = 1.0, **given: object) -> Candidate:
    return said(memory(text, f"user home {place}", at=at, **given))


BERLIN = home("I live in Berlin.", "berlin")[0]
TEA = memory("I like tea.", "user likes tea")


def test_another_home_ends_the_one_before_and_nothing_else() -> None:
    kept, outcomes = decided([BERLIN, TEA], home("I moved to Munich.", "munich", at=5))
    assert outcomes == ["replaced"]
    assert (kept["I live in Berlin."].invalid_at, kept["I live in Berlin."].expired_at) == (5, NOW)
    assert kept["I moved to Munich."].live
    assert kept["I like tea."] == TEA


def test_what_is_told_late_is_history_at_once() -> None:
    kept, _ = decided([home("I live in Munich.", "munich", at=5)[0]], home("I live in Berlin.", "berlin"))
    assert kept["I live in Munich."].live
    assert kept["I live in Berlin."].invalid_at == 5


def test_a_move_replaces_an_undated_home_from_its_date_on() -> None:
    oslo = memory("I live in Oslo.", "user home oslo", at=700)
    moved = said(home("I moved to Bergen in March.", "bergen", at=300)[0], said_at=900)
    kept, outcomes = decided([oslo], moved)
    assert outcomes == ["replaced"]
    assert kept["I moved to Bergen in March."].live
    ended = kept["I live in Oslo."]
    assert (ended.valid_at, ended.invalid_at, ended.expired_at) == (UNKNOWN, 300, NOW)
    again = said(home("I live in Oslo.", "oslo", at=700, id="again")[0], said_at=700)
    assert decided([*kept.values()], again)[1] == ["known"]
    back = said(home("I live in Oslo.", "oslo", at=950, id="back")[0], said_at=950)
    assert decided([*kept.values()], back)[1] == ["replaced"]


@pytest.mark.parametrize("text", ["I live in Oslo since May.", "I moved to Oslo in May."])
def test_a_home_with_a_later_date_stays_whatever_is_told_after_it(text: str) -> None:
    oslo = memory(text, "user home oslo", at=700)
    kept, _ = decided([oslo], said(home("I moved to Bergen in March.", "bergen", at=300)[0], said_at=900))
    assert kept[text].live
    assert kept["I moved to Bergen in March."].invalid_at == 700


@pytest.mark.parametrize(
    ("before", "now"), [("I like tea.", "I hate tea."), ("I do not like tea.", "I like tea.")]
)
def test_a_denial_is_no_rewording_and_either_ends_the_other(before: str, now: str) -> None:
    kept, outcomes = decided([memory(before, "user likes tea")], said(memory(now, "user likes tea", at=5)))
    assert outcomes == ["replaced"]
    assert kept[now].live


def test_telling_the_past_again_adds_nothing() -> None:
    first, _ = decided([BERLIN], home("I moved to Munich.", "munich", at=5))
    again, outcomes = decided(
        [*first.values()],
        home("I live in Berlin.", "berlin", id="b2"),
        home("I moved to Munich.", "munich", at=5, id="m2"),
    )
    assert outcomes == ["known", "known"]
    assert again == first


def test_moving_back_is_new() -> None:
    first, _ = decided([BERLIN], home("I moved to Munich.", "munich", at=5))
    index_again, outcomes = decided([*first.values()], home("I live in Berlin.", "berlin", at=9, id="b2"))
    assert outcomes == ["replaced"]
    assert index_again["I moved to Munich."].invalid_at == 9


def test_a_future_home_ends_the_present_one_only_then() -> None:
    kept, _ = decided([BERLIN], home("From May on I live in Bonn.", "bonn", at=NOW + 5))
    assert (kept["I live in Berlin."].invalid_at, kept["I live in Berlin."].expired_at) == (NOW + 5, None)


def test_several_likes_stand_side_by_side() -> None:
    kept, outcomes = decided([TEA], said(memory("I like coffee.", "user likes coffee", at=5)))
    assert outcomes == ["added"]
    assert all(item.live for item in kept.values())


def test_the_same_statement_in_other_words_is_touched() -> None:
    kept, outcomes = decided([TEA], said(memory("Tea is what I like.", "user likes tea", at=5)))
    assert outcomes == ["touched"]
    assert list(kept) == ["I like tea."]
    assert (kept["I like tea."].accesses, kept["I like tea."].accessed_at) == (1, NOW)


def test_what_a_correction_names_ends() -> None:
    cello = memory("Clara plays the cello.", "clara plays cello")
    viola = said(
        replace(memory("not the cello, but the viola", at=5), object="viola"), corrects=True, replaces="cello"
    )
    kept, outcomes = decided([cello, TEA], viola)
    assert outcomes == ["replaced"]
    assert (kept["Clara plays the cello."].invalid_at, kept["Clara plays the cello."].expired_at) == (5, NOW)
    assert (kept["not the cello, but the viola"].subject, kept["not the cello, but the viola"].predicate) == (
        "clara",
        "plays",
    )
    assert kept["I like tea."] == TEA


def test_a_correction_that_may_mean_two_disputes() -> None:
    known = [
        memory("Clara plays the cello.", "clara plays cello"),
        memory("Ada sold a cello.", "ada sold cello"),
    ]
    wrong = said(memory("not the cello, but the viola", at=5), corrects=True, replaces="cello")
    kept, outcomes = decided(known, wrong)
    assert outcomes == ["disputed"]
    assert len({item.disputed for item in kept.values()}) == 1
    assert all(item.live and item.disputed for item in kept.values())


def test_two_homes_in_one_message_are_disputed() -> None:
    source = (MemorySource(turn_id="t1"),)
    kept, outcomes = decided(
        [],
        home("I live in Berlin.", "berlin", sources=source),
        home("I live in Bonn.", "bonn", sources=source),
    )
    assert outcomes == ["added", "disputed"]
    assert all(item.live and item.disputed for item in kept.values())


def test_what_ends_ends() -> None:
    job = memory("I work at Acme.", "user employer acme")
    over = said(memory("I no longer work at Acme.", "user employer acme", at=7), ends=True)
    kept, _ = decided([job, TEA], over)
    assert kept["I work at Acme."].invalid_at == 7
    assert kept["I like tea."].live


@pytest.mark.parametrize("said_at", [7.0, 20.0])
def test_what_ends_is_over_from_its_end_on(said_at: float) -> None:
    job = memory("I work at Acme.", "user employer acme", at=5)
    over = memory("I no longer work at Acme.", "user employer acme", at=UNKNOWN, invalid_at=7)
    kept, outcomes = decided([job], said(over, ends=True, said_at=said_at))
    assert outcomes == ["replaced"]
    assert (kept["I work at Acme."].invalid_at, kept["I work at Acme."].expired_at) == (7, NOW)


def test_what_was_over_before_it_was_told_is_over() -> None:
    job = memory("I work at Acme.", "user employer acme", at=9)
    over = memory("I left Acme in March.", "user employer acme", at=UNKNOWN, invalid_at=7)
    kept, _ = decided([job], said(over, ends=True, said_at=12))
    ended = kept["I work at Acme."]
    assert (ended.valid_at, ended.invalid_at, ended.expired_at) == (UNKNOWN, 7, NOW)


def test_a_dislike_ends_the_like_of_the_same_thing() -> None:
    coffee = memory("I like coffee.", "user likes coffee")
    no = said(memory("I do not like tea.", "user likes tea", at=7), negated=True)
    kept, _ = decided([TEA, coffee], no)
    assert not kept["I like tea."].live
    assert kept["I like coffee."].live
    assert kept["I do not like tea."].live


@pytest.mark.parametrize("trusted", [True, False])
def test_what_is_not_trusted_replaces_and_disputes_nothing(trusted: bool) -> None:
    kept, outcomes = decided([BERLIN], home("I live in Munich.", "munich", at=5, trusted=trusted))
    assert kept["I live in Berlin."].live is not trusted
    assert outcomes == (["replaced"] if trusted else ["added"])


def test_a_document_never_overrules_the_user() -> None:
    kept, outcomes = decided([BERLIN], home("I live in Munich.", "munich", at=5, origin="document"))
    assert outcomes == ["disputed"]
    assert all(item.live for item in kept.values())


def test_every_write_is_an_event() -> None:
    index = UserIndex(UserMemories(user="local", version=1, memories=(BERLIN,)))
    deciding = Deciding(index=index, now=NOW)
    deciding.decide(*home("I moved to Munich.", "munich", at=5))
    changes: MemoryChanges = deciding.changes
    assert [(event.action, event.memory_id, event.other_id) for event in changes.events] == [
        ("ADD", "I moved to Munich.", ""),
        ("INVALIDATE", "I live in Berlin.", "I moved to Munich."),
    ]
