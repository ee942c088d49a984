"""PDF, DOCX, HTML and reStructuredText as Markdown: the converters of the extra, in this process."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from readers.converting.converted import as_document
from readers.cutting import SentenceCutter
from readers.errors import ReaderError
from readers.sections import read_sections
from tests.made_files import TypedLine, docx, pdf
from tests.readers.oracle import count_words

pytest.importorskip("pypdfium2", reason="the extra [files] is not installed")

from readers.converting.docx import convert_docx
from readers.converting.html import MOST_NESTED, convert_html
from readers.converting.pdf import convert_pdf
from readers.converting.rst import convert_rst

HEAD = (9, "Pump manual, revision 3")
FIRST: Sequence[TypedLine] = [
    HEAD, (20, "Pump manual"), (0, ""), (11, "The pump runs at 3 bar and must not be"),
    (11, "opened while it is hot. See <valve> and x_y."), (0, ""), (15, "Starting"), (0, ""),
    (11, "Press the green button until the"),
]  # fmt: skip
SECOND: Sequence[TypedLine] = [
    HEAD, (11, "lamp is green."), (0, ""), (11, "# not a heading"), (0, ""), (11, "\u2022 one item"),
    (11, "\u2022 another item"),
]  # fmt: skip
MANUAL = pdf(FIRST, SECOND, [HEAD], title="The pump", image=True)


def test_a_pdf_has_headings_paragraphs_lists_and_a_mark_for_each_page() -> None:
    made = convert_pdf(MANUAL, source="pump.pdf")
    assert made.text.strip().split("\n\n") == [
        "# Pump manual",
        "<!-- page 1 -->",
        "The pump runs at 3 bar and must not be\nopened while it is hot. See \\<valve> and x_y.",
        "## Starting",
        "Press the green button until the <!-- page 2 -->\nlamp is green.",
        "\\# not a heading",
        "- one item",
        "- another item",
        "<!-- page 3 -->",
    ]
    assert (made.title, made.pages) == ("The pump", 3)
    assert made.left_out == ("3 images", "lines that each page repeats")


def test_sections_and_sentences_know_their_page() -> None:
    text = as_document(convert_pdf(MANUAL, source="pump.pdf"), title="PDF")
    sections = read_sections(text, source="pump.pdf")
    assert [(section.metadata["heading_path"], section.metadata["page"]) for section in sections] == [
        (["Pump manual"], 1),
        (["Pump manual", "Starting"], 1),
    ]
    leaves = SentenceCutter(count_words).cut_all(sections)
    pages = {leaf.text: leaf.metadata["page"] for leaf in leaves}
    assert pages["one item"] == 2
    assert pages["Press the green button until the <!-- page 2 -->\nlamp is green."] == 1
    assert all(text[leaf.start_char_idx : leaf.end_char_idx] == leaf.text for leaf in leaves)


TABLE: list[TypedLine] = [
    (11, "Part\tState\tMeaning"), (11, "Fan 1\tON\tit blows | hums"), (11, "\t\tand is warm"),
    (11, "Fan 2\tOFF"),
]  # fmt: skip


def test_lines_in_columns_are_a_table() -> None:
    made = convert_pdf(
        pdf([(18, "Fans"), (0, ""), *TABLE, (0, ""), (11, "Both are in bay 3.")]), source="a.pdf"
    )
    assert made.text.strip().split("\n\n") == [
        "# Fans",
        "<!-- page 1 -->",
        "| Part | State | Meaning |\n|---|---|---|\n"
        "| Fan 1 | ON | it blows \\| hums and is warm |\n| Fan 2 | OFF |  |",
        "Both are in bay 3.",
    ]


PROSE = "A first column, set small as it\t\tis beside a second one, whose lines are long, too"


@pytest.mark.parametrize(
    "lines", [TABLE[:2], [(11, "Long lines of one column, whose\tend is cut")] * 4, [(5, PROSE)] * 4]
)
def test_text_in_columns_is_no_table(lines: Sequence[TypedLine]) -> None:
    assert "|---|" not in convert_pdf(pdf(lines), source="a.pdf").text


def test_contents_page_numbers_and_the_name_of_a_file_are_no_text() -> None:
    contents = [(15, "1 Fans . . . . . . . . 2"), (11, "1.1 Pumps ........ 3"), (11, "ii")]
    made = convert_pdf(
        pdf(contents, [(15, "1 Fans"), (0, ""), (11, "They hum at 3.5 dB."), (11, "- 2 -")], title="a.docx"),
        source="a.pdf",
    )
    assert made.text.strip().split("\n\n") == [
        "<!-- page 1 -->",
        "# 1 Fans",
        "<!-- page 2 -->",
        "They hum at 3.5 dB.",
    ]
    assert (made.title, made.left_out) == ("", ("the table of contents",))


def test_pages_without_text_are_counted() -> None:
    made = convert_pdf(pdf([(11, "Text.")], [], [], image=True), source="a.pdf")
    assert made.left_out == ("3 images", "2 pages without text (2, 3)")


LOCKED = (
    "/Encrypt << /Filter /Standard /V 1 /R 2 /O (12345678901234567890123456789012) "
    "/U (12345678901234567890123456789012) /P -4 >> /ID [(1234567890123456) (1234567890123456)]"
)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"%PDF-1.7 and then nothing", "not a PDF, or damaged"),
        (MANUAL[:300], "not a PDF, or damaged"),
        (pdf([(11, "Secret.")], trailer=LOCKED), "a password protects it"),
        (pdf([], [], image=True), "none of its pages has text"),
    ],
)
def test_a_hostile_or_damaged_pdf_is_named(data: bytes, reason: str) -> None:
    with pytest.raises(ReaderError, match=f"'bad.pdf': {reason}"):
        convert_pdf(data, source="bad.pdf")


def test_a_page_that_cannot_be_read_keeps_the_others() -> None:
    circle = MANUAL.replace(b"/Kids [6 0 R", b"/Kids [2 0 R")  # a tree of pages that contains itself
    made = convert_pdf(circle, source="bad.pdf")
    assert made.left_out[-1].startswith("1 page without text")
    assert "lamp is green." in made.text


def test_a_word_document_has_headings_tables_and_counts_what_is_lost() -> None:
    cell = "<w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>"
    rows = ("<w:tr>" + cell.format(first) + cell.format(second) + "</w:tr>" for first, second in ("AB", "12"))
    data = docx(
        ("Heading1", "Fans"),
        "They hum at &lt;b&gt; dB.",
        f"<w:tbl>{''.join(rows)}</w:tbl>",
        parts={"word/header1.xml": "<x/>", "docProps/core.xml": "<dc:title>Fans &amp; more</dc:title>"},
    )
    made = convert_docx(data, source="a.docx")
    assert made.text.strip() == "# Fans\n\nThey hum at \\<b> dB.\n\n| A | B |\n| --- | --- |\n| 1 | 2 |"
    assert (made.title, made.left_out) == ("Fans & more", ("1 header or footer",))


def test_a_word_document_reads_no_file_of_the_machine(tmp_path: object) -> None:
    entity = '<!DOCTYPE d [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
    body = docx("Hello.", parts={"word/document.xml": _document("<w:t>&e; there</w:t>", entity)})
    assert convert_docx(body, source="a.docx").text.split() == ["there"]


def _document(run: str, before: str = "") -> str:
    namespace = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    return (
        f'{before}<w:document xmlns:w="{namespace}"><w:body><w:p><w:r>{run}</w:r></w:p></w:body></w:document>'
    )


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"not a zip", "not a Word document, or damaged"),
        (b"PK\x05\x06" + bytes(18), "not a Word document, or damaged"),
        (docx("Hello.")[:200], "not a Word document, or damaged"),
    ],
)
def test_a_damaged_word_document_is_named(data: bytes, reason: str) -> None:
    with pytest.raises(ReaderError, match=f"'a.docx': {reason}"):
        convert_docx(data, source="a.docx")


def test_a_word_document_that_unpacks_to_too_much_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("readers.converting.docx.MOST_UNPACKED", 100_000)
    with pytest.raises(ReaderError, match="it unpacks to more than"):
        convert_docx(docx("Hello.", parts={"word/media/a.bin": bytes(200_000)}), source="a.docx")


PAGE = """<html><head><title>Fans</title><style>p {}</style></head><body><nav>Menu</nav>
<main><h1>Fans<a class="headerlink" href="#fans">¶</a></h1>
<p>Use <code>a_b</code> and &lt;path&gt; in <a href="b.html">there</a>,
<a href="https://x/">x</a>.</p><!-- p -->
<script>alert(1)</script><img src="data:x" alt="A fan"><img src="q"><iframe src="x"></iframe></main></body>"""


def test_a_page_is_its_main_part() -> None:
    made = convert_html(PAGE, source="a.html")
    assert made.text.strip() == "# Fans\n\nUse `a_b` and \\<path> in there,\n[x](https://x/).\n\n![A fan]()"
    assert (made.title, made.left_out) == ("Fans", ("2 images", "1 embedded frame or film"))


def test_links_of_a_fetched_page_lead_where_they_led() -> None:
    made = convert_html(PAGE, source="a.html", address="https://example.org/docs/a.html")
    assert "[there](https://example.org/docs/b.html)" in made.text


def test_elements_nested_without_end_are_refused() -> None:
    with pytest.raises(ReaderError, match="nested deeper than"):
        convert_html("<div>" * (MOST_NESTED + 2), source="a.html")


RST = """Fans
====

See :ref:`the parts <parts>`, ``x_y`` and :func:`~a.b`.

.. include:: /etc/passwd
.. raw:: html
   :file: /etc/passwd
.. csv-table::
   :file: /etc/passwd

.. versionadded:: 3.1
   More speed.

.. toctree::

   other

Parts
-----

.. code-block:: python

   x = 1
"""


def test_restructured_text_keeps_what_sphinx_adds_and_reads_no_file() -> None:
    made = convert_rst(RST, source="a.rst")
    assert made.text.strip().split("\n\n") == [
        "# Fans",
        "See the parts, `x_y` and `a.b`.",
        "versionadded: 3.1\nMore speed.",
        "## Parts",
        "```\nx = 1\n```",
    ]
    assert made.left_out == ("3 included files",)
