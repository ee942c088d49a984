"""Language models on servers: which there is, how LlamaIndex's is made, where it is, and how Ollama gets one.

Ollama's come first, then OpenAI's, then a compatible server's. Nothing here imports LlamaIndex before a model
is found, nor httpx before a server that may be there is asked: both take long to import, and without a model
neither is needed. Only making a model imports its package: `openai` comes with the extra `[openai]`.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pipeline.errors import ConfigurationError, ModelError
from pipeline.models.base import ModelChoice, Pulling
from pipeline.models.failures import (
    Misbehaviour,
    Server,
    quoted,
    require_address,
    translate,
    unreachable,
)
from pipeline.options import OLLAMA_URL, OPENAI_URL, LanguageModelOptions
from pipeline.redaction import without_password

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from pipeline.models.wire import Protocol

DEFAULT_OPENAI_MODEL = "gpt-4.1-mini"
HOW_TO_CONNECT = (
    "Start Ollama (`ollama serve`, then `ollama pull llama3.2`), or set ATHENA_OPENAI_API_KEY "
    "or ATHENA_OPENAI_BASE_URL."
)
THIS_MACHINE = ("127.0.0.1", "localhost", "::1")
KEEP_ALIVE = "15m"  # a conversation's pauses should not unload the model
PULL_SILENCE_S = 300.0  # Ollama checks what it got, gigabytes, without a word
MOST_MODELS = 1000
INSTALL_OPENAI = "Install it with: pip install 'athena-docs[openai]'"
EMBEDDING_MODEL = re.compile(r"embed|rerank|minilm|(^|/)(bge|gte|e5|mxbai|paraphrase)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Listing:
    """The chat models that a server lists, or why it does not."""

    models: tuple[str, ...] = ()
    problem: ModelError | None = None


def choose_language_model(name: str, *, options: LanguageModelOptions) -> tuple[LLM | None, ModelChoice]:
    """The model of a name (`auto`, `none`, `ollama/NAME`, `openai/NAME`) and why; None where there is none.

    A missing server or model is not an error here: the choice says what is missing and which command
    fixes it. Raises `ConfigurationError` for other names.
    """
    require_model_name(name)
    provider, _, model = name.partition("/")
    match provider:
        case "none":
            return _none("switched off (ATHENA_LLM is none)", "Set ATHENA_LLM=auto to look for a model.")
        case "auto":
            return _auto(options)
        case "ollama":
            return _named_ollama(model, options)
        case _:
            return _named_openai(model, options)


def require_model_name(name: str) -> None:
    """Nothing; raises `ConfigurationError` for what names no model, without asking any server."""
    provider, _, model = name.partition("/")
    if provider not in (("ollama", "openai") if model else ("auto", "none")):
        raise ConfigurationError(
            f"ATHENA_LLM is '{name}', which names no model.", "Use auto, none, ollama/NAME or openai/NAME."
        )


def list_language_models(*, options: LanguageModelOptions) -> list[str]:
    """Names for the picker: all chat models of Ollama, OpenAI's or the compatible server's, then `none`."""
    ollama = [f"ollama/{model}" for model in _ollama_models(options).models]
    return [*ollama, *(f"openai/{model}" for model in _openai_models(options).models), "none"]


def _auto(options: LanguageModelOptions) -> tuple[LLM | None, ModelChoice]:
    ollama = _ollama_models(options)
    if ollama.models:
        return _ollama(ollama.models[0], options)
    openai = _openai_models(options)
    if openai.models:
        return _openai(openai.models[0], options)
    is_named = options.ollama_url != OLLAMA_URL, bool(options.openai_base_url)
    wrong = [found.problem for found, named in zip((ollama, openai), is_named, strict=True) if named]
    if named := [problem for problem in wrong if problem]:
        return _unanswering(*named)
    problems = [str(listing.problem.problem) for listing in (ollama, openai) if listing.problem]
    return _none(
        " ".join(problems) or f"Ollama at {without_password(options.ollama_url)} has no chat model.",
        HOW_TO_CONNECT,
    )


def _named_ollama(model: str, options: LanguageModelOptions) -> tuple[LLM | None, ModelChoice]:
    listing = _ollama_models(options)
    if listing.problem:
        return _unanswering(listing.problem)
    if not any(model in (listed, listed.removesuffix(":latest")) for listed in listing.models):
        return _none(
            f"Ollama at {without_password(options.ollama_url)} does not have the model '{model}'.",
            f"Get it with `ollama pull {model}`.",
        )
    return _ollama(model, options)


def _named_openai(model: str, options: LanguageModelOptions) -> tuple[LLM | None, ModelChoice]:
    if not options.openai_api_key and not options.openai_base_url:
        return _none(
            f"The language model 'openai/{model}' needs a key.",
            "Set ATHENA_OPENAI_API_KEY, or ATHENA_OPENAI_BASE_URL for a compatible server.",
        )
    listing = _openai_models(options, wanted=model)
    if listing.problem:
        return _unanswering(listing.problem)
    return _openai(model, options)


def _none(detail: str, fix: str) -> tuple[None, ModelChoice]:
    return None, ModelChoice("language model", "", "none", detail, fix)


def _unanswering(*problems: ModelError) -> tuple[None, ModelChoice]:
    """No model, because a server that a setting names does not answer as it should."""
    detail, fix = (" ".join(texts) for texts in zip(*((p.problem, p.fix) for p in problems), strict=True))
    return None, ModelChoice("language model", "", "none", detail, fix, wrong=True)


def _ollama(model: str, options: LanguageModelOptions) -> tuple[LLM, ModelChoice]:
    place = without_password(options.ollama_url)
    detail = f"by Ollama at {place}, {options.context_window} tokens of context"
    return ollama_model(model, options), ModelChoice("language model", f"ollama/{model}", "ollama", detail)


def _openai(model: str, options: LanguageModelOptions) -> tuple[LLM | None, ModelChoice]:
    try:
        llm = openai_model(model, options)
    except ImportError:
        return _none(f"The language model 'openai/{model}' needs a package that is missing.", INSTALL_OPENAI)
    place = without_password(options.openai_url)
    return llm, ModelChoice("language model", f"openai/{model}", "openai", f"by {place}")


def _ollama_models(options: LanguageModelOptions) -> _Listing:
    """Ollama's chat models, most recently changed first, as it lists them."""
    server = Server("ollama", options.ollama_url, "", options.connect_timeout_s)
    return _list(server, "/api/tags", key="models", name="name", api_key="")


