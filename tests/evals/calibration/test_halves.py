"""The manuals' questions by halves: what is printed of each."""

from __future__ import annotations

from evals.calibration.halves import figures, halves
from evals.runs.answers import Judged
from pipeline.answer import Verdict


def judged(
    name: str, *, answerable: bool = True, abstained: bool = False, first: bool | None = None
) -> Judged:
    probability = 0.9 if answerable else 0.1
    verdict: Verdict = "not in the documents" if abstained else "answered"
    return Judged(name, answerable, probability, verdict, first, first, first, words=9, ms=1.0)


def test_every_question_is_in_one_half() -> None:
    every = [judged(f"a{number:03}") for number in range(1, 40)]
    first, held = halves(every)
    assert {*first, *held} == {*every}
    assert not {*first} & {*held}
    assert min(len(first), len(held)) > 10


def test_the_figures_of_a_half() -> None:
    shown = dict(
        figures(
            [
                *[judged("a", first=True)] * 3,
                judged("b", first=False, abstained=True),
                judged("u", answerable=False, abstained=True),
            ]
        )
    )
    assert shown["questions"] == "4 and 1 without an answer"
    assert shown["first quote has the answer"].startswith("0.75 [")
    assert shown["wrongly abstained"].startswith("0.25 [")
    assert shown["rightly abstained"] == "1.00 [1.00, 1.00]"
    assert shown["AUROC of the verdict"] == "1.000"


def test_a_half_without_unanswerable_questions_has_no_area() -> None:
    shown = dict(figures([judged("a", first=True)]))
    assert (shown["rightly abstained"], shown["AUROC of the verdict"]) == ("", "")
