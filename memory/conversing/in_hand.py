"""Which turns this machine's processes have in hand: from when they are stored until they are remembered.

Whoever catches up on what an earlier process left undone leaves those alone. A lock on a file says so, which
the system lets go of where a process is killed.
"""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

logger = logging.getLogger(__name__)


class TurnsInHand:
    """Those of one process, as locks in a folder; safe to use from several threads.

    Without a folder, nobody else knows of them.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._guard = threading.Lock()
        self._held: dict[str, FileLock | None] = {}

    def take(self, turn_id: str) -> bool:
        """Have a turn in hand; False where this or another process has it already."""
        with self._guard:
            if turn_id in self._held:
                return False
            try:
                self._held[turn_id] = self._locked(turn_id)
            except Timeout:
                return False
            except OSError as error:  # no locks, no room or no rights there: nobody else can be told
                logger.warning("others may answer the same turn: %s", error)
                self._held[turn_id] = None
            return True

    def leave(self, turn_id: str) -> None:
        """Have it in hand no longer; nothing happens where nobody has."""
        with self._guard:
            lock = self._held.pop(turn_id, None)
        if lock is not None:
            lock.release()
            with suppress(OSError):  # another process has taken it since: the file is theirs
                Path(lock.lock_file).unlink(missing_ok=True)

    def began_here(self, turn_id: str) -> bool:
        """Whether a process with this folder had it in hand, and was ended before it left it."""
        return self._folder is not None and self._file(self._folder, turn_id).exists()

    def left(self) -> list[str]:
        """The turns that processes with this folder have in hand, or had when they were ended."""
        if self._folder is None or not self._folder.is_dir():
            return []
        return sorted(file.stem for file in self._folder.glob("*.lock"))

    def _locked(self, turn_id: str) -> FileLock | None:
        """The lock that says so, held; None without a folder. Raises `Timeout` where another has it."""
        if self._folder is None:
            return None
        self._folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self._file(self._folder, turn_id), thread_local=False)
        lock.acquire(timeout=0)
        return lock

    @staticmethod
    def _file(folder: Path, turn_id: str) -> Path:
        return folder / f"{turn_id}.lock"
