"""LlamaIndex's models of Ollama and OpenAI, set up for answers that can be hung up, and where each one is.

Only making a model imports its package: `openai` comes with the extra `[openai]`.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from pipeline.models.failures import Provider, Server
from pipeline.options import OPENAI_URL, LanguageModelOptions

if TYPE_CHECKING:
    from llama_index.core.llms import LLM


KEEP_ALIVE = "15m"  # a conversation's pauses should not unload the model


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


def _client_options(options: LanguageModelOptions, protocol: Provider) -> dict[str, Any]:
    from pipeline.models.connections import client_options

    assert protocol != "local"  # noqa: S101  (no client)
    return client_options(
        connect_timeout_s=options.connect_timeout_s,
        read_timeout_s=options.request_timeout_s,
        protocol=protocol,
    )


def _usage_wanted(url: str) -> dict[str, Any]:
    """Ask OpenAI for token counts at the end of a stream; older compatible servers refuse the option."""
    return {"stream_options": {"include_usage": True}} if url == OPENAI_URL else {}
