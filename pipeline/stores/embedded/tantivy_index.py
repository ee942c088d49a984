"""One tantivy index: made, changed and searched. Its terms come analysed and are only split at blanks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import tantivy

from pipeline.errors import StoreDamaged, StoreError
from pipeline.stores.embedded.documents import Scored

LexicalRow = tuple[int, int, str]  # number of the node, number of its document, terms separated by blanks

_HEAP_BYTES = 32_000_000  # of the writer; tantivy's least is 15 MB a thread


class LexicalDamaged(StoreDamaged):
    """The lexical index cannot be read."""


@contextmanager
def readable() -> Iterator[None]:
    """Turn what tantivy raises for damaged files in the block into `LexicalDamaged`."""
    try:
        yield
    except BaseException as error:  # a panic of tantivy's is no Exception, and has no importable name
        if isinstance(error, ValueError | OSError) or type(error).__name__ == "PanicException":
            raise LexicalDamaged(
                f"The lexical index cannot be read: {error!s:.150}.",
                "Delete the folder 'lexical' in the data folder and search again: it is made from the text.",
            ) from error
        raise


@contextmanager
def writable() -> Iterator[None]:
    """Turn failures to write in the block into a `StoreError`."""
    try:
        yield
    except (ValueError, OSError) as error:  # tantivy reports all its failures, a full disk too, as these
        fix = "Free some space and try again: it is made from what is stored."
        raise StoreError(f"Cannot write the lexical index: {error}.", fix) from error


@cache
def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("number", fast=True)
    builder.add_unsigned_field("document", indexed=True)
    builder.add_text_field("terms", tokenizer_name="whitespace", index_option="freq")
    return builder.build()


def create_index(folder: Path, rows: Iterable[LexicalRow]) -> None:
    """Make an index of `rows` in an empty folder."""
    with writable():
        folder.mkdir(parents=True)
        _write(tantivy.Index(_schema(), path=str(folder)), rows, remove=())


def change_index(folder: Path, rows: Iterable[LexicalRow], *, remove: Collection[int]) -> None:
    """Take documents out by number and put `rows` in, in one commit."""
    with writable():
        _write(tantivy.Index.open(str(folder)), rows, remove=remove)


def open_searcher(folder: Path) -> tantivy.Searcher:
    """The index in a folder as it is now, for searching; raises `LexicalDamaged`."""
    with readable():
        if not tantivy.Index.exists(str(folder)):
            raise FileNotFoundError(folder)
        return tantivy.Index.open(str(folder)).searcher()


def search_index(
    searcher: tantivy.Searcher, terms: Sequence[str], *, limit: int, documents: Collection[int] | None
) -> list[Scored]:
    """The nodes with any of the terms, best first, ties by number; `documents` limits the search to those."""
    with readable():
        limit = max(1, min(limit, searcher.num_docs))  # room for all of them is made at once
        hits = searcher.search(_query(terms, documents), limit=limit, count=False).hits
        numbers = searcher.fast_field_values("number", [address for _, address in hits])
    found = [Scored(int(number or 0), score) for number, (score, _) in zip(numbers, hits, strict=True)]
    return sorted(found, key=lambda scored: (-scored.score, scored.number))


def has_term(searcher: tantivy.Searcher, term: str) -> bool:
    """Whether any node has a term; about 20 µs."""
    with readable():
        return bool(searcher.search(_term(term, 1), limit=1, count=False).hits)


def _query(terms: Sequence[str], documents: Collection[int] | None) -> tantivy.Query:
    """Any of the terms; one that is repeated weighs as often."""
    query = tantivy.Query.boolean_query(
        [(tantivy.Occur.Should, _term(term, count)) for term, count in Counter(terms).items()]
    )
    if documents is None:
        return query
    allowed = tantivy.Query.term_set_query(_schema(), "document", list(documents))
    unscored = tantivy.Query.const_score_query(allowed, 0.0)
    return tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.Must, unscored)])


def _term(term: str, count: int) -> tantivy.Query:
    query = tantivy.Query.term_query(_schema(), "terms", term, index_option="freq")
    return query if count == 1 else tantivy.Query.boost_query(query, float(count))


def _write(index: tantivy.Index, rows: Iterable[LexicalRow], *, remove: Collection[int]) -> None:
    writer = index.writer(heap_size=_HEAP_BYTES, num_threads=1)
    if remove:
        # By query: `delete_documents_by_term` takes the number as signed and deletes nothing.
        removed = tantivy.Query.term_set_query(_schema(), "document", list(remove))
        writer.delete_documents_by_query(removed)
    for number, document, terms in rows:
        row = tantivy.Document()  # given to the constructor, the numbers would be signed, too
        row.add_unsigned("number", number)
        row.add_unsigned("document", document)
        row.add_text("terms", terms)
        writer.add_document(row)
    writer.commit()
    writer.wait_merging_threads()
