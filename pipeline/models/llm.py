"""Language models on servers: which there are, which one is chosen, and LlamaIndex's class for it.

Ollama's come first, then OpenAI's, then a compatible server's. Importing LlamaIndex or httpx takes long, so
both wait until a server answers. `openai` comes with the extra `[openai]`.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from pipeline.errors import ConfigurationError, ModelError, ModelTimeout, ModelUnavailable
from pipeline.models.base import ModelChoice, Pulling
from pipeline.models.failures import Server, quoted, translate
from pipeline.options import OLLAMA_URL, LanguageModelOptions
from pipeline.redaction import hide, without_password

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

DEFAULT_OPENAI_MODEL = "gpt-4.1-mini"
HOW_TO_CONNECT = (
    "Start Ollama (`ollama serve`, then `ollama pull llama3.2`), or set ATHENA_OPENAI_API_KEY "
    "or ATHENA_OPENAI_BASE_URL."
)
INSTALL_OPENAI = "Install it with: pip install 'athena-docs[openai]'"
NEEDS_KEY = "Set ATHENA_OPENAI_API_KEY, or ATHENA_OPENAI_BASE_URL for a compatible server."
KEEP_ALIVE = "15m"  # a conversation's pauses should not unload the model
PULL_SILENCE_S = 300.0  # Ollama checks gigabytes without a word
MOST_MODELS = 1000
OTHER_MODEL = re.compile(  # names of models that cannot chat: they embed, rerank, listen, speak or draw
    r"embed|rerank|minilm|bert\b|(^|[/_-])(bge|gte|e5|mxbai|paraphrase|tts)\b|whisper|dall-e|moderation|diffusion",
    re.IGNORECASE,
)
Choice = tuple["LLM | None", ModelChoice]


@dataclass(frozen=True, slots=True)
class Listing:
    """The names of the chat models that a server lists, or why it does not."""

    names: tuple[str, ...] = ()
    problem: ModelError | None = None


def choose_language_model(name: str, *, options: LanguageModelOptions) -> Choice:
    """Return the model of a name (`auto`, `none`, `ollama/NAME`, `openai/NAME`), and why; None for no model.

    A missing server or model is no exception: the choice says what is missing and which command fixes it.
    Raises `ConfigurationError` for other names.
    """
    require_model_name(name)
    provider, _, model = name.partition("/")
    if provider == "none":
        return _none("switched off (ATHENA_LLM is none)", "Set ATHENA_LLM=auto to look for a model.")
    if provider == "auto":
        return _auto(options)
    if OTHER_MODEL.search(model):
        return _none(f"'{name}' is not a chat model by its name.", "Choose another one, or ATHENA_LLM=auto.")
    return _named_ollama(model, options) if provider == "ollama" else _named_openai(model, options)


def require_model_name(name: str) -> None:
    """Raise `ConfigurationError` for a text that names no model; asks no server."""
    provider, _, model = name.partition("/")
    if provider not in (("ollama", "openai") if model else ("auto", "none")):
        problem = f"ATHENA_LLM is '{name}', which names no model."
        raise ConfigurationError(problem, "Use auto, none, ollama/NAME or openai/NAME.")


def list_language_models(*, options: LanguageModelOptions) -> list[str]:
    """Return the names to pick from: chat models of Ollama and of OpenAI or the compatible server, `none`."""
    ollama, openai = list_models("ollama", options), list_models("openai", options)
    return [
        *(f"ollama/{name}" for name in ollama.names),
        *(f"openai/{name}" for name in openai.names),
        "none",
    ]


def list_models(kind: Literal["ollama", "openai"], options: LanguageModelOptions) -> Listing:
    """Ask a server for its chat models. Of OpenAI's own many models only the default is offered."""
    if kind == "openai" and not options.openai_base_url:
        return Listing((DEFAULT_OPENAI_MODEL,) if options.openai_api_key else ())
    url, key = (options.ollama_url, "") if kind == "ollama" else (options.openai_url, options.openai_api_key)
    server = Server(kind, url, "", options.connect_timeout_s)
    path, rows, name = ("/api/tags", "models", "name") if kind == "ollama" else ("/models", "data", "id")
    if _is_refused(url, options.connect_timeout_s):
        return Listing(problem=server.unreachable("connection refused"))
    import httpx

    try:
        with httpx.Client(**_http(url, options, read_timeout_s=options.connect_timeout_s)) as client:
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            found = client.get(url.rstrip("/") + path, headers=headers).raise_for_status().json()[rows] or []
            names = [row[name] for row in found[:MOST_MODELS]]
    except (
        httpx.HTTPError,
        httpx.InvalidURL,
        ValueError,
        TypeError,
        LookupError,
    ) as error:  # or no such JSON
        return Listing(problem=translate(error, server=server, begun=False))
    plain = (one for one in names if isinstance(one, str) and one == quoted(one))
    return Listing(tuple(one for one in plain if not OTHER_MODEL.search(one)))


