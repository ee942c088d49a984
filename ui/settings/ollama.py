"""Ollama's models on the Settings page: what is installed, with sizes, and a pull with its progress."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from pipeline.errors import AthenaError
from pipeline.models.llm import OTHER_MODEL, pull_model
from ui.conversation.models import look_for_models
from ui.shared import messages, process
from ui.shared.state import entered
from ui.shared.words import plain

if TYPE_CHECKING:
    from pipeline.models.base import Pulling

CONNECT_S, LIST_S = 3.0, 5.0  # for a connection to Ollama, and for its list of models
LOOK_EVERY = 0.5
GIGABYTE = 1e9
FIELD = "pull-name"


@dataclass(frozen=True, slots=True)
class Installed:
    """A model that Ollama has, with its size in bytes."""

    name: str
    size: int


def installed_models(url: str) -> list[Installed] | None:
    """Return Ollama's models that can chat, the smallest first; None where no Ollama answers there."""
    import httpx
    import ollama

    from pipeline.models.connections import client_options

    options = client_options(url, connect_timeout_s=CONNECT_S, read_timeout_s=LIST_S)
    try:
        found = ollama.Client(url, **options).list().models
    except (ollama.ResponseError, OSError, httpx.HTTPError, httpx.InvalidURL, ValueError):
        return None  # the page says that Ollama does not answer, and what to do
    named = [Installed(one.model, int(one.size or 0)) for one in found if one.model]
    return sorted(
        (one for one in named if not OTHER_MODEL.search(one.name)), key=lambda one: (one.size, one.name)
    )


class Pull:
    """The download of one model in a thread; its progress is kept for any page that looks."""

    def __init__(self, name: str, url: str) -> None:
        self.name = name
        self._url = url
        self.progress: Pulling | None = None
        self.error: AthenaError | None = None
        self._done = threading.Event()
        threading.Thread(target=self._run, name="pull", daemon=True).start()

    @property
    def working(self) -> bool:
        """Whether it goes on."""
        return not self._done.is_set()

    def _run(self) -> None:
        try:
            for progress in pull_model(self.name, url=self._url, connect_timeout_s=CONNECT_S):
                self.progress = progress
        except AthenaError as error:
            self.error = error
        finally:
            self._done.set()


@st.cache_resource(show_spinner=False)
def _pulls() -> list[Pull]:
    """Return the pull of this process, at most one."""
    return []


def ollama_models(*, can_change: bool) -> None:
    """Draw Ollama's models with their sizes, and the field that pulls another."""
    settings = process.settings()
    st.markdown("**Models of Ollama**")
    found = installed_models(settings.ollama_url)
    if found is None:
        st.caption(plain(f"Ollama does not answer at {settings.ollama_url}. Install Ollama and start it."))
        st.button("Look again", icon=":material/sync:", key="look-again", on_click=look_for_models)
        return
    for model in found:
        _row(model, in_use=settings.llm == f"ollama/{model.name}", can_change=can_change)
    if not found:
        st.caption("No model is installed. Pull one: llama3.2 is a good start with 2 GB.")
    pull = _pulls()[0] if _pulls() else None
    working = pull is not None and pull.working
    with st.form("pull", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input("Pull another model", key=FIELD, placeholder="llama3.2")
        st.form_submit_button("Pull", icon=":material/download:", disabled=working, on_click=_start)
    st.fragment(_progress, run_every=LOOK_EVERY if working else None)(working)


def _row(model: Installed, *, in_use: bool, can_change: bool) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key=f"model-{model.name}"):
        st.markdown(plain(model.name), width="content")
        st.caption(f"{model.size / GIGABYTE:.1f} GB", width="content")
        if in_use:
            st.caption(":material/check: in use", width="content")
        elif can_change:
            st.button("Use", key=f"use-{model.name}", type="tertiary", on_click=_use, args=(model.name,))


@messages.noticed
def _use(name: str) -> None:
    process.change_settings({"llm": f"ollama/{name}"})
    look_for_models()
    st.toast(f"{name} writes the next answer.", icon=":material/check_circle:")


def _start() -> None:
    name, settings = entered(FIELD), process.settings()
    if name and not (_pulls() and _pulls()[0].working):
        _pulls()[:] = [Pull(name, settings.ollama_url)]


@messages.shown
def _progress(working: bool) -> None:
    """Draw how far the pull is, or how it ended; `working` is what the page was drawn for."""
    if not _pulls():
        return
    pull = _pulls()[0]
    if working and not pull.working:
        look_for_models()
        st.rerun()  # the list has the model now
    now = pull.progress
    if pull.working:
        share = now.done / now.total if now and now.total else 0.0
        size = f" {now.done / GIGABYTE:.2f} of {now.total / GIGABYTE:.2f} GB" if now and now.total else ""
        st.progress(
            min(1.0, share), text=plain(f"Pulling {pull.name}: {now.status if now else 'starting'}{size}")
        )
    elif pull.error:
        messages.show_error(pull.error.problem, pull.error.fix)
    else:
        st.success(plain(f"{pull.name} is ready."), icon=":material/check_circle:")
