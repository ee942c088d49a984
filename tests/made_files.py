"""Small files of other formats than Markdown, made by hand; and how large a folder of files is."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
TYPE_OF = "application/vnd.openxmlformats"


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def pdf(*pages: str) -> bytes:
    """A PDF with one line on each page; the first page is object 4."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    bodies = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, line in enumerate(pages):
        own = f"/Resources << /Font << /F 3 0 R >> >> /Contents {5 + 2 * number} 0 R"
        bodies.append(f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] {own} >>")
        drawn = f"BT /F 11 Tf 50 760 Td ({line}) Tj ET"
        bodies.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
    text, table = "%PDF-1.7\n", ""
    for number, body in enumerate(bodies, start=1):
        table += f"{len(text):010} 00000 n \n"
        text += f"{number} 0 obj\n{body}\nendobj\n"
    size, start = len(bodies) + 1, len(text)
    text += f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R >>\n"
    return f"{text}startxref\n{start}\n%%EOF\n".encode()


def docx(body: str, *, before: str = "", parts: dict[str, bytes] | None = None) -> bytes:
    """A Word document with this XML in its body, where `before` is before the root and `h` is a heading."""
    heading = '<w:style w:type="paragraph" w:styleId="h"><w:name w:val="heading 1"/></w:style>'
    main = f"{TYPE_OF}-officedocument.wordprocessingml.document.main+xml"
    package = (
        f'<Default Extension="rels" ContentType="{TYPE_OF}-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{main}"/>'
    )
    files: dict[str, str | bytes] = {
        "[Content_Types].xml": f'<Types xmlns="{TYPES}">{package}</Types>',
        "_rels/.rels": _relation("officeDocument", "word/document.xml"),
        "word/_rels/document.xml.rels": _relation("styles", "styles.xml"),
        "word/styles.xml": f'<w:styles xmlns:w="{WORD}">{heading}</w:styles>',
        "word/document.xml": f'{before}<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>',
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (files | (parts or {})).items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _relation(kind: str, target: str) -> str:
    relation = f'<Relationship Id="r1" Type="{OFFICE}/{kind}" Target="{target}"/>'
    return f'<Relationships xmlns="{RELATIONS}">{relation}</Relationships>'


def paragraph(text: str, *, style: str = "") -> str:
    """A paragraph of a Word document, as XML."""
    return f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'


def notebook(*cells: tuple[str, str]) -> bytes:
    """A Jupyter notebook of (kind, text)."""
    made = [{"cell_type": kind, "source": [text], "metadata": {}, "outputs": []} for kind, text in cells]
    return json.dumps({"cells": made, "nbformat": 4, "metadata": {}}).encode()