def _openai_models(options: LanguageModelOptions, *, wanted: str = "") -> _Listing:
    """What a compatible server lists; OpenAI itself lists too many, and only its default is offered."""
    if not options.openai_base_url:
        return _Listing((wanted or DEFAULT_OPENAI_MODEL,) if options.openai_api_key else ())
    server = Server("openai", options.openai_url, "", options.connect_timeout_s)
    return _list(server, "/models", key="data", name="id", api_key=options.openai_api_key)


def _list(server: Server, path: str, *, key: str, name: str, api_key: str) -> _Listing:
    if refusal := _refusal(server):
        return _Listing(problem=unreachable(server, refusal))
    import httpx

    from pipeline.models.wire import ask

    try:
        rows = ask(server, path, key=api_key, connect_timeout_s=server.timeout_s).get(key, "")
        return _Listing(_chat_models(rows, name))
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, Misbehaviour) as error:
        return _Listing(problem=translate(error, server=server, begun=False))


def _chat_models(rows: object, key: str) -> tuple[str, ...]:
    """The names in a server's list, as many as a person can choose from; raises `Misbehaviour`."""
    if rows is None:
        return ()
    if not isinstance(rows, list) or not all(isinstance(row, dict) and row.get(key) for row in rows):
        raise Misbehaviour("something that is not a list of models")
    names = (row[key] for row in rows[:MOST_MODELS])
    plain = [name for name in names if isinstance(name, str) and name == quoted(name)]
    return tuple(name for name in plain if not EMBEDDING_MODEL.search(name))


def _refusal(server: Server) -> str:
    """Why nothing answers, if the URL's port on this machine is closed; else "", and httpx will find out."""
    try:
        address = urlsplit(server.url)
        host, port = address.hostname, address.port
        if host in THIS_MACHINE and port:
            socket.create_connection((host, port), timeout=server.timeout_s).close()
    except ConnectionRefusedError as error:
        return str(error)
    except (OSError, ValueError):
        return ""
    return ""


# -- a model of LlamaIndex's that can be hung up -------------------------------------------------------------


def ollama_model(model: str, options: LanguageModelOptions) -> LLM:
    """A model of an Ollama server; asks nothing before it is used.

    `context_window` is given, so that `num_ctx` is always sent and metadata never asks the server.
    """
    from llama_index.llms.ollama import Ollama
    from ollama import Client

    return Ollama(  # type: ignore[no-any-return]
        model=model,
        base_url=options.ollama_url,
        temperature=options.temperature,
        context_window=options.context_window,
        request_timeout=options.request_timeout_s,
        client=Client(options.ollama_url, **_client_options(options, "ollama")),
        is_function_calling_model=False,
        keep_alive=KEEP_ALIVE,
        additional_kwargs={"num_predict": options.max_answer_tokens},
    )


