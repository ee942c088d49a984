"""One setting as the page offers it: what it changes, where its value comes from, and the way back."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import streamlit as st

from athena.loading import KEY, OLLAMA_KEY, OLLAMA_SERVER, changeable
from athena.settings import Settings
from athena.settings_changes import require_workable
from memory.options import PRESETS
from pipeline.errors import ConfigurationError
from pipeline.redaction import without_password
from ui.shared.state import kept
from ui.shared.words import plain, with_code

Kind = Literal["model", "text", "secret", "choice", "radio"]
VARIABLE = re.compile(r"(ATHENA_[A-Z_]+)(?:=(\w+))?")


@dataclass(frozen=True, slots=True)
class Field:
    """A setting of the page."""

    name: str
    kind: Kind
    label: str
    what: str  # it changes, in a sentence
    placeholder: str = ""
    options: Sequence[str] = ()
    says: Sequence[str] = ()  # of each option, in their order

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return f"ATHENA_{self.name.upper()}"


MODEL = Field(
    "llm", "model", "Language model",
    "Writes the answers. Automatic takes the first that a server offers; without one, answers are quotes.",
)  # fmt: skip
SERVERS = (
    Field("ollama_url", "text", "Ollama's address", "Where models of Ollama are asked for and run."),
    Field("openai_base_url", "text", "Address of an OpenAI-compatible server",
          "Where models named openai/… run. Another address forgets the key, which was for the old one.",
          placeholder="OpenAI's own"),
    Field(KEY, "secret", "Key", "Goes along with every request to OpenAI or to that server. It is kept "
          "in the data folder, for the owner of this server alone, and never shown again."),
)  # fmt: skip
SEARCH = (
    Field("hyde", "choice", "HyDE", "Lets the model imagine an answer and searches for what resembles it. "
          "`auto` does so when a model is connected.", options=("auto", "on", "off")),
)  # fmt: skip
ANSWERS = (
    Field("persona", "text", "Persona", "A TOML file on this server with the name, greeting and tone of who "
          "answers.", placeholder="Path of the file"),
)  # fmt: skip


MEMORY = (
    Field("memory", "radio", "Way to remember", "What is kept stays, whichever is chosen.",
          options=tuple(PRESETS), says=tuple(preset.says for preset in PRESETS.values())),
)  # fmt: skip


@dataclass(slots=True)
class Edited:
    """How often a field was emptied by the page itself: each time it becomes another one."""

    times: int = 0


@dataclass(frozen=True, slots=True)
class Shown:
    """What fields are drawn with."""

    settings: Settings
    chosen: Mapping[str, Any]
    can_write: bool
    models: Sequence[str]
    on_reset: Callable[[str], None]

    def is_open(self, name: str) -> bool:
        """Whether the page may change a setting."""
        return self.can_write and name in changeable(self.settings)


def field(item: Field, shown: Shown) -> dict[str, Any]:
    """Draw a setting; what was changed, and nothing while it is as it was."""
    with st.container(key=f"setting-{item.name}", gap="xsmall"):
        changed = _control(item, shown)
        if problem := problem_with(changed):
            st.error(with_code(problem), icon=":material/error:")
        st.markdown(with_code(item.what))
        _origin(item, shown)
    return changed


def _origin(item: Field, shown: Shown) -> None:
    """Where the value comes from; one that was chosen here can be taken back."""
    origin = origin_of(item, shown.settings, shown.chosen)
    if item.name not in shown.chosen or item.name not in changeable(shown.settings):
        st.caption(with_code(origin))
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(with_code(origin), width="content")
        st.button("Remove the key" if item.kind == "secret" else "Reset to the default",
                  key=f"reset-{item.name}", type="tertiary", icon=":material/undo:",
                  disabled=not shown.can_write, help=f"The default: {_default(item)}",
                  on_click=shown.on_reset, args=(item.name,))  # fmt: skip


def origin_of(item: Field, settings: Settings, chosen: Mapping[str, Any]) -> str:
    """Where a setting's value comes from, in words."""
    if (origin := settings.origin(item.name)) not in ("settings page", "default"):
        return f"Set by `{item.variable}` ({origin}): it cannot be changed here."
    if item.name not in changeable(settings):
        key = OLLAMA_KEY if item.name == OLLAMA_SERVER else f"ATHENA_{KEY.upper()}"
        return f"Belongs to the key that `{key}` sets: it cannot be changed here."
    return "Chosen here." if item.name in chosen else f"Default: `{_default(item)}`."


