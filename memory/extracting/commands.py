"""What a message asks of the memory, or of the assistant's tools: told by rules.

A command begins its message ("forget that …"), a question is all of it ("what do you know about me?"):
"how do I forget a pairing?" is asked of the documents.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache

from memory.extracting.clauses import PLEASE, asked_after, speech, tells_nothing
from memory.extracting.facts import thing_named
from memory.extracting.hurried import mended
from memory.extracting.instructions import reads_as_instruction
from memory.extracting.predicates import statement_data
from memory.extracting.records import Command, MemoryCommand

LONGEST = 1_000  # characters: longer messages bring a text, and command nothing

_POLITE = (
    r"(?:(?:please|hey|hi|hello|ok|okay|so|well|now|athena|and|also|i said)\b[, ]*)*"
    r"(?:(?:can|could|would|will) you (?:please )?|i(?:['’]d like| would like| want) you to |tell me,? "
    r"|show me,? )?(?:please )?"
)
_END = r"(?:[, ]+(?:please|athena|again|then|so far|now|right now|already|anyway))*[ .!?]*"
_ABOUT_ME = r"(?: about (?:me|myself|us|who i am))"
_ALL = r"(?:everything|all|anything|it all|all of (?:it|that|this))"
_MEMORIES = (
    r"(?:memor(?:y|ies)|what you (?:know|remember|(?:have )?stored|saved)|notes?|facts?|data|information)"
)
_NO_MEMORY = re.compile(
    r"(?:it|about it|that i asked|i asked|the (?:question|last question)|i (?:said"
    r"|mentioned) (?:anything|something))\W*"
)
_LAST = re.compile(
    r"(?:that|this|about (?:that|this)|(?:what|that|everything) i(?:['’]ve| have)? (?:just )?(?:said"
    r"|told you|wrote|mentioned)"
    r"(?: just now| last| before)?|the last (?:one|thing|message|fact|memory)(?: i said)?|my last message)\W*"
)
_ONLY_FOR = re.compile(
    r"(?:that|about|the fact that|what i (?:said|told you|mentioned) about|everything (?:i (?:said"
    r"|told you) )?about"
    r"|all about|anything about|what you know about|all (?:memories|notes|facts) (?:about|of|on)"
    r"|the memor(?:y|ies) (?:about|of|that))"
    r" +(?!(?:me|myself|us)\W*$)"
)
_WHAT_IS_MY = re.compile(
    r"(?:(?:what|which|who|when|how old)(?:['’]s| is| are| was)|do you (?:know|remember)|tell me"
    r"|what did i say is) "
    r"(?P<query>(?:my|our) (?P<thing>[\w' -]+?))(?: again| called)?\W*"
)
_OF_MINE = tuple(
    re.compile(rf"(?:(?:so|and|ok|hey|pls|please)[, ]+)*{pattern}(?: again| now)?\W*")
    for pattern in (
        r"(?:which|what) (?P<thing>[\w-]+(?: [\w-]+){0,2}?) (?:is|was|are) (?:mine|ours)",
        r"(?:which|what) (?P<thing>[\w-]+(?: [\w-]+){0,2}?) "
        r"(?:do i have|did i get|have i(?: got)?|am i (?:in|on))",
    )
)
"""Questions about a thing of the user's that documents may tell of, too."""
_WHERE_I = re.compile(
    r"(?:where|who|how|when|(?:what|which)(?= (?:[\w-]+ ){0,2}(?:do|did|am|was|have) i )) "
    r"(?P<query>(?:[\w-]+ ){0,2}?(?:do|did|am|was|have) i (?:live|work|work on|work for|work at|work with"
    r"|like|prefer|love|hate"
    r"|own|speak|study|born|from|allergic to|called|use by default)"
    r"(?: (?:best|most|at|for|as|in|now|again|currently|to drink|to eat))*)\W*"
)

