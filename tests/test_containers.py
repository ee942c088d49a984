"""docker-compose.yml and the Dockerfile, as far as they can be checked without a container engine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pathspec
import pytest
import yaml

from athena.settings import Settings
from tests.server_processes import free_ports

ROOT = Path(__file__).parent.parent
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
VARIABLE = re.compile(r"\$\{(\w+)")
ONE_SHOT = "ollama-pull"


def test_compose_keeps_to_the_specification() -> None:
    command = ["-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", "docker-compose.yml"]
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", SERVICES)
def test_images_are_pinned_and_resources_limited(name: str) -> None:
    service = SERVICES[name]
    assert re.search(r":(version-)?\d+\.\d+\.\d+$", service["image"])
    assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory"}
    assert "no-new-privileges:true" in service["security_opt"]


def test_only_the_app_publishes_a_port_and_on_loopback() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published.pop("app") == ["${ATHENA_LISTEN:-127.0.0.1:8501}:8501"]
    for name, ports in published.items():  # what is looked at in a browser, and starts only when asked for
        assert SERVICES[name]["profiles"] == [name]
        assert all(port.startswith("127.0.0.1:") for port in ports)


def test_phoenix_calls_nobody_and_keeps_its_traces() -> None:
    phoenix = SERVICES["phoenix"]
    assert phoenix["environment"]["PHOENIX_TELEMETRY_ENABLED"] == "false"
    assert phoenix["environment"]["PHOENIX_ALLOW_EXTERNAL_RESOURCES"] == "false"
    (volume,) = phoenix["volumes"]
    assert volume.partition(":")[2] == phoenix["environment"]["PHOENIX_WORKING_DIR"]


@pytest.mark.parametrize("name", sorted(set(SERVICES) - {"app", ONE_SHOT}))
def test_servers_have_health_checks_and_named_volumes(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"][0] == "CMD"
    for volume in SERVICES[name]["volumes"]:
        assert volume.partition(":")[0] in COMPOSE["volumes"]


def test_the_app_waits_for_its_stores_and_not_for_the_model() -> None:
    waits = SERVICES["app"]["depends_on"]
    assert waits == {name: {"condition": "service_healthy"} for name in ("mongodb", "weaviate")}


def test_every_setting_of_the_app_is_one() -> None:
    known = {f"ATHENA_{name.upper()}" for name in Settings.model_fields}
    assert set(SERVICES["app"]["environment"]) <= known
    assert set(re.findall(r"\b(ATHENA_\w+)=", DOCKERFILE)) <= known


def test_every_variable_is_in_the_example() -> None:
    example = (ROOT / ".env.example").read_text()
    named = set(re.findall(r"^(\w+)=", example, re.MULTILINE))
    assert set(VARIABLE.findall((ROOT / "docker-compose.yml").read_text())) == named


def test_secrets_are_not_in_the_files() -> None:
    example = (ROOT / ".env.example").read_text()
    for secret in ("MONGODB_PASSWORD", "WEAVIATE_API_KEY"):
        assert re.search(rf"^{secret}=$", example, re.MULTILINE)
        assert f"${{{secret}:?" in (ROOT / "docker-compose.yml").read_text()


def test_the_servers_are_those_of_the_tests() -> None:
    versions = dict(
        re.findall(r"^(\w+)_VERSION=(.+)$", (ROOT / "scripts/servers/versions.sh").read_text(), re.M)
    )
    assert SERVICES["weaviate"]["image"].endswith(f":{versions['WEAVIATE']}")
    assert SERVICES["ollama"]["image"].endswith(f":{versions['OLLAMA']}")


def test_what_the_image_copies_is_there_and_not_ignored() -> None:
    ignored = pathspec.GitIgnoreSpec.from_lines((ROOT / ".dockerignore").read_text().splitlines())
    for source, _ in copies():
        assert (ROOT / source).exists(), source
        probe = source if (ROOT / source).is_file() else f"{source}/any.py"
        assert not ignored.match_file(probe), source
    assert ignored.match_file(".env")
    assert ignored.match_file("tests/conftest.py")


def test_the_image_runs_as_nobody_special() -> None:
    last = DOCKERFILE.rpartition("\nFROM ")[2]
    assert re.search(r"^USER athena$", last, re.MULTILINE)
    assert "pip install" not in last


def copies() -> list[tuple[str, str]]:
    """What the build stage copies: (source, target), both as the Dockerfile has them."""
    found = []
    for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE):
        *sources, target = line.split()
        found += [(source, target if target != "./" else source) for source in sources]
    return found


@pytest.mark.server
@pytest.mark.timeout(600)
def test_the_steps_of_the_image_make_an_app_that_serves(tmp_path: Path) -> None:
    """The build stage's RUN lines in a folder that has only what is copied, then the start command."""
    context, installed = tmp_path / "src", tmp_path / "opt"
    for source, target in copies():
        _copy(ROOT / source, context / target)
    build = (
        DOCKERFILE.split("\nFROM ")[0] if DOCKERFILE.startswith("FROM") else DOCKERFILE.split("\nFROM ")[1]
    )
    steps = re.findall(r"^RUN (.+)$", build, re.MULTILINE)
    assert len(steps) == 2
    for step in steps:
        command = step.replace("/opt/athena", str(installed)).replace("python -m", f"{sys.executable} -m", 1)
        subprocess.run(command, shell=True, cwd=context, check=True, timeout=400)
    shutil.rmtree(context)
    _assert_serves(installed, tmp_path)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)


def _assert_serves(installed: Path, folder: Path) -> None:
    (port,) = free_ports(1)
    environment = {
        "PATH": f"{installed / 'bin'}:{os.environ['PATH']}",
        "HOME": str(folder),
        "ATHENA_PORT": str(port),
        "ATHENA_DATA_DIR": str(folder / "data"),
        "ATHENA_LLM": "none",
        "ATHENA_CROSS_ENCODER": "none",
    }
    start = re.search(r'^CMD \["sh", "-c", "(.+)"\]$', DOCKERFILE, re.MULTILINE)
    assert start is not None
    process = subprocess.Popen(["sh", "-c", start[1]], env=environment, cwd=folder)
    try:
        deadline = time.monotonic() + 120
        while not _healthy(port):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.5)
    finally:
        process.terminate()
        process.wait(20)
    assert (folder / "data" / "athena.sqlite").exists()


def _healthy(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/_stcore/health", timeout=2).status_code == 200
    except httpx.HTTPError:
        return False
