"""Settings: which language model answers, Ollama's models, and usage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

import streamlit as st

from athena.loading import KEY, changeable, drafted
from athena.models import try_connection
from athena.settings import Settings
from athena.usage import TOTAL, UsageKey, UsageRow
from athena.usage import usage as count
from pipeline.errors import AthenaError
from pipeline.redaction import without_password
from ui.settings import ollama
from ui.shared import messages, process
from ui.shared.process import answering_model, chosen_model, look_for_models
from ui.shared.state import kept
from ui.shared.words import LABELS, in_labels, plain, with_code

AUTO, NONE = "auto", "none"
FORM_PX = 736
FOR_EVERYBODY = "These settings apply to everybody who uses this server, from the next question on."
KEY_HELP = (
    "The key is sent with every request to OpenAI, or to the server above. It is stored in the data folder, "
    "and never shown again. If you change the address, enter the key again."
)

EMPTY = "You have not asked anything yet. Your questions and their tokens will be counted here."
ESTIMATED = "~ is an estimate: the model's server did not report all tokens."
UNKNOWN = "–"
KEYS = get_args(UsageKey)


@dataclass(slots=True)
class Form:
    """How often this session saved the form; the number is in the fields' keys, so a save resets them."""

    times: int = 0


def page() -> None:
    """Draw the page."""
    settings = process.settings()
    open_to_change = changeable(settings)
    installed = ollama.installed_models(settings.ollama_url)
    if installed is None and answering_model().startswith("ollama/"):
        look_for_models()  # Ollama has stopped since the last lookup
    with st.container(key="page"), st.container(key="settings", width=FORM_PX):
        st.header("Settings", anchor=False)
        st.subheader("Language model", anchor=False)
        _what_answers()
        st.caption(FOR_EVERYBODY)
        _model_form(settings, open_to_change)
        ollama.ollama_models(installed)
        usage()


def _what_answers() -> None:
    choice = chosen_model()
    if choice.name:
        st.markdown(f":material/check_circle: **{plain(choice.name)}** writes the answers.")
    else:
        why = "No language model is chosen." if process.settings().llm == NONE else in_labels(choice.detail)
        st.markdown(f"Answers are quotes. {with_code(why)}")


# -- the model ---------------------------------------------------------------------------------------------


def _model_form(settings: Settings, open_to_change: frozenset[str]) -> None:
    """Draw the fields of the model and its servers, and the buttons that save or test them."""
    with st.form(f"model-{kept(Form).times}", enter_to_submit=False):
        given = {"llm": _model_field(settings, open_to_change)}
        with st.expander("Servers and key", icon=":material/dns:"):
            for name in ("ollama_url", "openai_base_url"):
                given[name] = _text_field(name, settings, open_to_change)
            given[KEY] = _key_field(settings, open_to_change)
        with st.container(horizontal=True, vertical_alignment="center"):
            save = st.form_submit_button("Save", type="primary", icon=":material/save:", key="save")
            test = st.form_submit_button("Test connection", icon=":material/network_check:",
                                         key="test-connection")  # fmt: skip
    changes = _changed(given, settings, open_to_change)
    with st.container(key="outcome"):  # always there, so that nothing below it moves
        try:
            if test:
                _test(changes)
            elif save and changes:
                _save(changes)
        except AthenaError as error:
            messages.show_error(in_labels(error.problem), in_labels(error.fix))


def _model_field(settings: Settings, open_to_change: frozenset[str]) -> str:
    now = settings.llm
    *offered, none = process.athena().models.language_models()
    options = list(dict.fromkeys([AUTO, *offered, now, none]))
    picked = st.selectbox(
        LABELS["llm"], options, index=options.index(now), key=f"llm-{kept(Form).times}",
        accept_new_options=True, format_func=_model_label, disabled="llm" not in open_to_change,
        help="Or type openai/NAME.",
    )  # fmt: skip
    _origin("llm", settings)
    return str(picked or now)


def _model_label(name: str) -> str:
    if name == AUTO:
        now = f": {answering_model() or 'none found'}" if process.settings().llm == AUTO else ""
        return f"Automatic{now}"
    return "None: answer with quotes" if name == NONE else name


