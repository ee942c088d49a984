"""The tables of the SQLite file, and the number of their format.

Sections and sentences belong to a *build*: one index made by one manifest. Readers see the build that
`state.visible` names; a rebuild writes another beside it, which takes its place in one transaction.
Numbers (of documents, sections and sentences alike) rise and are never used twice, so that
an index derived from an older generation cannot take one node for another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

FORMAT = 11
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

_SAID = (
    "{turn}.id, {turn}.conversation_id, coalesce({turn}.question, '') || char(10) || "
    "CASE WHEN json_valid({turn}.answer) THEN coalesce(json_extract({turn}.answer, '$.text'), '') ELSE '' END"
)
CONVERSATION_TABLES = (
    """
    CREATE TABLE conversation (
        id TEXT PRIMARY KEY,
        title TEXT NOT NULL,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        turns INTEGER NOT NULL DEFAULT 0, -- how many: a page of the list reads no turns
        user TEXT NOT NULL,
        assistant TEXT NOT NULL,
        scope TEXT NOT NULL,         -- JSON: the globs of the documents that are asked; none for all
        pinned INTEGER NOT NULL CHECK (pinned IN (0, 1))
    )
    """,
    "CREATE INDEX conversation_used ON conversation (updated_at, id)",
    "CREATE INDEX conversation_user ON conversation (user, updated_at, id)",
    "CREATE INDEX conversation_pinned ON conversation (user, updated_at, id) WHERE pinned = 1",
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
        feedback_text TEXT NOT NULL DEFAULT '',
        remembered INTEGER NOT NULL DEFAULT 0 CHECK (remembered IN (0, 1)) -- looked at for memories
    )
    """,
    "CREATE UNIQUE INDEX turn_conversation ON turn (conversation_id, position)",
    "CREATE INDEX turn_unremembered ON turn (conversation_id) WHERE remembered = 0",
    """
    CREATE TRIGGER turn_begun AFTER INSERT ON turn BEGIN
        UPDATE conversation SET turns = turns + 1 WHERE id = NEW.conversation_id;
    END
    """,
    """
    CREATE TRIGGER turn_deleted AFTER DELETE ON turn BEGIN
        UPDATE conversation SET turns = turns - 1 WHERE id = OLD.conversation_id;
    END
    """,
    # What turns say, apart from the answers: these are long, and JSON.
    "CREATE TABLE said (turn_id TEXT PRIMARY KEY, conversation_id TEXT NOT NULL, text TEXT NOT NULL)",
    "CREATE INDEX said_conversation ON said (conversation_id)",
    f"""
    CREATE TRIGGER said_first AFTER INSERT ON turn BEGIN
        DELETE FROM said WHERE turn_id = NEW.id;
        INSERT INTO said SELECT {_SAID.format(turn="NEW")};
    END
    """,
    f"""
    CREATE TRIGGER said_since AFTER UPDATE OF question, answer ON turn BEGIN
        DELETE FROM said WHERE turn_id = NEW.id;
        INSERT INTO said SELECT {_SAID.format(turn="NEW")};
    END
    """,
    "CREATE TRIGGER said_no_more AFTER DELETE ON turn BEGIN DELETE FROM said WHERE turn_id = OLD.id; END",
)
RECOUNTED = (
    "UPDATE conversation SET turns = (SELECT count(*) FROM turn WHERE conversation_id = conversation.id)",
    "DELETE FROM said",
    f"INSERT INTO said SELECT {_SAID.format(turn='turn')} FROM turn",
)
"""What is derived from the turns, made again."""

