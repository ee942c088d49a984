"""The single writer's place, held by one thread of one process at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from pipeline.errors import StoreError
from pipeline.stores.embedded.database import unwritable


class WriterLock:
    """A lock over a store's folder; the system frees it when its process dies, however it dies."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._holder = folder / "writer.pid"

    @contextmanager
    def hold(self, wait_s: float) -> Iterator[None]:
        """Hold the place for the block; raises `StoreError`, naming who has it, after `wait_s` seconds.

        It is not held twice, by the same thread neither: each time it is another lock on the file.
        """
        lock = FileLock(self._folder / "writer.lock", thread_local=False, fallback_to_soft=False)
        try:
            lock.acquire(timeout=wait_s, poll_interval=0.02)
            self._holder.write_text(str(os.getpid()), encoding="ascii")
        except Timeout as error:
            raise self._taken() from error
        except (OSError, NotImplementedError) as error:
            lock.release()
            os_error = error if isinstance(error, OSError) else OSError(str(error))
            raise unwritable(self._folder, os_error) from error
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def try_hold(self) -> Iterator[bool]:
        """Hold the place if it is free and can be written; the block gets whether it does."""
        with ExitStack() as stack:
            try:
                stack.enter_context(self.hold(0))
                held = True
            except StoreError:  # taken, or a folder that may only be read: searched as it is
                held = False
            yield held

    def _taken(self) -> StoreError:
        holder = "another process"
        with suppress(OSError):
            pid = self._holder.read_text(encoding="ascii")
            holder = "this program itself" if pid == str(os.getpid()) else f"another process (pid {pid})"
        return StoreError(
            f"Cannot write to the store in '{self._folder}': {holder} is writing to it.",
            "Wait until it has finished, or stop it, and try again.",
        )
