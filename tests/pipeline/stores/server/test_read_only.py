"""A disk that is full: one error that names the server; reading goes on, and later writing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from pipeline.stores.server import ServerStore
from tests.pipeline.stores.server.private import fails, found, running, write
from tests.server_processes import PrivateMongo, PrivateWeaviate
from tests.server_stores import leftovers

pytestmark = pytest.mark.server

MB = 1 << 20
FULL_WEAVIATE = ("Weaviate at", "cannot write: its disk is full", "Free space")
FULL = ("MongoDB at", "cannot write: its disk is full", "Free space there")
TEXT = "Alpha " * 2000  # of a document that does not fit into what is left


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
        filling = _fill(disk)
        for _ in range(2):
            fails(lambda: write(store, "b.md", TEXT), *FULL_WEAVIATE, private.weaviate.url)
        assert found(store) == 1
        filling.unlink()
        private.weaviate.stop()  # until then Weaviate 1.36 writes no more logs of its vector index
        private.weaviate.start()
        write(store, "a.md")  # Weaviate may have lost its entry of the vector index: docs/server.md
        write(store, "b.md", TEXT)
        assert found(store) == 2
        assert leftovers(store) == []


def test_a_mongodb_whose_disk_is_full(tmp_path: Path) -> None:
    with (
        _small_disk(tmp_path / "disk", 32 * MB) as disk,
        running(PrivateMongo(disk / "mongo"), PrivateWeaviate(tmp_path / "weaviate")) as private,
        closing(ServerStore(private.addresses)) as store,
    ):
        write(store, "a.md")
        filling = _fill(disk)
        fails(lambda: write(store, "b.md", TEXT), *FULL, private.mongo.url)
        fails(lambda: write(store, "b.md", TEXT), *FULL)
        assert found(store) == 1
        assert [info.source for info in store.documents()] == ["a.md"]
        filling.unlink()
        write(store, "b.md", TEXT)
        assert found(store) == 2
        assert leftovers(store) == []


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


def _fill(disk: Path) -> Path:
    """A file that takes all that is free."""
    file = disk / "filling"
    with file.open("wb", buffering=0) as written, suppress(OSError):  # full
        while free := shutil.disk_usage(disk).free:
            written.write(bytes(min(MB, max(4096, free))))
    return file
