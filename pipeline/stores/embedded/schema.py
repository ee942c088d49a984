"""The tables of the SQLite file, and the number of their format.

Sections and sentences belong to a *build*: one index made by one manifest. Readers see the build that
`state.visible` names; a rebuild writes another beside it, which takes its place in one transaction.
Numbers (of documents, sections and sentences alike) rise and are never used twice, so that
an index derived from an older generation cannot take one node for another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

FORMAT = 16
"""Rises with each change of the tables; the file has it as its `user_version`."""

INDEX_TABLES = (
    """
    CREATE TABLE manifest (
        build INTEGER PRIMARY KEY AUTOINCREMENT,
        format INTEGER NOT NULL,
        embedding_model TEXT NOT NULL,
        dimensions INTEGER NOT NULL,
        splitter TEXT NOT NULL,
        fingerprint TEXT NOT NULL,   -- of the model's file
        recipe INTEGER NOT NULL      -- of what is embedded
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
        metadata TEXT NOT NULL,      -- JSON: what its sections share (`pipeline/stores/metadata.py`)
        checksum INTEGER,            -- of the columns up to `indexed_at`
        text_checksum INTEGER,
        metadata_checksum INTEGER,
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
        checksum INTEGER,            -- of the columns before it, here and below
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
        checksum INTEGER,
        UNIQUE (build, id)
    )
    """,
    "CREATE INDEX sentence_section ON sentence (section)",
    """
    CREATE TABLE embedding (
        section INTEGER PRIMARY KEY REFERENCES section (number) ON DELETE CASCADE,
        first_sentence INTEGER NOT NULL,
        vectors BLOB NOT NULL,       -- float16, row by row: the section's, then its sentences' by number
        checksum INTEGER
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
        updated_at REAL NOT NULL,
        turns INTEGER NOT NULL DEFAULT 0, -- a page of the list reads no turns
        user TEXT NOT NULL DEFAULT 'local', -- what salvage gives conversations of files without the column
        assistant TEXT NOT NULL DEFAULT '',
        scope TEXT NOT NULL DEFAULT '[]', -- JSON: the globs of the documents that it asks, none for all
        pinned INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
        revision INTEGER NOT NULL DEFAULT 0 -- rises with every change of its turns
    )
    """,
    "CREATE INDEX conversation_used ON conversation (updated_at, id)",
    "CREATE INDEX conversation_user ON conversation (user, updated_at, id)",
    "CREATE INDEX conversation_pinned ON conversation (user, updated_at, id) WHERE pinned = 1",
)

TURN_TABLES = (
    """
    CREATE TABLE turn (
        number INTEGER PRIMARY KEY,  -- in the order in which they were begun
        id TEXT NOT NULL UNIQUE,
        conversation_id TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
        said TEXT NOT NULL DEFAULT '', -- what it is found by; before the answer, which is long
        question TEXT NOT NULL,
        created_at REAL NOT NULL,
        feedback INTEGER CHECK (feedback IN (1, -1)),
        feedback_text TEXT NOT NULL DEFAULT '',
        remembered INTEGER NOT NULL DEFAULT 0 CHECK (remembered IN (0, 1)),
        left_out INTEGER NOT NULL DEFAULT 0 CHECK (left_out IN (0, 1)), -- of what is found again
        after TEXT,                  -- id of the turn that it follows, '' for none; NULL: the one before it
        aside INTEGER NOT NULL DEFAULT 0 CHECK (aside IN (0, 1)), -- another version is in its place
        told TEXT,                   -- what it is found again by beside its question; NULL: by neither
        answer TEXT NOT NULL         -- JSON of pipeline.answer.Answer
    )
    """,
    "CREATE INDEX turn_conversation ON turn (conversation_id)",
    "CREATE INDEX turn_unremembered ON turn (conversation_id) WHERE remembered = 0",
    # Apart from the turn: who reads its answer does not read this, who writes this does not write the answer.
    """
    CREATE TABLE turn_embedding (
        turn INTEGER PRIMARY KEY REFERENCES turn (number) ON DELETE CASCADE,
        model TEXT NOT NULL,
        vectors BLOB NOT NULL,       -- float32
        checksum INTEGER NOT NULL
    )
    """,
    """
    CREATE TRIGGER turn_begun AFTER INSERT ON turn BEGIN
        UPDATE conversation SET revision = revision + 1 WHERE id = new.conversation_id;
    END
    """,
    """
    CREATE TRIGGER turn_changed AFTER UPDATE OF question, answer, told, left_out, aside ON turn BEGIN
        UPDATE conversation SET revision = revision + 1 WHERE id = new.conversation_id;
        DELETE FROM turn_embedding WHERE turn = new.number
            AND (new.question, new.told, new.left_out) IS NOT (old.question, old.told, old.left_out);
    END
    """,
    """
    CREATE TRIGGER turn_removed AFTER DELETE ON turn BEGIN
        UPDATE conversation SET revision = revision + 1 WHERE id = old.conversation_id;
    END
    """,
)

MEMORY_TABLES = (
    "CREATE TABLE memory_user (user TEXT PRIMARY KEY, version INTEGER NOT NULL)",
    """
    CREATE TABLE memory (
        user TEXT NOT NULL,
        id TEXT NOT NULL,
        kind TEXT NOT NULL,          -- memory, entity, mention or relation
        live TEXT,                   -- tier and text of a live memory, hashed: no two of a user are the same
        named TEXT NOT NULL,         -- JSON: the turns and documents that it names
        row TEXT NOT NULL,           -- JSON: see pipeline/stores/memory_records.py
        checksum INTEGER NOT NULL,   -- of the columns before it
        embedding BLOB NOT NULL,     -- float32
        embedding_checksum INTEGER NOT NULL,
        PRIMARY KEY (user, id)
    )
    """,
    "CREATE UNIQUE INDEX memory_live ON memory (user, live)",
    """
    CREATE TABLE memory_event (
        number INTEGER PRIMARY KEY,
        user TEXT NOT NULL,
        id TEXT NOT NULL,
        memory_id TEXT NOT NULL,
        row TEXT NOT NULL,           -- JSON
        UNIQUE (user, id)
    )
    """,
    "CREATE INDEX memory_event_memory ON memory_event (user, memory_id)",
    # What was forgotten and may still be in the log or in a gap of a page: see embedded/erasing.py.
    "CREATE TABLE erasure (id INTEGER PRIMARY KEY CHECK (id = 1), pending INTEGER NOT NULL)",
    "INSERT INTO erasure VALUES (1, 0)",
)
"""What is remembered of each user; a user's `version` rises with each change of their rows."""

