"""Words as widgets take them: most of Streamlit's texts are read as Markdown."""

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
    """Text for a widget that reads Markdown, escaped so that it is shown as it is."""
    escaped = "".join(f"\\{character}" if character in SPECIAL else character for character in text)
    return escaped.replace("\\:material/", "\\:\u2060material/")  # an icon's name is one escaped, too


def with_code(text: str) -> str:
    """Text for the same widgets, in which `words in backticks` stay code and lines stay lines."""
    parts = enumerate(re.split(r"(`[^`\n]+`)", text))
    return "".join(part if number % 2 else plain(part).replace("\n", "  \n") for number, part in parts)


def in_labels(text: str) -> str:
    """Replace variables in a message by the labels of fields, or the settings' names; drop error numbers."""

    def label(found: re.Match[str]) -> str:
        setting, value = found[2].lower(), found[3]
        name = LABELS.get(setting, setting.removesuffix("_s").replace("_", " "))
        return f"“{name}” to {value}" if value else f"“{name}”"

    return VARIABLE.sub(label, ERROR_NUMBER.sub("", text))


def local_time(seconds: float) -> str:
    """Return a time on this machine's clock, to the minute."""
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M")


def one_line(text: str) -> str:
    """Text with line ends and runs of spaces as single spaces."""
    return " ".join(text.split())


def shortened(text: str, length: int) -> str:
    """Return the text, cut between words to about `length` characters."""
    if len(text) <= length:
        return text
    return text[:length].rsplit(" ", 1)[0].rstrip(" ,;:.") + " …"