def _text_field(name: str, settings: Settings, open_to_change: frozenset[str]) -> str:
    value = st.text_input(LABELS[name], _shown(name, settings), key=f"{name}-{kept(Form).times}",
                          disabled=name not in open_to_change)  # fmt: skip
    _origin(name, settings)
    return value.strip()


def _key_field(settings: Settings, open_to_change: frozenset[str]) -> str:
    hint = "A key is set" if settings.openai_api_key else "No key is set"
    value = st.text_input(LABELS[KEY], type="password", placeholder=hint, help=KEY_HELP,
                          key=f"{KEY}-{kept(Form).times}", autocomplete="new-password",
                          disabled=KEY not in open_to_change)  # fmt: skip
    _origin(KEY, settings)
    return value.strip()


def _shown(name: str, settings: Settings) -> str:
    """Return a setting's value for its field, without the password of an address; "" for None."""
    value = getattr(settings, name)
    return "" if value is None else without_password(str(value))


def _origin(name: str, settings: Settings) -> None:
    """Draw where a value was set, if it cannot be changed on this page."""
    if name in changeable(settings):
        return
    if name in settings.fixed:
        st.caption(f"`ATHENA_{name.upper()}` was set when the server was started: change it there.")
    else:
        st.caption("Its key was set when the server was started: change the address there, too.")


def _changed(given: Mapping[str, str], settings: Settings, open_to_change: frozenset[str]) -> dict[str, Any]:
    """Return the changed settings; an emptied field gives None, but an empty key field no change."""
    changed = {name: value for name, value in given.items() if name in open_to_change and name != KEY
               and value != _shown(name, settings)}  # fmt: skip
    key = {KEY: given[KEY]} if given[KEY] and KEY in open_to_change else {}
    return {name: value or None for name, value in (changed | key).items()}


def _test(changes: Mapping[str, Any]) -> None:
    with st.spinner("Asking the model for a word …"):
        said = try_connection(drafted(process.settings(), changes))
    st.success(with_code(said), icon=":material/check_circle:")


def _save(changes: Mapping[str, Any]) -> None:
    process.change_settings(changes)
    look_for_models()
    kept(Form).times += 1
    st.toast("Saved. The next question uses it.", icon=":material/check_circle:")
    st.rerun()


# -- usage -------------------------------------------------------------------------------------------------


def usage() -> None:
    """Draw the usage of all users."""
    st.subheader("Usage", anchor=False)
    conversations = process.athena().conversations
    if not conversations.list(limit=1):
        st.text(EMPTY)
        return
    sums = st.container(horizontal=True, gap="medium", key="usage-sum")
    by: UsageKey = st.segmented_control("Usage by", KEYS, default="model", key="usage-by", required=True,
                                        format_func=str.capitalize, label_visibility="collapsed")  # fmt: skip
    found = count(conversations, by)
    total = found.pop(TOTAL)
    known = {name: value for name, value in cells(total).items() if value != UNKNOWN}
    with sums:
        for name, value in known.items():
            st.metric(name, value, width="content")
    if total.estimated:
        st.caption(ESTIMATED)
    rows = [{by.capitalize(): key, **cells(row)} for key, row in found.items()]
    st.dataframe(rows, column_order=[by.capitalize(), *known], hide_index=True)


def cells(row: UsageRow) -> dict[str, str]:
    """Return a row as texts by column; unknown values are dashes, estimated tokens begin with "~"."""
    about = "~" if row.estimated else ""

    def tokens(count: int | None) -> str:
        return UNKNOWN if count is None else f"{about}{count:,}"

    return {
        "Questions": f"{row.turns:,}",
        "Answered": f"{row.answers:,}",
        "Not answered": f"{row.abstentions:,}",
        "Tokens in": tokens(row.tokens_in),
        "Tokens out": tokens(row.tokens_out),
        "Cost": UNKNOWN if row.cost is None else f"{row.cost:,.4f}",
        "95 % within": UNKNOWN if row.p95_s is None else f"{row.p95_s:.1f} s",
        "With memories": f"{row.recalls:,}",
        "Memory relevance": " · ".join(f"{value:.2f}" for value in row.relevance) or UNKNOWN,
    }