def _is_refused(url: str, timeout_s: float) -> bool:
    """Return True where nothing listens at a port of this machine; all else httpx finds out."""
    try:
        address = urlsplit(url)
        if address.hostname in ("127.0.0.1", "localhost", "::1") and address.port:
            socket.create_connection((address.hostname, address.port), timeout=timeout_s).close()
    except (OSError, ValueError) as error:
        return isinstance(error, ConnectionRefusedError)
    return False


def _auto(options: LanguageModelOptions) -> Choice:
    ollama, openai = list_models("ollama", options), Listing()
    if ollama.names:
        return _ollama(ollama.names[0], options)
    openai = list_models("openai", options)
    if openai.names:
        return _openai(openai.names[0], options)
    if problem := openai.problem or (ollama.problem if options.ollama_url != OLLAMA_URL else None):
        return _none(problem.problem, problem.fix, wrong=True)  # of a server that a setting names
    detail = ollama.problem.problem if ollama.problem else f"{_at_ollama(options)} has no chat model."
    return _none(detail, HOW_TO_CONNECT)


def _named_ollama(model: str, options: LanguageModelOptions) -> Choice:
    listing = list_models("ollama", options)
    if listing.problem:
        return _none(listing.problem.problem, listing.problem.fix, wrong=True)
    if not any(model in (name, name.removesuffix(":latest")) for name in listing.names):
        detail = f"{_at_ollama(options)} does not have the model '{model}'."
        return _none(detail, f"Get it with `ollama pull {model}`.")
    return _ollama(model, options)


def _named_openai(model: str, options: LanguageModelOptions) -> Choice:
    """Choose the model, whether or not the server lists it: some servers have no list of models."""
    if not options.openai_api_key and not options.openai_base_url:
        return _none(f"The language model 'openai/{model}' needs a key.", NEEDS_KEY)
    problem = list_models("openai", options).problem
    if isinstance(problem, ModelUnavailable | ModelTimeout):
        return _none(problem.problem, problem.fix, wrong=True)
    return _openai(model, options, fix=problem.fix if problem else "")


def _none(detail: str, fix: str, *, wrong: bool = False) -> Choice:
    return None, ModelChoice("language model", "", "none", detail, fix, wrong=wrong)


def _at_ollama(options: LanguageModelOptions) -> str:
    return f"Ollama at {without_password(options.ollama_url)}"


def _ollama(model: str, options: LanguageModelOptions) -> Choice:
    detail = f"by {_at_ollama(options)}, {options.context_window} tokens of context"
    return ollama_model(model, options), ModelChoice("language model", f"ollama/{model}", "ollama", detail)


def _openai(model: str, options: LanguageModelOptions, *, fix: str = "") -> Choice:
    try:
        llm = openai_model(model, options)
    except ImportError:
        return _none(f"The language model 'openai/{model}' needs a package that is missing.", INSTALL_OPENAI)
    detail = f"by {without_password(options.openai_url)}"
    return llm, ModelChoice("language model", f"openai/{model}", "openai", detail, fix)


