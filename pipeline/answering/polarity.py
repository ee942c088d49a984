"""Words that turn a statement round: a "not", or a word for the opposite."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pipeline.analysis import analyse
from pipeline.terms import content_terms, stop_terms

ANTONYMS = """
abnormal normal | above below | absolute relative | accept refuse | accept reject | accepted refused |
accepted rejected | active inactive | active passive | add delete | after before | agree disagree |
alive dead | all none | allow block | allow deny | allow forbid | allow prevent | allow prohibit |
allow refuse | allow reject | allowed forbidden | allowed prohibited | allowed rejected | alone together |
always never | always sometimes | amber green | amber red | appear disappear | append prepend |
arm disarm | ascend descend | ascending descending | asleep awake | asynchronous synchronous |
asynchronously synchronously | attach detach | automatic manual | automatically manually |
available unavailable | backup main | backup primary | backward forward | begin end | best worst |
better worse | beyond within | big small | borrow lend | borrowed owned | bottom top | bound unbound |
bright dim | broaden narrow | busy idle | cause prevent | centralized distributed | changing constant |
charge discharge | cheap expensive | child parent | clean dirty | client server |
clockwise counterclockwise | close open | closed open | coarse fine | cold hot | cold warm |
collapse expand | common rare | complete partial | complicate simplify | compress decompress |
compressed uncompressed | compulsory voluntary | concave convex | concurrently sequentially |
confirm deny | connect disconnect | connected disconnected | constant mutable | constant variable |
consume produce | consumer producer | contains excludes | continue stop | continuous intermittent |
cool heat | cooler heater | copied moved | copy move | correct wrong | create delete | create destroy |
create drop | daily hourly | daily weekly | dark light | day night | decode encode | decrease grow |
decrease increase | decrease more | decrypt encrypt | deep shallow | deeper shallower |
defined undefined | delay hasten | delayed immediate | delete insert | dense sparse | deny grant |
deprecated recommended | destination source | die survive | different similar | difficult easy |
disable enable | disabled enabled | discard keep | discard persist | discard preserve | discard retain |
discard store | discarded saved | discourage encourage | discourage recommend | discouraged encouraged |
disengage engage | divide multiply | divide unite | double halve | downgrade upgrade | download upload |
drain fill | drop keep | drop raise | drop retain | dry wet | duplicate unique | dynamic static |
eager lazy | earlier later | earliest latest | east west | easy hard | empty full | encrypted plain |
end start | enough insufficient | enter exit | ephemeral persistent | equal unequal | even odd |
everyone nobody | exclude include | exclusive inclusive | exclusive shared | expand shrink |
expired valid | explicit implicit | explicitly implicitly | external internal | fail pass | fail succeed |
failed passed | failed successful | fails succeeds | failure success | fall rise | false true | far near |
farthest nearest | fast slow | faster slower | fastest slowest | fell rose | few many | fewer increase |
fewer more | final initial | finish start | finite infinite | first last | fixed variable |
flexible rigid | follow precede | follower leader | following preceding | forbid permit |
forbidden permitted | forget remember | frequent rare | full partial | future past | general specific |
global local | grant revoke | green red | grow shrink | handled unhandled | hard soft | heap stack |
heavier lighter | heavy light | helpful useless | hidden visible | hide show | high low | higher lower |
highest lowest | hold release | horizontal vertical | ignore respect | immediately later |
immutable mutable | impossible possible | improve reduce | improve worsen | inbound outbound |
incoming outgoing | increase less | increase lower | increase reduce | inlet outlet | inner outer |
input output | insecure secure | insensitive sensitive | insert remove | inside outside |
install uninstall | instance static | invalid valid | inward outward | irreversible reversible |
join leave | joint separate | keep remove | kept removed | known unknown | large small | larger smaller |
largest smallest | latest oldest | leading trailing | least most | leaves stays | left right |
lengthen shorten | lenient strict | less more | limited unlimited | linear nonlinear | load unload |
lock unlock | long short | longer shorter | longest shortest | loosen tighten | lose win |
lossless lossy | lost saved | loud quiet | lower raise | lower upper | major minor | majority minority |
malfunc nominal | mandatory optional | master slave | matched unmatched | max min | maximal minimal |
maximise minimise | maximize minimize | maximum minimum | may must | merge split | minus plus |
monthly weekly | mount unmount | narrow wide | narrower wider | necessary unnecessary |
negative positive | never often | never usually | new old | newer older | newest oldest | next previous |
nominal offline | nonzero zero | north south | numeric textual | offline online | often rarely |
often seldom | old young | once repeatable | once twice | open shut | opposite same | optional required |
ordered unordered | outside within | overwrite preserve | parallel sequential | parallel serial |
pause resume | permanent temporary | permit prevent | permitted prohibited | persistent transient |
physical virtual | plural singular | pop push | port starboard | post pre | primary replica |
primary secondary | private public | private shared | public secret | pull push | quick slow |
quicker slower | raise reduce | rarely usually | read write | receive send | receiver sender |
recoverable unrecoverable | register unregister | registered unregistered | relax restrict |
release reserve | right wrong | rough smooth | running stopped | safe unsafe | safe vulnerable |
same separate | save spend | separately together | short tall | signed unsigned | sink source |
sorted unsorted | source target | stable unstable | start stop | stateful stateless | strengthen weaken |
strong weak | stronger weaker | successful unsuccessful | supported unsupported | thick thin |
thicker thinner | trusted untrusted | typed untyped | useful useless | wired wireless
"""


REACH = 4  # content words after a "not" that it may belong to
ALIKE = 0.45  # share of the words of the shorter of two clauses that are about the same
SIDE = 4  # content words before and after an opposite that show what it is said of
WORD = re.compile(r"[\w'’#.-]*\w")

NEGATION = re.compile(
    r"\b(not|no|never|none|nothing|nobody|neither|nor|without(?= \w+ing)|cannot|unable|impossible|except"
    r"|\w+n['’]t)\b",
    re.IGNORECASE,
)
# These have a "no" or "not", and say nothing of the contrary.
NO_NEGATION = re.compile(
    r"\b(?:no|not) (?:more|less|fewer|later|earlier|higher|lower|larger|smaller|greater) than\b"
    r"|\bnot (?:to )?exceed\b|^\W*no,|\bnot (?:only|just|necessarily)\b|\bno\.(?= ?\d)|\bno matter\b"
    r"|\bif not\b|\bwhether or not\b",
    re.IGNORECASE,
)
CONDITION = re.compile(r"\b((?:if|when|where|unless|once|until|because|since)\b[^,;.]*),", re.IGNORECASE)
WITHOUT_IT = re.compile(r"\bwithout\b(?! \w+ing\b)", re.IGNORECASE)  # of things it says little
IN_MANY_WORDS = re.compile(
    r"\b(?:rather than|instead of|fail(?:s|ed)? to|refuse[sd]? to|far from|free of)\b", re.IGNORECASE
)
CLAUSE_END = re.compile(r"[;:]|[.!?](?=\s|$)|,(?= (?:but|and|or|so|then|which|while|whereas|although)\b)")
PREFIXES = ("un", "in", "im", "dis", "non", "de", "mis", "ir")
LEAST_STEM = 4  # characters that a prefix must leave


def _pairs() -> dict[str, frozenset[str]]:
    """Each word's opposites, as the analyser leaves them."""
    known: dict[str, set[str]] = {}
    for pair in ANTONYMS.split("|"):
        (first, *_), (second, *_) = map(analyse, pair.split())
        known.setdefault(first, set()).add(second)
        known.setdefault(second, set()).add(first)
    return {word: frozenset(others) for word, others in known.items()}