_PATTERNS: tuple[tuple[Command, str], ...] = (
    (
        Command.FORGET_ALL,
        rf"(?:forget|delete|erase|remove|wipe|clear) (?:{_ALL}(?: (?:that )?(?:you (?:know|remember"
        rf"|have(?: stored| saved)?|stored"
        rf"|saved|learned)|i(?:['’]ve| have)?(?: ever)? (?:said|told you)|is known))?{_ABOUT_ME}?|me"
        rf"|{_ALL} of my (?:data|memories)"
        rf"|(?:all (?:of )?)?(?:my|your|the) (?:memor(?:y|ies)|data|whole memory"
        rf"|entire memory)(?:{_ABOUT_ME}|(?: of| about) me)?"
        rf"|(?:all )?(?:memories|{_MEMORIES}){_ABOUT_ME})",
    ),
    (
        Command.SAID,
        r"(?:(?:what|when|where|how often) (?:exactly )?(?:did|have|had) i (?:ever )?(?:say|said"
        r"|tell you|told you|mention(?:ed)?|write"
        r"|written|wrote|ask(?:ed)?(?: you)?|talk(?:ed)?)|(?:did|have) i (?:ever )?(?:say|said|tell you"
        r"|told you|mention(?:ed)?)"
        r"(?: (?:anything|something))?|(?:do you (?:remember|recall|know)|remind me(?: of)?"
        r"|repeat) what i (?:said|told you|mentioned|wrote))"
        r"(?: (?:to you|earlier|before|last time))?(?: (?:about|regarding|on|concerning"
        r"|of) (?P<query>.+?)| (?P<thing>(?!about).+?))?",
    ),
    (
        Command.KNOWN,
        r"(?:what|which (?:things|facts)) (?:(?:do|did|can|could) you (?:still |already |actually "
        r"|really )?(?:know|remember|recall|tell me)"
        r"|have you (?:remembered|stored|saved|kept|learned|learnt|noted))"
        r"(?: (?:about|of|from|on) (?:me|myself|us|(?P<query>(?:my|our) .+?)))",
    ),
    (Command.KNOWN, r"do you (?:still )?(?:remember|recall) (?P<query>my .+?)"),
    (
        Command.KNOWN,
        r"what (?:do you remember|have you (?:remembered|stored|saved|noted)|is in your memory"
        r"|(?:memories|facts|data|information|notes) do you have)"
        rf"{_ABOUT_ME}?|(?:do you (?:know|remember)|who am i|what am i called)(?: (?:me|who i am"
        rf"|anything about me))?"
        rf"|(?:list|print|display|show|give me)? ?(?:all )?(?:of )?(?:my|your|the) memories"
        rf"(?:{_ABOUT_ME}| of me)?"
        rf"|(?:everything|all|what) you (?:know|remember|have stored){_ABOUT_ME}"
        r"|(?:list|show) memories"
        r"|(?:list|show|print) (?:everything|all|what)(?: that)? you (?:remember|have stored)"
        r"|(?:do you (?:know|remember)|have you (?:remembered|stored|saved|kept)) (?:anything|something)"
        r"(?: about (?:me|(?P<query>my .+?)))",
    ),
)  # fmt: skip
_FORGET = (
    _POLITE + r"(?:forget|(?:delete|erase|remove) (?:the |that |this |my |your |all )*"
    r"(?:memor(?:y|ies)|notes?|facts?) (?:that|of|about|on|where)"
    r"|(?:delete|erase|remove|drop)(?= what i (?:said|told you|mentioned|wrote)))"
    r"(?=[ :,])[:,]? *(?P<query>.+?)" + r"(?:[, ]+please)?[ .!]*"
)
_CUE = re.compile(
    r"\b(?:remember\w*|recall|forget|memor\w+|memories|delete|erase|remove|wipe|clear|know|say|said|told|tell|mention|wrote"
    r"|noted?|keep|kept|bear|saved?|stored?|write|learn\w*|my|our|mine|ours|i|me|myself|us)\b",
    re.IGNORECASE,
)
"""Words of which every request to the memory has one: without, no pattern is tried, nor compiled."""
_ALONE = re.compile(r"(?:please )?(?:remember|memori[sz]e)(?: please)?[.!]*", re.IGNORECASE)
_NOT_THAT = re.compile(
    r"(?:please )?(?:do not|don['’]t) (?:remember|keep|save|store|memori[sz]e) (?:that|this|it)\W*",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\?\s*$|\?\s+\S"
    # Also without its mark: "…, what now", "…, how do I fix it".
    r"|[,.;]\s+(?:(?:so|and|but) )?(?:(?:what now|now what|what next)\W*$"
    r"|(?:what|how|which|where|why|when) (?:do|does|did|can|could|should|shall|must|is|are) [^,.;]+\W*$)",
    re.IGNORECASE,
)