def _default(item: Field) -> str:
    value = Settings.model_fields[item.name].default
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value) if value not in (None, "") else "none"


def _control(item: Field, shown: Shown) -> dict[str, Any]:
    now, is_open = getattr(shown.settings, item.name), shown.is_open(item.name)
    seen = shown_value(item, now)
    # A value that is changed elsewhere makes another field: this one would keep what was typed.
    key = f"{item.name}-{zlib.crc32(str(seen).encode()):08x}-{kept(Edited).times}"
    common: dict[str, Any] = {"label": item.label, "key": key, "disabled": not is_open}
    match item.kind:
        case "model":
            names = list(dict.fromkeys(["auto", *shown.models, "none", str(now)]))
            value: Any = st.selectbox(
                **common, options=names, index=names.index(str(now)), format_func=_model_label,
                accept_new_options=True, help="Not in the list? Type ollama/NAME or openai/NAME.",
            )  # fmt: skip
        case "choice":
            value = st.segmented_control(**common, options=item.options, default=now, required=True)
        case "radio":
            value = st.radio(
                **common, options=item.options, captions=item.says, index=item.options.index(now)
            )
        case "secret":
            hint = "A key is set" if now else "No key is set"
            value = st.text_input(**common, type="password", placeholder=hint, autocomplete="new-password")
        case "text":
            value = st.text_input(**common, value=str(seen), placeholder=item.placeholder)
    value = value.strip() if isinstance(value, str) else value
    return {item.name: None if value == "" else value} if is_open and value != seen else {}


def shown_value(item: Field, now: object) -> object:
    """A setting's value as the page shows it: nothing of a key, and no password of an address."""
    if item.kind == "secret":
        return ""
    if item.kind == "text":
        return "" if now is None else without_password(str(now))
    return now


def _model_label(name: str) -> str:
    return {"auto": "Automatic", "none": "None: answer with quotes"}.get(name, name)


def problem_with(changes: Mapping[str, Any]) -> str:
    """Why a change could never work; "" where it could."""
    try:
        for name, value in changes.items():
            require_workable(name, value)
    except ConfigurationError as error:
        return in_labels(str(error))
    return ""


def in_labels(said: str) -> str:
    """A message with the page's fields in the place of the environment variables that it names."""
    labels = {item.variable: item.label for item in (MODEL, *SERVERS, *SEARCH, *ANSWERS, *MEMORY)}
    return VARIABLE.sub(lambda found: _as_label(found, labels), said)


def _as_label(found: re.Match[str], labels: Mapping[str, str]) -> str:
    label, value = labels.get(found[1]), found[2]
    if label is None:
        return found[0]
    return f"“{label}” to {value}" if value else f"“{label}”"


def in_words(changes: dict[str, Any], settings: Settings) -> str:
    """What was changed and is not kept yet, for a caption."""
    labels = {item.name: item for item in (MODEL, *SERVERS, *SEARCH, *ANSWERS, *MEMORY)}
    described = partial(_change_in_words, settings=settings)
    return plain(", ".join(described(labels[name], value) for name, value in changes.items()))


def _change_in_words(item: Field, value: object, *, settings: Settings) -> str:
    if item.kind == "secret":
        return f"{item.label} (another)"
    before = shown_value(item, getattr(settings, item.name))
    return f"{item.label} ({_word(before)} → {_word(value)})"


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return without_password(str(value)) if value not in (None, "") else "default"
