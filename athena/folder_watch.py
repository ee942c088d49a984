"""Keeps an index in step with folders: what is written there is searchable once it has rested a moment.

A file that is still being written keeps its former version; the others go on without it.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pipeline.errors import AthenaError
from readers.corpus import BEING_WRITTEN

if TYPE_CHECKING:
    from pipeline.ingest import IngestReport
    from readers.errors import ReaderError

REST_S = 0.5
"""Without another write, before what changed is indexed: a burst of files is one ingest."""
LONG_WRITE_S = 3.0
"""A file that is written for longer than this lets the others go first."""
LONGEST_WAIT_S = 60.0
"""For rest, where new files never stop coming."""
AGAIN_S = 5.0
"""After which an ingest that failed is tried again: another process may have been writing."""
LOOK_MS = 100
POLL_MS = 800
NETWORK = frozenset({
    *("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre"),
    *("vboxsf", "vmhgfs", "fuse.sshfs", "fuse.vmhgfs-fuse"),
})  # fmt: skip
"""File systems of Linux whose changes the system does not tell: they are looked at again and again."""
MOUNTS = Path("/proc/self/mounts")

Ingest: TypeAlias = "Callable[[Sequence[Path], frozenset[str]], IngestReport]"
"""Ingests paths, but not the files at these real paths, which are being written."""


@dataclass(slots=True)
class Unrest:
    """The files that were written lately: when they were first and last."""

    _times: dict[str, tuple[float, float]] = field(default_factory=dict)

    def note(self, paths: Iterable[str], now: float) -> None:
        """They were written just now."""
        for path in paths:
            self._times[path] = (self._times.get(path, (now, now))[0], now)

    def is_due(self, now: float) -> bool:
        """Whether something rests, and nothing else came lately but what is written for long."""
        resting = any(now - last >= REST_S for _, last in self._times.values())
        newest = max((last for first, last in self._times.values() if last - first < LONG_WRITE_S), default=0)
        oldest = min((first for first, _ in self._times.values()), default=now)
        return resting and (now - newest >= REST_S or now - oldest >= LONGEST_WAIT_S)

    def take(self, now: float) -> frozenset[str]:
        """Forget what rests; comes back with what does not."""
        self._times = {path: at for path, at in self._times.items() if now - at[1] < REST_S}
        return frozenset(self._times)


class FolderWatch:
    """Watches folders and files and ingests what changes; `apart` is a folder of our own among them.

    `tell` gets the report of each ingest that did anything, a problem once; `fail` what went wrong, once.
    """

    def __init__(
        self,
        paths: Iterable[Path],
        *,
        ingest: Ingest,
        apart: Path,
        tell: Callable[[IngestReport], None],
        fail: Callable[[AthenaError], None],
        known: Iterable[ReaderError] = (),
    ) -> None:
        self._given = list(paths)
        self._paths = [Path(os.path.realpath(path)) for path in self._given]
        self._ingest = ingest
        self._apart = Path(os.path.realpath(apart))
        self._tell = tell
        self._fail = fail
        self._unrest = Unrest()
        self._problems = {(problem.source, problem.reason) for problem in known}
        self._failed = ""
        self._look_at = 0.0  # at what changed before
        self._not_before = 0.0
        self._polling = False

    def run(self, stop: threading.Event) -> None:
        """Go on until `stop` is set."""
        while not stop.is_set():
            there = self._identities()
            for changes in self._changes(stop):
                self._unrest.note(filter(self._matters, changes), time.monotonic())
                now_there = self._identities()
                moved = [path for path, was in there.items() if now_there[path] != was]
                self._unrest.note(moved, time.monotonic())
                self._bring_up_to_date()
                if moved:
                    break

    def _bring_up_to_date(self) -> None:
        now = time.monotonic()
        if now < self._not_before or not (now >= self._look_at or self._unrest.is_due(now)):
            return
        writing = self._unrest.take(now)
        try:
            report = self._ingest(self._given, writing)
        except AthenaError as error:
            self._look_at = self._not_before = time.monotonic() + AGAIN_S
            if str(error) != self._failed:
                self._failed = str(error)
                self._fail(error)
            return
        # What comes and goes between two looks of polling is told by nobody: it is looked for once more.
        looked_twice = time.monotonic() + 2 * POLL_MS / 1000
        self._look_at = looked_twice if self._polling and (report.added or report.changed) else math.inf
        self._failed = ""
        self._report(report)

    def _report(self, report: IngestReport) -> None:
        problems = {(one.source, one.reason): one for one in report.problems if one.reason != BEING_WRITTEN}
        news = [one for key, one in problems.items() if key not in self._problems]
        self._problems = set(problems)
        if report.added or report.changed or report.deleted or news:
            self._tell(replace(report, problems=news, left_out=[]))

    def _identities(self) -> dict[str, tuple[int, ...]]:
        """What tells whether each path is still the same folder, or a file with the same content."""
        found: dict[str, tuple[int, ...]] = {}
        for path in self._paths:
            try:
                status = path.stat()
            except OSError:
                found[str(path)] = ()
                continue
            written = () if path.is_dir() else (status.st_mtime_ns, status.st_size)
            found[str(path)] = (status.st_dev, status.st_ino, *written)
        return found

    def _matters(self, path: str) -> bool:
        """Whether a path is in a watched folder, not in a hidden one of it, and not of our own making."""
        at = Path(path)
        folders = [folder for folder in self._paths if at.is_relative_to(folder)]
        if not folders:
            return False
        folder = max(folders, key=lambda one: len(one.parts))
        ours = at.is_relative_to(self._apart) and not folder.is_relative_to(self._apart)
        hidden = any(part.startswith(".") for part in at.relative_to(folder).parts[:-1])
        return not (ours or hidden)

    def _changes(self, stop: threading.Event) -> Iterator[set[str]]:
        """The paths that changed, several times a second; nothing where nothing did."""
        from watchfiles import watch
        from watchfiles._rust_notify import WatchfilesRustInternalError

        folders = [path for path in self._paths if path.is_dir()]
        self._polling = any(map(is_on_network, folders))
        while folders and not stop.is_set():
            try:
                for changes in watch(
                    *folders,
                    watch_filter=None,
                    debounce=LOOK_MS,
                    rust_timeout=LOOK_MS,
                    yield_on_timeout=True,
                    stop_event=stop,
                    force_polling=self._polling or None,
                    poll_delay_ms=POLL_MS,
                    ignore_permission_denied=True,
                ):
                    yield {path for _, path in changes}
            except FileNotFoundError:
                return  # it went meanwhile
            except (OSError, WatchfilesRustInternalError):
                if self._polling:
                    raise
                self._polling = True  # the system watches no more files
        while not stop.wait(LOOK_MS / 1000):
            yield set()


def is_on_network(path: Path, mounts: Path = MOUNTS) -> bool:
    """Whether a folder is on a file system whose changes the system does not tell."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:  # no Linux
        return False
    kinds = {Path(fields[1].replace("\\040", " ")): fields[2] for fields in map(str.split, lines)}
    at = next((folder for folder in (path, *path.parents) if folder in kinds), None)
    return at is not None and kinds[at] in NETWORK
