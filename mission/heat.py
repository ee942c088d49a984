"""Heat: pumps, heat exchangers, radiators; temperatures of coolant, cabin, computers and fuel cells."""

from __future__ import annotations

from mission.air import air_flow
from mission.power import add_water
from mission.step import TimeStep, heated, share_of

ENOUGH_COOLANT, ENOUGH_AIR = 3.6, 4.0  # the lower limits of FLOW, L/min and m³/min
NORMAL_CABIN, NORMAL_COMPUTER, NORMAL_STACK, NORMAL_COOLANT = 22.0, 48.0, 78.0, 12.0
WARM_COOLANT = 20.0
COLD_PART_TAU_H = 2.0  # time constant of a computer or fuel cell that is off
VAPOUR_KPA = 100.0  # inlet pressure at which a pump moves nothing


def pumps(s: TimeStep) -> None:
    """Update the pumps' flow and inlet pressure; a leaking radiator loses coolant if selected and open."""
    for panel in s.parts("ECS-RAD-"):
        fault, feeds = s.state.faults.get(panel), s.chosen("THM-CTRL.HEAT_SINK") == panel
        if fault and fault.kind == "leak" and s.setting(panel, "ISOLATION") == "OPEN" and feeds:
            s.state.coolant_kpa = max(0.0, s.state.coolant_kpa - fault.rate * s.hours)
    for pump in s.parts("ECS-CLP-"):
        moves = s.runs(pump) and s.state.coolant_kpa > VAPOUR_KPA
        s.put(pump, "FLOW", float(s.setting(pump, "RPM")) / 1000 if moves else 0.0)
        s.put(pump, "INLET_PRESSURE", s.state.coolant_kpa)


def coolant_share(s: TimeStep, controller: str) -> float:
    """Return a controller's coolant flow as a share of the flow that it needs, 0..1; 0 if its pump is off."""
    pump = s.chosen(f"{controller}.COOLANT_PUMP")
    return share_of(s.get(pump, "FLOW"), ENOUGH_COOLANT) if s.on(pump) else 0.0


def panels(s: TimeStep) -> None:
    """Update the radiator panels' temperatures, and the evaporator's feed and use of water."""
    for panel in s.parts("ECS-RAD-"):
        is_open = s.setting(panel, "ISOLATION") == "OPEN"
        s.move(panel, "PANEL_TEMP", s.nominal(panel, "PANEL_TEMP") if is_open else -85.0, 130.0)
    boils = s.runs("ECS-EVP-1") and s.setting("ECS-EVP-1", "MODE") == "RUN"
    boils = boils and s.get(s.chosen("WTR-CTRL.WATER_PUMP"), "FLOW") > 0
    s.put("ECS-EVP-1", "FEED", 2.8 * boils)
    add_water(s, -2.8 * boils * s.hours)


def _sinks(s: TimeStep) -> bool:
    """Whether heat leaves the ship."""
    sink = s.chosen("THM-CTRL.HEAT_SINK")
    past = s.setting("ECS-CLV-1", "MODE") == "MANUAL" and float(s.setting("ECS-CLV-1", "POSITION")) >= 80
    if past or not s.on(sink):
        return False
    return s.get(sink, "FEED") > 0 if sink == "ECS-EVP-1" else s.setting(sink, "ISOLATION") == "OPEN"


def _tau(s: TimeStep) -> float:
    return s.constant("cabin_time_constant") / 60


def coolant(s: TimeStep) -> None:
    """Update the temperature of the coolant."""
    before = s.get("ECS-CLV-1", "COOLANT_TEMP")
    after = heated(
        before,
        target=NORMAL_COOLANT,
        share=1.0 if _sinks(s) else 0.0,
        heating=s.constant("coolant_heat"),
        tau_h=_tau(s),
        hours=s.hours,
    )
    s.put("ECS-CLV-1", "COOLANT_TEMP", after)


def _excess(s: TimeStep) -> float:
    """Return how many °C the coolant is too warm, at least 0; all that it cools gets this much warmer."""
    return max(0.0, s.get("ECS-CLV-1", "COOLANT_TEMP") - WARM_COOLANT)


def exchangers(s: TimeStep) -> None:
    """Update the outlet temperatures of the cabin heat exchangers."""
    for exchanger in s.parts("ECS-HX-"):
        cold = coolant_share(s, "THM-CTRL") > 0 and float(s.setting(exchanger, "BYPASS")) < 60
        s.move(exchanger, "OUTLET_TEMP", s.nominal(exchanger, "OUTLET_TEMP") if cold else 18.0, 27.0)


def cabin(s: TimeStep) -> None:
    """Update the temperature of the cabin."""
    exchanger = s.chosen("THM-CTRL.HEAT_EXCHANGER")
    works = s.on(exchanger) and float(s.setting(exchanger, "BYPASS")) < 60
    share = coolant_share(s, "THM-CTRL") * share_of(air_flow(s), ENOUGH_AIR) if works else 0.0
    s.state.cabin["TEMP"] = heated(
        s.state.cabin["TEMP"],
        target=NORMAL_CABIN + _excess(s),
        share=share,
        heating=s.constant("cabin_heat"),
        tau_h=_tau(s),
        hours=s.hours,
    )


def computers(s: TimeStep) -> None:
    """Update the computers' temperatures; one that is too hot switches itself off."""
    for computer in s.parts("CMP-CPU-"):
        safe = s.setting(computer, "MODE") == "SAFE"
        _hot(s, computer, "TEMP", normal=NORMAL_COMPUTER, heating="cpu_heat_safe" if safe else "cpu_heat")
        s.put(computer, "USE", 12.0 if safe else s.nominal(computer, "USE"))
        _stop_if_hot(s, computer, "TEMP", "cpu_stop")


def stacks(s: TimeStep) -> None:
    """Update the fuel cells' temperatures; one that is too hot shuts itself down."""
    for cell in s.parts("EPS-FC-"):
        _hot(s, cell, "STACK_TEMP", normal=NORMAL_STACK, heating="stack_heat")
        _stop_if_hot(s, cell, "STACK_TEMP", "stack_stop")


def _hot(s: TimeStep, part: str, key: str, *, normal: float, heating: str) -> None:
    controller = s.ship.controller_of(part)
    before = s.get(part, key)
    if s.on(part):
        share, target = coolant_share(s, controller), normal + _excess(s)
        rate, tau = s.constant(heating), _tau(s)
        s.put(part, key, heated(before, target=target, share=share, heating=rate, tau_h=tau, hours=s.hours))
    elif s.selected(part):  # a resting backup is kept warm
        tau = COLD_PART_TAU_H
        s.put(part, key, heated(before, target=NORMAL_CABIN, share=1, heating=0, tau_h=tau, hours=s.hours))


def _stop_if_hot(s: TimeStep, part: str, key: str, limit: str) -> None:
    if s.on(part) and s.get(part, key) >= s.constant(limit) - 1e-9:
        s.state.switches[part] = False
        s.again()
