"""`athena keys`: made and shown once, listed without what they are, revoked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from athena.cli import app


def test_a_key_is_shown_once_listed_and_revoked(tmp_path: Path) -> None:
    def keys(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, ["keys", *words, "--data-dir", str(tmp_path / "data")])
        return done.exit_code, done.output

    code, said = keys("add", "laptop", "--user", "ann", "--may", "read, remember", "--days", "2")
    secret = said.split()[0]
    assert (code, secret.startswith("athena_")) == (0, True)
    [listed] = json.loads(keys("list", "--json")[1])
    assert (listed["name"], listed["user"], listed["rights"]) == ("laptop", "ann", ["read", "remember"])
    assert secret not in keys("list")[1] and "hash" not in listed
    assert keys("add", "laptop")[0] == 1
    assert keys("revoke", "laptop") == (0, "'laptop' is revoked.\n")
    assert keys("revoke", "laptop")[0] == 1
    assert keys("list", "--json")[1] == "[]\n"


@pytest.mark.parametrize("words", [("add", " "), ("add", "a", "--may", ""), ("add", "a", "--may", "fly")])
def test_a_key_without_a_name_or_a_right_is_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, ["keys", *words, "--data-dir", str(tmp_path / "data")])
    assert done.exit_code in (1, 2)
    assert "read, remember" in done.output
