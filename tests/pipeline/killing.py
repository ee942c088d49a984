"""Ingests as processes that are killed, and what must hold afterwards; for every backend."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from pipeline.stores.base import DocumentStore
from tests.fakes import FakeEncoder
from tests.pipeline.ingest_runs import findings

SEED = 20261121
FILES = 40
WORDS = ["pump", "valve", "tank", "pressure", "alarm", "loop", "fan", "sensor", "bus", "cold", "hot", "open"]

# Forks a process for every ingest that it is asked for; the process kills itself before step `kill_at`.
FORKING = """
import gc, json, os, signal, sys
import llama_index.core.schema, readers.llamaindex
import pipeline.ingesting.run
from tests.pipeline import ingest_runs
pipeline.ingesting.run.BATCH_TEXTS = 100  # many batches and many commits, to be killed between
steps = 0

def watch(frame, event, argument):
    global steps
    if is_step(frame.f_code.co_filename, event):
        steps += 1
        if steps == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

gc.freeze()
for line in sys.stdin:
    kill_at, *arguments = json.loads(line)
    pid = os.fork()
    if pid == 0:
        results, sys.stdout = sys.stdout, open(os.devnull, "w")
        if kill_at:
            sys.setprofile(watch)
        ingest(*arguments)
        sys.setprofile(None)
        if kill_at == -1:
            print(steps, file=results, flush=True)
        os._exit(0)
    print(pid, flush=True)
    print(os.waitpid(pid, 0)[1], flush=True)
"""


class Ingests:
    """Runs ingests as processes, to their end or to a kill.

    `script` imports once what they need, and defines `ingest(*arguments)` and `is_step(file_name, event)`.
    """

    def __init__(self, script: str) -> None:
        command = [sys.executable, "-c", script + FORKING]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def steps(self, *arguments: object) -> int:
        """The steps of an ingest that nobody kills."""
        self._start(-1, *arguments)
        steps = self._read()
        assert self._read() == 0
        return steps

    def seconds(self, *arguments: object) -> float:
        """The seconds of an ingest that nobody kills."""
        started = time.perf_counter()
        self._start(0, *arguments)
        assert self._read() == 0
        return time.perf_counter() - started

    def killed_at(self, step: int, *arguments: object) -> None:
        """Run an ingest that is killed before a step."""
        self._start(step, *arguments)
        assert os.waitstatus_to_exitcode(self._read()) == -signal.SIGKILL

    def killed_after(self, seconds: float, *arguments: object) -> None:
        """Run an ingest that is killed after a time, unless it has ended by then."""
        pid = self._start(0, *arguments)
        time.sleep(seconds)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(self._read()) in (0, -signal.SIGKILL)

    def close(self) -> None:
        self._process.communicate()

    def _start(self, kill_at: int, *arguments: object) -> int:
        assert self._process.stdin
        print(json.dumps([kill_at, *arguments], default=str), file=self._process.stdin, flush=True)
        return self._read()

    def _read(self) -> int:
        assert self._process.stdout
        return int(self._process.stdout.readline())


def write_folder(folder: Path, *, version: str) -> Path:
    """Files of a few sections; version "new" differs from "old" in some, lacks some, and has others."""
    folder.mkdir(parents=True)
    chooser = random.Random(SEED)
    for number in range(FILES):
        lines = [f"# Document {number}", ""]
        for section in range(chooser.randint(2, 5)):
            lines += [f"## Section {section} of {number}", ""]
            for _ in range(chooser.randint(2, 6)):
                lines.append(f"The {' '.join(chooser.choices(WORDS, k=8))} {chooser.randint(0, 10**9)}.")
            lines.append("")
        if number % 3 == 0:
            lines += ["## Version", "", f"These are {version} words of {number}.", ""]
        if number % 10 != (1 if version == "old" else 2):
            (folder / f"{number:02}.md").write_text("\n".join(lines))
    return folder


def assert_consistent(seen: dict[str, object], store: DocumentStore, encoder: FakeEncoder) -> None:
    """What is found is what is stored, all of it."""
    nodes = [node for content in seen.values() for node in content[5]]  # type: ignore[index]
    sections = {node[0] for node in nodes if "level" in node[2]}
    sentences = {node[0] for node in nodes if "position" in node[2]}
    words, dense = findings(store, encoder, ["document"])  # the word is in every heading path
    lists = (*words, *dense)  # type: ignore[misc]
    assert [{hit[0] for hit in hits} for hits in lists] == [sections, sentences, sections, sentences]
