"""Markdown as HTML: nothing of a document runs, and marks stand where they were asked for."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ui.shared.markdown import Span, file_html, headings_of, html_of, tag, text_of

ALLOWED = {
    *("p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "table", "thead", "tbody"),
    *("tr", "th", "td", "em", "strong", "s", "code", "pre", "br", "hr", "span", "mark", "a", "div"),
}
MANUAL = """# Pump

- Close the valve.
- Open the *other* one.

| State | Meaning |
|---|---|
| ON | running |
| OFF | no power |

```
start pump
stop pump
```
"""


class Elements(HTMLParser):
    """Collects elements with their attributes, and that they are closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in ("br", "hr"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def marked(text: str, quote: str, kind: str = "mark") -> list[str]:
    """What is within marks where a quote is to be marked."""
    start = text.index(quote)
    html = html_of(text, spans=[Span(start, start + len(quote), kind)])  # type: ignore[arg-type]
    Elements(html)
    return [re.sub("<[^>]*>", "", found) for found in re.findall(r"<mark[^>]*>(.*?)</mark>", html, re.DOTALL)]


def test_html_and_scripts_are_text() -> None:
    html = html_of("<script>alert(1)</script>\n\nHi <img src=x onerror=alert(1)> <b>bold</b> \ue101\ue200")
    assert "<script" not in html and "<img" not in html and "<b>" not in html
    assert "&lt;script&gt;" in html and "<mark" not in html


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "other.md"]
)
def test_only_web_and_mail_addresses_are_links(address: str) -> None:
    html = html_of(f"[name]({address})")
    assert "href" not in html and "name" in html


def test_web_links_open_apart_and_images_are_words() -> None:
    html = html_of("[a](https://example.org/x) ![the panel](http://example.org/i.png)")
    assert 'href="https://example.org/x"' in html and "noopener" in html
    assert "Image: the panel" in html and "i.png" not in html


@settings(max_examples=200)
@given(
    st.text(alphabet=st.sampled_from([*"ab *_`[]()#>-|\n<&;!1.~", "\ue100", "\ue102", "\ue205"])),
    st.integers(0, 40),
    st.integers(0, 40),
)
def test_any_text_gives_allowed_elements_that_are_closed(text: str, start: int, length: int) -> None:
    html = html_of(
        text, spans=[Span(start, start + length, "answer"), Span(start, start + 1, "unsupported", 3)]
    )
    elements = Elements(html)
    assert not elements.open
    assert {name for name, _ in elements.found} <= ALLOWED
    assert not any(name.startswith("on") for _, given in elements.found for name in given)


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("- Close the valve.", ["Close the valve."]),
        ("Open the *other* one.", ["Open the ", "other", " one."]),
        ("| OFF | no power |", ["OFF", "no power"]),
        ("# Pump", ["Pump"]),
        ("```\nstart pump\nstop pump\n```", ["start pump\nstop pump"]),
        ("power |\n\n```\nstart", ["power", "start"]),
    ],
)
def test_what_is_marked_is_what_was_asked_for(quote: str, found: list[str]) -> None:
    assert marked(MANUAL, quote) == found


def test_a_mark_changes_no_structure() -> None:
    plain = re.sub(r"\s", "", html_of(MANUAL))
    for start in range(0, len(MANUAL), 3):
        for end in range(start + 1, len(MANUAL), 7):
            html = html_of(MANUAL, spans=[Span(start, end, "mark")])
            assert re.sub(r"</?mark>|\s", "", html) == plain, MANUAL[start:end]


def test_chips_take_the_place_of_markers() -> None:
    text = "Close it [1]. And [1][2]\n\n[1]: https://example.org"
    spans = [
        Span(found.start(), found.end(), "chip", int(found[1])) for found in re.finditer(r"\[(\d)\]", text)
    ]
    html = html_of(text, spans=spans, references=False)
    assert re.findall(r"<chip-(\d)>", html) == ["1", "1", "2", "1"]
    assert "&lt;chip-1&gt;" in html_of("<chip-1>")


def test_a_file_is_shown_as_its_readers_see_it() -> None:
    callout = "> [!note] Mind\n> the [[Gap|gap]]. ![[x.png]]"
    text = f"---\ntitle: A\n---\n# Head\n\n{callout}\n\n## Next\n\nGo."
    start = text.index("the [[")
    html = file_html(text, source="a.md", spans=[Span(start, start + 15, "mark")])
    assert "title" not in html and "[[" not in html and "[!note]" not in html and "x.png" not in html
    assert "<mark>the gap" in html
    assert headings_of(html) == [(1, "h-1", "Head"), (2, "h-2", "Next")]
    part = file_html(text, source="a.md", start=text.index("## Next"))
    assert "Head" not in part and "Next" in part


def test_words_alone() -> None:
    assert text_of("**OFFLINE** means `no power`.\n\n| a | b |\n|---|---|\n| c | d & e |") == (
        "OFFLINE means no power. a b c d & e"
    )


def test_attributes_are_escaped() -> None:
    made = tag("b", "x", title='"><script>', hidden=True, lang=None)
    assert made == '<b title="&quot;&gt;&lt;script&gt;" hidden>x</b>'


def test_hostile_text_takes_linear_time() -> None:
    began = time.monotonic()
    for piece in ("| " * 20_000, "[" * 5_000, "> " * 5_000, "- " * 5_000, "*a " * 10_000, "`" * 20_000):
        html_of(piece, spans=[Span(0, len(piece), "mark")])
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("title", ["> [!tip] Mind\n>", "> [!Mind]-\n>", '!!! tip "Mind"\n   '])
def test_the_title_of_a_callout_is_bold_on_a_line_of_its_own(title: str) -> None:
    html = file_html(f"{title} Open it.\n", source="a.md", spans=[Span(2, 13, "mark")])
    assert "<strong><mark>Mind</mark></strong><br />\nOpen it." in html
