"""Language models on servers: list them, choose one, and download one.

Ollama is asked first, then OpenAI or a compatible server. Importing httpx is slow, so it is delayed until a
server answers. The package `openai` comes with the extra `[openai]`.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from urllib.parse import urlsplit

from pipeline.errors import ConfigurationError, ModelError, ModelTimeout, ModelUnavailable
from pipeline.models import failures
from pipeline.models.base import ModelChoice
from pipeline.models.clients import MODELS, LanguageModel
from pipeline.models.failures import NEEDS_KEY, Server, is_loopback, quoted, translate
from pipeline.options import OLLAMA_URL, OPENAI_URL, LanguageModelOptions

DEFAULT_OPENAI_MODEL = "gpt-4.1-mini"
HOW_TO_CONNECT = f"Start Ollama (`ollama serve`, then `ollama pull llama3.2`). {NEEDS_KEY}"
PULL_SILENCE_S = 300.0  # Ollama sends nothing while it checks gigabytes
HOW_TO_GET = "Set ATHENA_LLM to a model that it has, or get one with `ollama pull llama3.2`."
MOST_MODELS = 1000
OTHER_MODEL = re.compile(  # models that cannot chat, by name: for embeddings, reranking, speech or images
    r"embed|rerank|minilm|bert\b|(^|[/_-])(bge|gte|e5|mxbai|paraphrase|tts)\b|whisper|dall-e|moderation|diffusion",
    re.IGNORECASE,
)
Choice = tuple[LanguageModel | None, ModelChoice]


def choose_language_model(name: str, *, options: LanguageModelOptions) -> Choice:
    """Return the model for `auto`, `none`, `ollama/NAME` or `openai/NAME`, or None; and the reason.

    A missing server or model raises nothing: the `ModelChoice` has the problem and the command that fixes it.
    Raises `ConfigurationError` for other names.
    """
    require_model_name(name)
    provider, _, model = name.partition("/")
    if provider == "none":
        return _none("switched off (ATHENA_LLM is none)", "Set ATHENA_LLM=auto to look for a model.")
    try:
        return _named(provider, model, options) if model else _first_listed(options)
    except ModelError as error:
        return _none(error.problem, error.fix, wrong=True)


def require_model_name(name: str) -> None:
    """Raise `ConfigurationError` for a name of the wrong form, without asking a server."""
    provider, _, model = name.partition("/")
    if provider not in (MODELS if model else ("auto", "none")):
        problem = f"ATHENA_LLM is '{name}', which names no model."
        raise ConfigurationError(problem, "Use auto, none, ollama/NAME or openai/NAME.")


def list_language_models(*, options: LanguageModelOptions) -> list[str]:
    """Return the names to choose from: the chat models of all servers that answer, then `none`."""
    names = list[str]()
    for provider in MODELS:
        with suppress(ModelError):
            names += [f"{provider}/{name}" for name in list_models(provider, options)]
    return [*names, "none"]


def list_models(provider: str, options: LanguageModelOptions) -> list[str]:
    """Return the names of a server's chat models; for OpenAI itself only the default model's, unasked.

    Raises `ModelError` if the server does not answer or has no chat model.
    """
    server = replace(Server.of(provider, "", options), timeout_s=failures.CONNECT_S)
    if server.url == OPENAI_URL:
        return [DEFAULT_OPENAI_MODEL]
    path, rows, name = MODELS[provider].LISTED
    with_key = provider == "openai" and options.openai_api_key
    headers = {"Authorization": f"Bearer {options.openai_api_key}"} if with_key else {}
    try:
        _connect(server.url)
    except OSError as error:
        raise translate(error, server=server, begun=False) from error
    import httpx

    try:
        with httpx.Client(**server.http()) as client:
            found = client.get(server.url.rstrip("/") + path, headers=headers).raise_for_status().json()[rows]
            names = [row[name] for row in (found or [])[:MOST_MODELS]]
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, TypeError, LookupError) as error:  # or other JSON
        raise translate(error, server=server, begun=False) from error
    plain = (one for one in names if isinstance(one, str) and one == quoted(one))
    if not (chat := [one for one in plain if not OTHER_MODEL.search(one)]):
        raise ModelError(f"{server.place} lists no chat model.", HOW_TO_GET)
    return chat


def _connect(url: str) -> None:
    """Raise `OSError` if `url` is a port of this machine where nothing listens; ignore other addresses."""
    with suppress(ValueError):  # not an address: httpx will raise
        address = urlsplit(url)
        if address.port and is_loopback(address.hostname or ""):
            socket.create_connection((address.hostname, address.port), timeout=failures.CONNECT_S).close()


def _first_listed(options: LanguageModelOptions) -> Choice:
    """Choose the first listed model, or none; raise `ModelError` if a configured server cannot be used."""
    errors = dict[str, ModelError]()
    for provider in MODELS:
        try:
            return _connected(provider, list_models(provider, options)[0], options)
        except ModelError as error:
            errors[provider] = error
    if options.openai_api_key or options.openai_base_url:
        raise errors["openai"]
    if options.ollama_url != OLLAMA_URL:
        raise errors["ollama"]
    return _none(errors["ollama"].problem, HOW_TO_CONNECT)


def _named(provider: str, model: str, options: LanguageModelOptions) -> Choice:
    """Choose a model by name; raise `ModelError` if Ollama does not list it (other servers need not)."""
    if OTHER_MODEL.search(model):
        problem = f"'{provider}/{model}' is not a chat model by its name."
        raise ModelError(problem, "Choose another one, or ATHENA_LLM=auto.")
    try:
        listed = list_models(provider, options)
    except ModelError as error:
        if provider == "ollama" or isinstance(error, ModelUnavailable | ModelTimeout):
            raise
        return _connected(provider, model, options, fix=error.fix)
    if provider == "ollama" and not any(model in (one, one.removesuffix(":latest")) for one in listed):
        problem = f"{Server.of(provider, '', options).place} does not have the model '{model}'."
        raise ModelError(problem, f"Get it with `ollama pull {model}`.")
    return _connected(provider, model, options)


def _connected(provider: str, model: str, options: LanguageModelOptions, *, fix: str = "") -> Choice:
    server = Server.of(provider, model, options)
    detail = f"by {replace(server, model='').place}"
    return MODELS[provider](server, options), ModelChoice(
        "language model", server.name, provider, detail, fix
    )


def _none(detail: str, fix: str, *, wrong: bool = False) -> Choice:
    return None, ModelChoice("language model", "", "none", detail, fix, wrong=wrong)


def pull_model(model: str, *, url: str) -> Iterator[tuple[str, int, int]]:
    """Let the Ollama server at `url` download a model; the iterator ends when the model can be used.

    Yields (current step, bytes downloaded, bytes in total), over all parts known so far. After an error, the
    next call resumes the download. Raises `ModelError` if Ollama does not answer, breaks off, or cannot get
    the model.
    """
    import httpx
    import ollama

    server = Server("ollama", url, model, PULL_SILENCE_S)
    parts = dict[str, tuple[int, int]]()
    try:
        for progress in ollama.Client(url, **server.http()).pull(model, stream=True):
            if progress.digest:
                parts[progress.digest] = (progress.completed or 0, progress.total or 0)
            done, total = (sum(part[i] for part in parts.values()) for i in (0, 1))
            yield quoted(progress.status or ""), done, total
            if progress.status == "success":
                return
        raise EOFError("it ended before the model was there")
    except (ollama.ResponseError, OSError, EOFError, httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise translate(error, server=server, begun=False) from error
