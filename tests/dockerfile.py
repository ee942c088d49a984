"""The Dockerfile as tests read it."""

from __future__ import annotations

import re
from pathlib import Path

DOCKERFILE = (Path(__file__).parent.parent / "Dockerfile").read_text()


def copies() -> list[tuple[str, str]]:
    """What the build stage copies: (source, target), both as the Dockerfile has them."""
    found = []
    for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE):
        *sources, target = line.split()
        found += [(source, target if target != "./" else source) for source in sources]
    return found
