"""Every message that rules for statements are made on is read as it is labelled."""

from __future__ import annotations

import pytest

from evals.calibration.statements import Stated, load_statements, stated

DEV = load_statements("dev")


@pytest.mark.parametrize(("message", "expected"), DEV, ids=[text for text, _ in DEV])
def test_it_is_read_as_labelled(message: str, expected: list[Stated]) -> None:
    assert stated(message) == expected


def test_the_halves_have_no_message_in_common() -> None:
    assert not {text for text, _ in DEV}.intersection(text for text, _ in load_statements("test"))
