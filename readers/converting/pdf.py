"""PDF as Markdown, by PDFium: lines become paragraphs and tables, larger type headings, pages are marked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import pypdfium2
import pypdfium2.raw as pdfium_c

from readers.blocks import page_mark
from readers.converting.converted import Converted, clean, escaped, escaped_line, losses
from readers.converting.pdf_tables import WIDE, Cell, Line, as_markdown, table_at
from readers.errors import ReaderError

MOST_PAGES = 5_000
LARGER = 1.12
"""How many times the type of the text a heading's is, at least."""
LONGEST_HEADING = 150  # characters
MOST_LEVELS = 4
FEWEST_REPEATS = 3
REPEATED = 0.6
"""Share of the pages that have the same first or last line, but for numbers: it belongs to none of them."""
SPACE_BETWEEN = 0.6
"""Of a line's height, between two paragraphs."""
SHOWN_PAGES = 8

_HYPHENS = ("\x02", "\ufffe", "\xad")
"""What PDFium has for a hyphen that divides a word at a line's end."""
_BULLET = re.compile(r"^[\u2022\u2023\u25aa\u25cf\u25e6\u2043\uf0b7\u00b7\u2013]\s*")
_ITEM = re.compile(r"^(?:- |\(?\d{1,3}[.)]\s)")
_ENDS = re.compile(r"[.!?:;]['\")\u201d\u2019]?$")
_LEADERS = re.compile(r"(?:\. ?){4,}\s*(?:\d{1,4}|[ivxlc]{1,7})$")
"""How an entry of a table of contents ends: dots, and the page."""
_PAGE_NUMBER = re.compile(r"[-\u2013 ]*(?:\d{1,4}|[ivxlc]{1,7})[-\u2013 ]*")
_FILE_NAME = re.compile(r"[\\/]|\.[A-Za-z]{3,4}\b")
"""In a title, it is that of the file which a program made the PDF from."""
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Page:
    """A page's lines in reading order, and how many images it has."""

    number: int
    lines: tuple[Line, ...]
    images: int


def convert_pdf(data: bytes, *, source: str) -> Converted:
    """A document with a mark where each page begins; pages of which nothing can be read are counted.

    Raises:
        ReaderError: it is damaged, protected by a password, has no text or too many pages.
    """
    try:
        with pypdfium2.PdfDocument(data) as pdf:
            if len(pdf) > MOST_PAGES:
                raise ReaderError(source, reason=f"it has {len(pdf):,} pages", fix="Divide it.")
            pages = [_page(pdf, index) for index in range(len(pdf))]
            title = pdf.get_metadata_value("Title")
    except pypdfium2.PdfiumError as error:
        raise _refused(source, str(error)) from error
    empty = [page.number for page in pages if not page.lines]
    if len(empty) == len(pages):
        reason = "none of its pages has text: it may be scanned"
        raise ReaderError(source, reason=reason, fix="Run it through a program that recognises text (OCR).")
    repeated = _repeated(pages)
    body = [_without(page, repeated) for page in pages]
    entries = sum(bool(_LEADERS.search(line.text)) for page in pages for line in page.lines)
    return Converted(
        _markdown(body),
        title="" if _FILE_NAME.search(title) else title,
        pages=len(pages),
        left_out=(
            *losses((sum(page.images for page in pages), "image")),
            *_without_text(empty),
            *(["lines that each page repeats"] if repeated else []),
            *(["the table of contents"] if entries else []),
        ),
    )


def _refused(source: str, reason: str) -> ReaderError:
    if "password" in reason.lower():
        return ReaderError(source, reason="a password protects it", fix="Save it without a password.")
    return ReaderError(source, reason="not a PDF, or damaged", fix="Save or download it again.")


def _without_text(empty: Sequence[int]) -> list[str]:
    if not empty:
        return []
    shown = ", ".join(map(str, empty[:SHOWN_PAGES])) + (" …" if len(empty) > SHOWN_PAGES else "")
    return [f"{len(empty):,} page{'s' if len(empty) != 1 else ''} without text ({shown})"]


def _page(pdf: pypdfium2.PdfDocument, index: int) -> Page:
    """A page; one that is damaged has nothing."""
    try:
        page = pdf[index]
    except pypdfium2.PdfiumError:
        return Page(index + 1, (), 0)
    try:
        images = sum(1 for _ in page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_IMAGE], max_depth=4))
        text_page = page.get_textpage()
        try:
            return Page(index + 1, tuple(_lines(text_page)), images)
        finally:
            text_page.close()
    finally:
        page.close()


def _lines(text_page: pypdfium2.PdfTextPage) -> Iterator[Line]:
    text, count = text_page.get_text_range(), text_page.count_chars()
    for found in re.finditer(r"[^\r\n]+", text):
        words = found[0].strip()
        first = found.start() + len(found[0]) - len(found[0].lstrip())
        if words and first < count:
            _, bottom, _, top = text_page.get_charbox(first, loose=True)
            known = first + len(words) <= count
            cells = _cells(text_page, words, first, wide=WIDE * (top - bottom)) if known else ()
            yield Line(words, bottom, top, tuple(cells))


