"""One turn of the conversation as HTML: from a stored answer, or from one that is being written."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from memory.times import date_words
from memory.turn_index import Turn as SaidTurn
from pipeline.answer import Answer, Citation, Support
from pipeline.answering.citations import escaped_markers, renamed_markers
from pipeline.answering.recollection import FORGOTTEN, filled_in
from pipeline.answering.replies import nearest_sections
from pipeline.steps.events import RunFailed
from pipeline.steps.records import Step, call_line, data_of
from pipeline.stores.globs import only_in
from pipeline.stores.turns import scope_of
from pipeline.words import CLOSEST, counted
from ui.conversation.quotes import quotes_html
from ui.conversation.runner import RunSnapshot
from ui.shared.markdown import Span, crumbs, html_of, icon, tag, text_of
from ui.shared.words import one_line, shortened

MARKER = re.compile(r"(?<!\\)\[(\d{1,3})\]")
CHIP = re.compile(r"<chip-(\d+)>")
STOPPED = "You stopped this answer."
OTHERWISE = "Try the words that the documents use, or ask about one thing at a time."
DOUBT = "The passage does not say this."
SHOWN = 2_000  # characters of a tool's result
LONGEST_SAID = 300  # characters of a remembered message
ICONS = {"tool": "build", "memory": "psychology", "documents": "search"}


@dataclass(frozen=True, slots=True)
class Recalled:
    """What a turn took from the memory, as it is now: texts by id, messages among them, replaced facts."""

    texts: Mapping[str, str] = field(default_factory=dict)
    said: Mapping[str, SaidTurn] = field(default_factory=dict)
    replaced: Sequence[
        tuple[str, str, Sequence[str], bool]
    ] = ()  # id, text, the old texts, whether it was undone


NOTHING_RECALLED = Recalled()


def stored_html(
    answer: Answer, recalled: Recalled = NOTHING_RECALLED, *, failure: RunFailed | None = None
) -> str:
    """Return the HTML of a finished turn; where it failed, its last notice says why."""
    failed = answer.status == "failed" and bool(answer.notices)
    notices = answer.notices[:-1] if failed else answer.notices
    from_memory = _recalled(answer, recalled)
    thoughts = data_of(answer.steps, "generate").get("thinking", "")
    body = tag(
        "div",
        _corrected(answer),
        _body(answer),
        *(_note("info", html_of(notice)) for notice in notices),
        _note("stop_circle", STOPPED) if answer.status == "stopped" else "",
        _failure(answer.notices[-1], failure.fix if failure else "") if failed else "",
        class_=f"answer {kind_of(answer)}",
    )
    memory_first = kind_of(answer) in ("quotes", "abstained")
    parts = [
        from_memory if memory_first else "",
        _calls(answer.steps, recalled.texts),
        _thoughts(thoughts),
        body,
        *_replaced(recalled, told=answer.mode == "memory"),
        "" if memory_first else from_memory,
        _related(answer, recalled),
    ]
    return _question(answer.question) + "".join(parts)


def running_html(now: RunSnapshot, *, consent: str = "") -> str:
    """Return the HTML of a turn that is being written, or that ended before it could be stored."""
    found = nearest_sections(now.found, {}) if now.working else ()
    text = _written(now.text, now.citations, now.support) if now.text else ""
    ended = "" if now.working or now.failure else _note("stop_circle", STOPPED)
    failure = _failure(now.failure.message, now.failure.fix) if now.failure else ""
    parts = [
        _calls(now.steps, None),
        _thoughts(now.thoughts),
        _found(found),
        consent,
        tag("div", text, ended, failure, class_="answer"),
        _working(now) if now.working else "",
    ]
    return _question(now.question) + "".join(parts)


def kind_of(answer: Answer) -> str:
    """Return how an answer is shown: "reply", "abstained", "quotes", or "text" with citations."""
    if answer.mode in ("reply", "memory"):
        return "reply"
    if answer.abstained:
        return "abstained"
    return "quotes" if answer.mode == "quote" and answer.citations else "text"


# -- the answer --------------------------------------------------------------------------------------------


def _question(question: str) -> str:
    said = tag("span", "You asked: ", class_="sr")
    return tag(
        "div", said, escape(question), class_="question", tabindex="0" if len(question) > 500 else None
    )


def _body(answer: Answer) -> str:
    match kind_of(answer):
        case "reply":
            return html_of(answer.text)
        case "abstained":
            return _abstained(answer)
        case "quotes":
            html = with_chips(quotes_html(answer), answer.citations)
            if answer.verdict != "closest":
                return html
            heading = tag("p", icon("help"), escape(CLOSEST), class_="verdict maybe")
            return heading + tag("div", html, class_="closest")
        case _:
            return _written(answer.text, answer.citations, answer.support)


def _written(text: str, citations: Sequence[Citation], support: Sequence[Support]) -> str:
    """Return a written answer with its chips; sentences without support are marked."""
    known = {citation.marker for citation in citations}
    found = (match for match in MARKER.finditer(text) if int(match[1]) in known)
    chips = [Span(match.start(), match.end(), "chip", int(match[1])) for match in found]
    weak = [
        Span(one.start, one.end, "unsupported", at) for at, one in enumerate(support) if not one.supported
    ]
    html = with_chips(html_of(text, spans=chips + weak, references=False), citations)
    for at, one in enumerate(support):
        tip = f'data-support="{at}" data-tip="Not supported" data-doubt="{escape(one.problem)}"'
        html = html.replace(f'data-support="{at}"', tip) if not one.supported else html
    return html


def with_chips(html: str, citations: Sequence[Citation]) -> str:
    """Return the HTML with a numbered button in the place of each chip."""
    known = {citation.marker: citation for citation in citations}

    def chip(found: re.Match[str]) -> str:
        citation = known.get(int(found[1]))
        return _chip(citation) if citation else tag("span", found[1], class_="chip waiting")

    return CHIP.sub(chip, html)


def _chip(citation: Citation) -> str:
    doubtful = "" if citation.verified else " (does not say so)"
    return tag(
        "button",
        str(citation.marker),
        class_="chip" if citation.verified else "chip doubtful",
        data_act="open",
        data_kind="citation",
        data_marker=str(citation.marker),
        data_tip=shortened(text_of(citation.quote), LONGEST_SAID),
        data_where=breadcrumb(citation),
        data_doubt=None if citation.verified else DOUBT,
        aria_label=f"Source {citation.marker}: {breadcrumb(citation)}{doubtful}",
    )


def _abstained(answer: Answer) -> str:
    looked_for = escape(shortened(answer.corrected or answer.condensed_question or answer.question, 200))
    verdict = tag("p", icon("search_off"), tag("strong", "Not in the documents"), class_="verdict")
    about = f"I looked for “{tag('em', looked_for)}” and found no passage that answers it. {OTHERWISE}"
    scope = only_in(scope_of(answer))
    everywhere = tag("button", "Ask everywhere", class_="tool framed", data_act="everywhere") if scope else ""
    label = tag("p", "The nearest sections", class_="label") if answer.nearest else ""
    cards = tag("div", *(_card(at, near) for at, near in enumerate(answer.nearest)), class_="cards")
    return verdict + tag("p", about) + everywhere + label + cards


def _card(at: int, citation: Citation, *, act: bool = True) -> str:
    inside = crumbs(breadcrumb(citation).split(" › ")) + tag(
        "span", escape(shortened(text_of(citation.quote), 180)), class_="snippet"
    )
    if not act:
        return tag("div", inside, class_="card")
    return tag("button", inside, class_="card", data_act="open", data_kind="nearest", data_marker=str(at))


def _corrected(answer: Answer) -> str:
    """Return what was searched for instead of what was typed, with the way back."""
    if not answer.message_corrected:
        return ""
    back = tag("button", tag("em", escape(answer.question)), class_="verbatim", data_act="verbatim")
    shown = tag("strong", escape(answer.message_corrected))
    return tag("p", f"Showing results for {shown}. Search for {back} instead.", class_="corrected")


# -- around the answer -------------------------------------------------------------------------------------


def _note(symbol: str, html: str) -> str:
    return tag("div", icon(symbol), tag("div", html), class_="note")


def _failure(message: str, fix: str) -> str:
    inside = tag("strong", _with_code(message)) + (tag("p", _with_code(fix)) if fix else "")
    return tag("div", icon("error"), tag("div", inside), class_="failure", role="alert")


def _with_code(text: str) -> str:
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", escape(text))


def _fold(name: str, label: str, *inside: str, is_open: bool = False, class_: str = "fold") -> str:
    summary = tag("summary", label, icon("expand_more"))
    return tag("details", summary, *inside, class_=class_, data_fold=name, open=is_open)


def _thoughts(thoughts: str) -> str:
    return (
        _fold("thoughts", "What the model thought", tag("pre", escape(thoughts), tabindex="0"))
        if thoughts
        else ""
    )


def _found(found: Sequence[Citation]) -> str:
    """Return the passages that were found, shown while the answer is written from them."""
    if not found:
        return ""
    cards = tag("div", *(_card(at, one, act=False) for at, one in enumerate(found)), class_="cards")
    return _fold("found", "Found in the documents", cards, is_open=True, class_="fold found")


def _working(now: RunSnapshot) -> str:
    """Return the line that says what is done at the moment, with the button that stops it."""
    step = "Stopping" if now.stopping else now.step.rstrip(" .…") or ("Writing" if now.text else "Starting")
    stop = tag("button", icon("stop_circle"), "Stop", class_="tool framed", data_act="stop",
               disabled=now.stopping, title="Stop (Esc)")  # fmt: skip
    pulse = tag("span", class_="pulse", aria_hidden="true")
    return tag(
        "div", pulse, tag("span", escape(step), " …", role="status", class_="step"), stop, class_="line"
    )


def _calls(steps: Sequence[Step], texts: Mapping[str, str] | None) -> str:
    """Return what an agent called, a fold for each call; `texts` of memories are None where unknown."""
    made = [_call(step, texts) for step in steps if step.name == "tool"]
    return tag("div", *made, class_="calls") if made else ""


def _call(step: Step, texts: Mapping[str, str] | None) -> str:
    data = step.data
    hidden = texts is None and data.get("recalled")
    told = "" if hidden else filled_in(data.get("result", ""), texts or {})
    result = shortened("\n".join(filter(None, [*data.get("titles", ()), told, step.detail])), SHOWN)
    given = json.dumps(data["arguments"], ensure_ascii=False, default=str)
    texts_shown = (tag("pre", escape(text), tabindex="0") for text in (given, result) if text)
    time = tag("p", f"{step.ms / 1000:.1f} s, {counted(data['tokens'], 'token')}", class_="meta")
    label = icon(ICONS[data["kind"]]) + tag("span", escape(call_line(step)), class_=step.status)
    return _fold(call_line(step), label, *texts_shown, time)


# -- memory ------------------------------------------------------------------------------------------------


def _recalled(answer: Answer, recalled: Recalled) -> str:
    """Return what was recalled for the answer: memory, not documents."""
    if not answer.recalled:
        return ""
    items = tag("ul", *(_memory(known, recalled) for known in answer.recalled), class_="memories")
    if answer.mode == "memory":  # the reply has said it
        return _fold("recalled", "Change what is remembered", items, class_="fold recalled")
    label = tag("p", icon("psychology"), "From memory, not from the documents", class_="label")
    return tag("section", label, items, class_="recalled", aria_label="From memory")


def _memory(memory_id: str, recalled: Recalled) -> str:
    """Return a memory or a message that was recalled, as it is now; a forgotten one says so."""
    text, turn = recalled.texts.get(memory_id), recalled.said.get(memory_id)
    if text is None:
        return tag("li", tag("span", FORGOTTEN, class_="remembered"), class_="gone")
    shown = f"“{shortened(one_line(turn.text), LONGEST_SAID)}”" if turn else text
    when = tag("span", escape(said_when(turn)), class_="when") if turn else ""
    source = tag("button", escape(shown), class_="remembered", data_act="source", data_memory=memory_id,
                 title="Where it comes from")  # fmt: skip
    forget = tag("button", "Forget", class_="tool forget", data_act="forget", data_memory=memory_id,
                 aria_label=f"Forget: {shown}")  # fmt: skip
    return tag("li", when, source, forget)


def said_when(turn: SaidTurn) -> str:
    """Return the day of a message, and who wrote it where it was not the user."""
    who = "the assistant" if turn.role == "assistant" else turn.speaker
    return ", ".join(filter(None, [date_words(turn.at), who]))


def _related(answer: Answer, recalled: Recalled) -> str:
    texts = [recalled.texts[known] for known in answer.related if known in recalled.texts]
    if not texts:
        return ""
    label = tag("p", icon("psychology"), "How it relates, from memory", class_="label")
    items = (tag("li", tag("span", escape(text), class_="remembered")) for text in texts)
    return tag(
        "section", label, tag("ul", *items, class_="memories"), class_="recalled", aria_label="How it relates"
    )


def _replaced(recalled: Recalled, *, told: bool) -> list[str]:
    """Return a line for each fact of this turn that took the place of others, with the way back."""
    made = []
    for memory_id, text, old, undone in recalled.replaced:
        others = "; ".join(old)
        story = "Not what you meant?" if told else f"Remembered: {text}. Instead of: {others}"
        story = f"Undone. This holds again: {others}" if undone else story
        undo = tag("button", icon("undo"), "Undo", class_="tool", data_act="undo", data_memory=memory_id)
        made.append(
            tag(
                "div",
                icon("history"),
                tag("div", escape(story)),
                "" if undone else undo,
                class_="note changed",
            )
        )
    return made


# -- the line under it, and the copy -----------------------------------------------------------------------


def meta(answer: Answer) -> str:
    """Return the quiet line under an answer: sources, what lacks support, model, time."""
    if answer.mode in ("reply", "memory"):
        return ""
    sources = len({(citation.source, citation.heading_path) for citation in answer.citations})
    by = answer.model or "quotes, no model"
    if answer.abstained:
        by = "not answered"
    elif answer.verdict == "closest" and kind_of(answer) == "quotes":
        by = "closest passages"
    seconds = f"{answer.seconds:.1f} s" if answer.seconds else ""
    section = counted(sources, "section") if sources else ""
    return " · ".join(filter(None, [section, answer.unsupported, only_in(scope_of(answer)), by, seconds]))


def answer_markdown(answer: Answer) -> str:
    """Return what is copied of an answer; only the sources that its text names are listed."""
    text = renamed_markers(answer.text, lambda marker: f"[^{marker}]")
    asked = "\n".join(f"> {line}".rstrip() for line in answer.question.splitlines())
    named = [item for item in answer.citations if f"[^{item.marker}]" in text]
    return "\n\n".join(filter(None, [asked, text, "\n".join(map(_footnote, named))])) + "\n"


def _footnote(citation: Citation) -> str:
    first, last = citation.start_line, citation.end_line
    lines = f"line {first}" if first == last else f"lines {first}-{last}"
    quote = escaped_markers(one_line(citation.quote))
    return f"[^{citation.marker}]: {breadcrumb(citation)}, {lines}: “{quote}”"


def breadcrumb(citation: Citation) -> str:
    """Return where a citation stands, in one line."""
    return " › ".join([citation.file, *citation.heading_path])
