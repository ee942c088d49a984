"""The language of a page: by its script, or by its words."""

from __future__ import annotations

import pytest

from readers.corpus import MarkdownCorpus
from readers.cutting import SentenceCutter
from readers.language import detect

ENGLISH = "The pump hums while the valve is closed, and it must not be opened before the lamp turns green.\n"
GERMAN = "Die Pumpe summt, solange das Ventil geschlossen ist, und darf vorher nicht geöffnet werden.\n"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (ENGLISH, "en"),
        (GERMAN, "de"),
        ("La pompe bourdonne tant que la vanne est fermée ; il ne faut pas l'ouvrir avant la lampe.", "fr"),
        ("ポンプは弁が閉じている間うなります。", "ja"),
        ("阀门关闭时水泵会嗡嗡作响。", "zh"),
        ("밸브가 닫혀 있으면 펌프가 윙윙거립니다.", "ko"),
        ("ปั๊มจะส่งเสียงเมื่อวาล์วปิด", "th"),
        *(("Pump 7", ""), ("", ""), ("הגיבוי רץ.", "he"), ("Насос гудит, пока клапан закрыт.", "ru")),
        (f"---\ntitle: {ENGLISH}---\n\n{GERMAN}\n```py\n{ENGLISH * 9}```\n", "de"),
        ("Die Pumpe läuft um acht Uhr.", "de"),
        (ENGLISH + "iVBORw0KGgoAAAANSUhEUgAAAAUA" * 500, "en"),
        ("| Item | Gap |\n|--|--|\n" + "| item9z | 9 mm, 5 bar |\n" * 99, ""),
        (ENGLISH * 5 + "The Japanese for pump is ポンプ.", "en"),
    ],
)
def test_a_language_is_detected(text: str, code: str) -> None:
    assert detect(text) == code


def test_an_english_page_needs_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("py3langid.rank", None)
    assert detect(ENGLISH) == "en"


def test_a_language_that_is_set_is_that_of_pages_that_state_none() -> None:
    corpus = MarkdownCorpus(lambda: SentenceCutter(len), max_bytes=1, language="nl")
    pages = (GERMAN, f"---\nlang: da\n---\n{GERMAN}")
    assert [corpus.cut(text, source="a.md")[0][0].metadata["language"] for text in pages] == ["nl", "da"]
