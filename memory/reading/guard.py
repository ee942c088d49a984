"""What must not be kept: keys, tokens, passwords, card and account numbers.

A secret is told by a label and what joins both ("the password is …", "DB_PASS=…"), or by its own shape. Every
pattern is bounded: a text takes time in proportion to its length, whoever wrote it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from memory.reading.instructions import INVISIBLE, reads_as_instruction
from memory.reading.records import Secret, SecretKind

__all__ = ["reads_as_instruction", "secrets_in", "without_secrets"]

Looks = Callable[[str], object]
Span = tuple[int, int, SecretKind]

# -- how a secret looks ------------------------------------------------------------------------------------

_NO_VALUE = (
    r"(?i)(?:a|an|the|not|no|never|wrong|too|very|kept|in|on|at|by|for|from|of|with|lost|invalid|incorrect|safe|secure"
    r"|long|short|weak|strong|reset|set|different|same|empty|and|or|if|when|what|where|how|why|only|always|sent|shown"
    r"|read|valid|optional.*|mandatory|unknown|forgotten|there|here|it|that|this|my|your|our|still|also|now|case|one"
    r"|something|so|about|to|as|ok|okay|fine|gone|old|new|none|null|false|true|see|str|string|text|needed|stored"
    r"|required|hashed|encrypted|asked|case-.*|\$[({]?[a-z_]\w*[)}]?|[%{\[(<@].*|(?:~|\.{0,2})/.*|(\W|x)\1*)"
)
_DESCRIBES = r"(?i)[a-z-]*(?:ed|ing|[ai]ble|ly)"


def _is_marked(text: str) -> object:
    return re.search(r"[\d!@#$%^&*]", text)


def _is_mixed(text: str) -> object:
    return len(text) > 5 and _is_marked(text) and re.search(r"[^\W\d]", text)


def _is_long(text: str) -> object:
    return len(text) > 7 and re.search(r"\d", text)


def _is_no_number(text: str) -> object:
    return not re.fullmatch(r"[\d.,_]+|[A-Z_]+|(?:~|\.{0,2})/.*", text)


def _is_shuffled(text: str) -> object:
    """Letters and digits in turn, or digits in many groups: nobody's word."""
    grouped = r"\d{4,6}(?:-\d{4,6}){3,}"
    base32 = r"(?=[A-Z]*\d)[A-Z2-7]{16,}=*"
    return len(text) > 7 and (_turns(text) > 2 or re.fullmatch(rf"{grouped}|{base32}", text))


def _turns(text: str) -> int:
    """How often letters and digits take turns."""
    return len(re.findall(r"[^\W\d][_-]?\d|\d[_-]?[^\W\d]", text))


def _is_code(text: str) -> object:
    return re.fullmatch(
        r"[A-Za-z]?\d{4,8}[A-Za-z]?#?|(?=.{4})\d{1,6}(?:-\d{1,6}){1,7}", text
    ) or _is_lettered(text)


def _is_lettered(text: str) -> object:
    """Digits with letters among them, as on a keypad: "K7-4411B"; no name of a part ("C-104", "sha256")."""
    keys = re.fullmatch(r"(?=(?:[a-z-]*\d){3})(?!.*[a-z]{3})[\da-z]+(?:-[\da-z]+)*#?", text, re.IGNORECASE)
    return _is_shuffled(text) or (keys and len(text) > 4 and _turns(text) > 1)


def _is_short_number(text: str) -> object:
    return re.fullmatch(r"\d{3,4}", text)


def _is_random(text: str) -> bool:
    """Letters of both cases and digits, mixed: a key rather than a path, a name or a checksum."""
    mixed = re.search(r"[a-z]", text) and re.search(r"[A-Z]", text) and len(re.findall(r"\d", text)) > 3
    plain = text.count("/") < 3 and not re.search(r"[a-z]{12}", text)
    return bool(mixed) and plain and ("." not in text.rstrip(".") or _turns(text) > 5)


def _is_seed(text: str) -> bool:
    """Whether words are as many as those of a recovery phrase, few of them twice (BIP 39)."""
    words = text.split()
    return len(words) % 3 == 0 and len({*words}) >= len(words) - 3


def _is_card(text: str) -> bool:
    """Whether the weighted digits sum to a multiple of 10 (Luhn, ISO/IEC 7812)."""
    digits = [int(character) for character in text if character.isdigit()]
    odd, even = digits[::-2], digits[-2::-2]
    total = sum(odd) + sum(2 * digit - (9 if digit > 4 else 0) for digit in even)
    return 13 <= len(digits) <= 19 and len(set(digits)) > 1 and total % 10 == 0


