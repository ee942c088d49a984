"""The look at the registry: what is published, what is newer, what has a hole; without network it says so."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import httpx
import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def check() -> ModuleType:
    path = ROOT / "scripts/containers/check_images.py"
    spec = importlib.util.spec_from_file_location("check_images", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["check_images"] = module  # dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


def hub(**tags: list[str]) -> httpx.Client:
    """A registry that has these tags, one a page."""

    def answer(request: httpx.Request) -> httpx.Response:
        repository = request.url.path.removeprefix("/v2/repositories/").removesuffix("/tags")
        names = [name for name in tags[repository.rpartition("/")[2]] if request.url.params["name"] in name]
        page = int(request.url.params["page"])
        return httpx.Response(
            200,
            json={"results": [{"name": name} for name in names[page - 1 : page]], "next": page < len(names)},
        )

    return httpx.Client(base_url="http://hub", transport=httpx.MockTransport(answer))


def found(check: ModuleType, image: str, client: httpx.Client) -> list[str]:
    (parsed,) = check.images_of(f"services: {{a: {{image: '{image}'}}}}")
    return list(check.problems(parsed, client))


def test_what_is_published_and_newest_is_fine(check: ModuleType) -> None:
    published = ["7.0.40", "7.0.40-jammy", "7.0.9", "17.0.41", "8.0.50"]
    assert found(check, "mongo:7.0.40", hub(mongo=published)) == []
    versions = ["version-20.26.1", "version-20.26.1-nonroot", "20.26.9"]
    assert found(check, "arizephoenix/phoenix:version-20.26.1", hub(phoenix=versions)) == []


def test_what_is_not_published_or_not_newest_is_told(check: ModuleType) -> None:
    client = hub(weaviate=["1.38.2", "1.38.24", "1.38.9"])
    assert found(check, "semitechnologies/weaviate:1.38.9", client) == [
        "is not the newest patch release: 1.38.24 is"
    ]
    assert found(check, "semitechnologies/weaviate:1.38.99", client) == ["is not published"]


@pytest.mark.parametrize("version", ["7.0.14", "7.0.27", "8.0.16", "8.2.2"])
def test_a_known_hole_is_told(check: ModuleType, version: str) -> None:
    assert "has a known hole that a later patch release closes" in found(
        check, f"mongo:{version}", hub(mongo=[version])
    )


def test_the_compose_file_names_no_image_with_a_known_hole(check: ModuleType) -> None:
    images = check.images_of((ROOT / "docker-compose.yml").read_text())
    assert {image.name for image in images} >= {"mongo", "semitechnologies/weaviate", "ollama/ollama"}
    assert all(image.is_safe for image in images)


def test_what_the_image_is_built_on_has_no_known_hole_and_is_looked_at(check: ModuleType) -> None:
    (base,) = check.bases_of((ROOT / "Dockerfile").read_text())
    assert (base.name, base.suffix, base.is_safe) == ("python", "-slim-bookworm", True)
    (older,) = check.bases_of("FROM python:3.11.13-slim-bookworm AS build")
    client = hub(python=["3.11.13-slim-bookworm", "3.11.14-slim-bookworm", "3.11.15-slim", "3.11.16"])
    assert list(check.problems(older, client)) == [
        "has a known hole that a later patch release closes",
        "is not the newest patch release: 3.11.14-slim-bookworm is",
    ]


def test_without_network_it_fails_and_says_why(
    check: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(check, "HUB", "http://127.0.0.1:9")
    assert check.main() == 2
    assert "needs the network" in capsys.readouterr().err