_OPPOSITE = _pairs()


def negations(text: str) -> int:
    """How many times a text says "not", "no", "never" and the like."""
    return len(NEGATION.findall(_plainly(text)))


def _plainly(text: str) -> str:
    """With a "not" wherever one is meant, and none where it is not."""
    in_one_line = CONDITION.sub(r"; \1;", " ".join(text.split()))  # a "not" in it is not said to be so
    return WITHOUT_IT.sub(" ", IN_MANY_WORDS.sub(" not ", NO_NEGATION.sub(" ", in_one_line)))


@dataclass(frozen=True, slots=True)
class Polarity:
    """The content terms of a text that stand within the reach of a "not", and those that do not."""

    plain: frozenset[str]
    negated: frozenset[str]

    @property
    def only_plain(self) -> frozenset[str]:
        """Those that no "not" reaches anywhere."""
        return self.plain - self.negated

    @property
    def only_negated(self) -> frozenset[str]:
        """Those that a "not" reaches everywhere."""
        return self.negated - self.plain


def polarity_of(text: str) -> Polarity:
    """What is said to be, and what is said not to be: a "not" reaches the next words of its clause."""
    plain: set[str] = set()
    negated: set[str] = set()
    for clause in CLAUSE_END.split(_plainly(text)):
        left = 0
        for word in WORD.findall(clause):
            if NEGATION.fullmatch(word) or word.casefold() == "without":
                left = 0 if left == REACH else REACH  # "cannot … without": twice is not
                continue
            for term in content_terms(word):
                if term in stop_terms():
                    continue
                (negated if left else plain).add(term)
            left = max(0, left - (not _is_stop(word)))
    return Polarity(frozenset(plain), frozenset(negated))