def _cells(text_page: pypdfium2.PdfTextPage, words: str, first: int, *, wide: float) -> Iterator[Cell]:
    """The parts of a line, which begins with the page's `first` character, between `wide` gaps."""
    begun, left = 0, text_page.get_charbox(first, loose=True)[0]
    for gap in re.finditer(r"\s+", words):
        right = text_page.get_charbox(first + gap.start() - 1, loose=True)[2]
        next_left = text_page.get_charbox(first + gap.end(), loose=True)[0]
        if next_left - right > wide:
            yield Cell(words[begun : gap.start()], left, right)
            begun, left = gap.end(), next_left
    yield Cell(words[begun:], left, text_page.get_charbox(first + len(words) - 1, loose=True)[2])


def _repeated(pages: Sequence[Page]) -> frozenset[str]:
    """The first and last lines that most pages have: running heads and page numbers."""
    edges = Counter(
        chain.from_iterable({_shape(line) for line in _edges(page)} for page in pages if page.lines)
    )
    least = max(FEWEST_REPEATS, REPEATED * sum(bool(page.lines) for page in pages))
    return frozenset(shape for shape, number in edges.items() if number >= least)


def _edges(page: Page) -> tuple[Line, ...]:
    return (*page.lines[:2], *page.lines[2:][-2:])


def _shape(line: Line) -> str:
    return _NUMBER.sub("#", line.text)


def _without(page: Page, repeated: frozenset[str]) -> Page:
    """A page without what each page repeats, its number, and entries of a table of contents."""
    edges = set(map(id, _edges(page)))

    def is_text(line: Line) -> bool:
        if id(line) in edges and (_shape(line) in repeated or _PAGE_NUMBER.fullmatch(line.text)):
            return False
        return not _LEADERS.search(line.text)

    return Page(page.number, tuple(filter(is_text, page.lines)), page.images)


def _markdown(pages: Sequence[Page]) -> str:
    """All pages; a paragraph that goes on overleaf stays one, with the mark of the page within it."""
    levels = _levels(pages)
    text = ""
    for page in pages:
        mark = page_mark(page.number)
        blocks = list(_blocks(page.lines, levels))
        if blocks and _goes_on(text, blocks[0]):
            text += f" {mark}\n{blocks[0].text}"
            blocks = blocks[1:]
        else:  # after a heading, so that the mark belongs to the section that begins there
            blocks.insert(next((at for at, block in enumerate(blocks) if not block.level), 0), Block(mark, 0))
        text = "\n\n".join([text, *(block.text for block in blocks)])
    return text


@dataclass(frozen=True, slots=True)
class Block:
    """A heading (from level 1), or a paragraph or table (0), as Markdown."""

    text: str
    level: int


def _goes_on(text: str, following: Block) -> bool:
    """Whether a page begins in the middle of the paragraph that the one before ends with."""
    last = text.rpartition("\n\n")[2]
    return (
        not following.level
        and following.text[:1].islower()
        and not last.startswith(("#", "<!--", "|"))
        and not _ENDS.search(last)
    )


def _levels(pages: Sequence[Page]) -> dict[float, int]:
    """The level of each height of type that is larger than that of most text."""
    heights = Counter[float]()
    for line in chain.from_iterable(page.lines for page in pages):
        heights[line.height] += len(line.text)
    body = max(heights, key=heights.__getitem__, default=0.0)
    larger = sorted((height for height in heights if height >= LARGER * body), reverse=True)
    return {height: min(level, MOST_LEVELS) for level, height in enumerate(larger, start=1)}


def _blocks(lines: Sequence[Line], levels: dict[float, int]) -> Iterator[Block]:
    """Lines gathered into headings, paragraphs and tables."""
    gathered: list[Line] = []
    at = 0
    while at < len(lines):
        table = table_at(lines, at)
        if gathered and (table or not _same_block(gathered[-1], lines[at], levels)):
            yield _block(gathered, levels)
            gathered = []
        if table:
            yield Block(as_markdown([[escaped(clean(cell)) for cell in row] for row in table.rows]), 0)
        else:
            gathered.append(lines[at])
        at += table.taken if table else 1
    if gathered:
        yield _block(gathered, levels)


def _same_block(before: Line, line: Line, levels: dict[float, int]) -> bool:
    """Whether a line belongs to the paragraph, or the heading, of the one before."""
    if levels.get(before.height, 0) != levels.get(line.height, 0):
        return False
    if _BULLET.match(line.text) or _ITEM.match(line.text):
        return False
    gap = before.bottom - line.top
    if gap > SPACE_BETWEEN * max(line.height, 1):
        return False
    return line.top <= before.top + before.height / 2 or not _ENDS.search(before.text)  # else another column


def _block(lines: Sequence[Line], levels: dict[float, int]) -> Block:
    level = levels.get(lines[0].height, 0)
    text = " ".join(line.text for line in lines)
    if level and len(text) <= LONGEST_HEADING and any(map(str.isalpha, text)):
        return Block(f"{'#' * level} {escaped(clean(text))}", level)
    return Block(_joined(lines), 0)


def _joined(lines: Sequence[Line]) -> str:
    """A paragraph, or an item of a list, line by line; words that were divided are whole again."""
    parts: list[str] = []
    for line in lines:
        bullet = _BULLET.match(line.text)
        text = f"- {line.text[bullet.end() :]}" if bullet else line.text
        if parts and parts[-1].endswith(_HYPHENS):
            first, _, rest = text.partition(" ")
            parts[-1] = parts[-1][:-1] + first
            text = rest
        if text:
            parts.append(text)
    return "\n".join(escaped_line(clean(part)) for part in parts)
