"""Taking back what later migrations did, for a file as earlier versions left it."""

from __future__ import annotations

WITHOUT_PINS_AND_WORDS = (
    "DROP TRIGGER said_first",
    "DROP TRIGGER said_since",
    "DROP TRIGGER said_no_more",
    "DROP TABLE said",
    "DROP INDEX conversation_pinned",
    "ALTER TABLE conversation DROP COLUMN pinned",
)
