"""A trained language model on a real Ollama, for tests that read what a small model writes.

`ATHENA_TEST_OLLAMA_URL` is its server, `ATHENA_TEST_MODEL` its name there: `ollama pull qwen2.5-coder:0.5b`.
"""

from __future__ import annotations

import os
from functools import cache

import pytest

from pipeline.errors import ModelError
from pipeline.models.llm import list_models
from pipeline.options import LanguageModelOptions

URL = os.environ.get("ATHENA_TEST_OLLAMA_URL", "http://127.0.0.1:11435")
MODEL = os.environ.get("ATHENA_TEST_MODEL", "qwen2.5-coder:0.5b")


def require_model() -> LanguageModelOptions:
    """Return the options for the model's server; skip where the server does not have the model."""
    options = LanguageModelOptions(ollama_url=URL, context_window=4096, request_timeout_s=300.0)
    if MODEL not in _names():
        pytest.skip(f"Ollama at {URL} does not have {MODEL}: `ollama pull {MODEL}`")
    return options


@cache
def _names() -> set[str]:
    try:
        names = list_models("ollama", LanguageModelOptions(ollama_url=URL))
    except ModelError:
        return set()
    return {*names, *(name.removesuffix(":latest") for name in names)}
