"""The radios: who hears whom, the keys, and the station that locks out a transponder."""

from __future__ import annotations

from mission.ship import Ship
from mission.state import ShipState
from mission.status import reading

WRONG_KEYS, WITHIN_MIN, SHUT_OUT_MIN = 5, 60.0, 10.0
ANSWERED, SENT = "answered ", "sent "


def radios(ship: Ship) -> list[str]:
    """Ids of the parts that have a KEY."""
    return [part.id for part in ship.parts.values() if "KEY" in part.settings]


def obstacle(ship: Ship, state: ShipState, radio: str, key: str) -> tuple[str, str] | None:
    """The code and the words of the error that keeps a call with this key from getting through, or None."""
    other = "the lander" if radio == "COM-VHF-1" else "the station"
    if not _hears(ship, state, radio):
        return "E-09", f"{radio} does not hear {other}. See P-COM-01"
    if state.shut_out_until.get(radio, 0.0) > state.minute:
        return "E-08", f"{other} has shut out {radio} for ten minutes after five wrong keys"
    if key != ship.radio_keys[radio]:
        return "E-08", f"{other} hears {radio} and does not accept its key. See P-COM-02"
    return None


def _hears(ship: Ship, state: ShipState, radio: str) -> bool:
    if radio == "COM-VHF-1":
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


def send(ship: Ship, state: ShipState, radio: str) -> None:
    """Deliver a message; the answer comes back if the radio's own KEY is right."""
    happened(state, SENT + radio)
    if state.setting(radio, "KEY") == ship.radio_keys[radio]:
        caller = ship.names.lander_call_sign if radio == "COM-VHF-1" else ship.station
        copies = "We copy" if radio == "COM-VHF-1" else f"{ship.control} copies"
        answer = f"{ship.names.call_sign}, {caller}. Loud and clear. {copies}. Go on by the manuals."
        state.inbox.setdefault(radio, []).append(answer)


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
