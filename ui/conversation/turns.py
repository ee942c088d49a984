"""One turn of the conversation as data for the chat component: from a stored answer or from a running one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from memory.times import date_words
from memory.turn_index import Turn as SaidTurn
from pipeline.answer import Answer, Citation, Support
from pipeline.answering.citations import escaped_markers, renamed_markers
from pipeline.answering.recollection import FORGOTTEN, filled_in
from pipeline.answering.replies import nearest_sections
from pipeline.steps.events import RunFailed
from pipeline.steps.records import Step, call_line, data_of
from pipeline.stores.conversations import scope_of
from pipeline.stores.globs import only_in
from pipeline.stores.memories import Memory
from pipeline.words import CLOSEST, counted
from ui.conversation.runner import RunSnapshot
from ui.conversation.units import View, breadcrumb, in_words, units_view
from ui.shared.markdown_tree import Span, Tree, markdown_tree
from ui.shared.words import one_line, shortened

MARKER = re.compile(r"(?<!\\)\[(\d{1,3})\]")
STOPPED = "You stopped this answer."
LOOKED_FOR = 200  # characters of a question that is repeated
ASK_OTHERWISE = {
    "manuals": "Name the part, the status or the command as the manuals write it, "
    "or ask about one thing at a time.",
    "documents": "Use the words that the documents use, or ask about one thing at a time.",
}


BLANK: View = {
    "turn": "",
    "versions": 1,
    "working": False,
    "kind": "answer",
    "of_memory": False,
    "body": [],
    "heading": "",
    "about": "",
    "corrected": None,
    "groups": [],
    "folded": [],
    "folded_label": "",
    "nearest": [],
    "found": [],
    "thoughts": "",
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
    "recalled": [],
    "related": [],
    "changed": [],
    "markdown": "",
    "follow_ups": [],
    "calls": [],
    "consent": None,
}
NOTHING_RECALLED: Mapping[str, str] = {}
NOTHING_SAID: Mapping[str, SaidTurn] = {}
ICONS = {"tool": "build", "memory": "psychology", "documents": "search"}
SHOWN = 2_000  # characters of what a tool gave
LONGEST_SAID = 300  # characters of what was said that are shown under an answer


def stored_view(
    answer: Answer,
    *,
    turn_id: str,
    feedback: int | None = None,
    word: str = "",
    recalled: Mapping[str, str] = NOTHING_RECALLED,
    said: Mapping[str, SaidTurn] = NOTHING_SAID,
    changed: Sequence[View] = (),
    documents: str = "documents",
) -> View:
    """A finished turn; where it failed, its last notice says why.

    `recalled`: texts of memories and turns, by id; `said`: those of them that are turns. `changed`: what was
    replaced or disputed by it, of `changed_view`. `documents`: what they are called, these or "manuals".
    """
    failed = answer.status == "failed" and bool(answer.notices)
    notices = answer.notices[:-1] if failed else answer.notices
    return (
        BLANK
        | _answered(answer)
        | {
            "turn": turn_id,
            "missing": f"Not in the {documents}",
            "otherwise": ASK_OTHERWISE[documents],
            "citations": {str(c.marker): citation_view(c) for c in answer.citations},
            "support": [support_view(support) for support in answer.support],
            "notices": [markdown_tree(notice) for notice in notices],
            "ended": STOPPED if answer.status == "stopped" else "",
            "failure": {"message": answer.notices[-1], "fix": ""} if failed else None,
            "meta": meta(answer),
            "feedback": feedback,
            "word": word,
            "rated": True,
            "inspectable": bool(answer.steps) and answer.mode != "reply",
            "markdown": answer_markdown(answer),
            "recalled": [recalled_view(known, recalled, said) for known in answer.recalled],
            "changed": list(changed),
            "related": [recalled[known] for known in answer.related if known in recalled],
            "calls": calls_view(answer.steps, recalled),
            "thoughts": data_of(answer.steps, "generate").get("thinking", ""),
        }
    )


def _answered(answer: Answer) -> View:
    """The answer to one question: as quotes, as text, or that there is none."""
    return {
        "groups": [],
        "folded": [],
        "question": answer.question,
        "kind": _kind(answer),
        "of_memory": answer.mode == "memory",
        "heading": CLOSEST if is_closest(answer) else "",
        "about": answer.carried,
        "corrected": _corrected(answer),
        "body": _body(answer),
        "looked_for": shortened(answer.corrected or answer.condensed_question or answer.question, LOOKED_FOR),
        "nearest": [nearest_view(near.marker - 1, near) for near in answer.nearest],
    } | _quotes(answer)


def recalled_view(memory_id: str, texts: Mapping[str, str], said: Mapping[str, SaidTurn]) -> View:
    """A memory or a turn that was recalled, as it is now, a turn with its day; a forgotten one says so."""
    text, turn = texts.get(memory_id), said.get(memory_id)
    return {
        "id": memory_id,
        "text": shortened(one_line(turn.text), LONGEST_SAID) if turn else FORGOTTEN if text is None else text,
        "when": said_when(turn) if turn else "",
        "forgotten": text is None,
    }


def said_when(turn: SaidTurn) -> str:
    """The day of something that was said, and who said it, where it was not the user."""
    who = "the assistant" if turn.role == "assistant" else turn.speaker
    return ", ".join(filter(None, [date_words(turn.at), who]))


def changed_view(memory: Memory, others: Sequence[Memory]) -> View:
    """Return what a turn's fact took the place of, and whether that was undone."""
    return {
        "id": memory.id,
        "text": memory.text,
        "others": [other.text for other in others],
        "undone": not memory.live,
    }


