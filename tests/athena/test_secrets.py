"""Whatever a server repeats of a key, it goes nowhere: not printed, logged, traced or stored."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import get_args
from urllib.parse import quote

import pytest

from tests.athena.echo_server import EchoServer, How
from tests.pipeline.otlp_receiver import OtlpReceiver

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
KEY = "sk-test/9f8e7d+6c5b4a39=Q"
PASSWORD = "Tr0ub4dor/&3 x"
STORE_PASSWORD = "m0ngo-Pa55word"
TRACES_KEY = "ph0enix-9f8e7d6c"
SECRETS = (KEY, PASSWORD, STORE_PASSWORD, TRACES_KEY)
HOWS: tuple[How, ...] = ("errors", "answers", "broken answers")  # to questions
NEXT = "--- the next command ---"


def forms(secret: str) -> set[bytes]:
    return {form.encode() for form in (secret, quote(secret, safe=""), quote(secret))}


# A process that runs commands one after the other, each with its settings: starting takes longest.
PROGRAM = f"""
import json, os, sys
from athena import cli
before = dict(os.environ)
for settings, arguments in json.load(sys.stdin):
    os.environ.update(settings)
    sys.argv = ["athena", *arguments]
    try:
        cli.main()
    except SystemExit:
        pass
    os.environ.clear()
    os.environ.update(before)
    for stream in (sys.stdout, sys.stderr):
        print("{NEXT}", file=stream, flush=True)
"""
Command = tuple[dict[str, str], Sequence[str]]  # settings, arguments


@dataclass
class Machine:
    """A folder with an index, and the program run in it with keys."""

    folder: Path
    environment: dict[str, str]
    printed: bytes = b""

    def run(self, *commands: Command) -> list[str]:
        """What each command prints, in one process."""
        given = [
            ({f"ATHENA_{n.upper()}": v for n, v in settings.items()}, said) for settings, said in commands
        ]
        done = self.python(PROGRAM, json.dumps(given))
        printed = zip(done.stdout.decode().split(NEXT), done.stderr.decode().split(NEXT), strict=True)
        return ["".join(both) for both in printed][:-1]

    def python(self, program: str, given: str = "", **settings: str) -> subprocess.CompletedProcess[bytes]:
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=self.folder, env=self.environment | settings, capture_output=True, timeout=240,
            input=given.encode(),
        )  # fmt: skip
        self.printed += done.stdout + done.stderr
        return done

    def leaks(self, *more: bytes) -> list[str]:
        """Where a secret is found."""
        places = {str(path): path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}
        places |= {"what was printed": self.printed, "what was traced": b"".join(more)}
        return [
            f"{name}: {form!r}"
            for name, data in places.items()
            for secret in SECRETS
            for form in forms(secret)
            if form in data
        ]


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    folder = tmp_path_factory.mktemp("secrets")
    (folder / "manual").mkdir()
    (folder / "manual" / "fan.md").write_text(
        "# Cabin fan\n\nThe cabin fan moves the air. A broken fan shows OFFLINE.\n", encoding="utf-8"
    )
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("ATHENA_", "OTEL_"))
    }
    environment |= {
        "PYTHONPATH": str(ROOT),
        "ATHENA_CROSS_ENCODER": "none",
        "ATHENA_OLLAMA_URL": "http://127.0.0.1:9",
        "OTEL_EXPORTER_OTLP_HEADERS": f"api_key={TRACES_KEY}",
    }
    machine = Machine(folder, environment)
    assert "1 added" in machine.run(({"llm": "none"}, ["ingest", "manual"]))[0]
    return machine


def settings_of(provider: str, server: EchoServer, query: str = "") -> dict[str, str]:
    if provider == "openai":
        return {"openai_api_key": KEY, "openai_base_url": f"http://{server.address}/v1{query}"}
    return {"ollama_url": f"http://me:{quote(PASSWORD, safe='')}@{server.address}"}


@pytest.mark.parametrize("provider", ["openai", "ollama"])
def test_a_server_that_repeats_keys_gets_them_nowhere(provider: str, indexed: Machine) -> None:
    """In errors, answers and answers that break off, to questions; in errors and lists, to doctor."""
    with ExitStack() as opened, OtlpReceiver() as phoenix:
        servers = {how: opened.enter_context(EchoServer(how)) for how in get_args(How)}
        traced = {"phoenix_url": phoenix.url.replace("http://", f"http://me:{quote(PASSWORD, safe='')}@")}
        asking: list[Command] = []
        for how in HOWS:
            settings = settings_of(provider, servers[how]) | traced
            asking += [
                (settings | {"hyde": "on"}, ["--verbose", "ask", "What moves the air?", "--json"]),
                (settings, ["ask", "And when it is broken?"]),
            ]
        query = f"?api_key={quote(KEY, safe='')}"
        looking: list[Command] = [
            (
                settings_of(provider, servers[how], query) | {"embedding_model": f"{provider}/embed"},
                ["--verbose", "doctor", "--json"],
            )
            for how in ("errors", "lists")
        ]
        said = indexed.run(*asking, *looking)
        received = repr(phoenix.received)
    for first, second in zip(said[0:6:2], said[1:6:2], strict=True):
        assert "fan" in first + second
        assert "[secret]" in first + second
    for how in HOWS:
        assert any("chat" in path for path in servers[how].paths)
    assert servers["errors"].address in said[6] and servers["lists"].address in said[7]
    assert len(phoenix.received.roots) >= len(asking)
    assert not indexed.leaks(received.encode())


def test_other_secrets_are_said_nowhere(indexed: Machine) -> None:
    """The stores' passwords, one in an address that is none, and a key that is pasted into a question."""
    servers = {
        "store": "server",
        "mongodb_url": f"mongodb://app:{STORE_PASSWORD}@127.0.0.1:9/?password={STORE_PASSWORD}",
        "weaviate_url": f"http://app:{STORE_PASSWORD}@127.0.0.1:9",
        "phoenix_url": f"ftp://me:{quote(PASSWORD, safe='')}@127.0.0.1:9",
    }
    _, wrong, pasted = indexed.run(
        (servers, ["--verbose", "doctor"]),
        ({"llm": "none", "phoenix_url": f"me:{PASSWORD}@nowhere"}, ["ask", "What moves the air?"]),
        ({"llm": "none", "openai_api_key": KEY}, ["ask", f"Does the fan take {KEY}?"]),
    )
    assert "ATHENA_PHOENIX_URL" in wrong
    assert "fan" in pasted
    assert not indexed.leaks()


def test_a_traceback_has_no_key(indexed: Machine) -> None:
    """Of what nobody foresaw: here, a store that fails in a way of its own."""
    program = (
        "import athena.diagnosis as d, athena.cli\n"
        "import os, sys\n"
        "def fail(*_): raise RuntimeError('unforeseen: ' + os.environ['ATHENA_OPENAI_API_KEY'])\n"
        "d.diagnose = fail\n"
        "sys.argv = ['athena', 'doctor']; athena.cli.main()\n"
    )
    done = indexed.python(program, ATHENA_OPENAI_API_KEY=KEY)
    assert done.returncode == 1
    assert b"unforeseen: [secret]" in done.stderr
    assert not indexed.leaks()