MEMORY_TABLES = (
    "CREATE TABLE memory_user (user TEXT PRIMARY KEY, version INTEGER NOT NULL)",
    """
    CREATE TABLE memory (
        user TEXT NOT NULL,
        id TEXT NOT NULL,
        text TEXT NOT NULL,
        hash BLOB NOT NULL,          -- of the text: no two live ones of a user and tier have the same
        tier TEXT NOT NULL,
        kind TEXT NOT NULL,
        category TEXT NOT NULL,
        origin TEXT NOT NULL,
        tags TEXT NOT NULL,          -- JSON
        importance REAL,
        why TEXT NOT NULL,
        subject TEXT NOT NULL,
        predicate TEXT NOT NULL,
        object TEXT NOT NULL,
        success INTEGER,
        pinned INTEGER NOT NULL,
        trusted INTEGER NOT NULL,
        stale INTEGER NOT NULL,
        disputed TEXT NOT NULL,
        valid_at REAL,
        invalid_at REAL,
        created_at REAL NOT NULL,
        expired_at REAL,
        accessed_at REAL,
        accesses INTEGER NOT NULL,
        embedding BLOB NOT NULL,     -- float32
        embedded_by TEXT NOT NULL,
        checksum INTEGER,
        embedding_checksum INTEGER,
        PRIMARY KEY (user, id)
    )
    """,
    """
    CREATE UNIQUE INDEX memory_live ON memory (user, tier, hash)
    WHERE expired_at IS NULL AND invalid_at IS NULL
    """,
    """
    CREATE TABLE memory_source (
        user TEXT NOT NULL,
        owner TEXT NOT NULL,         -- the memory that comes from it
        position INTEGER NOT NULL,
        turn_id TEXT NOT NULL,       -- '' once its conversation is deleted: the quote alone is left
        source TEXT NOT NULL,
        memory_id TEXT NOT NULL,
        part TEXT NOT NULL,
        start INTEGER NOT NULL,
        end INTEGER NOT NULL,
        quote TEXT NOT NULL,
        file_hash TEXT NOT NULL,
        checksum INTEGER,
        PRIMARY KEY (user, owner, position),
        FOREIGN KEY (user, owner) REFERENCES memory (user, id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX memory_source_turn ON memory_source (turn_id)",
    """
    CREATE TABLE entity (
        user TEXT NOT NULL,
        id TEXT NOT NULL,
        name TEXT NOT NULL,
        type TEXT NOT NULL,
        aliases TEXT NOT NULL,       -- JSON
        attributes TEXT NOT NULL,    -- JSON
        checksum INTEGER,
        PRIMARY KEY (user, id)
    )
    """,
    """
    CREATE TABLE mention (
        user TEXT NOT NULL,
        id TEXT NOT NULL,
        entity_id TEXT NOT NULL,
        at REAL NOT NULL,
        memory_id TEXT NOT NULL,
        turn_id TEXT NOT NULL,
        source TEXT NOT NULL,
        checksum INTEGER,
        PRIMARY KEY (user, id)
    )
    """,
    "CREATE INDEX mention_turn ON mention (turn_id)",
    """
    CREATE TABLE relation (
        user TEXT NOT NULL,
        id TEXT NOT NULL,
        subject_id TEXT NOT NULL,
        label TEXT NOT NULL,
        object_id TEXT NOT NULL,
        at REAL NOT NULL,
        memory_id TEXT NOT NULL,
        turn_id TEXT NOT NULL,
        source TEXT NOT NULL,
        checksum INTEGER,
        PRIMARY KEY (user, id)
    )
    """,
    "CREATE INDEX relation_turn ON relation (turn_id)",
    """
    CREATE TABLE memory_event (
        number INTEGER PRIMARY KEY,
        user TEXT NOT NULL,
        id TEXT NOT NULL,
        memory_id TEXT NOT NULL,
        action TEXT NOT NULL,
        at REAL NOT NULL,
        other_id TEXT NOT NULL,
        UNIQUE (user, id)
    )
    """,
    "CREATE INDEX memory_event_memory ON memory_event (user, memory_id)",
    # What was forgotten and may still be in the log or in a gap of a page: see embedded/erasing.py.
    "CREATE TABLE erasure (id INTEGER PRIMARY KEY CHECK (id = 1), pending INTEGER NOT NULL)",
    "INSERT INTO erasure VALUES (1, 0)",
)
"""What is remembered of each user; a user's `version` rises with each change of their rows."""

MIGRATIONS: Mapping[int, Sequence[str]] = {0: (*INDEX_TABLES, *CONVERSATION_TABLES, *MEMORY_TABLES)}
"""By the format that a file has, 0 for a new one: what brings it to `FORMAT`. Files of others are refused."""

DOCUMENT_CHECKED = "number, build, id, source, root, title, hash, sections, sentences, characters, indexed_at"
SECTION_CHECKED = "number, build, document, id, start, end, metadata, text"
SENTENCE_CHECKED = "number, build, document, section, id, start, end, metadata, text"
"""The columns that a row's `checksum` is of, in order; a document's text and metadata have their own."""

MEMORY_CHECKED = (
    "id, user, text, tier, kind, category, origin, tags, importance, why, subject, predicate, object, "
    "success, pinned, trusted, stale, disputed, valid_at, invalid_at, created_at, expired_at, accessed_at, "
    "accesses, hash"
)
SOURCE_CHECKED = "user, owner, position, turn_id, source, memory_id, part, start, end, quote, file_hash"
ENTITY_CHECKED = "id, user, name, type, aliases, attributes"
MENTION_CHECKED = "id, user, entity_id, at, memory_id, turn_id, source"
RELATION_CHECKED = "id, user, subject_id, label, object_id, at, memory_id, turn_id, source"
"""What a row's `checksum` is of, in order; a memory's embedding has its own, as it can be made again."""

SEAL_MEMORIES = {
    "memory": f"""
        UPDATE memory SET checksum = checksum({MEMORY_CHECKED}),
            embedding_checksum = checksum(embedding, embedded_by)
    """,
    "memory_source": f"UPDATE memory_source SET checksum = checksum({SOURCE_CHECKED})",
    "entity": f"UPDATE entity SET checksum = checksum({ENTITY_CHECKED})",
    "mention": f"UPDATE mention SET checksum = checksum({MENTION_CHECKED})",
    "relation": f"UPDATE relation SET checksum = checksum({RELATION_CHECKED})",
}
"""What gives rows their checksums as they are, by table."""
