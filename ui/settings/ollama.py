"""Ollama on the Settings page: the installed models with their sizes, and the download of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from pipeline.models.llm import OTHER_MODEL, pull_model
from ui.shared import process
from ui.shared.jobs import Job, jobs, show_job
from ui.shared.process import answering_model, look_for_models
from ui.shared.state import entered
from ui.shared.words import plain

LIST_S = 5.0  # timeout of the request for Ollama's models
GIGABYTE = 1e9
FIELD, PULLING = "pull-name", "pulling"


@dataclass(frozen=True, slots=True)
class Installed:
    """A model that Ollama has, with its size in bytes."""

    name: str
    size: int


def installed_models(url: str) -> list[Installed] | None:
    """Return the chat models of the Ollama at `url`, smallest first; None if it does not answer."""
    import httpx
    import ollama

    from pipeline.models.failures import Server

    try:
        found = ollama.Client(url, **Server("ollama", url, "", LIST_S).http()).list().models
    except (ollama.ResponseError, OSError, httpx.HTTPError, httpx.InvalidURL, ValueError):
        return None  # the page says that Ollama does not answer
    models = [Installed(one.model, int(one.size or 0)) for one in found if one.model]
    chatting = (one for one in models if not OTHER_MODEL.search(one.name))
    return sorted(chatting, key=lambda one: (one.size, one.name))


def ollama_models(found: Sequence[Installed] | None) -> None:
    """Draw the `found` models and the field that pulls another; None means that Ollama does not answer."""
    url = process.settings().ollama_url
    st.markdown("**Ollama's models**")
    if found is None:
        st.caption(plain(f"Ollama does not answer at {url}. Install and start it, or change its address."))
        st.button("Look again", icon=":material/sync:", key="look-again", on_click=look_for_models)
        return
    for one in found:
        in_use = f"ollama/{one.name}" in (process.settings().llm, answering_model())
        used = " · :material/check: in use" if in_use else ""
        st.markdown(f"{plain(one.name)} :small[{one.size / GIGABYTE:.1f} GB{used}]")
    if not found:
        st.caption("No model is installed. To start with, pull llama3.2 (2 GB).")
    busy = jobs(PULLING).working
    with st.form("pull", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input("Pull another model", key=FIELD, placeholder="llama3.2")
        st.form_submit_button("Pull", icon=":material/download:", disabled=busy, on_click=_start, args=(url,))
    show_job(busy, kind=PULLING, on_end=_pulled)


def _start(url: str) -> None:
    if name := entered(FIELD):
        jobs(PULLING).start(Job(name), partial(_pull, url))


def _pull(url: str, job: Job) -> None:
    """Pull the model that the job is named after, until it is complete or stopped; raises `AthenaError`."""
    for status, done, total in pull_model(job.title, url=url):
        share = min(1.0, done / total) if total else 0.0
        size = f" {done / GIGABYTE:.2f} of {total / GIGABYTE:.2f} GB" if total else ""
        job.bars["pull"] = share, f"Pulling {job.title}: {status}{size}"
        if job.stop.is_set():
            return
    look_for_models()


def _pulled(job: Job) -> None:
    if job.stop.is_set():
        st.text(f"You stopped pulling {job.title}.")
    else:
        st.success(plain(f"{job.title} is ready. Choose it above."), icon=":material/check_circle:")
