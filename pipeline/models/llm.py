"""Which language model there is: Ollama's, then OpenAI's, then a compatible server's, else none.

Nothing here imports LlamaIndex before a model is found, nor httpx before a server that may be there is
asked: both take long to import, and without a model neither is needed.
"""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pipeline.errors import ConfigurationError, ModelError
from pipeline.models.base import ModelChoice
from pipeline.models.failures import Misbehaviour, Server, quoted, translate, unreachable
from pipeline.models.served import ollama_model, openai_model
from pipeline.options import LanguageModelOptions
from pipeline.redaction import without_password

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

DEFAULT_OPENAI_MODEL = "gpt-4.1-mini"
HOW_TO_CONNECT = (
    "Start Ollama (`ollama serve`, then `ollama pull llama3.2`), or set ATHENA_OPENAI_API_KEY "
    "or ATHENA_OPENAI_BASE_URL."
)
THIS_MACHINE = ("127.0.0.1", "localhost", "::1")
LISTING_PATIENCE = 3  # a list may take so many times as long as a connection
MOST_MODELS = 1000
INSTALL_OPENAI = "Install it with: pip install 'athena-docs[openai]'"
EMBEDDING_MODEL = re.compile(r"embed|minilm|(^|/)(bge|gte|e5|mxbai|paraphrase)\b", re.IGNORECASE)


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
    problems = [str(listing.problem.problem) for listing in (ollama, openai) if listing.problem]
    return _none(
        " ".join(problems) or f"Ollama at {without_password(options.ollama_url)} has no chat model.",
        HOW_TO_CONNECT,
    )


def _named_ollama(model: str, options: LanguageModelOptions) -> tuple[LLM | None, ModelChoice]:
    listing = _ollama_models(options, wanted=model)
    if listing.problem:
        return _none(listing.problem.problem, listing.problem.fix)
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
        return _none(listing.problem.problem, listing.problem.fix)
    return _openai(model, options)


def _none(detail: str, fix: str) -> tuple[None, ModelChoice]:
    return None, ModelChoice("language model", "", "none", detail, fix)


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


def _ollama_models(options: LanguageModelOptions, *, wanted: str = "") -> _Listing:
    """Ollama's chat models, most recently changed first, as it lists them."""
    server = Server("ollama", options.ollama_url, wanted, options.connect_timeout_s)
    return _list(server, "/api/tags", key="models", name="name", api_key="")


def _openai_models(options: LanguageModelOptions, *, wanted: str = "") -> _Listing:
    """What a compatible server lists; OpenAI itself lists too many, and only its default is offered."""
    if not options.openai_base_url:
        return _Listing((wanted or DEFAULT_OPENAI_MODEL,) if options.openai_api_key else ())
    server = Server("openai", options.openai_url, wanted, options.connect_timeout_s)
    return _list(server, "/models", key="data", name="id", api_key=options.openai_api_key)


def _list(server: Server, path: str, *, key: str, name: str, api_key: str) -> _Listing:
    if refusal := _refusal(server):
        return _Listing(problem=unreachable(server, refusal))
    import httpx

    from pipeline.models.connections import client_options, within
    from pipeline.models.wire import document

    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    patience = {"connect_timeout_s": server.timeout_s, "read_timeout_s": server.timeout_s}
    try:
        with (
            within(LISTING_PATIENCE * server.timeout_s),
            httpx.Client(**client_options(**patience, protocol="whole")) as client,
        ):
            response = client.get(server.url.rstrip("/") + path, headers=headers)
            response.raise_for_status()
            return _Listing(_chat_models(document(response).get(key, ""), name))
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