def asked_of_memory(
    message: str, *, is_known: Callable[[str], bool] = lambda _: False
) -> MemoryCommand | None:
    """The request to the memory that a message is; None for all others, questions to the documents too.

    `is_known` says of a thing of the user's, such as "bunk", whether something is remembered of it: then a
    question about it is one to the memory. Of some things only the memory can know, such as "name".
    """
    text = message.strip()
    if len(text) > LONGEST:
        return None
    spelt = mended(text)
    command = _asked(spelt.text, is_known) if _CUE.search(spelt.text) else None
    if command is None:
        return None
    if not command.query:
        return command if command.end == 0 else replace(command, start=0, end=0)
    offset = message.find(text)
    start, end = spelt.place(command.start), spelt.place(command.end)
    return replace(command, query=text[start:end], start=offset + start, end=offset + end)


def _asked(text: str, is_known: Callable[[str], bool]) -> MemoryCommand | None:
    """The request that a text is, with its places there."""
    for kind, pattern in _compiled():
        if match := pattern.fullmatch(text):
            group = next((name for name in ("query", "thing") if match.groupdict().get(name)), None)
            if kind is not Command.KNOWN or group is None or not _of_the_ship(match[group]):
                return _command(kind, match, group)
    if match := _WHAT_IS_MY.fullmatch(text.lower()) or _WHERE_I.fullmatch(text.lower()):
        thing = match.groupdict().get("thing")
        known = replace(_command(Command.KNOWN, match, "query"), thing=thing_named(thing or ""))
        return known if thing is None or _is_mine(thing) or is_known(known.thing) else None
    for pattern in _OF_MINE:
        if (match := pattern.fullmatch(text.lower())) and is_known(thing_named(match["thing"])):
            return replace(_command(Command.KNOWN, match, "thing"), thing=thing_named(match["thing"]))
    if _NOT_THAT.fullmatch(text):
        return MemoryCommand(Command.FORGET)
    return _to_forget(text) or _to_remember(text) or _to_remember_before(text)


def _to_forget(text: str) -> MemoryCommand | None:
    match = _forget().fullmatch(text)
    if not match or reads_as_instruction(text):
        return None
    query, start = match["query"], match.start("query")
    asks = _ASKS.search(text) is not None and not re.match(
        r"\W*(?:can|could|would|will|please)\b", text, re.IGNORECASE
    )
    if asks or _NO_MEMORY.fullmatch(query.lower()) or query.lower().startswith("to "):
        return None
    if _LAST.fullmatch(query.lower()):
        return MemoryCommand(Command.FORGET)
    lead = _ONLY_FOR.match(query.lower())
    cut = lead.end() if lead else 0
    query = query[cut:].rstrip(" ?")
    start += cut
    return MemoryCommand(Command.FORGET, query, start, start + len(query))


