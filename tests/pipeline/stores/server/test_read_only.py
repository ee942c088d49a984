"""A disk that is full, or nearly: one error that names the server; reading goes on, and later writing."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from weaviate import WeaviateClient

from pipeline.stores.server import ServerStore
from pipeline.stores.server.servers import Servers
from tests.contracts.documents import MANIFEST, make_document
from tests.pipeline.stores.server.private import Private, fails_soon, found, running, write
from tests.server_processes import PrivateMongo, PrivateWeaviate

pytestmark = pytest.mark.server

MB = 1 << 20
NEARLY_FULL = ("Weaviate at", "cannot write: it is read-only or its disk is full", "Free some space there")
FULL_WEAVIATE = ("Weaviate at", "cannot write: its disk is full", "Free some space there, restart it")
FULL = ("MongoDB at", "cannot write: its disk is full", "Free some space there")
TEXT = "Alpha " * 2000  # of a document that does not fit into what is left


def test_a_weaviate_whose_disk_is_nearly_full(tmp_path: Path) -> None:
    """It closes its shards, and opens them again by itself: neither it nor we are started anew.

    (Started on such a disk it does not close them: it looks before they are loaded.)
    """
    with (
        _small_disk(tmp_path / "disk", 64 * MB) as disk,
        running(PrivateMongo(tmp_path / "mongo"), PrivateWeaviate(disk / "weaviate")) as private,
        closing(ServerStore(private.addresses)) as store,
    ):
        write(store, "a.md")
        write(store, "c.md")
        filling = _fill(disk, leave=4 * MB)
        _until_weaviate_is("READONLY", private)
        fails_soon(lambda: write(store, "b.md"), *NEARLY_FULL, private.weaviate.url)
        fails_soon(lambda: store.delete_document("c.md"), *NEARLY_FULL)
        assert found(store) == 1
        filling.unlink()
        _until_weaviate_is("READY", private)
        write(store, "b.md")
        assert found(store) == 2
        assert store.find_orphans().is_clean


def test_a_weaviate_whose_disk_is_full(tmp_path: Path) -> None:
    with (
        _small_disk(tmp_path / "disk", 64 * MB) as disk,
        running(
            PrivateMongo(tmp_path / "mongo"),
            PrivateWeaviate(disk / "weaviate", DISK_USE_READONLY_PERCENTAGE="0"),
        ) as private,
        closing(ServerStore(private.addresses)) as store,
    ):
        write(store, "a.md")
        filling = _fill(disk, leave=0)
        for _ in range(2):
            fails_soon(lambda: write(store, "b.md", TEXT), *FULL_WEAVIATE, private.weaviate.url)
        assert found(store) == 1
        filling.unlink()
        private.weaviate.stop()  # until then Weaviate 1.36 writes no more logs of its vector index
        private.weaviate.start()
        _ingest_again(store)
        assert found(store) == 2
        assert store.find_orphans().is_clean


def test_a_mongodb_whose_disk_is_full(tmp_path: Path) -> None:
    with (
        _small_disk(tmp_path / "disk", 32 * MB) as disk,
        running(PrivateMongo(disk / "mongo"), PrivateWeaviate(tmp_path / "weaviate")) as private,
        closing(ServerStore(private.addresses)) as store,
    ):
        write(store, "a.md")
        filling = _fill(disk, leave=0)
        fails_soon(lambda: write(store, "b.md", TEXT), *FULL, private.mongo.url)
        fails_soon(lambda: write(store, "b.md", TEXT), *FULL)
        assert found(store) == 1
        assert [info.source for info in store.sections.documents()] == ["a.md"]
        filling.unlink()
        write(store, "b.md", TEXT)
        assert found(store) == 2
        assert store.find_orphans().is_clean


def _ingest_again(store: ServerStore) -> None:
    """As `athena ingest` does: what is new, and what the store has found to be incomplete."""
    with store.writing(MANIFEST) as writing:
        (known,) = writing.documents()
        if not known.hash:
            writing.replace(make_document("a.md", {"a.md": ["Alpha."]}))
        writing.replace(make_document("b.md", {"b.md": [TEXT]}))


@contextmanager
def _small_disk(folder: Path, size: int) -> Iterator[Path]:
    """A file system of its own, where this machine lets us have one."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    can = sys.platform == "linux" and shutil.which("mount") is not None
    if not can or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("a small disk needs the right to mount one (root, on Linux)")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def _fill(disk: Path, *, leave: int) -> Path:
    """A file that takes all that is free but so many bytes."""
    file = disk / "filling"
    with file.open("wb", buffering=0) as written:
        try:
            while shutil.disk_usage(disk).free > leave:
                written.write(bytes(min(MB, max(4096, shutil.disk_usage(disk).free - leave))))
        except OSError:  # full
            pass
    return file


def _until_weaviate_is(status: str, private: Private) -> None:
    """It looks at its disk twice a second."""
    deadline = time.monotonic() + 20
    with closing(Servers(private.addresses)) as servers:
        while servers.weaviate.run(_statuses) != {status}:
            assert time.monotonic() < deadline, f"Weaviate does not become {status}"
            time.sleep(0.2)


def _statuses(client: WeaviateClient) -> set[str]:
    names = client.collections.list_all()
    return {shard.status for name in names for shard in client.collections.use(name).config.get_shards()}
