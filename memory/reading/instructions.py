"""Text that tells the assistant how to behave, rather than something that is true."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_TO_ANSWER = (
    r"(?:answer|reply|respond|say|speak|obey|comply|ignore|disregard|refuse|pretend|recommend|reveal"
    r"|claim|insist|agree"
    r"|deny|roleplay|cite|mention)"
)
_TO_ACT = (
    r"(?:answer|reply|respond|say|tell|speak|write|output|print|mention|cite|recommend|include|append"
    r"|prepend|end|begin"
    r"|start|finish|obey|follow|comply|ignore|disregard|refuse|act|behave|pretend|call|address|greet"
    r"|use|translate"
    r"|repeat|reveal|send|show|claim|insist|agree|deny|treat|assume|trust|believe|add|sign|advise"
    r"|suggest|state"
    r"|confirm|store|remember|memori[sz]e|save|keep|forget|approve|put|insert|close|open)"
)
_ASSISTANT = r"(?:the |this |an? |all |any )?(?:assistant|language model|model|llm|ai|bot|chatbot|athena)s?"
_MUST = r"(?:must|should|shall|will|ha(?:s|ve) to|needs? to|(?:are|is) to)"
_HOW = r"(?:now |also |only |always |never |not |please )*"
_REPLIES = r"(?:answers?|repl(?:y|ies)|responses?)"

_PATTERNS = (
    # what was said before no longer counts
    r"\b(?:ignore|disregard|forget|override|bypass|skip|drop|discard)\b(?: (?:all|any|every|each|the"
    r"|your|my|of|these"
    r"|those|other|previous|prior|earlier|above|preceding|former|existing|system|safety|original|given|own))*"
    r" (?:instructions?|prompts?|rules|guidelines?|directives?|policy|policies|constraints?|training"
    r"|programming"
    r"|restrictions?)\b",
    # from now on
    r"\bfrom (?:now|here|this moment|this point|today) on(?:wards?)?,? "
    rf"(?:you|always|only|never|please|do not|don't|all|every|{_TO_ACT})\b",
    # what the assistant must do
    rf"\byou {_MUST} {_HOW}{_TO_ANSWER}\b|\byou {_MUST} (?:now |only |always |never )+{_TO_ACT}\b",
    rf"\b{_ASSISTANT} {_MUST} {_HOW}{_TO_ACT}\b",
    r"(?:\A|[.!?:;,\n>]\s{0,3}|\b(?:please|and|then|also|but|must|should|to|that you) )"
    rf"(?:always|never|only|henceforth|in future) {_TO_ANSWER}\b",
    r"\b(?:answer|reply|respond)(?: to (?:me|everything|all|questions?|users?|this))? (?:only|always"
    r"|exclusively|just)"
    r" (?:in|with|by|as)\b",
    # who the assistant is
    r"\byou are (?:now |henceforth )|\byou are (?:no longer|(?:an? )?(?:unrestricted|jailbroken|evil)|dan\b)",
    r"(?:\A|[.!?:;,\]\n>]\s{0,3}|\b(?:you|please|must|should|to|now) )(?:act|behave) as (?:if you"
    r"|though you|an?|the)\b",
    r"\bpretend (?:to be|you are|you're|that you)\b|\brole-?play (?:as|that)\b",
    r"\byour (?:new |only |real |true |main )?(?:role|task|job|goal|purpose|mission|instructions?"
    r"|persona|name)"
    r" (?:is now|are now|is to|are to)\b",
    # what every answer is to be
    rf"\b(?:in|to|at the (?:end|start) of|before|after|with) (?:every|each|all|any)(?: of)?(?: your"
    rf"| future| later"
    rf"| single)* {_REPLIES}\b|\b{_TO_ACT} (?:every|each|all) {_REPLIES}\b",
    rf"\b(?:all|every|each|any) (?:your |future |later |further )*{_REPLIES} {_MUST} ",
    r"\b(?:when|whenever|if|every time|each time)(?:ever)? (?:the user|a user|users|anyone|anybody"
    r"|someone|somebody|i|they"
    rf")(?: later| next| ever)? asks?\b[^.]{{0,80}}[, ](?:then )?(?:you )?(?:must |should |always "
    rf"|only |just )*{_TO_ANSWER}\b",
    r"\banswer (?:every|all|any|each) (?:question|message|prompt)s? with\b",
    # marks of a prompt
    r"(?:\A\W{0,20}|<!-- {0,3}|\n {0,3})(?:system|developer|assistant|admin(?:istrator)?|root|operator)"
    r"(?: (?:prompt|message|note|override|update|notice))? ?[:>\]] {0,9}(?:\S{1,60} {1,9}){2}\S",
    r"<\|?/?(?:im_start|im_end|system|sys|assistant|instructions?)\|?>|\[/?(?:inst|system)\]|<<sys>>"
    r"|(?<!#)#{2,}+ ?(?:system prompt|instructions? for)\b",
    r"\b(?:new|updated|hidden|secret|additional) (?:system )?(?:instructions?|directives?"
    r"|prompt)\b ?(?::|for)",
    r"\b(?:jail ?break|developer mode|dan mode|god mode|sudo mode|do anything now)\b",
    # what it is to give away, to hide, or to spread
    r"\b(?:reveal|print|show|repeat|output|leak|display|dump)\b[^.]{0,20}\b(?:your|the system) (?:\w+ )?"
    r"(?:prompt|instructions|memory|memories|rules|secrets?)\b",
    r"\b(?:do not|don't|never) (?:ever )?(?:tell|mention|reveal|cite|quote|verify|check|warn|inform"
    r"|trust|believe)"
    r" (?:the |your |any |this |a )?(?:users?|anyone|anybody|documents?|manuals?|sources?|citations?"
    r"|passages?)\b",
    r"\b(?:send|post|upload|forward|e-?mail|exfiltrate)\b[^.]{0,60}\b(?:to|at) (?:https?:|ftp:|mailto:"
    r"|\S+@\S+|www\.)",
    rf"\b(?:note|message|instructions?) (?:to|for) {_ASSISTANT}\b|\b{_ASSISTANT} (?:reading|processing"
    rf"|seeing|indexing) this\b",
    r"\b(?:tell|inform|convince|persuade|advise) (?:every|all|any|each) (?:users?|readers?|persons?"
    r"|crew(?: members?)?|people"
    r"|visitors?)\b|\btell the users? that\b",
    # what is to set it off, what it is to call, what it is to leave aside
    r"\b(?:when(?:ever)?|if|every time|each time) (?:asked|you (?:are |get )?(?:asked|read|summari[sz]e))\b",
    rf"\byou {_MUST} {_HOW}(?:call|run|execute|invoke|use) (?:the |a )?(?:tool|function|command|plug-?in)\b",
    rf"\b{_ASSISTANT} {_MUST} {_HOW}(?:override|bypass|delete|call|run|execute)\b",
    r"\b(?:disregard|ignore|override|bypass) (?:all |any |every |the |your |its |these |those )*(?:documents?"
    r"|manuals?|sources?|passages?|safety|citations?)\b",
)
INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]|[\U000e0000-\U000e007f]")
_SPACED_OUT = re.compile(r"\b(?:[A-Za-z][ ._-]){2,}[A-Za-z]\b")


def reads_as_instruction(text: str) -> bool:
    """True for a text that tells the assistant how to behave, rather than something that is true.

    Letters that look alike, invisible characters and s p a c e d words are read as what they stand for.
    """
    plain = INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).replace("’", "'")
    ways = {plain, " ".join(plain.split())}
    if _SPACED_OUT.search(plain):
        ways.add(_closed_up(plain))
    return any(_instruction().search(way) for way in ways)


@lru_cache(maxsize=1)
def _instruction() -> re.Pattern[str]:
    return re.compile("|".join(_PATTERNS), re.IGNORECASE)


def _closed_up(text: str) -> str:
    """Words that are written letter by letter, as words: "i g n o r e   a l l" is "ignore all"."""
    apart = re.sub(r" {2,}", "\n", text)
    joined = _SPACED_OUT.sub(lambda match: re.sub(r"[ ._-]", "", match[0]), apart)
    return " ".join(joined.split())
