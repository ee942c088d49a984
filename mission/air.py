"""The cabin's air: oxygen, total pressure, carbon dioxide, humidity, smoke, and the parts that treat it."""

from __future__ import annotations

import math

from mission.status import tank_gives
from mission.step import TimeStep, toward

GAS_KG_PER_KPA = 7 / 24  # 24 m³ of cabin: 0.84 kg of oxygen a day are 2.88 kPa
LOX_TANK_KG, LN2_TANK_KG = 58.0, 31.0
RELIEF_KPA = 73.5
BLEEDING, VENTING = 10.0, 100.0  # OPENING of the relief valve, %
FAN_FLOW = {"LOW": 3.0, "MED": 5.0, "HIGH": 6.5}
WARM_BED_C = 35.0
BED_WARMING, BED_BAKING = 46.0, 156.0  # °C per hour: half an hour from 22 to 45, five minutes from 45 to 58
FULL_BED = 100.0
HUMIDITY_RATE, DAMPEST = 4.0, 95.0
WORN_BEARING_RISE, HOTTEST_BEARING, SMOKING_BEARING = 6.0, 110.0, 90.0


def fans(s: TimeStep) -> None:
    """Update the flow and bearing temperature of each fan."""
    for fan in s.parts("ECS-FAN-"):
        running = s.runs(fan)
        s.put(fan, "FLOW", FAN_FLOW[s.setting(fan, "SPEED")] if running else 0.0)
        if running and s.state.fault(fan) == "worn":
            s.move(fan, "BEARING_TEMP", HOTTEST_BEARING, WORN_BEARING_RISE)
        else:
            s.move(fan, "BEARING_TEMP", s.nominal(fan, "BEARING_TEMP") if running else 22.0, 30.0)


def air_flow(s: TimeStep) -> float:
    """Return the flow of the selected fan, m³ per minute; 0 if the fan is OFFLINE."""
    fan = s.chosen("AIR-CTRL.FAN")
    return s.get(fan, "FLOW") if s.on(fan) else 0.0


def beds(s: TimeStep) -> None:
    """Update the temperature and saturation of the amine beds."""
    for bed in s.parts("ECS-CO2-A", "ECS-CO2-B"):
        mode = s.setting(bed, "MODE") if s.on(bed) else "STANDBY"
        target = {"CYCLE": 45.0, "BAKE": 58.0, "STANDBY": 22.0}[mode]
        s.move(bed, "BED_TEMP", target, BED_BAKING if mode == "BAKE" else BED_WARMING)
        if (
            mode == "CYCLE"
            and not s.state.warmups.get(bed)
            and s.setting(bed, "VENT") == "CLOSED"
            and air_flow(s)
        ):
            rise = s.constant("bed_saturation_rise") * s.hours
            s.put(bed, "SATURATION", min(FULL_BED, s.get(bed, "SATURATION") + rise))


def removal(s: TimeStep) -> float:
    """Return the share of ppCO2 that the selected remover takes out per hour, 0 if it cannot work."""
    remover, flow = s.chosen("AIR-CTRL.CO2_BED"), air_flow(s)
    if not s.on(remover) or not flow or s.state.warmups.get(remover):
        return 0.0
    if remover == "ECS-CO2-L":
        loaded = s.setting(remover, "CARTRIDGE") == "LOADED" and s.get(remover, "LIFE") > 0
        return s.constant("co2_lioh_removal") if loaded else 0.0
    works = s.setting(remover, "MODE") == "CYCLE" and s.get(remover, "BED_TEMP") >= WARM_BED_C
    if not works or s.get(remover, "SATURATION") >= FULL_BED or s.state.fault(remover) == "worn":
        return 0.0
    speed = 1.2 if flow >= 6.0 else 1.0 if flow >= 4.0 else 0.5
    return s.constant("co2_bed_removal") * speed


def carbon_dioxide(s: TimeStep) -> None:
    """Update ppCO2 by the crew's breath and by removal, and use up the LiOH cartridge if it is selected."""
    breath, share = s.constant("co2_rise") * s.state.people, removal(s)
    cabin = s.state.cabin
    if share:
        settled = breath / share
        cabin["PPCO2"] = settled + (cabin["PPCO2"] - settled) * math.exp(-share * s.hours)
    else:
        cabin["PPCO2"] += breath * s.hours
    if share and s.chosen("AIR-CTRL.CO2_BED") == "ECS-CO2-L":
        used = 100 / s.constant("co2_lioh_life") * s.state.people * s.hours
        s.put("ECS-CO2-L", "LIFE", max(0.0, s.get("ECS-CO2-L", "LIFE") - used))


def _supplied(s: TimeStep, gas: str) -> bool:
    """Whether the selected regulator and tank of a gas (`O2` or `N2`) can supply it."""
    regulator, tank = s.chosen(f"ATM-CTRL.{gas}_REG"), s.chosen(f"ATM-CTRL.{gas}_TANK")
    return s.on(regulator) and tank_gives(s.state, tank, s.dark) and s.get(regulator, "OUTLET") > 0


def _setpoint(s: TimeStep, gas: str) -> float:
    return float(s.setting(s.chosen(f"ATM-CTRL.{gas}_REG"), "SETPOINT"))


def _draw(s: TimeStep, gas: str, kpa: float, tank_kg: float) -> None:
    tank = s.chosen(f"ATM-CTRL.{gas}_TANK")
    left = s.get(tank, "QUANTITY") - 100 * kpa * GAS_KG_PER_KPA / tank_kg
    s.put(tank, "QUANTITY", max(0.0, left))


