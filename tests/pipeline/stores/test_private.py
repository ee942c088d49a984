"""Private conversations live in this process while they are used."""

from __future__ import annotations

import pytest

from pipeline.errors import UnknownConversation
from pipeline.stores.private import UNUSED, PrivateConversations


def test_one_that_nobody_uses_is_dropped_and_one_that_is_read_stays() -> None:
    now = [0.0]
    private = PrivateConversations(clock=lambda: now[0])
    read, left = (private.create(title).info.id for title in ("Read", "Left"))
    now[0] = 0.6 * UNUSED
    assert private.get(read).info.title == "Read"
    now[0] = 1.2 * UNUSED
    assert (read in private, left in private) == (True, False)
    assert [info.title for info in private.list()] == ["Read"]
    with pytest.raises(UnknownConversation):
        private.get(left)
