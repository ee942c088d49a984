"""Cases asked again: with the settings in use, and with others that might take their place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import streamlit as st

from athena.loading import changeable
from athena.settings import Settings
from athena.settings_changes import TRIABLE, with_values
from pipeline.words import counted
from ui.evaluation.running import Bar, Ran, evaluations, start
from ui.shared import messages, process
from ui.shared.words import plain

if TYPE_CHECKING:
    from athena import Athena
    from evals.cases import Replayed
    from evals.trials import Trial

Item = TypeVar("Item")
Values = Mapping[str, str]  # as they are typed, by the settings' names

NAMES = "trial-names"
ADVICE = {
    "yes": "Yes, these may be kept.",
    "no": "No, do not keep these.",
    "too few": "Too few cases to tell.",
}


def trials(user: str, *, busy: bool) -> None:
    """Draw what asks the cases again, as it is and with other settings, and what came of the last trial."""
    st.button("Ask all again", key="replay", icon=":material/replay:", type="primary", disabled=busy,
              on_click=_start, args=(user, {}))  # fmt: skip
    with st.expander("Would other settings do better?", icon=":material/compare_arrows:"):
        st.caption("Nothing is changed by asking. Choose settings, and what they would be.")
        names = st.multiselect("Settings to try", TRIABLE, key=NAMES, placeholder="Choose settings")
        values = {name: _value(name) for name in names}
        st.button("Ask the cases with these", key="try-cases", disabled=busy or not _differs(values),
                  on_click=_start, args=(user, values))  # fmt: skip
        trial = evaluations().trial
        if trial and trial.user == user and not busy:
            _shown(trial)


def _value(name: str) -> str:
    now = getattr(process.settings(), name)
    what = Settings.model_fields[name].description or ""
    return st.text_input(f"{name}, now {now}", value=str(now), key=f"trial-{name}", help=plain(what))


def _differs(values: Values) -> bool:
    return any(value != str(getattr(process.settings(), name)) for name, value in values.items())


@messages.noticed
def _start(user: str, values: Values) -> None:
    """Ask the cases of a user; raises `ConfigurationError` for a value that cannot be."""
    athena = process.athena()
    other = with_values(athena.settings, values) if values else None
    title = "Asking the cases with other settings" if values else "Asking the cases"
    start(title, partial(_asked, athena, user, values, other))


def _asked(
    athena: Athena,
    user: str,
    values: Values,
    other: Settings | None,
    *,
    on_progress: Callable[[Bar], None],
    should_stop: Callable[[], bool],
) -> Ran:
    from evals.cases import replay
    from evals.trials import Trial

    def bar(stage: str, done: int, total: int) -> None:
        on_progress(Bar(stage, done, total))

    cases = athena.cases.list(user)
    report = partial(bar, "Asked with the settings in use:")
    before = list(_until(replay(athena, cases, report=report), should_stop))
    if other is None or should_stop():
        return Ran(_summary(before, of=len(cases)))
    report = partial(bar, "Asked with the others:")
    after = list(_until(replay(athena, cases, settings=other, report=report), should_stop))
    if should_stop():
        return Ran(_summary(before, of=len(cases)))
    return Ran(_summary(after, of=len(cases)), Trial(user, values, before, after))


def _until(items: Iterable[Item], should_stop: Callable[[], bool]) -> Iterator[Item]:
    for item in items:
        yield item
        if should_stop():
            return


def _summary(replayed: Sequence[Replayed], *, of: int) -> str:
    counts = Counter(item.state for item in replayed)
    went = ", ".join(f"{count} {state}" for state, count in sorted(counts.items(), reverse=True))
    regressed = sum(item.regressed for item in replayed)
    said = f"{counted(len(replayed), 'case')}: {went or 'none'}."
    if regressed:
        said += f" {regressed} of those that fail passed before."
    return (
        said if len(replayed) == of else f"Cancelled after {said} {counted(of - len(replayed), 'case')} left."
    )


def _shown(trial: Trial) -> None:
    """Draw how the cases went both ways, and whether the change may be kept."""
    from evals.trials import advice

    found = advice(trial)
    tried = ", ".join(f"{name} = {value or 'none'}" for name, value in trial.values.items())
    with st.container(border=True, key="trial"):
        st.markdown(f"**{ADVICE[found.keep]}** {plain(found.why)}")
        if found.missing:
            st.caption(f"{counted(found.missing, 'more case')} would tell, if they go as these do.")
        st.caption(plain(f"Tried: {tried}"))
        rows = [
            {"Case": was.case.question, "As it is": _went(was), "With these": _went(now), "Why not": now.why}
            for was, now in zip(trial.before, trial.after, strict=True)
            if was.passed != now.passed
        ]
        if rows:
            st.dataframe(rows, hide_index=True)
        else:
            st.caption("Each case goes as it did before.")
        _keep(trial)


def _went(item: Replayed) -> str:
    return {"passing": "✓ passes", "failing": "✗ fails"}.get(item.state, item.state)


def _keep(trial: Trial) -> None:
    """Draw the button that keeps the tried settings, or what to do where the page may not change them."""
    settings = process.settings()
    if trial.values.keys() <= changeable(settings):
        st.button("Keep these settings", key="keep-tried", icon=":material/save:",
                  on_click=_kept, args=(trial,))  # fmt: skip
        return
    lines = [f"ATHENA_{name.upper()}={value}" for name, value in trial.values.items()]
    st.caption("To keep them, set these in the environment or in `.env`, and start Athena again:")
    st.code("\n".join(lines), language=None)


@messages.noticed
def _kept(trial: Trial) -> None:
    made = with_values(process.settings(), trial.values)
    process.change_settings({name: getattr(made, name) for name in trial.values})
    evaluations().trial = None
    st.toast("Kept. It holds from the next question on.", icon=":material/check_circle:")
