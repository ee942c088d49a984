"""Whether a change may be kept, by how cases went before it and with it."""

from __future__ import annotations

import pytest

from evals.cases import Located, Replayed
from evals.trials import Advice, Trial, advice
from pipeline.stores.cases import Case


def trial(before: str, after: str) -> Trial:
    """A trial of cases that pass (+), fail (-), or cannot be asked (?)."""

    def went(marks: str) -> list[Replayed]:
        case = Case(id="c", question="q", created_at=1.0)
        return [Replayed(Located(case), {"+": True, "-": False}.get(mark), "", 1.0) for mark in marks]

    return Trial("local", {}, went(before), went(after))


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("-" * 20 + "+" * 20, "+" * 40, Advice("yes", "40 of 40 cases pass, 20 before.")),
        ("+" * 40, "-" * 20 + "+" * 20, Advice("no", "20 of 40 cases pass, 40 before.")),
        ("-" * 5, "+" * 5, Advice("too few", "5 of 5 cases pass, 0 before.", 1)),
        ("-" * 6, "+" * 6, Advice("yes", "6 of 6 cases pass, 0 before.")),
        # all that differ got worse, and 5 of 6 that do are 6 of 8
        ("+" * 5 + "-", "-" * 6, Advice("too few", "0 of 6 cases pass, 5 before.", 2)),
        # sd of (1, 0, 0, 0) is .5, its mean .25: (2.8 · .5 / .25)² = 31.4
        ("-+++", "++++", Advice("too few", "4 of 4 cases pass, 3 before.", 28)),
        ("+" * 200, "+" * 200, Advice("yes", "It makes no difference: 200 of 200 cases pass, 200 before.")),
        ("+?", "+?", Advice("too few", "1 of 1 case pass, 1 before.", 99)),
        ("?", "+", Advice("too few", "No case has what it should find.", 6)),
    ],
)
def test_the_advice_is_a_paired_test(before: str, after: str, found: Advice) -> None:
    assert advice(trial(before, after)) == found
