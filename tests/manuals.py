"""The manuals that come along, as they are read, and the questions to them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from readers.front_matter import read_front_matter
from readers.sections import read_sections

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "docs_corpus"
DATA = ROOT / "evals" / "data"
QUESTIONS = DATA / "manuals"
PART_ID = re.compile(r"\b(?<!P-)(?:(?:ECS|EPS|PRP|GNC|COM|CMP|STO)-[A-Z0-9]+(?:-[A-Z0-9]+)?|[A-Z]{3}-CTRL)\b")


@cache
def sources() -> dict[str, str]:
    """The manuals without their front matter."""
    texts = {p.relative_to(CORPUS).as_posix(): p.read_text(encoding="utf-8") for p in CORPUS.rglob("*.md")}
    return {name: texts[name][read_front_matter(texts[name], source=name)[1] :] for name in sorted(texts)}


@cache
def sections() -> dict[str, str]:
    """The text of each section, as it is read, by `SOURCE#HEADING > PATH`."""
    found: dict[str, str] = {}
    for source, text in sources().items():
        for section in read_sections(text, source=source):
            path = section.metadata["heading_path"] if section.metadata["level"] else []
            name = f"{source}#{' > '.join(path)}"
            assert name not in found, f"two sections are called {name}"
            found[name] = section.text
    return found
