"""One turn of the conversation as data for the chat component: from a stored answer or from a running one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from pipeline.answer import Answer, Citation, Support
from pipeline.answering.replies import how_many_unsupported, what_is_unsupported
from pipeline.steps.events import RunFailed
from ui.conversation.runner import RunSnapshot
from ui.shared.markdown_tree import Span, Tree, markdown_tree, tree_text

View = dict[str, Any]  # what the component gets: JSON only

MARKER = re.compile(r"\[(\d{1,3})\]")
FENCE = re.compile(r"^ {0,3}(```|~~~)", re.MULTILINE)
TABLE_DELIMITER = re.compile(r"^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")
BULLET = re.compile(r"^\s*[-*+]\s+")
STOPPED = "You stopped this answer."
ASK_OTHERWISE = (
    "Name the part, the status or the command as the manuals write it, or ask about one thing at a time."
)


BLANK: View = {
    "turn": "",
    "working": False,
    "kind": "answer",
    "body": [],
    "groups": [],
    "nearest": [],
    "citations": {},
    "support": [],
    "notices": [],
    "ended": "",
    "failure": None,
    "meta": [],
    "feedback": None,
    "word": "",
    "rated": False,
    "inspectable": False,
}


def stored_view(answer: Answer, *, turn_id: str, feedback: int | None = None, word: str = "") -> View:
    """A finished turn; where it failed, its last notice says why."""
    failed = answer.status == "failed" and bool(answer.notices)
    return BLANK | {
        "turn": turn_id,
        "question": answer.question,
        "kind": _kind(answer),
        "body": _body(answer),
        "groups": quote_groups(answer.citations) if _kind(answer) == "quotes" else [],
        "looked_for": answer.condensed_question or answer.question,
        "otherwise": ASK_OTHERWISE,
        "nearest": [nearest_view(index, citation) for index, citation in enumerate(answer.nearest)],
        "citations": {str(c.marker): citation_view(c) for c in answer.citations},
        "support": [support_view(support) for support in answer.support],
        "notices": list(answer.notices[:-1] if failed else answer.notices),
        "ended": STOPPED if answer.status == "stopped" else "",
        "failure": {"message": answer.notices[-1], "fix": ""} if failed else None,
        "meta": meta(answer),
        "feedback": feedback,
        "word": word,
        "rated": True,
        "inspectable": bool(answer.steps),
    }


def failed_view(view: View, failure: RunFailed) -> View:
    """The same turn with what went wrong and what to do about it."""
    return view | {"failure": {"message": failure.message, "fix": failure.fix}}


def running_view(snapshot: RunSnapshot) -> View:
    """A turn that is still being written, or that ended before it could be stored."""
    text = snapshot.text
    view = BLANK | {
        "question": snapshot.question,
        "working": snapshot.working,
        "stopping": snapshot.stopping,
        "step": step_line(snapshot),
        "body": markdown_tree(text, spans=_chips(text), references=False) if text else [],
        "ended": "" if snapshot.working or snapshot.failure else STOPPED,
    }
    return failed_view(view, snapshot.failure) if snapshot.failure else view


def step_line(snapshot: RunSnapshot) -> str:
    """What Athena does at the moment, in a few words."""
    if snapshot.stopping:
        return "Stopping …"
    if snapshot.step:
        return snapshot.step.rstrip(" .…") + " …"
    return "Writing …" if snapshot.text else "Starting …"


def _kind(answer: Answer) -> str:
    if answer.abstained:
        return "abstained"
    return "quotes" if answer.mode == "quote" and answer.citations else "answer"


def _body(answer: Answer) -> Tree:
    if _kind(answer) != "answer":
        return []
    spans = _chips(answer.text, {citation.marker for citation in answer.citations})
    spans += [
        Span(support.start, support.end, "unsupported", index)
        for index, support in enumerate(answer.support)
        if not support.supported
    ]
    return markdown_tree(answer.text, spans=spans, references=False)


def _chips(text: str, known: set[int] | None = None) -> list[Span]:
    """A chip for each marker; the space before it goes too, so that it stays with its sentence."""
    return [
        Span(match.start(), match.end(), "chip", int(match[1]))
        for match in MARKER.finditer(text)
        if known is None or int(match[1]) in known
    ]


def breadcrumb(citation: Citation) -> str:
    """Where a citation stands, in one line."""
    return " › ".join([citation.source, *citation.heading_path])


def citation_view(citation: Citation) -> View:
    """What hovering over a chip shows."""
    return {
        "quote": in_words(citation),
        "where": breadcrumb(citation),
        "verified": citation.verified,
    }


def nearest_view(index: int, citation: Citation) -> View:
    """One of the nearest sections of a question that the manuals do not answer."""
    title = citation.heading_path[-1] if citation.heading_path else citation.source
    return {
        "index": index,
        "title": title,
        "where": breadcrumb(citation),
        "quote": shortened(in_words(citation), 180),
    }


def support_view(support: Support) -> View:
    """What hovering over an unsupported sentence shows."""
    return {"text": "" if support.supported else what_is_unsupported(support)}


def quote_groups(citations: Sequence[Citation]) -> list[View]:
    """Quotes under the section that they come from, in reading order within it."""

    def section(citation: Citation) -> tuple[str, tuple[str, ...]]:
        return citation.source, citation.heading_path

    order = {key: position for position, key in reversed(list(enumerate(map(section, citations))))}
    ranked = sorted(citations, key=lambda c: (order[section(c)], c.start))
    return [
        {
            "source": source,
            "path": list(path),
            "quotes": [{"marker": c.marker, "tree": quote_tree(c)} for c in found],
        }
        for (source, path), found in ((key, list(group)) for key, group in groupby(ranked, key=section))
    ]


def quote_tree(citation: Citation) -> Tree:
    """A quote as it stands in its section: rows under their header, code as code, a list item's text."""
    before = citation.section_text[: max(0, citation.start - citation.section_start)]
    if len(FENCE.findall(before)) % 2:
        return markdown_tree(f"```\n{citation.quote}")
    header = _table_header(before)
    if header and "|" in citation.quote.split("\n", 1)[0]:
        return markdown_tree(f"{header}\n{citation.quote}")
    alone = "\n" not in citation.quote.strip()
    text = BULLET.sub("", citation.quote) if alone else citation.quote
    return markdown_tree(text) or [{"t": "p", "c": [text]}]


