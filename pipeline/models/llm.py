"""Language models on servers: which there are, which one is chosen, and getting one.

Ollama's come first, then OpenAI's or a compatible server's. Importing httpx takes long, so that waits until a
server answers. `openai` comes with the extra `[openai]`.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, get_args
from urllib.parse import urlsplit

from pipeline.errors import ConfigurationError, ModelError, ModelTimeout, ModelUnavailable
from pipeline.models import failures
from pipeline.models.base import ModelChoice
from pipeline.models.clients import LanguageModel, OllamaModel, OpenAIModel
from pipeline.models.failures import Server, quoted, translate
from pipeline.options import OLLAMA_URL, LanguageModelOptions
from pipeline.redaction import hide, without_password

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

DEFAULT_OPENAI_MODEL = "gpt-4.1-mini"
INSTALL_OPENAI = "Install it with: pip install 'athena-docs[openai]'"
NEEDS_KEY = "Set ATHENA_OPENAI_API_KEY, or ATHENA_OPENAI_BASE_URL for a compatible server."
HOW_TO_CONNECT = f"Start Ollama (`ollama serve`, then `ollama pull llama3.2`). {NEEDS_KEY}"
PULL_SILENCE_S = 300.0  # Ollama checks gigabytes without a word
MOST_MODELS = 1000
OTHER_MODEL = re.compile(  # names of models that cannot chat: they embed, rerank, listen, speak or draw
    r"embed|rerank|minilm|bert\b|(^|[/_-])(bge|gte|e5|mxbai|paraphrase|tts)\b|whisper|dall-e|moderation|diffusion",
    re.IGNORECASE,
)
Choice = tuple[LanguageModel | None, ModelChoice]
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
        return _named("ollama" if provider == "ollama" else "openai", model, options)
    except ModelError as error:
        return _none(error.problem, error.fix, wrong=True)


def language_model_of(llm: LLM) -> tuple[LanguageModel, ModelChoice]:
    """Return any LlamaIndex `LLM` as ours, with its choice; raises `ConfigurationError` for other objects."""
    from llama_index.core.llms import LLM

    if not isinstance(llm, LLM):
        raise ConfigurationError(f"`llm` is a '{type(llm).__name__}'.", "Give a LlamaIndex LLM, or a name.")
    from pipeline.llamaindex.llms import GivenModel

    model = GivenModel(llm)
    return model, ModelChoice("language model", model.server.name, "given", "given by the program")


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
    url, key = _url(kind, options), "" if kind == "ollama" else options.openai_api_key
    server = Server(kind, url, "", failures.CONNECT_S)
    path, rows, name = ("/api/tags", "models", "name") if kind == "ollama" else ("/models", "data", "id")
    if _is_refused(url):
        raise server.unreachable("connection refused")
    import httpx

    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        with httpx.Client(**server.http()) as client:
            found = client.get(url.rstrip("/") + path, headers=headers).raise_for_status().json()[rows] or []
            names = [row[name] for row in found[:MOST_MODELS]]
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, TypeError, LookupError) as error:  # or other JSON
        raise translate(error, server=server, begun=False) from error
    plain = (one for one in names if isinstance(one, str) and one == quoted(one))
    return [one for one in plain if not OTHER_MODEL.search(one)]


def _is_refused(url: str) -> bool:
    """Return True where nothing listens at a port of this machine; all else httpx finds out."""
    try:
        address = urlsplit(url)
        if address.hostname in ("127.0.0.1", "localhost", "::1") and address.port:
            socket.create_connection((address.hostname, address.port), timeout=failures.CONNECT_S).close()
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


def _named(kind: ServerKind, model: str, options: LanguageModelOptions) -> Choice:
    """Choose a model by its name; from OpenAI's protocol also one that is not listed: some list none."""
    if kind == "openai" and not (options.openai_api_key or options.openai_base_url):
        return _none(f"The language model 'openai/{model}' needs a key.", NEEDS_KEY)
    try:
        listed = list_models(kind, options)
    except ModelError as error:
        if kind == "ollama" or isinstance(error, ModelUnavailable | ModelTimeout):
            raise
        return _connected(kind, model, options, fix=error.fix)
    if kind == "ollama" and not any(model in (one, one.removesuffix(":latest")) for one in listed):
        detail = f"{_place(kind, options)} does not have the model '{model}'."
        return _none(detail, f"Get it with `ollama pull {model}`.")
    return _connected(kind, model, options)


def _none(detail: str, fix: str, *, wrong: bool = False) -> Choice:
    return None, ModelChoice("language model", "", "none", detail, fix, wrong=wrong)


def _place(kind: ServerKind, options: LanguageModelOptions) -> str:
    return ("Ollama at " if kind == "ollama" else "") + without_password(_url(kind, options))


def _connected(kind: ServerKind, model: str, options: LanguageModelOptions, *, fix: str = "") -> Choice:
    if kind == "openai" and find_spec("openai") is None:
        return _none(f"The language model '{kind}/{model}' needs a package that is missing.", INSTALL_OPENAI)
    hide(dict(options))
    server = Server(kind, _url(kind, options), model, options.request_timeout_s)
    made = (OllamaModel if kind == "ollama" else OpenAIModel)(server, options)
    return made, ModelChoice("language model", server.name, kind, f"by {_place(kind, options)}", fix)


def _url(kind: ServerKind, options: LanguageModelOptions) -> str:
    return options.ollama_url if kind == "ollama" else options.openai_url


def pull_model(model: str, *, url: str) -> Iterator[tuple[str, int, int]]:
    """Let the Ollama at `url` download a model; ends when it can be used.

    Yields the current step, and how many bytes are there and in all, of all parts known so far. Ollama keeps
    what was downloaded before an error: the next call goes on from there. Raises `ModelError` where Ollama is
    not there, breaks off, or cannot get the model.
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
