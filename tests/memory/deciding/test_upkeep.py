"""Upkeep: with a model that says what it is told to, and without one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from memory.deciding import upkeep
from memory.deciding.upkeep import rating_of, summary
from memory.user_memory import UserMemory
from pipeline.errors import AthenaError, ModelTimeout
from pipeline.messages import Message
from pipeline.stores.memories import Memory, MemoryChanges
from tests.memory.conftest import DAY, MARCH, Clock
from tests.memory.fake_memories import FakeMemories, FakeModel


def with_model(mine: UserMemory, *replies: str | Exception) -> tuple[UserMemory, FakeModel]:
    model = FakeModel(*replies)
    return replace(mine, find_model=lambda: model), model


def memory(number: int, **given: object) -> Memory:
    known: dict[str, object] = {
        "id": f"m{number:02}",
        "user": "local",
        "text": f"Fact number {number} is about thing{number}.",
        "created_at": MARCH + number,
        "importance": 0.5,
    }
    return Memory(**(known | given))  # type: ignore[arg-type]


Keep = Callable[..., None]


@pytest.fixture
def keep(memories: FakeMemories) -> Keep:
    def keep(*rows: Memory) -> None:
        memories.apply("local", MemoryChanges(memories=rows))

    return keep


# -- short-term to long-term ---------------------------------------------------------------------------


def test_above_ten_short_term_memories_the_oldest_that_matter_move(mine: UserMemory, keep: Keep) -> None:
    importance = {0: 0.2, 1: 0.3, 2: 0.9}
    keep(*(memory(n, tier="short_term", importance=importance.get(n, 0.5)) for n in range(13)))
    moved = upkeep.migrate(mine)
    assert [item.id for item in moved] == ["m01", "m02"]
    tiers = {item.id: item.tier for item in mine.list()}
    assert "m00" not in tiers  # expired
    assert sum(tier == "short_term" for tier in tiers.values()) == 10
    assert [event.action for event in mine.history("m00")] == ["EVICT"]
    assert upkeep.migrate(mine) == []


def test_ten_short_term_memories_stay(mine: UserMemory, keep: Keep) -> None:
    keep(*(memory(n, tier="short_term") for n in range(10)))
    assert upkeep.migrate(mine) == []


def test_what_is_long_known_is_not_kept_twice(mine: UserMemory, keep: Keep) -> None:
    keep(memory(99, text="Fact number 0 is about thing0."))
    keep(*(memory(n, tier="short_term") for n in range(11)))
    assert upkeep.migrate(mine) == []
    assert len(mine.list()) == 11


# -- summaries -----------------------------------------------------------------------------------------


def test_the_five_that_matter_least_become_two_lines_with_their_mean(mine: UserMemory, keep: Keep) -> None:
    keep(*(memory(n, importance=n / 10, predicate="likes") for n in range(1, 8)))
    keep(memory(0, importance=0.0, pinned=True), memory(8, importance=0.0, predicate="home"))
    [made] = upkeep.summarize(mine)
    assert made.kind == "summary"
    assert len(made.text.splitlines()) == 2
    assert made.importance == pytest.approx((0.1 + 0.2 + 0.3 + 0.4 + 0.5) / 5)
    assert [source.memory_id for source in made.sources] == ["m01", "m02", "m03", "m04", "m05"]
    assert {item.id for item in mine.list()} == {"m00", "m06", "m07", "m08", made.id}
    assert made.tags == ("likes",)
    assert upkeep.summarize(mine) == []
    assert {item.id for item in mine.forgetting(["m03"]).derived} == {made.id}


def test_a_model_writes_the_two_lines(mine: UserMemory, keep: Keep) -> None:
    keep(*(memory(n) for n in range(6)))
    written, model = with_model(mine, "- One.\n\n- Two.\n- Three.")
    assert upkeep.summarize(written)[0].text == "One.\nTwo."
    assert "thing0" in model.prompts[0]


def test_what_leaves_a_conversation_is_told_in_few_words() -> None:
    said = [Message("user" if n % 2 == 0 else "assistant", f"message {n} " + "word " * 40) for n in range(8)]
    left = summary(said)
    assert len(left.split()) <= 50
    assert left.startswith("message 0")
    assert "message 6" in left
    assert summary([]) == ""


# -- ratings -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "rating"),
    [
        ('{"rating": 8, "explanation": "It is about health."}', 8),
        ('Sure: ```json\n{"rating": "7"}\n```', 7),
        ('{"rating": 11}', 6),
        ('{"rating": true}', 6),
        ("No idea.", 6),
        ("", 6),
    ],
)
def test_a_models_rating_is_read_or_the_rules_rate(written: str, rating: int) -> None:
    found = rating_of("I like tea.", complete=FakeModel(written))
    assert found.rating == rating
    assert found.explanation


def test_rules_rate_where_no_model_does() -> None:
    assert rating_of("I am allergic to peanuts.").rating > rating_of("I saw a film.").rating
    assert rating_of("I like tea.", complete=FakeModel(ModelTimeout("late"))) == rating_of("I like tea.")


def test_a_rating_is_kept_with_its_reason(mine: UserMemory, keep: Keep) -> None:
    keep(memory(1))
    rated, _ = with_model(mine, '{"rating": 9, "explanation": "It is about health."}')
    [after] = upkeep.rate(rated)
    assert (after.importance, after.why) == (0.9, "It is about health.")
    assert [event.action for event in mine.history("m01")] == ["UPDATE"]


# -- reflections ---------------------------------------------------------------------------------------


def test_a_reflection_rests_on_what_it_was_made_of(mine: UserMemory, keep: Keep) -> None:
    keep(*(memory(n) for n in range(12)))
    reflecting, model = with_model(
        mine, '{"insight": "Facts abound.", "question": "What is thing11?"}', "It is a fact."
    )
    [made] = upkeep.reflect(reflecting)
    assert made.text == "Facts abound. What is thing11? It is a fact."
    assert len({source.memory_id for source in made.sources}) >= 10
    assert "thing1." not in model.prompts[0]  # the latest ten alone
    assert mine.forgetting(["m11"]).derived[0].id == made.id


def test_the_last_reflection_takes_the_place_of_the_one_before_and_needs_a_model(
    mine: UserMemory, clock: Clock
) -> None:
    mine.add("My sister Clara lives in Bonn.")
    assert upkeep.reflect(mine) == []
    insights = (f'{{"insight": "{text}", "question": ""}}' for text in ("Bonn matters.", "Acme matters."))
    for insight in insights:
        clock.at += DAY
        upkeep.reflect(with_model(mine, insight)[0])
    assert [item.text for item in mine.list() if item.kind == "reflection"] == ["Acme matters."]


def test_nothing_is_made_of_what_was_forgotten_meanwhile(mine: UserMemory, keep: Keep) -> None:
    keep(*(memory(n) for n in range(12)))

    def forgets(_prompt: str) -> str:
        mine.forget(mine.forgetting(["m11"]))
        return '{"insight": "Fact number 11 is about thing11.", "question": ""}'

    assert upkeep.reflect(replace(mine, find_model=lambda: forgets)) == []
    assert all("thing11" not in item.text for item in mine.list())


# -- plans ---------------------------------------------------------------------------------------------

PLAN = """{"goals": [
 {"goal": "Health", "action": "Go for a run", "time": "18:30", "place": "park"},
 {"goal": "Past", "action": "Too late", "time": "00:00", "place": "here"},
 {"goal": "Calm", "action": "Read", "time": "9:15", "place": ""},
 {"action": "no goal", "time": "20:00"}]}"""


def test_a_plan_is_for_later_today_and_the_only_one(mine: UserMemory, keep: Keep, clock: Clock) -> None:
    keep(*(memory(n, importance=n / 10) for n in range(3, 9)))
    planning, model = with_model(mine, PLAN, PLAN)
    clock.at = MARCH + 3600
    [plan] = upkeep.plan(planning)
    assert plan.text == "09:15 Calm: Read\n18:30 Health: Go for a run (park)"
    assert "thing4" not in model.prompts[0]  # not above .4
    clock.at += 60
    upkeep.plan(planning)
    assert sum(item.kind == "plan" for item in mine.list()) <= 1


def test_a_plan_needs_a_model_and_says_so(mine: UserMemory, keep: Keep) -> None:
    with pytest.raises(AthenaError, match="nothing to plan from"):
        upkeep.plan(mine)
    keep(memory(1, importance=0.9))
    with pytest.raises(AthenaError, match="needs a language model"):
        upkeep.plan(mine)
    useless, _ = with_model(mine, "I cannot.")
    with pytest.raises(AthenaError, match="no plan"):
        upkeep.plan(useless)
