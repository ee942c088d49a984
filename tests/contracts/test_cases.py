"""Cases, in every store: kept whole, changed as they are, and without what was forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.errors import StoreDamaged
from pipeline.messages import Message
from pipeline.stores.cases import Case, Cases
from pipeline.stores.conversations import Conversations
from pipeline.stores.embedded.cases import EmbeddedCases
from pipeline.stores.embedded.conversations import EmbeddedConversations
from pipeline.stores.embedded.memories import EmbeddedMemories
from pipeline.stores.memories import Memories, MemoryChanges
from tests.contracts.conftest import BACKENDS
from tests.contracts.test_conversations import answer
from tests.server_stores import server_addresses

CITED = answer().citations
SAID = (Message("user", "Where is the fan?"), Message("assistant", "In bay 2."))

Stores = tuple[Cases, Conversations, Memories]


@pytest.fixture(params=BACKENDS)
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stores]:
    """No cases yet, with the conversations and memories beside them, in each store in turn."""
    with ExitStack() as stack:
        if request.param == "server":
            from pipeline.stores.server.cases import ServerCases
            from pipeline.stores.server.conversations import ServerConversations
            from pipeline.stores.server.memories import ServerMemories

            addresses = stack.enter_context(server_addresses())
            yield (
                stack.enter_context(closing(ServerCases(addresses))),
                stack.enter_context(closing(ServerConversations(addresses))),
                stack.enter_context(closing(ServerMemories(addresses))),
            )
        else:
            path = tmp_path / "athena.sqlite"
            yield (
                stack.enter_context(closing(EmbeddedCases(path))),
                stack.enter_context(closing(EmbeddedConversations(path))),
                stack.enter_context(closing(EmbeddedMemories(path))),
            )


def case(id_: str, question: str = "How is it cleaned?", **given: object) -> Case:
    made = Case(id=id_, question=question, created_at=2.0, user="ann", history=SAID, gold=CITED)
    return replace(made, **given)  # type: ignore[arg-type]


def test_cases_are_kept_whole_and_listed_by_user_and_age(stores: Stores) -> None:
    cases, _, _ = stores
    whole = case("b", scope=("fan/*",), conversation_id="c", turn_id="t", passed=True, replayed_at=3.5)
    cases.put(whole, case("a", user="bob", gold=(), created_at=1.0))
    assert cases.list("ann") == [whole]
    assert [kept.id for kept in cases.list()] == ["a", "b"]
    cases.put(replace(whole, passed=False))
    assert [kept.passed for kept in cases.list("ann")] == [False]
    cases.delete("b", "never there")
    assert cases.list("ann") == [] and len(cases.list()) == 1


@pytest.mark.parametrize("record", [{"_id": "a", "row": '{"id"'}, {"_id": "a"}])
def test_a_damaged_case_of_the_servers_is_named(record: dict[str, str]) -> None:
    from pipeline.stores.server.cases import _case

    with pytest.raises(StoreDamaged, match="Cannot read the case 'a'"):
        _case(record)


def test_a_change_is_of_the_case_as_it_is_and_brings_none_back(stores: Stores) -> None:
    cases, _, _ = stores
    cases.put(case("a"))
    cases.change("a", lambda kept: replace(kept, passed=True, replayed_at=9.0))
    assert cases.list() == [case("a", passed=True, replayed_at=9.0)]
    cases.delete("a")
    cases.change("a", lambda kept: replace(kept, passed=False))
    assert cases.list() == []


def test_forgotten_words_and_turns_leave_the_cases_too(stores: Stores) -> None:
    cases, conversations, memories = stores
    conversation = conversations.create(user="ann").info.id
    asked = replace(answer(), question="Where is Clara's fan?", condensed_question="Where is Clara's fan?")
    turn = conversations.save_turn(conversation, asked)
    conversations.save_turn(conversation, replace(answer(), question="And the tank?"))
    begun = case("first", asked.question, history=(), conversation_id=conversation)
    after = case("after", "And?", history=(Message("user", asked.question),), conversation_id=conversation)
    other = case("other", "And the tank?", history=(), conversation_id=conversation)
    cases.put(begun, after, other, case("bobs", asked.question, user="bob"))
    memories.forget("ann", MemoryChanges(), words=["Clara"])
    assert "Clara" not in str(cases.list("ann")) and "█████" in str(cases.list("ann"))
    assert "Clara" in str(cases.list("bob"))
    assert cases.list("ann")[0].gold == CITED
    memories.forget("ann", MemoryChanges(), turns=[turn])
    assert [kept.id for kept in cases.list("ann")] == ["other"]