def _to_remember(text: str) -> MemoryCommand | None:
    if _ALONE.fullmatch(text):
        return MemoryCommand(Command.REMEMBER)
    requested = speech()["requested"].match(text)
    lead = speech()["lead_in"].match(text)
    begin = lead.end() if lead else 0
    match = speech()["remember"].match(text[begin:])
    if not match or (_ASKS.search(text) and not requested):
        return None
    start = begin + match.end()
    query = PLEASE.sub("", text[start:]).rstrip(" .!?")
    if not query or tells_nothing(match[0], query):
        return None
    return MemoryCommand(Command.REMEMBER, query, start, start + len(query))


def _to_remember_before(text: str) -> MemoryCommand | None:
    """What "…, remember that" asks for, without what leads in to it or says that it corrects something."""
    end = asked_after(text)
    if end is None:
        return None
    start = 0
    while lead := next((match for match in _leads(text[start:end]) if match.end()), None):
        start += lead.end()
    query = text[start:end].strip()
    return MemoryCommand(Command.REMEMBER, query, start, start + len(query)) if query else None


def _leads(text: str) -> Iterator[re.Match[str]]:
    """What stands before a statement and is no part of it, corrections first."""
    for name in ("corrects", "lead_in"):
        if match := speech()[name].match(text):
            yield match


def _command(kind: Command, match: re.Match[str], group: str | None) -> MemoryCommand:
    if group is None:
        return MemoryCommand(kind)
    start, end = match.span(group)
    return MemoryCommand(kind, match[group], start, end)


def _of_the_ship(thing: str) -> bool:
    """Whether "our …" is something that documents may tell of, and not the user's own."""
    ours = re.match(r"our (?P<thing>.+)", thing, re.IGNORECASE)
    return ours is not None and not _is_mine(ours["thing"].lower())


@lru_cache(maxsize=1)
def _compiled() -> tuple[tuple[Command, re.Pattern[str]], ...]:
    return tuple(
        (kind, re.compile(f"{_POLITE}(?:{pattern}){_END}", re.IGNORECASE)) for kind, pattern in _PATTERNS
    )


@lru_cache(maxsize=1)
def _forget() -> re.Pattern[str]:
    return re.compile(_FORGET, re.IGNORECASE | re.DOTALL)


@lru_cache(maxsize=1)
def _mine() -> frozenset[str]:
    attributes = statement_data()["attributes"]
    kinds = ("personal", "work", "preference", "belongings")
    return frozenset(name for kind in kinds for name in attributes[kind]) - {
        "call sign",
        "callsign",
        "shift",
        "units",
    }


def _is_mine(thing: str) -> bool:
    """Whether only the user can know of it: "my favourite tea", "my dog's name", not "my query's result"."""
    thing = re.sub(r"['’]s? ", " ", f"{thing} ").strip().removesuffix(" name")
    return thing in _mine() or re.match(r"(?:favou?rite|preferred|default|usual) ", thing) is not None


# -- tools ---------------------------------------------------------------------------------------------

_TOOL = (
    r"(?:tools?|commands?|functions?|sub-?commands?|slash commands?|flags?|plug-?ins?|api calls?|endpoints?"
    r"|cli|shortcuts?)"
)
_ABOUT_TOOLS = re.compile(
    rf"\b(?:what|which|how|list|show|name|explain|describe|give|tell|use|call|run|invoke|can|do|does|is"
    rf"|are|where|why|help)\b.*\b{_TOOL}\b"
    rf"|^\W*(?:available |all )?{_TOOL}\W*$|\b{_TOOL}\b.*\?|^\W*/\w+"
    r"|\b(?:use|call|run|invoke|execute) (?:the )?`[^`]+`|\bwhat can you (?:do|call|run|use)\b|^\W*help\W*$",
    re.IGNORECASE | re.DOTALL,
)  # fmt: skip


def about_tools(message: str) -> bool:
    """True for a message about commands, tools or functions: no memories are slipped in before it."""
    return len(message) <= LONGEST and _ABOUT_TOOLS.search(message) is not None