def mixture(s: TimeStep) -> None:
    """Update the cabin's gases: leak, breathing, bleeding, supply up to the setpoints, venting.

    Lost air takes oxygen and carbon dioxide with it in proportion. Oxygen above its setpoint falls as it is
    breathed, as air leaks, and as the relief valve in AUTO bleeds air, which nitrogen replaces.
    """
    cabin, start, oxygen = s.state.cabin, s.state.cabin["PRESSURE"], s.state.cabin["PPO2"]
    nitrogen = max(1.0, start - oxygen)
    _let_out(s, s.constant("cabin_leak") * s.hours * cabin["PRESSURE"] / nitrogen)
    leaked = oxygen - cabin["PPO2"]
    breathed = min(cabin["PPO2"], max(0.0, s.constant("o2_use") * s.state.people * s.hours - leaked))
    cabin["PPO2"] -= breathed
    cabin["PRESSURE"] -= breathed
    bled = _surplus(s)
    _let_out(s, bled)
    _feed_oxygen(s, oxygen)
    _feed_nitrogen(s)
    vented = _relief(s, start) if s.on("ECS-CPR-V1") else 0.0
    s.put("ECS-CPR-V1", "OPENING", max(vented, BLEEDING if bled else 0.0))


def _let_out(s: TimeStep, kpa: float) -> None:
    """Let `kpa` of air out of the cabin, each gas in proportion."""
    cabin = s.state.cabin
    if cabin["PRESSURE"] > 0:
        left = max(0.0, 1 - kpa / cabin["PRESSURE"])
        for gas in ("PRESSURE", "PPO2", "PPCO2"):
            cabin[gas] *= left


def _feed_oxygen(s: TimeStep, before: float) -> None:
    """Replace lost oxygen, and raise ppO2 towards the setpoint; `before` is its value before the step."""
    if not _supplied(s, "O2"):
        return
    cabin, setpoint = s.state.cabin, _setpoint(s, "O2")
    wanted = setpoint if before > setpoint else toward(before, setpoint, s.constant("o2_feed") * s.hours)
    fed = max(0.0, wanted - cabin["PPO2"])
    cabin["PPO2"] += fed
    cabin["PRESSURE"] += fed
    _draw(s, "O2", fed, LOX_TANK_KG)


def _surplus(s: TimeStep) -> float:
    """Return the air, in kPa, that the relief valve in AUTO bleeds in this step to reach the setpoints."""
    auto = s.on("ECS-CPR-V1") and s.setting("ECS-CPR-V1", "MODE") == "AUTO"
    if not auto or not _supplied(s, "N2"):
        return 0.0
    cabin = s.state.cabin
    surplus = cabin["PRESSURE"] - _setpoint(s, "N2")
    if _supplied(s, "O2") and cabin["PPO2"] > _setpoint(s, "O2"):
        surplus = max(surplus, cabin["PRESSURE"] * (1 - _setpoint(s, "O2") / cabin["PPO2"]))
    return max(0.0, min(surplus, s.constant("mixture_settle") * s.hours))


def _feed_nitrogen(s: TimeStep) -> None:
    """Raise the pressure towards the nitrogen regulator's setpoint."""
    cabin, before = s.state.cabin, s.state.cabin["PRESSURE"]
    if _supplied(s, "N2") and before <= _setpoint(s, "N2"):
        cabin["PRESSURE"] = toward(before, _setpoint(s, "N2"), s.constant("n2_feed") * s.hours)
        _draw(s, "N2", cabin["PRESSURE"] - before, LN2_TANK_KG)


def _relief(s: TimeStep, start: float) -> float:
    """Let air out through the relief valve, and return its opening in percent.

    In MODE OPEN the pressure falls from `start`, its value before the step. The constant `relief_open` is the
    net rate: it already includes the gas that the regulators add.
    """
    before, lost = s.state.cabin["PRESSURE"], s.constant("relief_open") * s.hours
    match s.setting("ECS-CPR-V1", "MODE"):
        case "OPEN":
            _let_out(s, before - max(0.0, start - lost))
            return VENTING
        case "AUTO" if before > RELIEF_KPA:
            _let_out(s, before - toward(before, RELIEF_KPA, lost))
            return BLEEDING
    return 0.0


def regulators(s: TimeStep) -> None:
    """Update the regulators' outlet pressures; after its tank is shut, a line is empty in two minutes."""
    for regulator in s.parts("ECS-O2-R", "ECS-N2-R"):
        gas = regulator[4:6]
        if s.on(regulator):
            nominal = s.nominal(regulator, "OUTLET")
            fed = tank_gives(s.state, s.chosen(f"ATM-CTRL.{gas}_TANK"), s.dark)
            s.move(regulator, "OUTLET", nominal if fed else 0.0, nominal * 30)


def damp(s: TimeStep) -> None:
    """Update the humidity and the speed of the water separator."""
    drum = "ECS-HUM-1"
    spins = s.runs(drum) and s.setting(drum, "MODE") == "RUN"
    s.put(drum, "SPEED", s.nominal(drum, "SPEED") if spins else 0.0)
    dries = spins and air_flow(s) > 0 and s.get("ECS-WST-1", "QUANTITY") <= 90
    target = 48.0 if dries else DAMPEST
    s.state.cabin["HUMIDITY"] = toward(s.state.cabin["HUMIDITY"], target, HUMIDITY_RATE * s.hours)


def smoke(s: TimeStep) -> None:
    """Update the smoke: a fan with a hot bearing makes it, and the air flow through the filters clears it."""
    hot = any(s.on(fan) and s.get(fan, "BEARING_TEMP") > SMOKING_BEARING for fan in s.parts("ECS-FAN-"))
    s.move("ECS-SMK-1", "OBSCURATION", 8.0 if hot else 0.2, 4.0 if hot else 0.6 * air_flow(s))
