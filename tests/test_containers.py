"""docker-compose.yml and the Dockerfile, as far as they can be checked without a container engine."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pathspec
import pytest
import yaml

from athena.settings import Settings
from tests.dockerfile import DOCKERFILE, copies
from tests.server_processes import free_ports

ROOT = Path(__file__).parent.parent
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
VARIABLE = re.compile(r"\$\{(\w+)")
ONE_SHOT = "ollama-pull"
KNOWN = {f"ATHENA_{name.upper()}" for name in Settings.model_fields}
REQUIRED = {"MONGODB_PASSWORD", "MONGODB_ROOT_PASSWORD", "WEAVIATE_API_KEY"}
SECRETS = REQUIRED | {"ATHENA_NEO4J_PASSWORD"}


@pytest.mark.parametrize("name", SERVICES)
def test_each_service_is_pinned_limited_and_watched_and_its_data_has_a_volume(name: str) -> None:
    service = SERVICES[name]
    assert re.search(r":(version-)?\d+\.\d+\.\d+$", service["image"])
    assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory"}
    assert "no-new-privileges:true" in service["security_opt"]
    assert service["logging"]["options"]["max-size"] and service["logging"]["options"]["max-file"]
    if name not in ("app", ONE_SHOT):
        assert service["healthcheck"]["test"][0] in ("CMD", "CMD-SHELL")
        sources = {volume.partition(":")[0] for volume in service["volumes"]}
        assert all(source in COMPOSE["volumes"] or (ROOT / source).is_file() for source in sources)


def test_only_the_app_publishes_a_port_and_on_loopback() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published.pop("app") == ["${ATHENA_LISTEN:-127.0.0.1:8501}:8501"]
    for name, ports in published.items():  # what is looked at in a browser, and starts only when asked for
        assert SERVICES[name]["profiles"] == [name]
        assert all(port.startswith("127.0.0.1:") for port in ports)


def test_each_image_is_built_by_one_service_and_the_others_use_it() -> None:
    """Two that build and tag the same image fail in parallel builds."""
    built = [service["image"] for service in SERVICES.values() if "build" in service]
    assert len(built) == len(set(built))
    for service in SERVICES.values():
        if "build" not in service and service["image"] in built:
            assert service["pull_policy"] == "never"


def test_only_the_app_reaches_the_stores() -> None:
    inside = {name for name, service in SERVICES.items() if "stores" in service["networks"]}
    assert inside == {"app", "mongodb", "weaviate", "neo4j"}
    assert COMPOSE["networks"]["stores"]["internal"] is True
    assert all(SERVICES[name]["networks"] == ["stores"] for name in inside - {"app"})


def test_mongodb_lets_the_app_in_by_a_user_of_its_database_only() -> None:
    mongodb = SERVICES["mongodb"]["environment"]
    url = SERVICES["app"]["environment"]["ATHENA_MONGODB_URL"]
    assert mongodb["MONGO_INITDB_ROOT_USERNAME"] != "athena"
    assert url.endswith(f"/?authSource={mongodb['ATHENA_DATABASE']}")
    assert SERVICES["app"]["environment"]["ATHENA_MONGODB_DATABASE"] == mongodb["ATHENA_DATABASE"]
    (script,) = [path for path in SERVICES["mongodb"]["volumes"] if "docker-entrypoint-initdb.d" in path]
    text = (ROOT / script.partition(":")[0]).read_text()
    assert re.findall(r'role: "(\w+)", db: (\w+)', text) == [("readWrite", "database")]
    assert set(re.findall(r"process\.env\.(\w+)", text)) <= set(mongodb)


def test_settings_in_the_env_file_reach_the_app_unless_the_containers_set_them() -> None:
    assert {name for name in SERVICES["app"]["environment"] if name.startswith("ATHENA_")} <= KNOWN
    assert set(re.findall(r"\b(ATHENA_\w+)=", DOCKERFILE)) <= KNOWN
    written = {name: f"mine-{name}" for name in KNOWN | SECRETS}
    arrived = arriving(written)
    decided = {name for name in KNOWN if arrived[name] != written[name]}
    assert {"ATHENA_STORE", "ATHENA_MONGODB_URL", "ATHENA_CORPUS", "ATHENA_HOST"} <= decided
    assert not {"ATHENA_LLM", "ATHENA_EMBEDDING_MODEL", "ATHENA_TOP_K"} & decided
    assert "mine-MONGODB_PASSWORD" in arrived["ATHENA_MONGODB_URL"]
    assert arrived["ATHENA_WEAVIATE_API_KEY"] == "mine-WEAVIATE_API_KEY"


def test_what_arrives_makes_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    written = env_file((ROOT / ".env.example").read_text()) | dict.fromkeys(SECRETS, "secret")
    written |= {"ATHENA_TOP_K": "5", "ATHENA_HYDE": "off"}
    for name, value in arriving(written).items():
        monkeypatch.setenv(name, value)
    settings = Settings(_env_file=None)
    assert (settings.store, settings.top_k, settings.hyde) == ("server", 5, "off")
    assert settings.mongodb_url == "mongodb://athena:secret@mongodb:27017/?authSource=athena"
    assert os.environ["MONGODB_ROOT_PASSWORD"] == ""


def env_file(text: str) -> dict[str, str]:
    return dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))


def arriving(written: dict[str, str]) -> dict[str, str]:
    """What the app's environment holds, as compose makes it of an .env with these lines."""

    def filled(match: re.Match[str]) -> str:
        name, default = match[1], match[3] or ""
        return written.get(name) or (default if match[2] == ":-" else "")

    service = SERVICES["app"]
    assert service["env_file"] == [{"path": ".env", "required": False}]
    given = {
        name: re.sub(r"\$\{(\w+)(:[-?])?([^}]*)\}", filled, value)
        for name, value in service["environment"].items()
    }
    return written | given


def test_every_variable_is_in_the_example_and_secrets_have_no_default() -> None:
    example, compose = (
        env_file((ROOT / ".env.example").read_text()),
        (ROOT / "docker-compose.yml").read_text(),
    )
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
    subprocess.run([script], check=True, capture_output=True)
    assert env_file((tmp_path / ".env").read_text()) == made


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
    assert len(steps) == 3
    arguments = dict(re.findall(r"^ARG (\w+)=(\w+)$", build, re.MULTILINE))
    for step in steps:
        command = step.replace("/opt/athena", str(installed)).replace("python -m", f"{sys.executable} -m", 1)
        subprocess.run(command, shell=True, cwd=context, check=True, timeout=400, env=os.environ | arguments)
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
    start = re.search(r"^CMD (\[.+\])$", DOCKERFILE, re.MULTILINE)
    assert start is not None
    process = subprocess.Popen(json.loads(start[1]), env=environment, cwd=folder)
    try:
        deadline = time.monotonic() + 120
        while not _healthy(port):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.5)
        while not _indexed(folder / "data" / "athena.sqlite"):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.5)
    finally:
        process.terminate()
        process.wait(20)


def _indexed(file: Path) -> int:
    """How many documents there are."""
    try:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
            return int(connection.execute("SELECT count(*) FROM document").fetchone()[0])
    except sqlite3.OperationalError:  # not made yet
        return 0


def _healthy(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/_stcore/health", timeout=2).status_code == 200
    except httpx.HTTPError:
        return False
