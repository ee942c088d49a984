"""The tables of the SQLite file, as numbered migrations: entry n takes the file from version n to n + 1.

Sections and sentences belong to a *build*: one index made by one manifest. Readers see the build that
`state.visible` names; a rebuild writes another beside it, which takes its place in one transaction.
Numbers (of documents, sections and sentences alike) rise and are never used twice, so that
an index derived from an older generation cannot take one node for another.
"""

from __future__ import annotations

from pipeline.options import DEFAULT_USER

INDEX_TABLES = (
    """
    CREATE TABLE manifest (
        build INTEGER PRIMARY KEY AUTOINCREMENT,
        format INTEGER NOT NULL,
        embedding_model TEXT NOT NULL,
        dimensions INTEGER NOT NULL,
        splitter TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE state (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        store TEXT NOT NULL,         -- names this file: an index derived from another is not trusted
        visible INTEGER REFERENCES manifest (build),
        generation INTEGER NOT NULL, -- rises with every change of what is visible
        next_number INTEGER NOT NULL
    )
    """,
    "INSERT INTO state VALUES (1, lower(hex(randomblob(16))), NULL, 0, 1)",
    """
    CREATE TABLE document (
        number INTEGER PRIMARY KEY,
        build INTEGER NOT NULL REFERENCES manifest (build),
        id TEXT NOT NULL,
        source TEXT NOT NULL,
        root TEXT NOT NULL,
        title TEXT NOT NULL,
        hash TEXT NOT NULL,
        sections INTEGER NOT NULL,
        sentences INTEGER NOT NULL,
        characters INTEGER NOT NULL,
        indexed_at REAL NOT NULL,
        text TEXT NOT NULL,
        UNIQUE (build, source)
    )
    """,
    """
    CREATE TABLE section (
        number INTEGER PRIMARY KEY,
        build INTEGER NOT NULL,
        document INTEGER NOT NULL REFERENCES document (number) ON DELETE CASCADE,
        id TEXT NOT NULL,
        start INTEGER,
        end INTEGER,
        metadata TEXT NOT NULL,      -- JSON
        text TEXT NOT NULL,
        UNIQUE (build, id)
    )
    """,
    "CREATE INDEX section_document ON section (document)",
    """
    CREATE TABLE sentence (
        number INTEGER PRIMARY KEY,
        build INTEGER NOT NULL,
        document INTEGER NOT NULL,
        section INTEGER NOT NULL REFERENCES section (number) ON DELETE CASCADE,
        id TEXT NOT NULL,
        start INTEGER,
        end INTEGER,
        metadata TEXT NOT NULL,      -- JSON
        text TEXT NOT NULL,
        UNIQUE (build, id)
    )
    """,
    "CREATE INDEX sentence_section ON sentence (section)",
    """
    CREATE TABLE embedding (
        section INTEGER PRIMARY KEY REFERENCES section (number) ON DELETE CASCADE,
        first_sentence INTEGER NOT NULL,
        vectors BLOB NOT NULL        -- float16, row by row: the section's, then its sentences' by number
    )
    """,
    """
    CREATE TABLE change (
        generation INTEGER PRIMARY KEY,
        removed INTEGER,             -- number of the document that is gone
        added INTEGER                -- number of the document that came
    )
    """,
)

CONVERSATION_TABLES = (
    """
    CREATE TABLE conversation (
        id TEXT PRIMARY KEY,
        title TEXT NOT NULL,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL
    )
    """,
    """
    CREATE TABLE turn (
        id TEXT PRIMARY KEY,
        conversation_id TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
        position INTEGER NOT NULL,
        question TEXT NOT NULL,
        status TEXT NOT NULL,
        answer TEXT NOT NULL,        -- JSON of pipeline.answer.Answer
        created_at REAL NOT NULL,
        feedback INTEGER CHECK (feedback IN (1, -1)),
        feedback_text TEXT NOT NULL DEFAULT ''
    )
    """,
    "CREATE INDEX turn_conversation ON turn (conversation_id, position)",
)

EMBEDDING_COLUMNS = (
    "ALTER TABLE manifest ADD COLUMN fingerprint TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE manifest ADD COLUMN recipe INTEGER NOT NULL DEFAULT 0",
)
"""What a build's vectors were made with; an index from before is one of an unknown file and recipe."""

OWNER_COLUMNS = (
    f"ALTER TABLE conversation ADD COLUMN user TEXT NOT NULL DEFAULT '{DEFAULT_USER}'",
    "ALTER TABLE conversation ADD COLUMN assistant TEXT NOT NULL DEFAULT ''",
    "CREATE INDEX conversation_user ON conversation (user)",
    # Turns from before there were memories are not looked at.
    "ALTER TABLE turn ADD COLUMN remembered INTEGER NOT NULL DEFAULT 1 CHECK (remembered IN (0, 1))",
    "CREATE INDEX turn_unremembered ON turn (conversation_id) WHERE remembered = 0",
)
"""Whose a conversation is, and which of its turns were looked at for what is to be remembered."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (*INDEX_TABLES, *CONVERSATION_TABLES),
    EMBEDDING_COLUMNS,
    OWNER_COLUMNS,
)
