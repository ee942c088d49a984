"""Texts for widgets: escaping, since Streamlit reads most texts as Markdown, shortening, local times."""

from __future__ import annotations

import re
from datetime import datetime

LABELS = {
    "llm": "Language model",
    "ollama_url": "Ollama's address",
    "openai_base_url": "Address of an OpenAI-compatible server",
    "openai_api_key": "Key",
}
"""Labels of the fields of the Settings page, by setting."""
VARIABLE = re.compile(r"(`?)ATHENA_([A-Z_]+)(?:=(\w+))?\1")
ERROR_NUMBER = re.compile(r"\[Errno -?\d+\] ")
SPECIAL = frozenset("\\`*_{}[]()#+-.!|<>~:$")


def plain(text: str) -> str:
    """Return a text escaped for a widget that reads Markdown, so that the widget shows it unchanged."""
    escaped = "".join(f"\\{character}" if character in SPECIAL else character for character in text)
    return escaped.replace("\\:material/", "\\:\u2060material/")  # an escaped icon would still be drawn


def with_code(text: str) -> str:
    """Like `plain`, but `words in backticks` are shown as code, and line breaks are kept."""
    parts = enumerate(re.split(r"(`[^`\n]+`)", text))
    return "".join(part if number % 2 else plain(part).replace("\n", "  \n") for number, part in parts)


def in_labels(text: str) -> str:
    """Replace `ATHENA_…` in a message by the field's label or the setting's name; drop error numbers."""

    def label(found: re.Match[str]) -> str:
        setting, value = found[2].lower(), found[3]
        name = LABELS.get(setting, setting.removesuffix("_s").replace("_", " "))
        return f"“{name}” to {value}" if value else f"“{name}”"

    return VARIABLE.sub(label, ERROR_NUMBER.sub("", text))


def local_time(seconds: float) -> str:
    """Return Unix seconds as a local time of this machine: YYYY-MM-DD HH:MM."""
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M")


def one_line(text: str) -> str:
    """Return the text with each run of whitespace as one space, and none at its ends."""
    return " ".join(text.split())


def shortened(text: str, length: int) -> str:
    """Return the text; if longer than `length` characters, cut it between words and add an ellipsis."""
    if len(text) <= length:
        return text
    return text[:length].rsplit(" ", 1)[0].rstrip(" ,;:.") + " …"
