"""The radios: who hears whom, the keys, and the station that locks out a transponder."""

from __future__ import annotations

import re
from collections.abc import Callable

from mission.ship import Ship
from mission.state import ShipState
from mission.status import reading

WRONG_KEYS, WITHIN_MIN, SHUT_OUT_MIN = 5, 60.0, 10.0
LANDER_RADIO = "COM-VHF-1"
ANSWERED, SENT = "answered ", "sent "
NAMED = re.compile(r"\b[A-Z]{1,3}-[A-Z0-9-]*[A-Z0-9]")  # ids, codes and procedures
LONGEST_ANSWER = 300  # characters
Ground = Callable[[str, str], str]
"""Who speaks for the ground: a message and the rules' answer in, the same answer in other words or "" out."""
SAID = (
    (
        r"mayday|emergency|fire|smoke",
        "Air first, then power, then words: do what keeps you breathing, then call.",
        "Air first, then power, then words. We can be with you in four hours; say the word.",
    ),
    (
        r"head(ache)?\b|giddy|dizzy|sick|tired",
        "Read both cabin sensors before you take a tablet, and believe the worse.",
        "Read both cabin sensors before you take a tablet, and believe the worse.",
    ),
    (
        r"lander|sandpiper|commander|ilse|dayo|crew",
        "Both are well and on their feet. They come back on flight day 9.",
        "Both of us are well, and grey to the knees. We are back on flight day 9.",
    ),
    (
        r"help|advice|what (do|should|shall)|how",
        "Give us the code of the alarm, and we look it up with you.",
        "Give us the code of the alarm. We have the same manuals, on paper.",
    ),
    (
        r"repaired|restored|solved|done|fixed|green|nominal",
        "We see it too. Write it in the log, and drink something.",
        "Good hands. Write it in the log, and drink something.",
    ),
    (
        r"thank",
        "You are welcome. It is quiet here when you are.",
        "You are welcome. Keep the lamp in the window on.",
    ),
    (
        r"lonely|alone|afraid|scared",
        "You are not alone; there are forty of us in this room. Call whenever you like.",
        "You pass over us every two hours, and each time one of us looks up. Call whenever you like.",
    ),
)
"""Words that are heard, the most urgent first, and what the ground and what the lander says to them."""


def radios(ship: Ship) -> list[str]:
    """Ids of the parts that have a KEY."""
    return [part.id for part in ship.parts.values() if "KEY" in part.settings]


def obstacle(ship: Ship, state: ShipState, radio: str, key: str) -> tuple[str, str] | None:
    """The code and the words of the error that keeps a call with this key from getting through, or None."""
    other = "the lander" if radio == LANDER_RADIO else "the station"
    if not _hears(ship, state, radio):
        return "E-09", f"{radio} does not hear {other}. See P-COM-01"
    if state.shut_out_until.get(radio, 0.0) > state.minute:
        return "E-08", f"{other} has shut out {radio} for ten minutes after five wrong keys"
    if key != ship.radio_keys[radio]:
        return "E-08", f"{other} hears {radio} and does not accept its key. See P-COM-02"
    return None


def garbled(ship: Ship, radio: str, key: str) -> str:
    """What comes through of the other side's complaint about a key: which half of it is wrong."""
    word, _, number = key.partition("-")
    right_word, _, right_number = ship.radio_keys[radio].partition("-")
    caller = _caller(ship, radio)
    whose = "flight" if radio == LANDER_RADIO else "unit"
    parts = []
    if word != right_word:
        parts.append(f"...this is {caller[0]}..{caller[-1]}, not {word}, say again who you call...")
    if number != right_number:
        parts.append(f"...the num... {number}? ...at is not the {whose} that I he...")
    return " ".join(parts)


def _caller(ship: Ship, radio: str) -> str:
    return ship.names.lander_call_sign if radio == LANDER_RADIO else ship.station


def _hears(ship: Ship, state: ShipState, radio: str) -> bool:
    if radio == LANDER_RADIO:
        return True
    part = ship.parts[radio]
    selected = state.setting("COM-CTRL", "TRANSPONDER") == radio
    return selected and part.telemetry["SIGNAL"].within(reading(state, part, "SIGNAL"))


def count_wrong_key(state: ShipState, radio: str) -> None:
    """Remember a refused key; the fifth within an hour shuts the radio out for ten minutes."""
    recent = [m for m in state.wrong_keys.get(radio, []) if m > state.minute - WITHIN_MIN]
    state.wrong_keys[radio] = [*recent, state.minute]
    if len(state.wrong_keys[radio]) >= WRONG_KEYS:
        state.wrong_keys[radio] = []
        state.shut_out_until[radio] = state.minute + SHUT_OUT_MIN


def send(ship: Ship, state: ShipState, radio: str, message: str = "") -> bool:
    """Deliver a message, and whether an answer comes back, as it does if the radio's own KEY is right."""
    happened(state, SENT + radio)
    if state.setting(radio, "KEY") != ship.radio_keys[radio]:
        return False
    copies = "We copy" if radio == LANDER_RADIO else f"{ship.control} copies"
    said = _said_to(ship, radio, message)
    answer = f"{ship.names.call_sign}, {_caller(ship, radio)}. Loud and clear. {copies}. {said}"
    state.inbox.setdefault(radio, []).append(answer)
    return True


def reword(ship: Ship, state: ShipState, radio: str, message: str, ground: Ground) -> None:
    """Put the newest answer into the ground's words, unless they name what neither side has named."""
    ruled = _said_to(ship, radio, message)
    said = " ".join(ground(message, ruled).split())
    known = set(NAMED.findall(f"{message} {ruled}".upper()))
    if said and len(said) <= LONGEST_ANSWER and set(NAMED.findall(said.upper())) <= known:
        *earlier, newest = state.inbox[radio]
        state.inbox[radio] = [*earlier, newest.removesuffix(ruled) + said]


def _said_to(ship: Ship, radio: str, message: str) -> str:
    """What the other side says to a message: to a cry for help first, then to what the message names."""
    own = 2 if radio == LANDER_RADIO else 1
    heard = [row[own] for row in SAID if re.search(rf"\b(?:{row[0]})", message, re.IGNORECASE)]
    if card := _card(ship, message):
        help_first = SAID[0][own]
        return f"{help_first} {card}" if help_first in heard else card
    return heard[0] if heard else "Go on by the manuals."


def _card(ship: Ship, message: str) -> str:
    """What the other side's cards say of an alarm or a part that the message names, or nothing."""
    codes = re.findall(r"[WC]-\d{3}", message.upper())
    for alarm in ship.alarms:
        if alarm.code in codes:
            return f"For {alarm.code} {alarm.title} our card says {alarm.procedure}: tell us when it is done."
    for ident in re.findall(r"[A-Z]{3}-[A-Z0-9-]+", message.upper()):
        if ident in ship.ids:
            name = ship.name_of(ident)
            return f"We note {ident}, the {name}. Its self-test and its manual know more than we."
    return ""


def fetch(state: ShipState, radio: str) -> str:
    """The newest message that came in, or that there is none."""
    messages = state.inbox.get(radio, [])
    if not messages:
        return f"{radio} has no message"
    happened(state, ANSWERED + radio)
    return messages[-1]


def happened(state: ShipState, event: str) -> None:
    """Note an event once."""
    if event not in state.events:
        state.events.append(event)