KEY_TABLES = (
    """
    CREATE TABLE access_key (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        user TEXT NOT NULL,
        rights TEXT NOT NULL,        -- words with blanks between them
        salt TEXT NOT NULL,
        hash TEXT NOT NULL,          -- of the salt and the secret, which is kept nowhere
        created_at REAL NOT NULL,
        expires_at REAL              -- NULL: never
    )
    """,
)

_TURN_12 = (
    "number, id, conversation_id, said, question, created_at, feedback, feedback_text, remembered, answer"
)
_TURN_14 = f"{_TURN_12}, left_out, told"
_TURNS_ANEW = (
    *(f"DROP TRIGGER turn_{name}" for name in ("begun", "changed", "removed")),
    "ALTER TABLE turn_embedding RENAME TO turn_embedding_14",
    "ALTER TABLE turn RENAME TO turn_14",
    "DROP INDEX turn_conversation",
    "DROP INDEX turn_unremembered",
    *TURN_TABLES,
    f"INSERT INTO turn ({_TURN_14}) SELECT {_TURN_14} FROM turn_14",
    "INSERT INTO turn_embedding SELECT * FROM turn_embedding_14",
    "DROP TABLE turn_embedding_14",
    "DROP TABLE turn_14",
)
MIGRATIONS: Mapping[int, Sequence[str]] = {
    0: (*INDEX_TABLES, *CONVERSATION_TABLES, *TURN_TABLES, *MEMORY_TABLES, *KEY_TABLES),
    12: (
        "ALTER TABLE conversation ADD COLUMN revision INTEGER NOT NULL DEFAULT 0",
        # Copied, since an added column would come after the answer, and be read through all of that.
        "ALTER TABLE turn RENAME TO turn_12",
        "DROP INDEX turn_conversation",
        "DROP INDEX turn_unremembered",
        *TURN_TABLES,
        f"INSERT INTO turn ({_TURN_12}, told) SELECT {_TURN_12}, told_in(answer) FROM turn_12",
        "DROP TABLE turn_12",
        *KEY_TABLES,
    ),
    13: (*KEY_TABLES, *_TURNS_ANEW),
    14: _TURNS_ANEW,
}
"""By the format that a file has, 0 for a new one: what brings it to `FORMAT`. Files of others are refused.

`told_in` is that of `pipeline/stores/conversations.py`.
"""

DOCUMENT_CHECKED = "number, build, id, source, root, title, hash, sections, sentences, characters, indexed_at"
SECTION_CHECKED = "number, build, document, id, start, end, metadata, text"
SENTENCE_CHECKED = "number, build, document, section, id, start, end, metadata, text"
"""The columns that a row's `checksum` is of, in order; a document's text and metadata have their own."""
