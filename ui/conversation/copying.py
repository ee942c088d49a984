"""One answer as Markdown that can stand elsewhere: its question, its text, and its sources as footnotes."""

from __future__ import annotations

from pipeline.answer import Answer, Citation
from pipeline.answering.citations import renamed_markers
from ui.conversation.units import breadcrumb
from ui.shared.words import one_line


def answer_markdown(answer: Answer) -> str:
    """What is copied of an answer; only the sources that its text names are listed."""
    text = renamed_markers(answer.text, lambda marker: f"[^{marker}]")
    asked = "\n".join(f"> {line}".rstrip() for line in answer.question.splitlines())
    named = [item for item in answer.citations if f"[^{item.marker}]" in text]
    return "\n\n".join(filter(None, [asked, text, "\n".join(map(_footnote, named))])) + "\n"


def _footnote(citation: Citation) -> str:
    first, last = citation.start_line, citation.end_line
    lines = f"line {first}" if first == last else f"lines {first}-{last}"
    return f"[^{citation.marker}]: {breadcrumb(citation)}, {lines}: “{one_line(citation.quote)}”"