def inverted(sentence: str, spans: Sequence[str]) -> tuple[str, ...]:
    """The "not" that either the sentence or the spans have; best span first.

    A term must be said to be in one and not to be in the other, and never the other way. Where both have a
    "not", too many reworded sentences would be found: "no antenna work will help" for "work will not help".
    """
    here = negations(sentence)
    if not spans or bool(here) == bool(negations(spans[0])):
        return ()
    ours, theirs = polarity_of(sentence), polarity_of("; ".join(spans))
    if _unsaid(ours.plain, theirs.negated) or _unsaid(theirs.plain, ours.negated):
        return ()
    turned = ours.only_plain & theirs.only_negated or ours.only_negated & theirs.only_plain
    denied, said = (sentence, spans) if here else ("; ".join(spans), [sentence])
    if not any(_is_about(clause, said, turned) for clause in CLAUSE_END.split(_plainly(denied))):
        return ()
    return ("not" if here else "the passage's “not”",)


def _is_about(denial: str, said: Sequence[str], turned: frozenset[str]) -> bool:
    """True for a clause with a "not" that has half of its words in common with one that was said."""
    ours = set(content_terms(denial))
    if not NEGATION.search(denial) or not turned & ours:
        return False
    others = [set(content_terms(clause)) for text in said for clause in CLAUSE_END.split(_plainly(text))]
    return any(len(ours & other) >= ALIKE * min(len(ours), len(other)) for other in others if turned & other)


def _unsaid(plain: frozenset[str], negated: frozenset[str]) -> bool:
    """True where a prefix says in one what "not" says in the other: unarmed, not armed."""
    return any(prefix + term in plain for prefix in PREFIXES for term in negated)


def _is_stop(word: str) -> bool:
    return all(term in stop_terms() for term in analyse(word))


def opposites(sentence: str, spans: Sequence[str], *, elsewhere: Iterable[frozenset[str]] = ()) -> list[str]:
    """Words of the sentence that no span has, with an opposite that a span has beside the same words.

    Not those that other sentences, here as their terms, have together with most of these words.
    """
    ours = _words(sentence)
    others_terms = list(elsewhere)
    theirs = [_words(span) for span in spans]
    there = {term for words in theirs for term in words}
    found = []
    for index, term in enumerate(ours):
        if term in there:
            continue
        others = _opposites_of(term) & there
        beside = {near for other in others for words in theirs for near in _beside(other, words)}
        around = set(_around(index, ours))
        known = any(term in terms and 2 * len(around & terms) >= len(around) for terms in others_terms)
        if around & beside and not known and not (_opposites_of(term) & set(ours)):
            found.append(_as_written(term, sentence))
    return list(dict.fromkeys(found))


def _beside(term: str, words: Sequence[str]) -> Iterator[str]:
    for index, word in enumerate(words):
        if word == term:
            yield from _around(index, words)


def _around(index: int, words: Sequence[str]) -> Iterator[str]:
    yield from words[max(0, index - SIDE) : index]
    yield from words[index + 1 : index + SIDE + 1]


def _as_written(term: str, sentence: str) -> str:
    return next((word for word in WORD.findall(sentence) if term in analyse(word)), term)


def _opposites_of(term: str) -> frozenset[str]:
    with_prefix = {prefix + term for prefix in PREFIXES if len(term) >= LEAST_STEM}
    without = {
        term.removeprefix(prefix)
        for prefix in PREFIXES
        if term.startswith(prefix) and len(term) >= len(prefix) + LEAST_STEM
    }
    return _OPPOSITE.get(term, frozenset()) | with_prefix | without


def _words(text: str) -> list[str]:
    """The terms of a text in order, without those that stand anywhere."""
    return [term for term in analyse(text) if term not in stop_terms() or term in _OPPOSITE]
