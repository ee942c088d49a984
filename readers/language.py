"""The language of a document: by its script, else by `py3langid`.

To add a language: its stemmer belongs into `pipeline/analysis.py`, its sentences into `readers/punkt.py`.
"""

from __future__ import annotations

import re

LETTERS = 4_000
"""Letters of a text that are looked at, of the first `CHARACTERS` characters."""
CHARACTERS = 60_000
FEWEST = 60
"""A text with fewer letters has no language: that of a few words is a guess."""
SHARE = 0.1
"""Of the letters, from which a script decides; English pages that name a few words of it have less."""
SCRIPTS = {  # in this order: Japanese has Chinese characters, but Chinese has no kana
    "ko": re.compile("[\uac00-\ud7a3]"),
    "ja": re.compile("[\u3040-\u30ff]"),
    "th": re.compile("[\u0e00-\u0e7f]"),
    "zh": re.compile("[\u3400-\u9fff]"),
}
_NO_PROSE = re.compile(
    r"\A---\n(?:.*\n)*?---\n"  # front matter
    r"|^[ ]*(?P<fence>`{3,}+|~{3,}+).*\n(?:.*\n)*?[ ]*(?P=fence)[ \t]*$"
    r"|`[^`\n]+`|<[^<>\n]{1,300}>|https?://\S+|\]\([^()\n]*\)|\{[^{}\n]{0,200}\}"
    r"|^(?:import|export)\b.*$"
    r"|\b\w*(?:[._/\\@=\d]\w*)+",  # file names, code
    re.MULTILINE,
)


def detect(text: str) -> str:
    """The ISO 639-1 code of a page's language; "" for too little text or an unknown language."""
    prose = _NO_PROSE.sub(" ", text[:CHARACTERS])
    letters = sum(map(str.isalpha, prose[: 2 * LETTERS]))
    for code, script in SCRIPTS.items():
        if letters and len(script.findall(prose[: 2 * LETTERS])) >= SHARE * letters:
            return code
    if letters < FEWEST:
        return ""
    import py3langid  # its model takes a second to load

    words = " ".join(re.findall(r"[^\W\d_]+", prose)[: LETTERS // 5])
    code = next((code for code, _ in py3langid.rank(words[:LETTERS]) if len(code) == 2), "")
    return str(code)
