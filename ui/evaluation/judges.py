"""Judges: how far each can be believed, by answers that people labelled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from pipeline.words import counted, share_text
from ui.evaluation.running import Bar, Cancelled, Ran, evaluations, start
from ui.shared import messages, process
from ui.shared.state import entered
from ui.shared.words import plain

if TYPE_CHECKING:
    from athena import Athena
    from evals.judges import JudgeReport

WHAT = (
    "A judge is believed as far as it was tested. Each is shown answers that people labelled, and should "
    "accept those that are right or rightly abstain, and no other."
)
RULES = "rules"  # `evals.judges.BY_RULE`, which takes long to import
MODEL = "judge-model"
NAMES = "ollama/NAME or openai/NAME"


def judges(*, busy: bool) -> None:
    """Draw what tests a judge, and what each accepted."""
    st.markdown(WHAT)
    st.button("Test the rules", key="test-rules", icon=":material/rule:", disabled=busy,
              on_click=_start, args=(RULES,))  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input("A language model", key=MODEL, disabled=busy, placeholder=_connected() or NAMES)
        st.button("Test the model", key="test-model", icon=":material/smart_toy:", disabled=busy,
                  on_click=_start_model)  # fmt: skip
    for tested in _tested():
        _shown(tested)


def _tested() -> Iterator[JudgeReport]:
    """The tests of the judges, the rules first; raises `DatasetError` where one that was kept is damaged."""
    from evals.judges import TESTED, kept_test

    if rules := evaluations().rules:
        yield rules
    for path in sorted((process.settings().data_dir / TESTED).glob("*.json")):
        yield kept_test(path)


def figures_of(judge: str) -> str:
    """What a language model as a judge cannot see, and what its own test came to."""
    from evals.judges import MODEL_CAN_SEE

    tested = next((one for one in _tested() if one.judge == judge), None)
    if tested is None:
        return f"{MODEL_CAN_SEE} {judge} was not tested here: test it under Judges."
    right, wrong = share_text(tested.right_accepted), share_text(tested.wrong_accepted)
    accepts = f"{right} of right answers and {wrong} of wrong ones"
    return f"{MODEL_CAN_SEE} {judge} accepts {accepts}."


def _shown(tested: JudgeReport) -> None:
    with st.container(border=True, key=f"judge-{tested.judge}"):
        st.markdown(f"**{plain(_called(tested.judge))}**")
        st.markdown(
            f"Accepts **{share_text(tested.right_accepted)}** of the right answers and "
            f"**{share_text(tested.wrong_accepted)}** of the wrong ones."
        )
        if tested.unparsed:
            answers = counted(tested.unparsed, "answer")
            st.caption(f"What it said of {answers} could not be read, and counts as neither.")
        st.dataframe([_row(label, count) for label, count in tested.accepted.items()], hide_index=True)
        st.caption(plain(tested.can_see))


def _called(name: str) -> str:
    return "By rule" if name == RULES else name


def _row(label: str, count: Mapping[str, int]) -> dict[str, Any]:
    from evals.judges import RIGHT

    wanted = label in RIGHT
    right = count["accepted"] if wanted else count["of"] - count["unparsed"] - count["accepted"]
    return {
        "Answers": label.replace("_", " "),
        "Should be": "accepted" if wanted else "refused",
        "Accepted": f"{count['accepted']} of {count['of']}",
        "Judged rightly": f"{right / count['of']:.0%}",
    }


def _start_model() -> None:
    if name := entered(MODEL) or _connected():
        _start(name)
    else:
        messages.notify(f"No language model is connected. Name one, as {NAMES}.")


def _connected() -> str:
    """The language model in use; "" for none."""
    return process.athena().models.language_model()[1].name


def _start(name: str) -> None:
    start(f"Testing a judge: {_called(name)}", partial(_test, process.athena(), name))


def _test(
    athena: Athena, name: str, *, on_progress: Callable[[Bar], None], should_stop: Callable[[], bool]
) -> Ran:
    from evals.judges import try_judge

    def report(done: int, total: int) -> None:
        if should_stop():
            raise Cancelled
        on_progress(Bar("Answers judged:", done, total))

    try:
        found = try_judge(athena, name, report=report)
    except Cancelled:
        return Ran("Cancelled: nothing of it is kept.")
    right, wrong = share_text(found.right_accepted), share_text(found.wrong_accepted)
    said = f"It accepts {right} of right answers, {wrong} of wrong ones."
    return Ran(said, rules=found if name == RULES else None)
