"""Words that stand in several places: numbers with their nouns, and texts of others for files and terminals.

And tables of words, which lie as files beside what reads them.

What would move a terminal's cursor or change its title is shown there, not obeyed.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path

NOTICES = "athena.notices"

notices = logging.getLogger(NOTICES)
"""Takes what a user should know although nothing failed, a line each; the command line shows them."""
CLOSEST = "The documents may not answer this. Closest:"

_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"} | {0x7F: 0x2421}
_TURNING = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""What turns the direction of writing, so that a name reads as another one."""
_SHOWN = _PICTURES | dict.fromkeys((*range(0x80, 0xA0), *_TURNING), 0xFFFD)
_LEFT_IN_JSON = re.compile(f"[\x7f-\x9f{''.join(map(chr, _TURNING))}]")
"""Control characters that JSON may have as they are."""


def table(module: str, name: str) -> Iterator[list[str]]:
    """The rows of a file with tabs beside a module; a line that begins with "# " is a remark."""
    for line in Path(module).with_name(name).read_text(encoding="utf-8").splitlines():
        if not line.startswith("# "):
            yield line.split("\t")


def well_formed(text: str) -> str:
    """The text with "?" for halves of surrogate pairs, which no file and no store can hold."""
    return text.encode(errors="replace").decode()


def counted(number: int, noun: str) -> str:
    """A number with its noun, in the plural for all numbers but one: "1 row", "1,200 rows", "2 memories"."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun[:-1]}ies" if noun.endswith(("ry", "ty")) else f"{number:,} {noun}s"


def harmless(text: str) -> str:
    """The text with pictures of its control characters in their places: ␛ for the one that begins orders."""
    return text.translate(_SHOWN)


def harmless_json(text: str) -> str:
    """The same JSON with all of its control characters escaped."""
    return _LEFT_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
