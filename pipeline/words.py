"""Text helpers that several modules share: counted nouns, notices, safe text, and tables of words.

A table of words is a file in the folder of the module that reads it.

Texts from users and documents are made safe for terminals: control characters are shown, not obeyed.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path

NOTICES = "athena.notices"

notices = logging.getLogger(NOTICES)
"""Logger for messages to the user that are no errors, one line each; the command line shows them."""
CLOSEST = "The documents may not answer this. Closest:"

_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"} | {0x7F: 0x2421}
_TURNING = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Characters that change the writing direction, and so can make a name look like another."""
_SHOWN = _PICTURES | dict.fromkeys((*range(0x80, 0xA0), *_TURNING), 0xFFFD)
_LEFT_IN_JSON = re.compile(f"[\x7f-\x9f{''.join(map(chr, _TURNING))}]")
"""Control characters that JSON allows unescaped."""


def table(module: str, name: str) -> Iterator[list[str]]:
    """Yield the rows of the tab-separated file `name` in a module's folder, without lines that begin "# "."""
    for line in Path(module).with_name(name).read_text(encoding="utf-8").splitlines():
        if not line.startswith("# "):
            yield line.split("\t")


def well_formed(text: str) -> str:
    """Return the text with "?" for each lone surrogate, which cannot be encoded as UTF-8."""
    return text.encode(errors="replace").decode()


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, plural unless the number is 1: "1 row", "1,200 rows", "2 memories"."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun[:-1]}ies" if noun.endswith(("ry", "ty")) else f"{number:,} {noun}s"


def harmless(text: str) -> str:
    """Return the text with visible symbols for control characters, except tab and newline: ␛ for escape."""
    return text.translate(_SHOWN)


def harmless_json(text: str) -> str:
    """Return the same JSON with the control characters that JSON allows unescaped also escaped."""
    return _LEFT_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
