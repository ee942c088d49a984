"""The writer's place: what is changed while it is renewed, and a server that dies while somebody has it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.errors import StoreUnavailable
from pipeline.stores.server import ServerAddresses, ServerStore, state
from pipeline.stores.server.servers import Servers
from pipeline.stores.server.state import read_state, writer_lease
from tests.fakes import FakeEncoder
from tests.pipeline.ingest_runs import run_ingest
from tests.pipeline.killing import write_folder
from tests.pipeline.stores.server.private import SOON_S
from tests.server_processes import PrivateMongo

pytestmark = pytest.mark.server


class EndlessEncoder(FakeEncoder):
    """Tells of its first text, then works on, telling of its progress, until `stopped`."""

    def __init__(self, begun: Callable[[], object]) -> None:
        super().__init__()
        self._begun = begun
        self.stopped = threading.Event()

    def encode_passages(self, texts, *, on_progress=None):  # type: ignore[no-untyped-def]
        self._begun()
        while not self.stopped.wait(0.05):
            assert on_progress is not None
            on_progress(0)
        return super().encode_passages(texts)


def test_a_renewal_takes_no_change_of_the_state_back(
    addresses: ServerAddresses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it did where the server reads a record, changes it and writes it back, as FerretDB does."""
    monkeypatch.setattr(state, "RENEW_S", 0.0)
    with closing(Servers(addresses)) as servers:
        mongo = servers.mongo
        with writer_lease(mongo, addresses.mongodb_url, wait_s=1) as (held, _):
            for number in range(300):
                held.update_state({"generation": number})
                assert read_state(mongo).generation == number


@pytest.mark.parametrize("ending", [PrivateMongo.kill, PrivateMongo.freeze])
def test_a_mongodb_that_dies_or_hangs_while_texts_are_embedded_is_named_soon(
    tmp_path: Path, addresses: ServerAddresses, ending: Callable[[PrivateMongo], None]
) -> None:
    """Nothing asks it anything at that time but the keeper of the place."""
    mongo = PrivateMongo(tmp_path / "mongo")
    mongo.start()
    dying = addresses.but(mongodb_url=mongo.url)
    died_at: list[float] = []

    def die() -> None:
        ending(mongo)
        died_at.append(time.monotonic())

    encoder = EndlessEncoder(die)
    give_up = threading.Timer(4 * SOON_S, encoder.stopped.set)
    give_up.start()
    try:
        with closing(ServerStore(dying)) as store, pytest.raises(StoreUnavailable) as caught:
            run_ingest(store, write_folder(tmp_path / "manuals", version="old"), encoder=encoder)
        assert time.monotonic() - died_at[0] < SOON_S
        assert mongo.url in str(caught.value) and "ATHENA_MONGODB_URL" in str(caught.value)
    finally:
        give_up.cancel()
        mongo.kill()


def test_a_keeper_that_fails_once_and_then_succeeds_is_forgiven(addresses: ServerAddresses) -> None:
    with (
        closing(Servers(addresses)) as servers,
        writer_lease(servers.mongo, addresses.mongodb_url, wait_s=1) as (held, _),
    ):
        held._failure = StoreUnavailable("MongoDB does not answer.", "Start it.")
        with pytest.raises(StoreUnavailable, match="Start it"):
            held.check()
        deadline = time.monotonic() + 3 * state.RENEW_S
        while held._failure is not None:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        held.check()
