"""Which language a text is in: by its script, and by the small words that each language has of its own.

Made for one purpose: to say that a question is in another language than the documents. It rather says nothing
than something wrong: a few keywords, names and codes are of no language.

Of everyday English it knows the words that the bundled model's tokenizer knows whole, the commoner first: a
question's word that is among them is spelt as somebody meant it, whether or not the documents have it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.resources import files

LONGEST = 4_000  # characters that are looked at
LEAST_SHARE = 0.2
"""Of the words that must be small words of a language: in running text it is a third to a half, in questions
full of terms it is less."""

_SMALL_WORDS = {
    "English": """
        the of and to is in it you that was for are with as his they be at this have from or had by but
        not what all were when your can said there use how which she do does their if will an each about
        out them then these so some would make like into has more no way could my than been who its i we
        why where did should me a on off
    """,
    "German": """
        der die das und ist nicht ich wie ein eine einen einem einer zu mit auf für von den dem des im
        was wo warum wann wer wenn kann muss soll sind sich auch nach bei aus dass wird werden hat haben
        mein meine man es sie wir ihr welche welcher welches gibt zum zur oder aber noch mich mir über
        am bin bedeutet heißt
    """,
    "French": """
        le la les un une des du de et est sont que qui quoi quel quelle quels quelles où comment
        pourquoi quand je tu il elle nous vous ils dans sur avec pour par pas ne ce cette ces mon ma mes
        au aux peut dois faire fait combien plus en se si son sa l' d' qu' c' n' s' j' y doit puis faut
        signifie veut dire
    """,
    "Spanish": """
        el la los las un una unos unas de del y es son que qué quién cuál cuáles dónde cómo cuándo
        cuánto cuántos cuánta por para con sin en no se mi su lo al me yo está están hay puedo puede
        debo tengo hacer como donde cuando cual si pero más muy este esta significa
    """,
    "Italian": """
        il lo la gli le un una di del della dei delle e è sono che chi cosa quale quali dove come quando
        perché quanto quanti quanta per con in non si mi mio mia al alla nel nella da dal posso può devo
        fare ho c' dell' all' nell' dall' sull' l' un' questo questa più ma anche sul sulla significa
        trova
    """,
    "Portuguese": """
        o os as um uma de do da dos das e é são que quem qual quais onde como quando por para com sem em
        no na nos nas não se meu minha eu está estão há posso pode devo tenho fazer quanto quantos
        quanta porque mais muito mas ao à isso este esta significa fica
    """,
    "Dutch": """
        de het een en is niet ik hoe wat waar waarom wanneer wie welke van met op voor te in zijn dat
        die dit er aan bij als kan moet mijn naar uit om of ook maar nog wel hebben heeft heb worden
        wordt deze je doe hoeveel betekent
    """,
    "Swedish": """
        och är det att en ett som på för med inte jag hur vad var varför när vem vilken vilka av till
        den de i kan ska måste min mitt har från om så men eller finns gör man vi du betyder vart
    """,
    "Danish or Norwegian": """
        og er det at en et som på for med ikke jeg hvordan hva hvad hvor hvorfor når hvem hvilken hvilke
        av af til den de i kan skal må min mitt mit har fra om så men eller finnes findes gør gjør man
        vi du betyr betyder
    """,
    "Polish": """
        i w na z do nie się jest są to że jak co gdzie kiedy dlaczego kto czy który która które ile po
        za od dla przez mój moja mam może można mogę muszę jego ale lub oraz przy być oznacza znaczy
    """,
    "Czech": """
        a v na z do ne se je jsou to že jak co kde kdy proč kdo jaký která které kolik po za od pro přes
        můj mám může mohu musím ale nebo při být si jsem znamená
    """,
    "Finnish": """
        ja on ei se että mitä missä miten miksi milloin kuka mikä kuinka ovat oli en minä olen voi voin
        pitää täytyy mutta tai myös kun jos tämä tarkoittaa
    """,
}
_SCRIPTS = (
    ("Ukrainian", r"[іїєґІЇЄҐ]"),  # before Russian, whose script has none of these
    ("Russian", r"[\u0400-\u04ff]"),
    ("Greek", r"[\u0370-\u03ff\u1f00-\u1fff]"),
    ("Hebrew", r"[\u0590-\u05ff]"),
    ("Arabic", r"[\u0600-\u06ff]"),
    ("Hindi", r"[\u0900-\u097f]"),
    ("Thai", r"[\u0e00-\u0e7f]"),
    ("Japanese", r"[\u3040-\u30ff]"),  # before Chinese, whose characters it has, too
    ("Korean", r"[\uac00-\ud7af\u1100-\u11ff]"),
    ("Chinese", r"[\u4e00-\u9fff]"),
)
_WORD = re.compile(r"[^\W\d_]+(?:'t|'s|'re|'m|')?")  # "it's" is one word, "l'alarme" are two: l' and alarme
_CODE = re.compile(r"```.*?(```|$)|`[^`\n]*`", re.DOTALL)


def language_of(text: str) -> str | None:
    """The English name of the language of a text; None where it has too little to tell by."""
    text = _CODE.sub(" ", text[:LONGEST])
    return _by_script(text) or _by_words(_WORD.findall(text.lower().replace("’", "'")))


def other_language(question: str, texts: Iterable[str]) -> tuple[str, str] | None:
    """The language of a question and the one of the texts found for it, where they differ for sure."""
    asked = language_of(question)
    if asked is None:
        return None
    found = language_of(" ".join(text[: LONGEST // 4] for text in texts))
    return (asked, found) if found not in (None, asked) and found is not None else None


def _by_script(text: str) -> str | None:
    """The language of the script that most letters are of, unless that is the Latin one."""
    letters = sum(map(str.isalpha, text))
    for language, script in _SCRIPTS:
        own = len(re.findall(script, text))
        whole = own if language not in ("Ukrainian", "Japanese") else _beside(text, language, own)
        if whole * 2 > letters > 1:
            return language
    return None


def _beside(text: str, language: str, own: int) -> int:
    """The letters of the script that a language shares, where it has letters of its own among them."""
    shared = r"[\u0400-\u04ff]" if language == "Ukrainian" else r"[\u3040-\u30ff\u4e00-\u9fff]"
    return len(re.findall(shared, text)) if own else 0


def _by_words(words: list[str]) -> str | None:
    """The one language whose small words are two or more of the words, one of them no English word.

    A word with an accent stands for one of them.
    """
    counts = {language: _hits(words, small) for language, small in _profiles().items()}
    best, second = sorted(counts, key=lambda language: -counts[language])[:2]
    hits = {word for word in words if word in _profiles()[best]}
    accented = {word for word in words if not word.isascii()}
    if len(hits | accented) < 2 or counts[best] < LEAST_SHARE * len(words) or counts[best] == counts[second]:
        return None
    if best == "English":
        return best
    own = hits - _profiles()["English"] - _ENGLISH_TOO
    foreign = own or (len(hits) > 2 and not counts["English"])  # "la", "de" and "si" together are enough
    return best if foreign and counts[best] >= 2 * counts["English"] else None


def _hits(words: list[str], small: frozenset[str]) -> int:
    return sum(word in small for word in words)


@lru_cache(maxsize=1)
def _profiles() -> Mapping[str, frozenset[str]]:
    return {language: frozenset(words.split()) for language, words in _SMALL_WORDS.items()}


_ENGLISH_TOO = frozenset(
    """
        die das des den am an man was war also hat wo in im so es on me son pour plus or est les comment
        no come a i ha per con dove once las los el la le un de do da dos as e o os er is of van te men
        at en et var se si vi du om fra for z w po sin solo mi su al ma ne par ce au aux ai it il to co
        je op sa y kan dem od pro ale kun jos del som min fact sur tu uit mit ja ei tai sans sous net
    """.split()  # noqa: SIM905 (a list of words)
)
"""Small words that are English words, abbreviations or parts of names, too: alone they prove nothing."""


_TOKENIZER = "bundled/all-MiniLM-L6-v2/tokenizer.json"


def rank(word: str) -> int | None:
    """How common an English word in lower case is, 0 for the commonest; None for one that is not known."""
    return english_words().get(word)


@lru_cache(maxsize=1)
def english_words() -> Mapping[str, int]:
    """Some 21,000 words with their rank: read once, in some 20 ms, and only where a word needs it.

    BERT's vocabulary begins with marks and single letters and goes on by frequency, so the place in it ranks.
    """
    text = (files("pipeline.models") / _TOKENIZER).read_text(encoding="utf-8")
    pieces: Mapping[str, int] = json.loads(text)["model"]["vocab"]
    return {piece: place for piece, place in pieces.items() if piece.isascii() and piece.isalpha()}
