"""Write docs/settings.md from the class `Settings`: `python scripts/settings_page.py`."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from athena.settings import Settings  # noqa: E402

PAGE = ROOT / "docs" / "settings.md"
HEAD = """# Settings

Athena looks for each setting in this order: a flag on the command line, an environment variable, a line in
`.env` in the working folder, `settings.json` in the data folder (what you chose on the Settings page), the
default. `scripts/settings_page.py` writes this page.

| variable | default | what it does |
|---|---|---|
"""
FOOT = """
A persona is a TOML file with `name`, `greeting`, `tone`, `system_header` and `suggestions`, all optional. Its
[static memory](memory.md) is in `memories`. The mission has its own, `mission/persona.toml`.
"""


def page() -> str:
    """Return the page as Markdown, with one table row for each setting."""
    rows = [
        f"| `ATHENA_{name.upper()}` | {_default(field.default)} | {field.description} |\n"
        for name, field in Settings.model_fields.items()
    ]
    return HEAD + "".join(rows) + FOOT


def _default(value: object) -> str:
    """Return a default value as Markdown for the table."""
    if value in (None, ""):
        return "empty"
    if isinstance(value, Path) and value.is_absolute():
        value = value.relative_to(ROOT)
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