def openai_model(model: str, options: LanguageModelOptions) -> LLM:
    """A model of OpenAI or of a compatible server; asks nothing before it is used, and never retries."""
    import httpx
    from llama_index.llms.openai_like import OpenAILike
    from openai import OpenAI

    key = options.openai_api_key or "none"  # servers without keys ignore it, the client insists on one
    http_client = httpx.Client(**_client_options(options, "openai"))
    return OpenAILike(  # type: ignore[no-any-return]
        model=model,
        api_base=options.openai_url,
        api_key=key,
        context_window=options.context_window,
        max_tokens=options.max_answer_tokens,
        temperature=options.temperature,
        timeout=options.request_timeout_s,
        max_retries=0,
        openai_client=OpenAI(
            api_key=key, base_url=options.openai_url, max_retries=0, http_client=http_client
        ),
        is_chat_model=True,
        additional_kwargs=_usage_wanted(options.openai_url),
    )


def server_of(llm: LLM) -> Server:
    """Where a model is; one of any other class counts as in this process, with no limit to its silence."""
    kinds = _kinds(llm)
    served: Any = llm
    if "Ollama" in kinds:
        return Server("ollama", served.base_url, served.model, served.request_timeout or inf)
    if "OpenAI" in kinds:
        return Server("openai", str(served.api_base), served.model, served.timeout or inf)
    return Server("local", "this process", llm.metadata.model_name, inf)


def longest_answer(llm: LLM) -> int:
    """Tokens that a model of a server was asked to write at most; 0 where that is not known."""
    served: Any = llm
    limits = (getattr(llm, "additional_kwargs", {}).get("num_predict"), getattr(served, "max_tokens", None))
    return next((limit for limit in limits if isinstance(limit, int) and limit > 0), 0)


def invocation_of(llm: LLM) -> dict[str, float]:
    """What a model of a server is asked with, by the names of Ollama and OpenAI."""
    given: Any = llm
    known = {
        "temperature": getattr(given, "temperature", None),
        "max_tokens": longest_answer(llm) or None,
        "num_ctx": getattr(given, "context_window", None) if _kinds(llm) & {"Ollama"} else None,
    }
    return {name: value for name, value in known.items() if isinstance(value, int | float)}


def _kinds(llm: LLM) -> set[str]:
    return {kind.__name__ for kind in type(llm).__mro__}  # names: the packages may not be installed


def _client_options(options: LanguageModelOptions, protocol: Protocol) -> dict[str, Any]:
    from pipeline.models.wire import client_options

    return client_options(
        connect_timeout_s=options.connect_timeout_s,
        read_timeout_s=options.request_timeout_s,
        protocol=protocol,
    )


def _usage_wanted(url: str) -> dict[str, Any]:
    """Ask OpenAI for token counts at the end of a stream; older compatible servers refuse the option."""
    return {"stream_options": {"include_usage": True}} if url == OPENAI_URL else {}


# -- getting one -------------------------------------------------------------------------------------------


def pull_model(
    model: str, *, url: str, connect_timeout_s: float, on_progress: Callable[[Pulling], None]
) -> None:
    """Have the Ollama at `url` download a model, and return when it can be used.

    Ollama keeps what was downloaded before an error: the next call continues from there.

    Raises:
        ModelError: Ollama is not there, breaks off, or cannot get the model; it says which.
    """
    import httpx
    import ollama

    from pipeline.models.wire import client_options

    server = Server("ollama", url, model, PULL_SILENCE_S)
    require_address(server)
    client = ollama.Client(
        url,
        **client_options(
            connect_timeout_s=connect_timeout_s, read_timeout_s=PULL_SILENCE_S, protocol="progress"
        ),
    )
    parts: dict[str, tuple[int, int]] = {}
    try:
        for progress in client.pull(model, stream=True):
            if progress.digest:
                parts[progress.digest] = (progress.completed or 0, progress.total or 0)
            done, total = (sum(part[i] for part in parts.values()) for i in (0, 1))
            on_progress(Pulling(quoted(progress.status or ""), done, total))
            if progress.status == "success":
                return
    except (
        ollama.ResponseError,
        ConnectionError,
        httpx.HTTPError,
        httpx.InvalidURL,
        ValueError,
        Misbehaviour,
    ) as error:
        raise _not_pulled(error, server) from error
    raise ModelError(
        f"Ollama at {without_password(url)} broke off while it got '{model}'.",
        "Run this again: it continues from there.",
    )


def _not_pulled(error: Exception, server: Server) -> ModelError:
    """An error in the stream has no HTTP status: it is about the model."""
    import ollama

    if isinstance(error, ollama.ResponseError) and error.status_code < 0:
        return ModelError(
            f"Ollama at {without_password(server.url)} cannot get '{server.model}': {quoted(error.error)}.",
            "Look for the name in the library of models of Ollama, and check its network.",
        )
    return translate(error, server=server, begun=False)
