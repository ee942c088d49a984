"""The tables of the SQLite file, and the number of their format.

Documents and their nodes belong to a *build*: one index, made with one manifest. Readers see the build that
`state.visible` names. A rebuild writes another build and makes that visible in one transaction.

Numbers are never used twice, so an index that was derived from an older state cannot take one node for
another: the nodes of document `n` with S sections and T sentences have the numbers n+1 … n+S (sections) and
n+S+1 … n+S+T (sentences).
"""

from __future__ import annotations

FORMAT = 19
"""Rises with each change of the tables; stored in the file as its `user_version`."""

SCHEMA = f"""
BEGIN IMMEDIATE;

CREATE TABLE IF NOT EXISTS manifest (
    build INTEGER PRIMARY KEY AUTOINCREMENT,
    format INTEGER NOT NULL,         -- the columns from here on are the fields of `Manifest`
    embedding_model TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    splitter TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    recipe INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    store TEXT NOT NULL,             -- random; an index derived from another file is not used
    visible INTEGER REFERENCES manifest (build),
    generation INTEGER NOT NULL,     -- rises with every change of the visible build
    next_number INTEGER NOT NULL,
    erasing INTEGER NOT NULL         -- 1 while bytes of something forgotten may be in the file
);
INSERT OR IGNORE INTO state VALUES (1, lower(hex(randomblob(16))), NULL, 0, 1, 0);
CREATE TABLE IF NOT EXISTS document (
    number INTEGER PRIMARY KEY,
    build INTEGER NOT NULL REFERENCES manifest (build),
    id TEXT NOT NULL,                -- the columns from here to `indexed_at` are the fields of `DocumentInfo`
    source TEXT NOT NULL,
    root TEXT NOT NULL,
    title TEXT NOT NULL,
    hash TEXT NOT NULL,
    sections INTEGER NOT NULL,
    sentences INTEGER NOT NULL,
    characters INTEGER NOT NULL,
    indexed_at REAL NOT NULL,
    text TEXT NOT NULL,
    metadata TEXT NOT NULL,          -- JSON: what its sections share (`pipeline/stores/metadata.py`)
    UNIQUE (build, source)
);
CREATE TABLE IF NOT EXISTS node (
    number INTEGER PRIMARY KEY,
    build INTEGER NOT NULL,
    document INTEGER NOT NULL REFERENCES document (number) ON DELETE CASCADE,
    section INTEGER,                 -- the number of a sentence's section; NULL for a section
    id TEXT NOT NULL,
    start INTEGER,
    end INTEGER,
    metadata TEXT NOT NULL,          -- JSON
    text TEXT NOT NULL,
    UNIQUE (build, id)
);
CREATE INDEX IF NOT EXISTS node_document ON node (document);
CREATE INDEX IF NOT EXISTS node_section ON node (section);
CREATE TABLE IF NOT EXISTS embedding (
    document INTEGER PRIMARY KEY REFERENCES document (number) ON DELETE CASCADE,
    vectors BLOB NOT NULL            -- float16, one row a node, in the order of the nodes' numbers
);

CREATE TABLE IF NOT EXISTS conversation (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    created_at REAL NOT NULL,        -- times are seconds since the epoch
    updated_at REAL NOT NULL,
    turns INTEGER NOT NULL,          -- how many: a list of conversations reads no turns
    user TEXT NOT NULL,
    assistant TEXT NOT NULL,
    scope TEXT NOT NULL,             -- JSON: globs of the documents to search; [] for all
    pinned INTEGER NOT NULL,
    revision INTEGER NOT NULL        -- rises with every change of its turns
);
CREATE INDEX IF NOT EXISTS conversation_used ON conversation (updated_at, id);
CREATE INDEX IF NOT EXISTS conversation_user ON conversation (user, updated_at, id);
CREATE TABLE IF NOT EXISTS turn (
    number INTEGER PRIMARY KEY,      -- in the order in which the turns were begun
    id TEXT NOT NULL UNIQUE,
    conversation_id TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    created_at REAL NOT NULL,
    feedback INTEGER,                -- 1, -1 or NULL
    feedback_text TEXT NOT NULL,
    question TEXT NOT NULL,
    recalled_question TEXT NOT NULL, -- for the search over turns (`pipeline/stores/conversations.py`)
    recalled_answer TEXT NOT NULL,
    searched TEXT NOT NULL,          -- question and answer in lower case, for the list of conversations
    embedding BLOB NOT NULL,         -- float32, of the recalled texts; empty where not made yet
    embedded_by TEXT NOT NULL,       -- the embedding model
    answer TEXT NOT NULL,            -- JSON of `Answer`
    versions TEXT NOT NULL           -- JSON: a list of `Answer`, former ones to the same question
);
CREATE INDEX IF NOT EXISTS turn_conversation ON turn (conversation_id, number);

CREATE TABLE IF NOT EXISTS memory_user (user TEXT PRIMARY KEY, version INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS memory (
    user TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,              -- memory, entity, mention or relation
    row TEXT NOT NULL,               -- JSON (`pipeline/stores/memories.py`)
    embedding BLOB NOT NULL,         -- float32
    PRIMARY KEY (user, id)
);
CREATE TABLE IF NOT EXISTS record (  -- API keys and the like (`Records` in `pipeline/stores/base.py`)
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (kind, id)
);

PRAGMA user_version = {FORMAT};
COMMIT;
"""