def _table_header(before: str) -> str:
    """Header and delimiter of the table that a quote stands in; "" where the text before it ends in none."""
    lines = before.splitlines()
    for number in range(len(lines) - 1, 0, -1):
        if TABLE_DELIMITER.match(lines[number]) and "|" in lines[number - 1]:
            return f"{lines[number - 1]}\n{lines[number]}"
        if "|" not in lines[number]:
            break
    return ""


def meta(answer: Answer) -> list[str]:
    """The quiet line: sources, what lacks support, model, time."""
    sources = len({(c.source, c.heading_path) for c in answer.citations})
    line = [f"{sources} {'section' if sources == 1 else 'sections'}"] if sources else []
    line += filter(None, [how_many_unsupported(answer.support)])
    line.append("not answered" if answer.abstained else answer.model or "quotes, no model")
    if answer.seconds:
        line.append(f"{answer.seconds:.1f} s")
    return line


def in_words(citation: Citation) -> str:
    """A quote on one line, without the marks of Markdown."""
    return one_line(tree_text(quote_tree(citation)))


def one_line(text: str) -> str:
    """Text with line ends and runs of spaces as single spaces."""
    return " ".join(text.split())


def shortened(text: str, length: int) -> str:
    """The text, cut between words to about `length` characters."""
    if len(text) <= length:
        return text
    return text[:length].rsplit(" ", 1)[0].rstrip(" ,;:.") + " …"
