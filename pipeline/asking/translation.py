"""Translation: what is asked or answered in another language than the documents' is read in theirs.

A question is searched for, and a sentence of an answer checked, as the language model translates it.
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
KNOWN = 0.5  # a message with a smaller share of its terms in the documents may be in another language
KNOWN_SENTENCE = 0.8  # so is a sentence of the answer to one
NAMES = SNOWBALL | {
    "bg": "bulgarian", "cs": "czech", "et": "estonian", "fa": "persian", "he": "hebrew", "hr": "croatian",
    "ja": "japanese", "ko": "korean", "pl": "polish", "sk": "slovak", "sl": "slovene", "th": "thai",
    "uk": "ukrainian", "vi": "vietnamese", "zh": "chinese",
}  # fmt: skip
PROMPT = "Translate into {language}. Keep names, ids, numbers and commands. Reply with the translation alone."
_ITEM = re.compile(r"\s*(?:\d{1,3}[.)]|[-*+])\s+")  # the mark of a list, which no translation keeps


def language_of(index: DocumentStore) -> str:
    """Return the name of the language that most documents have: "English"."""
    code = next(iter(index.statistics().languages), "en")
    return NAMES.get(code, code).capitalize()


def foreign_language(message: str, index: DocumentStore) -> str:
    """Return the name of a message's language; "" where it may be one of the documents' languages.

    The share of words that the documents have and `py3langid` must both say so: each errs on short messages.
    """
    own = index.statistics().languages or {"en": 1}
    if _known(message, index) >= KNOWN:
        return ""
    import py3langid  # its model takes half a second to load

    code = next(code for code, _ in py3langid.rank(message) if code in NAMES)
    return "" if code in own else NAMES[code].capitalize()


def _known(text: str, index: DocumentStore) -> float:
    """Return the share of a text's terms that the documents have, in the language with the highest."""
    texts = [frozenset(analyse(text, language)) for language in index.statistics().languages or ("en",)]
    return max(1 - len(index.lacking(terms)) / max(1, len(terms)) for terms in texts)


class Translator:
    """Translates an answer in another language into that of the documents.

    `problem` says why it could not, "" where it could.
    """

    def __init__(self, llm: LanguageModel, index: DocumentStore, stop: threading.Event) -> None:
        self.problem = ""
        self._llm, self._index, self._stop = llm, index, stop

    def is_needed(self, text: str) -> bool:
        """Whether a sentence has more than names and commands that the documents have, too."""
        return _known(text, self._index) < KNOWN_SENTENCE

    def translated(self, text: str) -> str:
        """Return the translation; the text itself where a number changed, "" where the model fails."""
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
