"""Translation into the documents' language, for questions and answers in another language.

The language model translates a question before the search, and an answer's sentence before it is verified.
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING

from pipeline.analysis import SNOWBALL, analyse
from pipeline.errors import ModelError
from pipeline.stores.base import DocumentStore

if TYPE_CHECKING:
    from pipeline.models.clients import LanguageModel

TIMEOUT_S = 20.0
KNOWN = 0.5  # if a smaller share of a message's terms is in the documents, its language may be another
KNOWN_SENTENCE = 0.8  # the same for a sentence of the answer to such a message
NAMES = SNOWBALL | {
    "bg": "bulgarian", "cs": "czech", "et": "estonian", "fa": "persian", "he": "hebrew", "hr": "croatian",
    "ja": "japanese", "ko": "korean", "pl": "polish", "sk": "slovak", "sl": "slovene", "th": "thai",
    "uk": "ukrainian", "vi": "vietnamese", "zh": "chinese",
}  # fmt: skip
PROMPT = "Translate into {language}. Keep names, ids, numbers and commands. Reply with the translation alone."
_ITEM = re.compile(r"\s*(?:\d{1,3}[.)]|[-*+])\s+")  # a list marker, which translations do not keep


def language_of(index: DocumentStore) -> str:
    """Return the English name of the language of most documents, "English" if there are none."""
    code = next(iter(index.statistics().languages), "en")
    return NAMES.get(code, code).capitalize()


def foreign_language(message: str, index: DocumentStore) -> str:
    """Return the English name of a message's language; "" if it may be one of the documents' languages.

    Two tests must agree, since each errs on short messages: few known terms, and the guess of `py3langid`.
    """
    own = index.statistics().languages or {"en": 1}
    if _known(message, index) >= KNOWN:
        return ""
    import py3langid  # its model takes half a second to load

    code = next(code for code, _ in py3langid.rank(message) if code in NAMES)
    return "" if code in own else NAMES[code].capitalize()


def _known(text: str, index: DocumentStore) -> float:
    """Return the share of a text's terms, 0..1, that the documents have: the highest over their languages."""
    texts = [frozenset(analyse(text, language)) for language in index.statistics().languages or ("en",)]
    return max(1 - len(index.lacking(terms)) / max(1, len(terms)) for terms in texts)


class Translator:
    """Translates sentences of an answer into the documents' main language.

    `problem` is the last error of the language model; "" if there was none.
    """

    def __init__(self, llm: LanguageModel, index: DocumentStore, stop: threading.Event) -> None:
        self.problem = ""
        self._llm, self._index, self._stop = llm, index, stop

    def is_needed(self, text: str) -> bool:
        """Return whether less than `KNOWN_SENTENCE` of a text's terms are in the documents."""
        return _known(text, self._index) < KNOWN_SENTENCE

    def translated(self, text: str) -> str:
        """Return the translation; the text itself if a number changed; "" if stopped or the model fails."""
        from pipeline.models.generation import complete

        text = text[mark.end() :] if (mark := _ITEM.match(text)) else text
        prompt = f"{PROMPT.format(language=language_of(self._index))}\n\n{text}"
        try:
            reply = "" if self._stop.is_set() else complete(
                self._llm, prompt, timeout_s=TIMEOUT_S, stop=self._stop
            )  # fmt: skip
        except ModelError as error:
            self.problem = str(error.problem)
            return ""
        return reply if not reply or _digits(reply) == _digits(text) else text


def _digits(text: str) -> list[str]:
    return sorted(re.findall(r"\d+", text))
