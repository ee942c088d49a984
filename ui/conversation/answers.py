"""One turn of the conversation as HTML: from a stored answer, or from one that is being written."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from types import MappingProxyType

from pipeline.answer import Answer, Citation, Support
from pipeline.answering.citations import escaped_markers, renamed_markers
from pipeline.answering.recollection import FORGOTTEN
from pipeline.answering.replies import OTHERWISE, nearest_sections
from pipeline.steps.events import RunFailed
from pipeline.steps.records import Step, call_line, data_of
from pipeline.stores.globs import only_in
from pipeline.stores.turns import scope_of
from pipeline.words import CLOSEST, counted
from ui.conversation.quotes import quotes_html
from ui.conversation.runner import RunSnapshot
from ui.shared.markdown import Span, crumbs, html_of, icon, tag, text_of
from ui.shared.words import in_labels, one_line, shortened

MARKER = re.compile(r"(?<!\\)\[(\d{1,3})\]")
CHIP = re.compile(r"<chip-(\d+)>")
STOPPED = "You stopped this answer."
SHOWN = 2_000  # most characters shown of a tool's result
LONGEST_SAID = 300  # most characters shown of a memory, or of a quote in a chip's tooltip
ICONS = {"tool": "build", "memory": "psychology", "documents": "search"}


def stored_html(
    answer: Answer, memories: Mapping[str, str] = MappingProxyType({}), *, failure: RunFailed | None = None
) -> str:
    """Return the HTML of a finished turn; `memories` has the texts of its recalled memories by id.

    A failed turn shows the error of `failure`; without it, the turn's last notice, which says why it failed.
    """
    failed = answer.status == "failed" and bool(answer.notices)
    *notices, why = answer.notices if failed else (*answer.notices, "")
    problem, fix = (failure.error.problem, failure.error.fix) if failure else (why, "")
    parts = [
        _calls(answer.steps),
        _thoughts(data_of(answer.steps, "generate").get("thinking", "")),
        tag(
            "div",
            _corrected(answer),
            _body(answer),
            *(_note("info", html_of(in_labels(notice))) for notice in notices),
            _note("stop_circle", STOPPED) if answer.status == "stopped" else "",
            _failure(problem, fix) if failed else "",
            class_=f"answer {kind_of(answer)}",
        ),
        _recalled(answer, memories),
    ]
    return _question(answer.question) + "".join(parts)


def running_html(now: RunSnapshot, *, consent: str = "") -> str:
    """Return the HTML of a turn that is being written or was not stored; `consent` asks for permission."""
    found = nearest_sections(now.found, {}) if now.working else ()
    text = _written(now.text, now.citations, now.support) if now.text else ""
    ended = "" if now.working or now.failure else _note("stop_circle", STOPPED)
    error = now.failure.error if now.failure else None
    failure = _failure(error.problem, error.fix) if error else ""
    parts = [
        _calls(now.steps),
        _thoughts(now.thoughts),
        consent,
        tag("div", text, ended, failure, class_="answer"),
        _working(now) if now.working else "",
        _found(found),  # last: when it disappears, nothing above it moves
    ]
    return _question(now.question) + "".join(parts)


def kind_of(answer: Answer) -> str:
    """Return how an answer is shown: as "reply", "abstained", "quotes", or "text" (with citations)."""
    if answer.mode in ("reply", "memory"):
        return "reply"
    if answer.abstained:
        return "abstained"
    return "quotes" if answer.mode == "quote" and answer.citations else "text"


# -- the answer --------------------------------------------------------------------------------------------


def _question(question: str) -> str:
    said = tag("span", "You asked: ", class_="sr")
    scrolls = "0" if len(question) > 500 else None
    return tag("div", said, escape(question), class_="question", tabindex=scrolls)


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
            return heading + _everywhere(answer) + tag("div", html, class_="closest")
        case _:
            return _written(answer.text, answer.citations, answer.support)


def _written(text: str, citations: Sequence[Citation], support: Sequence[Support]) -> str:
    """Return the HTML of a model's answer with its chips; unsupported sentences are marked."""
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
    """Replace each `<chip-N>` by a button for citation N, or by a number while that citation is unknown."""
    known = {citation.marker: citation for citation in citations}

    def chip(found: re.Match[str]) -> str:
        citation = known.get(int(found[1]))
        return _chip(citation) if citation else tag("span", found[1], class_="chip waiting")

    return CHIP.sub(chip, html)


def _chip(citation: Citation) -> str:
    return tag(
        "button",
        str(citation.marker),
        class_="chip",
        data_act="open",
        data_kind="citation",
        data_marker=str(citation.marker),
        data_tip=shortened(text_of(citation.quote), LONGEST_SAID),
        data_where=breadcrumb(citation),
        aria_label=f"Source {citation.marker}: {breadcrumb(citation)}",
    )


def _abstained(answer: Answer) -> str:
    looked_for = escape(shortened(answer.corrected or answer.condensed_question or answer.question, 200))
    verdict = tag("p", icon("search_off"), tag("strong", "Not in the documents"), class_="verdict")
    about = f"I looked for “{tag('em', looked_for)}” and found no passage that answers it. {OTHERWISE}"
    label = tag("p", "The nearest sections", class_="label")
    cards = tag("div", *(_card(at, near) for at, near in enumerate(answer.nearest)), class_="cards")
    return verdict + tag("p", about) + _everywhere(answer) + (label + cards if answer.nearest else "")


def _everywhere(answer: Answer) -> str:
    """Return a button that asks again in all documents; "" if all documents were searched."""
    button = tag("button", "Ask everywhere", class_="tool framed", data_act="everywhere")
    return tag("p", button) if only_in(scope_of(answer)) else ""


