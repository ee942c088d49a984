"""Whatever a server repeats of a key, it goes nowhere: not printed, logged, traced or stored."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.echo_server import EchoServer, How
from tests.pipeline.otlp_receiver import OtlpReceiver

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
KEY = "sk-test/9f8e7d+6c5b4a39=Q"
PASSWORD = "Tr0ub4dor/&3 x"
STORE_PASSWORD = "m0ngo-Pa55word"
TRACES_KEY = "ph0enix-9f8e7d6c"
SECRETS = (KEY, PASSWORD, STORE_PASSWORD, TRACES_KEY)
HOWS: tuple[How, ...] = ("errors", "answers", "broken answers")


def forms(secret: str) -> set[bytes]:
    user = base64.b64encode(f"me:{secret}".encode()).decode()
    return {
        form.encode()
        for form in (
            secret,
            quote(secret, safe=""),
            quote(secret),
            user,
            base64.b64encode(secret.encode()).decode(),
        )
    }


@dataclass
class Machine:
    """A folder with an index, and the program run in it with keys."""

    folder: Path
    environment: dict[str, str]
    printed: bytes = b""

    def run(self, *arguments: str, **settings: str) -> str:
        environment = self.environment | {f"ATHENA_{name.upper()}": value for name, value in settings.items()}
        done = subprocess.run(
            [sys.executable, "-m", "athena", *arguments],
            cwd=self.folder, env=environment, capture_output=True, timeout=240,
        )  # fmt: skip
        self.printed += done.stdout + done.stderr
        return (done.stdout + done.stderr).decode()

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
    assert "1 added" in machine.run("ingest", "manual", llm="none")
    return machine


def settings_of(provider: str, server: EchoServer) -> dict[str, str]:
    if provider == "openai":
        return {
            "openai_api_key": KEY,
            "openai_base_url": f"http://{server.address}/v1?api_key={quote(KEY, safe='')}",
        }
    return {"ollama_url": f"http://me:{quote(PASSWORD, safe='')}@{server.address}"}


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("provider", ["openai", "ollama"])
def test_a_server_that_repeats_keys_gets_them_nowhere(provider: str, how: How, indexed: Machine) -> None:
    with EchoServer(how) as server, OtlpReceiver() as phoenix:
        settings = settings_of(provider, server)
        if provider == "openai":
            settings["openai_base_url"] = f"http://{server.address}/v1"
        settings["phoenix_url"] = phoenix.url.replace("http://", f"http://me:{quote(PASSWORD, safe='')}@")
        said = indexed.run("--verbose", "ask", "What moves the air?", "--json", hyde="on", **settings)
        said += indexed.run("ask", "And when it is broken?", **settings)
        traced = repr(phoenix.received).encode()
    assert any("chat" in path for path in server.paths)
    assert "fan" in said
    assert "[secret]" in said
    assert phoenix.received.spans
    received = traced.replace(repr(phoenix.received.headers).encode(), b"")  # those are Phoenix's to know
    assert not indexed.leaks(received)


@pytest.mark.parametrize("provider", ["openai", "ollama"])
@pytest.mark.parametrize("how", ["errors", "lists"])
def test_doctor_and_remote_embedding_say_no_key(provider: str, how: How, indexed: Machine) -> None:
    with EchoServer(how) as server:
        settings = settings_of(provider, server)
        said = indexed.run("--verbose", "doctor", "--json", embedding_model=f"{provider}/embed", **settings)
    assert server.address in said
    assert not indexed.leaks()


def test_the_stores_passwords_are_said_nowhere(indexed: Machine) -> None:
    indexed.run(
        "--verbose", "doctor",
        store="server",
        mongodb_url=f"mongodb://app:{STORE_PASSWORD}@127.0.0.1:9/?password={STORE_PASSWORD}",
        weaviate_url=f"http://app:{STORE_PASSWORD}@127.0.0.1:9",
        phoenix_url=f"ftp://me:{quote(PASSWORD, safe='')}@127.0.0.1:9",
    )  # fmt: skip
    said = indexed.run("ask", "What moves the air?", llm="none", phoenix_url=f"me:{PASSWORD}@nowhere")
    assert "ATHENA_PHOENIX_URL" in said
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
    environment = indexed.environment | {"ATHENA_OPENAI_API_KEY": KEY}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=indexed.folder, env=environment, capture_output=True, timeout=120
    )
    assert done.returncode == 1
    assert b"unforeseen: [secret]" in done.stderr
    assert KEY.encode() not in done.stderr + done.stdout


def test_a_key_that_was_pasted_into_a_question_is_not_kept(indexed: Machine) -> None:
    said = indexed.run("ask", f"Does the fan take {KEY}?", llm="none", openai_api_key=KEY)
    assert "fan" in said
    assert not indexed.leaks()
