"""Ingests into the real servers as processes that are killed.

Imports once, then forks a process for every ingest that it is asked for. A step is a call of a function of
the store's writing modules; the process kills itself before step `kill_at`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from pipeline.stores.server import ServerAddresses

WATCHED = ("builds.py", "lease.py", "batches.py", "objects.py", "records.py", "writing.py", "mongo.py")

FORKING = f"""
import gc, json, os, signal, sys
from pathlib import Path
import llama_index.core.schema, readers.llamaindex.reader, readers.llamaindex.parser
import pipeline.ingesting.batches, pipeline.stores.server.writing as writing
from pipeline.stores.server import ServerAddresses, ServerStore
from tests.fakes import FakeEncoder
from tests.pipeline.ingest_runs import run_ingest
pipeline.ingesting.batches.BATCH_TEXTS = 100  # many batches and many groups, to be killed between
writing.GROUP_NODES = 60
WATCHED = {WATCHED!r}
steps = 0

def watch(frame, event, argument):
    global steps
    name = frame.f_code.co_filename
    if event == "call" and "stores/server" in name and name.endswith(WATCHED):
        steps += 1
        if steps == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

gc.freeze()
for line in sys.stdin:
    kill_at, addresses, folder, model, rebuild = json.loads(line)
    pid = os.fork()
    if pid == 0:
        store = ServerStore(ServerAddresses(**addresses))
        if kill_at:
            sys.setprofile(watch)
        run_ingest(store, Path(folder), encoder=FakeEncoder(name=model), rebuild=rebuild)
        sys.setprofile(None)
        if kill_at == -1:
            print(steps, flush=True)
        store.close()
        os._exit(0)
    print(pid, flush=True)
    print(os.waitpid(pid, 0)[1], flush=True)
"""


class Ingests:
    """Runs ingests as processes, to their end or to a kill."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", FORKING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def steps(self, addresses: ServerAddresses, folder: Path, *, model: str, rebuild: bool = False) -> int:
        """The steps of an ingest that nobody kills."""
        self._start(-1, addresses, folder, model, rebuild)
        steps = self._read()
        assert self._read() == 0
        return steps

    def killed_at(
        self, step: int, addresses: ServerAddresses, folder: Path, *, model: str, rebuild: bool = False
    ) -> None:
        """Run an ingest that is killed before a step."""
        self._start(step, addresses, folder, model, rebuild)
        assert os.waitstatus_to_exitcode(self._read()) == -signal.SIGKILL

    def killed_after(
        self, seconds: float, addresses: ServerAddresses, folder: Path, *, model: str, rebuild: bool = False
    ) -> None:
        """Run an ingest that is killed after a time, unless it has ended by then."""
        pid = self._start(0, addresses, folder, model, rebuild)
        time.sleep(seconds)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(self._read()) in (0, -signal.SIGKILL)

    def close(self) -> None:
        self._process.communicate()

    def _start(
        self, kill_at: int, addresses: ServerAddresses, folder: Path, model: str, rebuild: bool
    ) -> int:
        assert self._process.stdin
        line = json.dumps([kill_at, addresses.model_dump(), str(folder), model, rebuild])
        print(line, file=self._process.stdin, flush=True)
        return self._read()

    def _read(self) -> int:
        assert self._process.stdout
        return int(self._process.stdout.readline())
