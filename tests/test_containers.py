"""docker-compose.yml and the Dockerfile, as far as they can be checked without a container engine."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pathspec
import pytest
import yaml

from athena.settings import Settings
from tests.dockerfile import DOCKERFILE, copies

ROOT = Path(__file__).parent.parent
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
VARIABLE = re.compile(r"\$\{(\w+)")
KNOWN = {f"ATHENA_{name.upper()}" for name in Settings.model_fields}
REQUIRED = {"MONGODB_PASSWORD", "MONGODB_ROOT_PASSWORD", "WEAVIATE_API_KEY"}
SECRETS = REQUIRED | {"ATHENA_NEO4J_PASSWORD"}


@pytest.mark.parametrize("name", SERVICES)
def test_each_service_is_pinned_limited_and_watched(name: str) -> None:
    service = SERVICES[name]
    assert re.search(r":(version-)?\d+\.\d+\.\d+$", service["image"])
    assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory"}
    assert "no-new-privileges:true" in service["security_opt"]
    assert name in ("app", "ollama-pull") or service["healthcheck"]["test"][0] in ("CMD", "CMD-SHELL")


def test_only_the_app_publishes_a_port_and_on_loopback() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published.pop("app") == ["${ATHENA_LISTEN:-127.0.0.1:8501}:8501"]
    assert all(port.startswith("127.0.0.1:") for ports in published.values() for port in ports)


def test_only_the_app_reaches_the_stores() -> None:
    inside = {name for name, service in SERVICES.items() if "stores" in service["networks"]}
    assert inside == {"app", "mongodb", "weaviate", "neo4j"}
    assert COMPOSE["networks"]["stores"]["internal"] is True
    assert all(SERVICES[name]["networks"] == ["stores"] for name in inside - {"app"})


def test_the_containers_set_only_settings_that_there_are() -> None:
    assert {name for name in SERVICES["app"]["environment"] if name.startswith("ATHENA_")} <= KNOWN
    assert set(re.findall(r"\b(ATHENA_\w+)=", DOCKERFILE)) <= KNOWN
    assert SERVICES["app"]["env_file"] == [{"path": ".env", "required": False}]


@pytest.mark.parametrize("name", [name for name in SERVICES if SERVICES[name]["image"].startswith("athena")])
def test_commands_of_the_image_exist(name: str) -> None:
    command = SERVICES[name].get("command", ["athena", "serve"])
    asked = subprocess.run([sys.executable, "-m", *command, "--help"], check=False, capture_output=True)
    assert command[0] == "athena" and asked.returncode == 0, asked.stderr


def env_file(text: str) -> dict[str, str]:
    return dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))


def test_every_variable_is_in_the_example_and_secrets_have_no_default() -> None:
    example = env_file((ROOT / ".env.example").read_text())
    compose = (ROOT / "docker-compose.yml").read_text()
    variables = set(VARIABLE.findall(compose))
    assert variables <= set(example) <= variables | KNOWN  # the app gets the others by its env_file
    assert {example[secret] for secret in SECRETS} == {""}
    assert all(f"${{{secret}:?" in compose for secret in REQUIRED)


def test_an_env_file_is_made_with_secrets_of_its_own(tmp_path: Path) -> None:
    script = tmp_path / "scripts/containers/make_env.sh"
    script.parent.mkdir(parents=True)
    shutil.copy(ROOT / "scripts/containers/make_env.sh", script)
    shutil.copy(ROOT / ".env.example", tmp_path)
    subprocess.run([script], check=True, capture_output=True)
    made = env_file((tmp_path / ".env").read_text())
    secrets = {made[name] for name in SECRETS}
    assert len(secrets) == len(SECRETS)
    assert all(re.fullmatch(r"[0-9a-f]{48}", secret) for secret in secrets)
    assert (tmp_path / ".env").stat().st_mode & 0o077 == 0


def test_the_image_copies_what_is_there_and_runs_as_a_plain_user() -> None:
    ignored = pathspec.GitIgnoreSpec.from_lines((ROOT / ".dockerignore").read_text().splitlines())
    for source, _ in copies():
        assert (ROOT / source).exists(), source
        probe = source if (ROOT / source).is_file() else f"{source}/any.py"
        assert not ignored.match_file(probe), source
    assert ignored.match_file(".env")
    assert ignored.match_file("tests/conftest.py")
    last = DOCKERFILE.rpartition("\nFROM ")[2]
    assert re.search(r"^USER athena$", last, re.MULTILINE) and "pip install" not in last


def test_the_compose_file_keeps_to_its_specification() -> None:
    command = ["-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", "docker-compose.yml"]
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
