"""The radios: which calls get through, and what wrong keys do."""

from __future__ import annotations

from mission.ship import Ship
from mission.state import ShipState
from mission.status import reading

WRONG_KEYS, WITHIN_MIN, SHUT_OUT_MIN = 5, 60.0, 10.0
LANDER_RADIO = "COM-VHF-1"
ANSWERED, SENT = "answered ", "sent "
ACKNOWLEDGED = "Go on by the manuals."


def radios(ship: Ship) -> list[str]:
    """Return the ids of the parts that have a setting KEY."""
    return [part.id for part in ship.parts.values() if "KEY" in part.settings]


def obstacle(ship: Ship, state: ShipState, radio: str, key: str) -> tuple[str, str] | None:
    """Return the code and text of the error that blocks a call with a key, None if it gets through."""
    other = "the lander" if radio == LANDER_RADIO else "the station"
    if not _hears(ship, state, radio):
        return "E-09", f"{radio} does not hear {other}. See P-COM-01"
    if state.shut_out_until.get(radio, 0.0) > state.minute:
        return "E-08", f"{other} has shut out {radio} for ten minutes after five wrong keys"
    if key != ship.radio_keys[radio]:
        return "E-08", f"{other} hears {radio} and does not accept its key. See P-COM-02"
    return None


def garbled(ship: Ship, radio: str, key: str) -> str:
    """Return the garbled reply to a wrong key; it shows which half of the key is wrong, or both."""
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
    """Return the call sign of the station that a radio calls: the right key's part before the hyphen."""
    return ship.radio_keys[radio].partition("-")[0]


def _hears(ship: Ship, state: ShipState, radio: str) -> bool:
    if radio == LANDER_RADIO:
        return True
    part = ship.parts[radio]
    selected = state.setting("COM-CTRL", "TRANSPONDER") == radio
    return selected and part.telemetry["SIGNAL"].within(reading(state, part, "SIGNAL"))


def count_wrong_key(state: ShipState, radio: str) -> None:
    """Count a refused key; the fifth within an hour shuts the radio out for ten minutes."""
    recent = [m for m in state.wrong_keys.get(radio, []) if m > state.minute - WITHIN_MIN]
    state.wrong_keys[radio] = [*recent, state.minute]
    if len(state.wrong_keys[radio]) >= WRONG_KEYS:
        state.wrong_keys[radio] = []
        state.shut_out_until[radio] = state.minute + SHUT_OUT_MIN


def send(ship: Ship, state: ShipState, radio: str) -> bool:
    """Send a message; return whether an answer arrives, for which the radio's setting KEY must be right."""
    happened(state, SENT + radio)
    if state.setting(radio, "KEY") != ship.radio_keys[radio]:
        return False
    copies = "We copy" if radio == LANDER_RADIO else f"{ship.mission.control} copies"
    answer = f"{ship.names.call_sign}, {_caller(ship, radio)}. Loud and clear. {copies}. {ACKNOWLEDGED}"
    state.inbox.setdefault(radio, []).append(answer)
    return True


def fetch(state: ShipState, radio: str) -> str:
    """Return a radio's newest message, or a line that says that there is none."""
    messages = state.inbox.get(radio, [])
    if not messages:
        return f"{radio} has no message"
    happened(state, ANSWERED + radio)
    return messages[-1]


def happened(state: ShipState, event: str) -> None:
    """Add an event to `state.events`, unless it is there already."""
    if event not in state.events:
        state.events.append(event)
