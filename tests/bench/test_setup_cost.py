"""What setting up costs, measured on an environment that is made at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench import setup_cost

MEGABYTE = b"x" * 2**20


def test_a_file_with_two_names_weighs_once(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(3 * MEGABYTE)
    os.link(tmp_path / "one", tmp_path / "other")
    assert setup_cost.megabytes(tmp_path) == 3


def test_an_environment_is_made_in_a_copy_and_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    checkouts = []

    def set_up(checkout: Path) -> Path:
        checkouts.append(checkout)
        assert (checkout / "scripts/setup.sh").exists()
        assert (checkout / "athena/__init__.py").exists()
        assert not (checkout / ".venv").exists()
        packages = checkout / ".venv/lib/python3.11/site-packages"
        (packages / "a.dist-info").mkdir(parents=True)
        (packages / "a.bin").write_bytes(2 * MEGABYTE)
        (checkout / ".venv/bin").mkdir()
        (checkout / ".venv/bin/python").write_text(
            '#!/bin/sh\ncase "$2" in *platform*) echo 3.11.9 ;; *) echo .25 ;; esac\n'
        )
        (checkout / ".venv/bin/python").chmod(0o755)
        return checkout / ".venv"

    cost = setup_cost.measure(set_up)
    assert (cost.megabytes, cost.packages, cost.import_seconds, cost.python) == (2, 1, 0.25, "3.11.9")
    assert not checkouts[0].exists()