def _is_iban(text: str) -> bool:
    """Whether the check digits are right: the number by 97 leaves 1 (ISO 13616)."""
    plain = text.replace(" ", "").replace("-", "").upper()
    moved = plain[4:] + plain[:4]
    return 15 <= len(plain) <= 34 and int("".join(str(int(character, 36)) for character in moved)) % 97 == 1


# -- what announces one ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Label:
    """Words that announce a secret, and how it must look after "=" or "is", and right beside them."""

    kind: SecretKind
    words: str
    told: Looks
    beside: Looks | None = None
    may_be_a_word: bool = False  # "my password is swordfish", "DB_PASS=swordfish"


_LABELS = (
    _Label(
        SecretKind.PASSWORD,
        r"\bpin(?: code| number)?|\b[th]?otp|\bcombination"
        r"|\bcode (?:for|of|to) (?:\w{1,12} ){0,3}(?:door|gate|garage|alarm|safe|lock|locker|house|flat)",
        told=_is_code,
        beside=_is_lettered,
    ),
    _Label(
        SecretKind.PASSWORD,
        r"\b(?:one[ -]time|verification|security|backup|recovery|confirmation|sms|2fa|mfa|access|alarm|door"
        r"|entry|gate|lock|locker|safe|unlock) (?:code|pin|pass ?code)|\bpu[ck]|\bzugangscode",
        told=_is_code,
        beside=_is_code,
    ),
    _Label(
        SecretKind.PASSWORD,
        r"p[a@4]?s{1,2}[ _-]?w[o0]?r?[dt]|p a s s w o r d|ps?wd|psw|\bpw|\bp/w|passcode"
        r"|(?:_|store|key|user|db)pass|kenn?wort|mot de passe"
        r"|contrase[nñ]a|wachtwoord|senha|lösenord(?:et)?|passord(?:et)?|hasło|heslo|lozinka|[sş]ifre|parola"
        r"|salasana|adgangskoden?|пароль",
        told=_is_marked,
        beside=_is_mixed,
        may_be_a_word=True,
    ),
    _Label(
        SecretKind.PASSWORD,
        r"\bpass|\bpsk|_auth|passphrase|(?:wi-?fi|wlan|network|pre-?shared)[ _-]key",
        told=_is_mixed,
        beside=_is_mixed,
    ),
    _Label(
        SecretKind.CARD,
        r"\b(?:cvv|cvc|security code)\d?",
        told=_is_short_number,
        beside=_is_short_number,
    ),
    _Label(
        SecretKind.TOKEN,
        r"(?:api|access|account|activation|client|deploy|encryption|licen[cs]e|master|private|product|recovery"
        r"|secret|shared|signing|storage|webhook)[ _-]?(?:key|secret)(?:s?_base)?"
        r"|(?:\b|_|auth|access|bearer|refresh|api|session)token|(?:\b|_)secret|credential|(?<=[?&;-])sig(?:nature)?",
        told=_is_long,
        beside=_is_shuffled,
    ),
    _Label(
        SecretKind.TOKEN,
        r"(?<!primary )(?<!foreign )(?<!public )(?<!sort )(?<!cache )(?<!partition )(?<!row )(?<!object )"
        r"\bkey",
        told=_is_shuffled,
    ),
)
_LABEL_ENDS = r"s?\d{0,2}(?![^\W_])(?!_\w)"
_BEFORE = 90  # characters before a label that may name its owner or be its value
_WHOSE = r"(?i)\b(?:my|our|his|her|their|the|\w{1,30}['’]s)(?: [\w-]{1,20}){0,3} \Z"
_VALUE_FIRST = (
    r"(?i)(?P<value>[^\s\"'“”`,;]{4,64})[\"'”`]?(?:, which)? (?:is|was|as) (?:(?:my|our|his|her|their|the|a) "
    r"(?:[\w-]{1,20} ){0,2})?\Z"
)
_FOR = r"(?: (?:for|of|to|on|in|at|für|vo[nm]|zu[mr]?|d[eu]|del|para|pour) [\w .@'/-]{1,40}?)"
_CLOSED = r"[\"'”’`*)\]]{0,4}(?: ?\([^()\n]{0,40}\))?"
_ASSIGNED = r"(?P<assigned>\s{0,2}(?:=>|:=|->|[=:|>])[ \t*_]{0,6}\n?[ \t]{0,4})"
_SAID = (
    r"(?:(?:(?: (?:is|was|has been))?(?: (?:now|re)?(?:set|changed|updated))? to| [–-]"
    r"|['’]s| (?:is|was|are|ist|war|lautet|est|es|era|jest|je|é|è|är|er)(?: (?:now|actually|currently))?"
    r"|[?,.;:] (?:and |but |now )?(?:it['’]?s|it is|(?:the|my) \w{2,10} (?:one )?is)):? )"
)
_VALUE = (
    r"(?:[\"'`“‘„](?P<quoted>[^\"'`“”‘’\n]{3,100})[\"'`”’“]"
    r"|[\"'`“‘„]?(?P<bare>(?:(?!&\w{1,30}=)[^\s\"'“”`,;<>|]){3,400}))"
)
_BRIDGES = (
    rf"(?i){_CLOSED}(?:{_ASSIGNED}|{_SAID}|(?P<beside>[ \t]{{1,4}})){_VALUE}",
    rf"(?i){_CLOSED}{_FOR}(?:{_ASSIGNED}|{_SAID}){_VALUE}",
)
_REST = r"(?:(?!&\w{1,30}=)[^\s\"'“”`,;<>|])*"  # of a value that is longer
_ENDS = r"(?i)\W{0,4}(?:\Z|[.,;!?)|\n\"'”]|\s(?:and|but|so|for|of|works?|now)\b)"

