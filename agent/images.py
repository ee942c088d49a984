"""An attached image: a tool of one run, with which a model that can see looks at it.

What it says is a tool's word, no evidence; the image itself is not kept.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import httpx
from pydantic import Field

from agent.tools import AgentTool
from athena.tools.tool import Call, Parameters, Tool
from pipeline.errors import UploadRefused
from pipeline.messages import MessageWithImage
from pipeline.models.connections import client_options
from pipeline.models.failures import translate
from pipeline.models.generation import ChatStream
from pipeline.models.llm import server_of

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

MOST_BYTES = 10 * 1024**2
BEGINNINGS = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}
ANSWERED_S = 5.0  # that its server may take to say whether it can see
SIGHT = "vision"  # as Ollama calls it
BLIND = "{name} cannot see images. Choose a model that can, or ask without the image."
UNKNOWN = "Whether {name} can see is not known: only a model of Ollama's or OpenAI's is shown an image."


class Look(Parameters):
    """What `look` takes."""

    question: str = Field(min_length=1, max_length=2_000, description="what to look for in the image")


def why_blind(llm: LLM) -> str:
    """Why a model is not shown an image; "" where it is. One of OpenAI's protocol says so itself, when asked.

    Raises `ModelError` where its server cannot be asked.
    """
    server = server_of(llm)
    if server.provider == "local":
        return UNKNOWN.format(name=server.model)
    if server.provider != "ollama":
        return ""
    http = client_options(server.url, connect_timeout_s=ANSWERED_S, read_timeout_s=ANSWERED_S)
    try:
        with httpx.Client(**http) as client:
            shown = client.post(f"{server.url.rstrip('/')}/api/show", json={"model": server.model})
        told = shown.raise_for_status().json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise translate(error, server=server, begun=False) from error
    able = told.get("capabilities") if isinstance(told, dict) else None
    return "" if isinstance(able, list) and SIGHT in able else BLIND.format(name=server.model)


def image_tool(image: bytes, llm: LLM | None) -> AgentTool:
    """A look at an image by the model; raises `UploadRefused` for what is none, or where it cannot see."""
    if llm is None:
        raise UploadRefused("No language model is connected that could look at the image.")
    kind = next((kind for start, kind in BEGINNINGS.items() if image.startswith(start)), "")
    if not kind:
        raise UploadRefused("The image is neither a PNG nor a JPEG file.", "Convert it.")
    if len(image) > MOST_BYTES:
        raise UploadRefused(f"The image has more than {MOST_BYTES // 1024**2} MB.", "Make it smaller.")
    if why := why_blind(llm):
        raise UploadRefused(why)

    def look(call: Call, given: Look) -> str:
        asked = MessageWithImage("user", given.question, image, kind)
        with closing(ChatStream(llm, [asked], stop=call.stop)) as stream:  # a call of a tool has its own time
            return "".join(piece.text for piece in stream)

    return AgentTool(
        Tool(
            name="look",
            title="Look at the image",
            says="Answer a question about the image that the user attached to this question.",
            takes=Look,
            gives=object,
            run=look,
            example={"question": "What does the display show?"},
        ),
        origin="the attached image",
    )
