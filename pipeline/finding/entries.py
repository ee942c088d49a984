"""A code, alone or in "what is …", asks for its own entry: the section that it heads, or a row of a table."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.analysis import analyse
from pipeline.answer import Passage
from pipeline.nodes import Node

NO_ENTRY = 2
ASKING = re.compile(
    r"(?:(?:what(?:['’]?s| is| does)|explain|meaning of|the|an?|alarm|error|fault|code|message)\s+)*",
    re.IGNORECASE,
)
MEANING = re.compile(r"\s(?:means?|stands? for)$", re.IGNORECASE)


def code_alone(text: str) -> str:
    """The code that is the whole text, as it is analysed; "" where the text is anything else."""
    *parts, last = analyse(text) or [""]
    is_code = any(map(str.isdigit, last)) and len(last.split("-")) == len(parts) > 1
    return last if is_code else ""


def code_asked(question: str) -> str:
    """The code that a question asks for and for nothing else ("what does C-112 mean"); "" for others."""
    asked = question.strip(" ?!.,")
    begun = ASKING.match(asked)
    return code_alone(MEANING.sub("", asked[begun.end() if begun else 0 :]))


def heads(path: Sequence[str], code: str) -> bool:
    """Whether a heading of the path begins with codes and this one is among its words."""
    return any(code in analyse(heading) and code_alone(heading.split()[0].rstrip(":,")) for heading in path)


def begins(leaf: Node, code: str) -> bool:
    """Whether it is a row whose first cell is the code."""
    first = leaf.text.strip().removeprefix("|").partition("|")[0]
    return leaf.metadata["kind"] == "table_row" and code_alone(first) == code


def entries_first(question: str, passages: Sequence[Passage]) -> list[Passage]:
    """The passages, what the code that is asked for heads or begins before all others."""
    code = code_asked(question)
    return sorted(passages, key=lambda passage: _rank(passage, code)) if code else list(passages)


def has_entry(question: str, passage: Passage) -> bool:
    """Whether a passage has the entry of the code that is asked for."""
    code = code_asked(question)
    return bool(code) and _rank(passage, code) < NO_ENTRY


def _rank(passage: Passage, code: str) -> int:
    """0 for what the code heads, 1 for what it begins a row of, 2 for all else."""
    if heads(passage.section.metadata["heading_path"], code):
        return 0
    return 1 if any(begins(hit.node, code) for hit in passage.sentences) else NO_ENTRY


def is_own_section(question: str, passages: Sequence[Passage]) -> bool:
    """Whether the first passage is a section that the code that is asked for heads itself."""
    code = code_asked(question)
    return bool(code and passages) and heads(passages[0].section.metadata["heading_path"][-1:], code)


def entry_leaves(question: str, leaves: Sequence[Node]) -> list[bool]:
    """Which leaves are of the entry of the code that is asked for: of its section, else its rows."""
    code = code_asked(question)
    if not code:
        return [False] * len(leaves)
    headed = [heads(leaf.metadata["heading_path"], code) for leaf in leaves]
    return headed if any(headed) else [begins(leaf, code) for leaf in leaves]