def _card(at: int, citation: Citation, *, act: bool = True) -> str:
    snippet = tag("span", escape(shortened(text_of(citation.quote), 180)), class_="snippet")
    inside = crumbs(breadcrumb(citation).split(" › ")) + snippet
    if not act:
        return tag("div", inside, class_="card")
    return tag("button", inside, class_="card", data_act="open", data_kind="nearest", data_marker=str(at))


def _corrected(answer: Answer) -> str:
    """Return a line with the question's corrected spelling; "" if nothing was corrected."""
    shown = tag("strong", escape(answer.corrected))
    return tag("p", f"Showing results for {shown}.", class_="corrected") if answer.corrected else ""


# -- around the answer -------------------------------------------------------------------------------------


def _note(symbol: str, html: str) -> str:
    return tag("div", icon(symbol), tag("div", html), class_="note")


def _failure(message: str, fix: str) -> str:
    inside = tag("strong", _with_code(message)) + (tag("p", _with_code(fix)) if fix else "")
    return tag("div", icon("error"), tag("div", inside), class_="failure", role="alert")


def _with_code(text: str) -> str:
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", escape(in_labels(text)))


def _fold(name: str, label: str, *inside: str, is_open: bool = False, class_: str = "fold") -> str:
    summary = tag("summary", label, icon("expand_more"))
    return tag("details", summary, *inside, class_=class_, data_fold=name, open=is_open)


def _thoughts(thoughts: str) -> str:
    text = tag("pre", escape(thoughts), tabindex="0")
    return _fold("thoughts", "The model’s reasoning", text) if thoughts else ""


def _found(found: Sequence[Citation]) -> str:
    """Return the found passages, which are shown while the answer is written; "" if there are none."""
    if not found:
        return ""
    cards = tag("div", *(_card(at, one, act=False) for at, one in enumerate(found)), class_="cards")
    return _fold("found", "Found in the documents", cards, is_open=True, class_="fold found")


def _working(now: RunSnapshot) -> str:
    """Return the line with the current step and the Stop button."""
    step = "Stopping" if now.stopping else now.step.rstrip(" .…") or ("Writing" if now.text else "Working")
    stop = tag("button", icon("stop_circle"), "Stop", class_="tool framed", data_act="stop",
               disabled=now.stopping, title="Stop (Esc)")  # fmt: skip
    pulse = tag("span", class_="pulse", aria_hidden="true")
    now_doing = tag("span", escape(step), " …", role="status", class_="step")
    return tag("div", pulse, now_doing, stop, class_="line")


def _calls(steps: Sequence[Step]) -> str:
    """Return a fold for each tool call of an agent; "" if there are none."""
    made = [_call(step) for step in steps if step.name == "tool"]
    return tag("div", *made, class_="calls") if made else ""


def _call(step: Step) -> str:
    data = step.data
    parts = [*data.get("titles", ()), data.get("result", ""), step.detail]
    result = shortened("\n".join(filter(None, parts)), SHOWN)
    given = json.dumps(data["arguments"], ensure_ascii=False, default=str)
    texts_shown = (tag("pre", escape(text), tabindex="0") for text in (given, result) if text)
    time = tag("p", f"{step.ms / 1000:.1f} s", class_="meta")
    label = icon(ICONS[data["kind"]]) + tag("span", escape(call_line(step)), class_=step.status)
    return _fold(call_line(step), label, *texts_shown, time)


# -- memory ------------------------------------------------------------------------------------------------


def _recalled(answer: Answer, memories: Mapping[str, str]) -> str:
    """Return the memories that the answer used; "" if none, or if the reply is about the memory itself."""
    if answer.mode == "memory" or not answer.recalled:
        return ""
    texts = dict.fromkeys(memories.get(known, FORGOTTEN) for known in answer.recalled)
    label = tag("p", icon("psychology"), "From memory, not from the documents", class_="label")
    items = tag("ul", *(tag("li", escape(shortened(one_line(text), LONGEST_SAID))) for text in texts))
    return tag("section", label, items, class_="recalled", aria_label="From memory")


# -- the line below it, and the copy ----------------------------------------------------------------------


def meta(answer: Answer) -> str:
    """Return the line below an answer: sections, unsupported sentences, scope, model, time; "" if a reply."""
    if answer.mode in ("reply", "memory"):
        return ""
    sources = len({(citation.source, citation.heading_path) for citation in answer.citations})
    by = answer.model or "quotes, no model"
    if answer.abstained:
        by = "not answered"
    elif answer.verdict == "closest" and kind_of(answer) == "quotes":
        by = "closest passages"
    seconds = f"{answer.seconds:.1f}\N{NO-BREAK SPACE}s" if answer.seconds else ""
    section = counted(sources, "section") if sources else ""
    return " · ".join(filter(None, [section, answer.unsupported, only_in(scope_of(answer)), by, seconds]))


def answer_markdown(answer: Answer) -> str:
    """Return the question and its answer as Markdown to copy; the cited sources become footnotes."""
    text = renamed_markers(answer.text, lambda marker: f"[^{marker}]")
    asked = "\n".join(f"> {line}".rstrip() for line in answer.question.splitlines())
    named = [item for item in answer.citations if f"[^{item.marker}]" in text]
    return "\n\n".join(filter(None, [asked, text, "\n".join(map(_footnote, named))])) + "\n"


def _footnote(citation: Citation) -> str:
    quote = escaped_markers(one_line(citation.quote))
    return f"[^{citation.marker}]: {breadcrumb(citation)}, {citation.lines}: “{quote}”"


def breadcrumb(citation: Citation) -> str:
    """Return the file and the headings of a citation in one line."""
    return " › ".join([citation.source, *citation.heading_path])
