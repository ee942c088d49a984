"""Prompts that a user picks in a client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import mcp_types as types

from athena.tools.document_tools import CONTENT
from athena.tools.tool import Refused


@dataclass(frozen=True, slots=True)
class Template:
    """A prompt with the argument that it takes, if any."""

    title: str
    says: str
    text: str
    argument: str = ""
    argument_says: str = ""


TEMPLATES: Mapping[str, Template] = {
    "answer_with_citations": Template(
        title="Answer with citations",
        says="Answer a question from the documents and cite each sentence.",
        text="Answer this question from the indexed documents alone:\n\n{question}\n\n"
        "Look with the tool search, and read what is cut with get. After each sentence, cite the section that"
        " says it, as [title](url) with its lines. Where the verdict is 'not in the documents', or nothing"
        " that was found says it, say that the documents do not answer it, and name the nearest sections. "
        + CONTENT,
        argument="question",
        argument_says="what you want to know",
    ),
    "what_do_you_know_about_me": Template(
        title="What do you know about me?",
        says="Tell what is remembered of you, and offer to correct or forget it.",
        text="Call list_memories and tell me what you remember of me, in a few plain sentences, by topic."
        " Then ask whether anything is to be corrected (update_memory)"
        " or forgotten (forget, which shows first what would go). " + CONTENT,
    ),
}


def listed() -> list[types.Prompt]:
    """The prompts, as clients list them."""
    return [
        types.Prompt(name=name, title=known.title, description=known.says, arguments=_arguments(known))
        for name, known in TEMPLATES.items()
    ]


def _arguments(known: Template) -> list[types.PromptArgument] | None:
    if not known.argument:
        return None
    return [types.PromptArgument(name=known.argument, description=known.argument_says, required=True)]


def filled(name: str, arguments: Mapping[str, str]) -> types.GetPromptResult:
    """A prompt with its argument in it; raises `Refused` for an unknown prompt, argument or none."""
    known = TEMPLATES.get(name)
    if known is None:
        raise Refused(f"There is no prompt '{name[:80]}'.", f"There are {' and '.join(TEMPLATES)}.")
    wanted = {known.argument} - {""}
    if set(arguments) != wanted or not all(value.strip() for value in arguments.values()):
        takes = f"takes '{known.argument}': {known.argument_says}" if wanted else "takes no argument"
        raise Refused(f"The prompt {name} {takes}.", "Get it again like that.")
    text = known.text.replace("{question}", arguments.get("question", ""))
    message = types.PromptMessage(role="user", content=types.TextContent(text=text))
    return types.GetPromptResult(description=known.says, messages=[message])