def ollama_model(model: str, options: LanguageModelOptions) -> LLM:
    """Make LlamaIndex's model of an Ollama server; asks nothing before it is used.

    `context_window` is given, so that `num_ctx` is always sent and metadata never asks the server.
    """
    import ollama
    from llama_index.llms.ollama import Ollama

    from pipeline.models.connections import HOOKS

    hide(dict(options))
    http = _http(options.ollama_url, options)
    return Ollama(  # type: ignore[no-any-return]
        model=model,
        base_url=options.ollama_url,
        temperature=options.temperature,
        context_window=options.context_window,
        request_timeout=options.request_timeout_s,
        client=ollama.Client(options.ollama_url, **http, event_hooks=HOOKS),
        async_client=ollama.AsyncClient(options.ollama_url, **http),
        is_function_calling_model=False,
        keep_alive=KEEP_ALIVE,
        thinking=options.think,
        additional_kwargs={"num_predict": options.max_answer_tokens},
    )


def openai_model(model: str, options: LanguageModelOptions) -> LLM:
    """Make LlamaIndex's model of OpenAI or of a compatible server; asks nothing before it is used."""
    import httpx
    from llama_index.llms.openai_like import OpenAILike
    from openai import AsyncOpenAI

    from pipeline.models.connections import HOOKS
    from pipeline.models.openai_client import LooseOpenAI

    hide(dict(options))
    http, key = _http(options.openai_url, options), options.openai_api_key or "none"  # clients insist on one
    same: dict[str, Any] = {"api_key": key, "base_url": options.openai_url, "max_retries": 1}
    return OpenAILike(  # type: ignore[no-any-return]
        model=model,
        api_base=options.openai_url,
        api_key=key,
        context_window=options.context_window,
        max_tokens=options.max_answer_tokens,
        temperature=options.temperature,
        timeout=options.request_timeout_s,
        max_retries=0,  # of LlamaIndex, around the client's own
        openai_client=LooseOpenAI(**same, http_client=httpx.Client(**http, event_hooks=HOOKS)),
        async_openai_client=AsyncOpenAI(**same, http_client=httpx.AsyncClient(**http)),
        is_chat_model=True,
        additional_kwargs={"stream_options": {"include_usage": True}},
    )


def _http(url: str, options: LanguageModelOptions, *, read_timeout_s: float = 0.0) -> dict[str, Any]:
    from pipeline.models.connections import client_options

    silence_s = read_timeout_s or options.request_timeout_s
    return client_options(url, connect_timeout_s=options.connect_timeout_s, read_timeout_s=silence_s)


def server_of(llm: LLM) -> Server:
    """Return where a model is; one of another class counts as in this process, without a time limit."""
    kinds = {kind.__name__ for kind in type(llm).__mro__}  # names: the packages may not be installed
    served: Any = llm
    if "Ollama" in kinds:
        return Server("ollama", served.base_url, served.model, served.request_timeout or inf)
    if "OpenAI" in kinds:
        return Server("openai", str(served.api_base), served.model, served.timeout or inf)
    return Server("local", "", llm.metadata.model_name, inf)


def pull_model(model: str, *, url: str, connect_timeout_s: float) -> Iterator[Pulling]:
    """Let the Ollama at `url` download a model; yields the progress, and ends when it can be used.

    Ollama keeps what was downloaded before an error: the next call goes on from there. Raises `ModelError`
    where Ollama is not there, breaks off, or cannot get the model.
    """
    import httpx
    import ollama

    from pipeline.models.connections import client_options

    http = client_options(url, connect_timeout_s=connect_timeout_s, read_timeout_s=PULL_SILENCE_S)
    parts = dict[str, tuple[int, int]]()
    try:
        for progress in ollama.Client(url, **http).pull(model, stream=True):
            if progress.digest:
                parts[progress.digest] = (progress.completed or 0, progress.total or 0)
            done, total = (sum(part[i] for part in parts.values()) for i in (0, 1))
            yield Pulling(quoted(progress.status or ""), done, total)
            if progress.status == "success":
                return
        raise EOFError("it ended before the model was there")
    except (ollama.ResponseError, OSError, EOFError, httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise translate(error, server=Server("ollama", url, model, PULL_SILENCE_S), begun=False) from error
