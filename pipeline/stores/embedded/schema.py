"""The tables of the SQLite file, and the number of their format.

Numbers are never used twice, so an index that was derived from an older state cannot take one node for
another: the nodes of document `n` with S sections and T sentences have the numbers n+1 … n+S (sections) and
n+S+1 … n+S+T (sentences).
"""

from __future__ import annotations

from pipeline.stores.rows import KINDS

FORMAT = 23
"""Rises with each change of the tables; stored in the file as its `user_version`."""

_ROWS = """
CREATE TABLE IF NOT EXISTS {kind} (  -- the fields of `Row` in `pipeline/stores/rows.py`
    id TEXT PRIMARY KEY,
    user TEXT NOT NULL,
    "group" TEXT NOT NULL,
    at REAL NOT NULL,
    version INTEGER NOT NULL,
    text TEXT NOT NULL,
    head TEXT NOT NULL,              -- JSON, as the body
    embedding BLOB NOT NULL,         -- float32
    embedded_by TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS {kind}_by_user ON {kind} (user, at, id);
CREATE INDEX IF NOT EXISTS {kind}_by_group ON {kind} ("group", at, id);
"""

SCHEMA = f"""
BEGIN IMMEDIATE;

CREATE TABLE IF NOT EXISTS state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    index_id TEXT NOT NULL,          -- random, another one after a rebuild; what was derived names it
    manifest TEXT NOT NULL,          -- JSON of `Manifest`
    generation INTEGER NOT NULL,     -- rises with every change of a document
    next_number INTEGER NOT NULL,
    erasing INTEGER NOT NULL         -- 1 while bytes of something forgotten may be in the file
);
INSERT OR IGNORE INTO state VALUES (1, '', '', 0, 1, 0);
CREATE TABLE IF NOT EXISTS document (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL,                -- the columns from here to `indexed_at` are the fields of `DocumentInfo`
    source TEXT NOT NULL UNIQUE,
    root TEXT NOT NULL,
    title TEXT NOT NULL,
    hash TEXT NOT NULL,
    sections INTEGER NOT NULL,
    sentences INTEGER NOT NULL,
    characters INTEGER NOT NULL,
    indexed_at REAL NOT NULL,
    text TEXT NOT NULL,
    language TEXT NOT NULL           -- ISO 639-1
);
CREATE TABLE IF NOT EXISTS node (
    number INTEGER PRIMARY KEY,
    document INTEGER NOT NULL REFERENCES document (number) ON DELETE CASCADE,
    section INTEGER,                 -- the number of a sentence's section; NULL for a section
    id TEXT NOT NULL UNIQUE,
    start INTEGER,
    end INTEGER,
    metadata TEXT NOT NULL,          -- JSON; of a sentence what its section has not
    text TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS node_document ON node (document);
CREATE INDEX IF NOT EXISTS node_section ON node (section);
CREATE TABLE IF NOT EXISTS embedding (
    document INTEGER PRIMARY KEY REFERENCES document (number) ON DELETE CASCADE,
    vectors BLOB NOT NULL            -- float16, one row a node, in the order of the nodes' numbers
);

{"".join(_ROWS.format(kind=kind) for kind in KINDS)}
PRAGMA user_version = {FORMAT};
COMMIT;
"""
