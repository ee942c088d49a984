"""Private conversations live in this process while they are used."""

from __future__ import annotations

import pytest

from pipeline.errors import UnknownConversation
from pipeline.stores.private import UNUSED_S, PrivateConversations
from tests.answers import answer


def test_one_that_nobody_uses_is_deleted_and_one_that_goes_on_stays() -> None:
    now = [0.0]
    private = PrivateConversations(clock=lambda: now[0])
    used, left = (private.create(title).info.id for title in ("Used", "Left"))
    now[0] = 0.6 * UNUSED_S
    private.save_turn(used, answer())
    now[0] = 1.2 * UNUSED_S
    new = private.create("New").info.id
    assert [known in private for known in (used, left, new)] == [True, False, True]
    with pytest.raises(UnknownConversation):
        private.get(left)
