"""Language models on servers: which there are, which one is chosen, and LlamaIndex's class for it.

Ollama's come first, then OpenAI's, then a compatible server's. Importing LlamaIndex or httpx takes long, so
both wait until a server answers. `openai` comes with the extra `[openai]`.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING, Any, Literal, get_args
from urllib.parse import urlsplit

from pipeline.errors import ConfigurationError, ModelError, ModelTimeout, ModelUnavailable
from pipeline.models.base import ModelChoice, Pulling
from pipeline.models.failures import Server, quoted, translate
from pipeline.options import OLLAMA_URL, LanguageModelOptions
from pipeline.redaction import hide, without_password

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

DEFAULT_OPENAI_MODEL = "gpt-4.1-mini"
INSTALL_OPENAI = "Install it with: pip install 'athena-docs[openai]'"
NEEDS_KEY = "Set ATHENA_OPENAI_API_KEY, or ATHENA_OPENAI_BASE_URL for a compatible server."
HOW_TO_CONNECT = f"Start Ollama (`ollama serve`, then `ollama pull llama3.2`). {NEEDS_KEY}"
KEEP_ALIVE = "15m"  # a conversation's pauses should not unload the model
PULL_SILENCE_S = 300.0  # Ollama checks gigabytes without a word
MOST_MODELS = 1000
OTHER_MODEL = re.compile(  # names of models that cannot chat: they embed, rerank, listen, speak or draw
    r"embed|rerank|minilm|bert\b|(^|[/_-])(bge|gte|e5|mxbai|paraphrase|tts)\b|whisper|dall-e|moderation|diffusion",
    re.IGNORECASE,
)
Choice = tuple["LLM | None", ModelChoice]
ServerKind = Literal["ollama", "openai"]


def choose_language_model(name: str, *, options: LanguageModelOptions) -> Choice:
    """Return the model of a name (`auto`, `none`, `ollama/NAME`, `openai/NAME`), and why; None for no model.

    A missing server or model is no exception: the choice says what is missing and which command fixes it.
    Raises `ConfigurationError` for other names.
    """
    require_model_name(name)
    provider, _, model = name.partition("/")
    if provider == "none":
        return _none("switched off (ATHENA_LLM is none)", "Set ATHENA_LLM=auto to look for a model.")
    if OTHER_MODEL.search(model):
        return _none(f"'{name}' is not a chat model by its name.", "Choose another one, or ATHENA_LLM=auto.")
    try:
        if provider == "auto":
            return _first_listed(options)
        return _named_ollama(model, options) if provider == "ollama" else _named_openai(model, options)
    except ModelError as error:
        return _none(error.problem, error.fix, wrong=True)


def language_model_of(llm: LLM) -> tuple[LLM, ModelChoice]:
    """Return any LlamaIndex `LLM` with its choice; raises `ConfigurationError` for another object."""
    from llama_index.core.llms import LLM

    if not isinstance(llm, LLM):
        raise ConfigurationError(f"`llm` is a '{type(llm).__name__}'.", "Give a LlamaIndex LLM, or a name.")
    name = llm.metadata.model_name
    name = type(llm).__name__ if name in ("", "unknown") else name
    return llm, ModelChoice("language model", name, "given", "given by the program")


def require_model_name(name: str) -> None:
    """Raise `ConfigurationError` for a text that names no model; asks no server."""
    provider, _, model = name.partition("/")
    if provider not in (("ollama", "openai") if model else ("auto", "none")):
        problem = f"ATHENA_LLM is '{name}', which names no model."
        raise ConfigurationError(problem, "Use auto, none, ollama/NAME or openai/NAME.")


def list_language_models(*, options: LanguageModelOptions) -> list[str]:
    """Return the names to pick from: the chat models of the servers that answer, then `none`."""
    names = list[str]()
    for kind in get_args(ServerKind):
        with suppress(ModelError):
            names += [f"{kind}/{name}" for name in list_models(kind, options)]
    return [*names, "none"]


def list_models(kind: ServerKind, options: LanguageModelOptions) -> list[str]:
    """Return the names of a server's chat models; of OpenAI's own many models only the default.

    Raises `ModelError` where the server does not answer, or lists none.
    """
    if kind == "openai" and not options.openai_base_url:
        return [DEFAULT_OPENAI_MODEL] if options.openai_api_key else []
    url, key = (options.ollama_url, "") if kind == "ollama" else (options.openai_url, options.openai_api_key)
    server = Server(kind, url, "", options.connect_timeout_s)
    path, rows, name = ("/api/tags", "models", "name") if kind == "ollama" else ("/models", "data", "id")
    if _is_refused(url, options.connect_timeout_s):
        raise server.unreachable("connection refused")
    import httpx

    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        with httpx.Client(**_http(url, options, read_timeout_s=options.connect_timeout_s)) as client:
            found = client.get(url.rstrip("/") + path, headers=headers).raise_for_status().json()[rows] or []
            names = [row[name] for row in found[:MOST_MODELS]]
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, TypeError, LookupError) as error:  # or other JSON
        raise translate(error, server=server, begun=False) from error
    plain = (one for one in names if isinstance(one, str) and one == quoted(one))
    return [one for one in plain if not OTHER_MODEL.search(one)]


def _is_refused(url: str, timeout_s: float) -> bool:
    """Return True where nothing listens at a port of this machine; all else httpx finds out."""
    try:
        address = urlsplit(url)
        if address.hostname in ("127.0.0.1", "localhost", "::1") and address.port:
            socket.create_connection((address.hostname, address.port), timeout=timeout_s).close()
    except (OSError, ValueError) as error:
        return isinstance(error, ConnectionRefusedError)
    return False


def _first_listed(options: LanguageModelOptions) -> Choice:
    """Choose the first model that a server lists; raises `ModelError` of a server that a setting names."""
    detail, problems = f"{_place('ollama', options)} has no chat model.", list[ModelError]()
    for kind in get_args(ServerKind):
        try:
            if names := list_models(kind, options):
                return _connected(kind, names[0], options)
        except ModelError as error:
            if kind == "openai" or options.ollama_url != OLLAMA_URL:
                problems.append(error)
            else:
                detail = error.problem
    if problems:
        raise problems[-1]
    return _none(detail, HOW_TO_CONNECT)


def _named_ollama(model: str, options: LanguageModelOptions) -> Choice:
    if not any(model in (one, one.removesuffix(":latest")) for one in list_models("ollama", options)):
        detail = f"{_place('ollama', options)} does not have the model '{model}'."
        return _none(detail, f"Get it with `ollama pull {model}`.")
    return _connected("ollama", model, options)


def _named_openai(model: str, options: LanguageModelOptions) -> Choice:
    """Choose the model, whether or not the server lists it: some servers have no list of models."""
    if not options.openai_api_key and not options.openai_base_url:
        return _none(f"The language model 'openai/{model}' needs a key.", NEEDS_KEY)
    try:
        list_models("openai", options)
    except (ModelUnavailable, ModelTimeout):
        raise
    except ModelError as error:
        return _connected("openai", model, options, fix=error.fix)
    return _connected("openai", model, options)


def _none(detail: str, fix: str, *, wrong: bool = False) -> Choice:
    return None, ModelChoice("language model", "", "none", detail, fix, wrong=wrong)


def _place(kind: ServerKind, options: LanguageModelOptions) -> str:
    if kind == "openai":
        return without_password(options.openai_url)
    return f"Ollama at {without_password(options.ollama_url)}"


def _connected(kind: ServerKind, model: str, options: LanguageModelOptions, *, fix: str = "") -> Choice:
    try:
        llm = (ollama_model if kind == "ollama" else openai_model)(model, options)
    except ImportError:
        return _none(f"The language model '{kind}/{model}' needs a package that is missing.", INSTALL_OPENAI)
    return llm, ModelChoice("language model", f"{kind}/{model}", kind, f"by {_place(kind, options)}", fix)


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