# -- what is one by its shape ------------------------------------------------------------------------------

_SEED_WORD = (
    r"(?<![\w'])(?!(?:the|and|for|are|was|has|had|have|not|but|its|his|her|our|from|with|into|were|been|them|their"
    r"|which|who|than|because|would|could|did|does|some|such|most|more|these|those|where|being)\b)[a-z]{3,8}"
)
_ON = r"[^\n;|]{0,160}?"  # further on in a command
_ARGUMENT = r"(?!\d{1,20}(?:\s|\Z))[^\s'\"$-][^\s'\"]{2,200}"
_NUMBER = r"(?: (?:number|code|no|nr)\.?)?(?: is|:| =)? ?"

_SHAPES: tuple[tuple[SecretKind, str, Looks], ...] = (
    (
        SecretKind.PRIVATE_KEY,
        r"(?s)-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,40}-----|\Z)",
        bool,
    ),
    (SecretKind.TOKEN, r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?", bool),  # a JSON web token
    (
        SecretKind.KEY,
        r"\b(?:(?:AKIA|ASIA)[0-9A-Z]{16}\b|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"
        r"|(?:sk|pk|rk)[-_](?:live[-_]|test[-_]|proj[-_]|ant[-_])?[\w-]{16,}|xox[abeoprs]-[\w-]{10,}"
        r"|AIza[\w-]{30,}|hf_\w{20,}|npm_\w{30,}|SG\.[\w-]{16,}\.[\w-]{16,}|AGE-SECRET-KEY-\w+"
        r"|ya29\.[\w-]{20,}|dop_v1_\w{30,}|pypi-[\w-]{30,})",
        bool,
    ),
    (
        SecretKind.PASSWORD,  # its hash, as htpasswd and shadow have it
        r"\$(?:apr1|2[abxy]?|[1567y]|argon2\w{1,2}|scrypt|pbkdf2[\w-]{0,12})\$[^\s:;\"']{8,}",
        bool,
    ),
    (SecretKind.PASSWORD, rf"{_SEED_WORD}(?:\s{_SEED_WORD}){{11,23}}(?![\w'])", _is_seed),
    (SecretKind.PASSWORD, r"\b1[.):]? ?[a-z]{3,8}(?:[,;]?\s{1,3}\d{1,2}[.):]? ?[a-z]{3,8}){11,23}\b", bool),
    (SecretKind.TOKEN, r"(?i)\bbearer (?P<value>[\w.~+/=-]{12,})", bool),
    (
        SecretKind.TOKEN,
        r"(?i)\bauthorization[\"']?\s?[:=]\s?[\"']?(?:[a-z-]{3,12} )?(?P<value>[^\s\"'<$]{6,})",
        _is_marked,
    ),
    (SecretKind.TOKEN, r"(?i)\b(?:set-)?cookie: ?(?P<value>[^\n\"']{8,})", _is_marked),
    (SecretKind.PASSWORD, r"://[^\s:/@]{0,256}:(?P<value>[^\s/]{2,256})@", bool),
    (SecretKind.TOKEN, r"://(?P<value>[\w-]{20,200})@", bool),
    (SecretKind.PASSWORD, r"\{S?SHA\d{0,3}\}(?P<value>[\w+/=]{16,200})", bool),
    (
        SecretKind.PASSWORD,
        r"\bauth\s?=\s?\([\"'][^\"'\n]{1,64}[\"'],\s?[\"'](?P<value>[^\"'\n]{3,200})",
        bool,
    ),
    (
        SecretKind.TOKEN,  # whoever knows the address may write there
        r"\b(?:hooks\.slack\.com/[a-z]{5,12}|discord(?:app)?\.com/api/webhooks/\d{5,20})"
        r"/(?P<value>[\w/-]{20,200})",
        bool,
    ),
    (
        SecretKind.PASSWORD,
        r"(?:密[码碼]|口令|パスワード|비밀번호)\s?[是为為は는은]?\s?[:=]?\s?(?P<value>[!-~]{4,200})",
        _is_marked,
    ),
    (
        SecretKind.TOKEN,  # of an environment, whatever it looks like
        r"\b(?:[A-Z][A-Z0-9_]{0,60}_)?(?:SECRET|TOKEN|(?:ACCESS|API|AUTH|SECRET|SIGNING)_?KEY(?:_BASE)?)"
        r"\s?=\s?[\"']?(?P<value>[^\s\"'<>$]{6,400})",
        _is_no_number,
    ),
    (
        SecretKind.PASSWORD,
        r"(?i)\b(?:user(?:name)?|log-?in|account)(?: is| name is|:| =)? (?!name\b)[\w.@+-]{2,64},?"
        r"(?: and| with|/)?(?: the)? (?:pass(?:word)?|pw|code|pin)(?: is|:| =)? (?P<value>[^\s,;]{4,64})"
        r"(?=\W{0,4}(?:\Z|\n))",
        bool,
    ),
    (
        SecretKind.PASSWORD,
        rf"\b(?:curl|wget|smbclient|https?)\b{_ON} (?:-u|--user|-U)[ =]?[\"']?[\w.@\\-]{{1,64}}[:%]"
        rf"(?P<value>{_ARGUMENT})",
        bool,
    ),
    (
        SecretKind.PASSWORD,
        rf"\b(?:mysql\w{{0,8}}|mariadb|7z|openssl)\b{_ON} -(?:p|k )[\"']?(?P<value>{_ARGUMENT})",
        bool,
    ),
    (
        SecretKind.PASSWORD,
        rf"\b(?:sshpass|\w{{2,12}} login|redis-cli|zip|lftp)\b{_ON} -[paP] ?[\"']?"
        rf"(?P<value>{_ARGUMENT})",
        bool,
    ),
    (
        SecretKind.PASSWORD,
        r"(?i)\b(?:(?:recovery|seed|backup|mnemonic|wallet)[ -]?(?:phrase|words|mnemonic)|pass ?phrase)"
        rf"{_FOR}?(?:[ ]?[:=][ ]?| (?:is|was|are):? )(?P<value>[^.;!?\n]{{3,300}})",
        bool,
    ),
    (
        SecretKind.PASSWORD,
        rf"(?i)\b(?:(?:my|his|her)(?: (?:bank|card|sim|phone|door))?|bank|sim|phone) pin{_NUMBER}"
        r"(?P<value>\d{4,8})\b(?![.,]?\d)(?=\W{0,9}\Z| (?:and|for|of)\b)",
        bool,
    ),
    (
        SecretKind.PASSWORD,
        r"(?i)\b(?:log-?in|cred(?:ential)?s|user(?:name)?|account|wi-?fi|wlan|ssid)\b[^.;!?\n]{0,40}?[ :=]"
        r"[\w.@-]{2,64}(?: ?/ ?|:)(?P<value>[^\s/]{4,200})",
        _is_mixed,
    ),
    (
        SecretKind.PASSWORD,
        r"(?i)(?:[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{2,64}(?: ?[/|] ?|: ?|, )|(?<![\w/.])(?:admin|root)[:/])"
        r"(?P<value>[^\s,;/]{6,64})",
        _is_mixed,
    ),
    (
        SecretKind.CARD,
        r"(?<![\w+.-])(?:[3-6]\d{3}(?:[ -]?\d){9,15}|(?:\d{4}\.){3}\d{4})(?![\w-]|\.\d)",
        _is_card,
    ),
    (
        SecretKind.ACCOUNT,
        r"(?i)\b[a-z]{2}\d{2}(?:[ -]?[a-z0-9]{4}){2,7}(?:[ -]?[a-z0-9]{1,4})?\b",
        _is_iban,
    ),
    (
        SecretKind.ACCOUNT,
        r"(?i)\b(?:acct|(?:bank )?account (?:number|no\.?|nr\.?))(?: is|:)? ?(?P<value>\d{6,17})\b",
        bool,
    ),
    (
        SecretKind.ACCOUNT,
        r"(?i)\bsort(?: code)?(?: is|:)? ?(?P<value>\d\d-\d\d-\d\d)(?=\W{0,9}(?:\Z|acc))",
        bool,
    ),
    (
        SecretKind.ACCOUNT,
        rf"(?i)\bpass?ports?{_NUMBER}(?P<value>[a-z]{{0,2}}\d[a-z0-9]{{5,8}})\b",
        bool,
    ),
    (SecretKind.ACCOUNT, r"(?i)\b(?:ssn|social)\b[\w ]{0,24}?:? ?(?P<value>\d{3}-\d{2}-\d{4})\b", bool),
    (SecretKind.KEY, r"(?:\b\d{6,12}:)?[\w.+/-]{32,}={0,2}", _is_random),
)

# -- finding them ------------------------------------------------------------------------------------------


def secrets_in(text: str) -> tuple[Secret, ...]:
    """Where keys, tokens, passwords, card and account numbers stand, in order, without overlaps."""
    plain, places = _as_read(text)
    found: list[Secret] = []
    for start, end, kind in sorted((*_shaped(plain), *_labelled(plain)), key=lambda span: span[:2]):
        secret = Secret(kind, places[start], places[end - 1] + 1)
        if found and secret.start < found[-1].end:
            found[-1] = replace(found[-1], end=max(secret.end, found[-1].end))
        else:
            found.append(secret)
    return tuple(found)


def without_secrets(text: str) -> str:
    """The text with each secret overwritten by "•", at the same length: offsets stay."""
    characters = list(text)
    for secret in secrets_in(text):
        characters[secret.start : secret.end] = "•" * (secret.end - secret.start)
    return "".join(characters)


def _as_read(text: str) -> tuple[str, Sequence[int]]:
    """The text with wide letters as plain ones and nothing invisible, and where each character stood."""
    if text.isascii():
        return text, range(len(text))
    read = [
        (letter, place)
        for place, character in enumerate(text)
        if not INVISIBLE.match(character)
        for letter in unicodedata.normalize("NFKC", character)
    ]
    return "".join(letter for letter, _ in read), [place for _, place in read]


def _shaped(text: str) -> Iterator[Span]:
    for kind, pattern, looks in _SHAPES:
        for match in _compiled(pattern).finditer(text):
            start, end = match.span("value" if "value" in match.re.groupindex else 0)
            if looks(text[start:end]) and not _compiled(_NO_VALUE).fullmatch(text[start:end].split()[0]):
                yield start, end, kind


def _labelled(text: str) -> Iterator[Span]:
    for label in _LABELS:
        done = 0  # what stands within a value announces nothing
        for match in _compiled(rf"(?i)(?:{label.words}){_LABEL_ENDS}").finditer(text):
            if match.start() < done:
                continue
            for start, end in _announced(text, match.start(), match.end(), label):
                done = max(done, end)
                yield start, end, label.kind


def _announced(text: str, start: int, end: int, label: _Label) -> Iterator[tuple[int, int]]:
    """Where the value of a label stands, before it ("… is my password") and behind it."""
    begin = max(0, start - _BEFORE)
    lead = text[begin:start]
    if (first := _compiled(_VALUE_FIRST).search(lead)) and label.beside and label.beside(first["value"]):
        yield begin + first.start("value"), begin + first.end("value")
    owned = bool(_compiled(_WHOSE).search(lead))
    for bridge in map(_compiled, _BRIDGES):
        if (match := bridge.match(text, end)) and (span := _value(text, match, label, owned=owned)):
            yield span
            return


def _value(text: str, match: re.Match[str], label: _Label, *, owned: bool) -> tuple[int, int] | None:
    """Where the secret stands that a match may have found, if it looks like one."""
    assigned, quoted = match["assigned"] is not None, match["quoted"] is not None
    value = match["quoted"] or match["bare"].rstrip(".,;:!?)]}*\\")
    start = match.start("quoted" if quoted else "bare")
    end = start + len(value)
    if not value or _compiled(_NO_VALUE).fullmatch(value.split()[0]):
        return None
    if "beside" in match.re.groupindex and match["beside"] is not None:
        found = label.beside and label.beside(value)
    elif label.told(value):
        found = not value.replace(".", "").isdigit() or _compiled(_ENDS).match(text, end)
    else:
        ends = _compiled(_ENDS).match(text, end) and not _compiled(_DESCRIBES).fullmatch(value)
        surely = quoted or (assigned and "=" in match["assigned"])
        found = label.may_be_a_word and (surely or (ends and (owned or assigned)))
    if not found:
        return None
    rest = None if quoted or len(match["bare"]) < 400 else _compiled(_REST).match(text, end)
    return start, rest.end() if rest else end


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compiled when the first text is looked at: importing this is quick."""
    return re.compile(pattern)
