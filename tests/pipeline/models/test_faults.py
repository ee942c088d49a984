"""What a model's server does wrong ends in plain words, in time, and with little of it kept."""

from __future__ import annotations

import pytest

from pipeline.models import generation
from tests.model_faults import DIALECTS, FAULTS, Dialect, Fault

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation, "SILENCE_GRACE_S", 0.1)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_has_its_own_plain_message(fault: Fault, dialect: Dialect) -> None:
    outcome = fault.try_on(dialect)
    assert not outcome.problem, outcome


def test_there_are_enough_kinds() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 28


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_terminals_obey_is_no_part_of_an_answer(dialect: Dialect) -> None:
    (fault,) = (fault for fault in FAULTS if fault.name == "control characters")
    assert fault.try_on(dialect).text == "Close the[2J valve."
