"""The lock files: complete, with hashes, the same versions in each, from nowhere but the package index."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
ALL = [extra for extra in EXTRAS if extra != "hf"]  # torch alone would be gigabytes
LOCKS = {
    "requirements.lock": ALL,
    "requirements-image.lock": ["page", "doors", "files", "openai", "server", "tracing", "neo4j"],
    "requirements-trulens.lock": ["openai", "server", "trulens"],
}
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;]+)(?: ; [^\\]+)?(?: \\)?$")
HASH = re.compile(r"^    --hash=sha256:[0-9a-f]{64}(?: \\)?$")


def read(name: str) -> dict[str, set[str]]:
    """The versions of each package; platforms may have one of their own."""
    found: dict[str, set[str]] = {}
    for line in (ROOT / name).read_text().splitlines():
        if match := PIN.match(line):
            found.setdefault(canonicalize_name(match[1]), set()).add(match[2])
    return found


def wanted(name: str) -> list[Requirement]:
    lines = [*PROJECT["project"]["dependencies"], *(line for extra in LOCKS[name] for line in EXTRAS[extra])]
    if name == "requirements.lock":
        lines += PROJECT["dependency-groups"]["dev"]
    else:
        lines += PROJECT["build-system"]["requires"]  # the wheel is built with what is locked
    return [Requirement(line) for line in lines]


@pytest.mark.parametrize("name", LOCKS)
def test_the_lock_satisfies_the_project(name: str) -> None:
    locked = read(name)
    for requirement in wanted(name):
        versions = locked.get(canonicalize_name(requirement.name), set())
        assert versions, f"{requirement} is not in {name}: run `make lock`"
        assert all(requirement.specifier.contains(version) for version in versions), requirement


@pytest.mark.parametrize("name", LOCKS)
def test_everything_is_pinned_with_hashes_and_names_no_host(name: str) -> None:
    text = (ROOT / name).read_text()
    assert "://" not in text and "index" not in re.sub(HASH.pattern, "", text, flags=re.MULTILINE).split()
    lines = text.splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        assert PIN.match(line) or HASH.match(line), line
        if PIN.match(line):
            assert HASH.match(following), line


@pytest.mark.parametrize("name", sorted(set(LOCKS) - {"requirements.lock"}))
def test_images_have_the_versions_that_are_tested(name: str) -> None:
    tested = read("requirements.lock")
    assert all(versions <= tested[package] for package, versions in read(name).items())