def failed_view(view: View, failure: RunFailed) -> View:
    """The same turn with what went wrong and what to do about it."""
    return view | {"failure": {"message": failure.message, "fix": failure.fix}}


def running_view(snapshot: RunSnapshot) -> View:
    """A turn that is still being written, or that ended before it could be stored."""
    text, known = snapshot.text, {citation.marker for citation in snapshot.citations}
    spans = _chips(text, known) + _unsupported(snapshot.support) if text else []
    found = nearest_sections(snapshot.found, {}) if snapshot.working else ()
    view = BLANK | {
        "question": snapshot.question,
        "working": snapshot.working,
        "stopping": snapshot.stopping,
        "step": step_line(snapshot),
        "calls": calls_view(snapshot.steps, None),
        "body": markdown_tree(text, spans=spans, references=False) if text else [],
        "citations": {str(c.marker): citation_view(c) for c in snapshot.citations},
        "support": [support_view(support) for support in snapshot.support],
        "found": [nearest_view(index, citation) for index, citation in enumerate(found)],
        "thoughts": snapshot.thoughts,
        "ended": "" if snapshot.working or snapshot.failure else STOPPED,
    }
    return failed_view(view, snapshot.failure) if snapshot.failure else view


def calls_view(steps: Sequence[Step], texts: Mapping[str, str] | None) -> list[View]:
    """What an agent called, in order, with the thought before it; `texts` of memories, None: unknown."""
    calls, thought = list[View](), ""
    for step in steps:
        data = step.data
        if step.name == "think":
            thought = data.get("thought", "")
        elif step.name == "tool":
            unknown = texts is None and data.get("recalled")
            told = "" if unknown else filled_in(data.get("result", ""), texts or {})
            calls.append(
                {
                    "line": call_line(step),
                    "icon": ICONS[data["kind"]],
                    "status": step.status,
                    "thought": thought,
                    "given": json.dumps(data["arguments"], ensure_ascii=False, default=str),
                    "result": shortened(
                        "\n".join(filter(None, [*data.get("titles", ()), told, step.detail])), SHOWN
                    ),
                    "time": f"{step.ms / 1000:.1f} s, {counted(data['tokens'], 'token')}",
                }
            )
            thought = ""
    return calls


