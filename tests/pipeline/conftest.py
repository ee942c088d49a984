"""The small manual, indexed once, and chats over it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from pipeline.stores.conversations import Conversations
from pipeline.stores.embedded import EmbeddedStore
from pipeline.stores.embedded.database import Database
from pipeline.stores.embedded.rows import EmbeddedRows
from tests.pipeline.chat_runs import NewChat, make_chat
from tests.pipeline.searching import make_store


@pytest.fixture(scope="session")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStore]:
    """A store with the small manual, to be read only."""
    store = make_store(tmp_path_factory.mktemp("manual"))
    yield store
    store.close()


@pytest.fixture
def conversations(tmp_path: Path) -> Iterator[Conversations]:
    with closing(Database(tmp_path / "conversations.sqlite")) as database:
        yield Conversations(EmbeddedRows(database))


@pytest.fixture
def new_chat(manual: EmbeddedStore, conversations: Conversations) -> NewChat:
    """Makes chats over the small manual; keywords are those of `make_chat`."""
    return partial(make_chat, manual, conversations)
