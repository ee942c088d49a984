"""Personas from TOML, and what is said of one that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.answering.persona import Persona, load_persona
from pipeline.errors import ConfigurationError


def test_without_a_file_there_is_the_default_one() -> None:
    assert load_persona(None) == Persona()


def test_a_file_sets_what_it_names(tmp_path: Path) -> None:
    path = tmp_path / "persona.toml"
    path.write_text('name = "Echo"\nsuggestions = ["Why?"]\n')
    assert load_persona(path) == Persona(name="Echo", suggestions=("Why?",))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"name = ", "cannot be read"),
        (b"\xff", "cannot be read"),
        (b'colour = "red"', "key 'colour'"),
        (b'name = ""', "key 'name'"),
        (b"name = 5", "key 'name'"),
        (None, "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, content: bytes | None, words: str) -> None:
    path = tmp_path / "persona.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=words) as caught:
        load_persona(path)
    assert str(path) in str(caught.value)
    assert caught.value.fix