def step_line(snapshot: RunSnapshot) -> str:
    """What Athena does at the moment, in a few words."""
    if snapshot.stopping:
        return "Stopping …"
    if snapshot.step:
        return snapshot.step.rstrip(" .…") + " …"
    return "Writing …" if snapshot.text else "Starting …"


def _kind(answer: Answer) -> str:
    if answer.mode in ("reply", "memory"):
        return "reply"
    if answer.abstained:
        return "abstained"
    return "quotes" if answer.mode == "quote" and answer.citations else "answer"


def is_closest(answer: Answer) -> bool:
    """True where the quotes are the closest that was found, and maybe no answer."""
    return answer.verdict == "closest" and _kind(answer) == "quotes"


def _quotes(answer: Answer) -> View:
    if _kind(answer) != "quotes":
        return {}
    return units_view(answer)


def _corrected(answer: Answer) -> View | None:
    """What was searched for instead of what was typed."""
    shown = answer.message_corrected
    return {"shown": shown, "typed": answer.question} if shown else None


def _body(answer: Answer) -> Tree:
    if _kind(answer) == "reply":
        return markdown_tree(answer.text)
    if _kind(answer) != "answer":
        return []
    spans = _chips(answer.text, {citation.marker for citation in answer.citations})
    return markdown_tree(answer.text, spans=spans + _unsupported(answer.support), references=False)


def _unsupported(support: Sequence[Support]) -> list[Span]:
    """The sentences that no source supports."""
    return [
        Span(one.start, one.end, "unsupported", index)
        for index, one in enumerate(support)
        if not one.supported
    ]


def _chips(text: str, known: set[int] | None = None) -> list[Span]:
    """A chip for each marker; the space before it goes too, so that it stays with its sentence."""
    return [
        Span(match.start(), match.end(), "chip", int(match[1]))
        for match in MARKER.finditer(text)
        if known is None or int(match[1]) in known
    ]


def citation_view(citation: Citation) -> View:
    """What hovering over a chip shows."""
    return {
        "quote": in_words(citation),
        "where": breadcrumb(citation),
        "verified": citation.verified,
    }


def nearest_view(index: int, citation: Citation) -> View:
    """One of the nearest sections of a question that the documents do not answer."""
    title = citation.heading_path[-1] if citation.heading_path else citation.source
    return {
        "index": index,
        "title": title,
        "where": breadcrumb(citation),
        "quote": shortened(in_words(citation), 180),
    }


def support_view(support: Support) -> View:
    """What hovering over an unsupported sentence shows."""
    return {"text": "" if support.supported else support.problem}


def meta(answer: Answer) -> list[str]:
    """The quiet line: sources, what lacks support, model, time."""
    if answer.mode in ("reply", "memory"):
        return []
    sources = len({(c.source, c.heading_path) for c in answer.citations})
    line = [counted(sources, "section")] if sources else []
    line += filter(None, [answer.unsupported])
    line += filter(None, [only_in(scope_of(answer))])
    line.append(_by(answer))
    if answer.seconds:
        line.append(f"{answer.seconds:.1f} s")
    return line


def _by(answer: Answer) -> str:
    """Who answered, or that nobody did."""
    if answer.abstained:
        return "not answered"
    return "closest passages" if is_closest(answer) else answer.model or "quotes, no model"


def answer_markdown(answer: Answer) -> str:
    """What is copied of an answer; only the sources that its text names are listed."""
    text = renamed_markers(answer.text, lambda marker: f"[^{marker}]")
    asked = "\n".join(f"> {line}".rstrip() for line in answer.question.splitlines())
    named = [item for item in answer.citations if f"[^{item.marker}]" in text]
    return "\n\n".join(filter(None, [asked, text, "\n".join(map(_footnote, named))])) + "\n"


def _footnote(citation: Citation) -> str:
    first, last = citation.start_line, citation.end_line
    lines = f"line {first}" if first == last else f"lines {first}-{last}"
    quote = escaped_markers(one_line(citation.quote))
    return f"[^{citation.marker}]: {breadcrumb(citation)}, {lines}: “{quote}”"
