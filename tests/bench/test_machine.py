"""What the system tells of the machine, and of a host that runs other machines on its cores."""

from types import SimpleNamespace

import pytest

from bench import machine
from bench.machine import Work, read_cpuinfo, this_machine, work_so_far


def test_work_done_and_stolen_without_idling(monkeypatch):
    times = SimpleNamespace(
        user=100.0, nice=20.0, system=30.0, idle=4000.0, iowait=50.0, irq=6.0, softirq=7.0
    )
    monkeypatch.setattr(machine.psutil, "cpu_times", lambda: times)
    assert work_so_far() == Work(done=163.0, stolen=0.0), "a system that does not tell stole nothing"
    times.steal = 80.0
    assert work_so_far() == Work(done=163.0, stolen=80.0)


def test_the_share_is_of_the_work_between():
    before = Work(done=1000.0, stolen=500.0)
    assert Work(done=1300.0, stolen=600.0).stolen_since(before) == 0.25
    assert before.stolen_since(before) == 0.0


def test_the_first_cpu_is_read_with_its_flags():
    text = "processor\t: 0\nmodel name\t: A CPU\nflags\t\t: fpu avx2 avx_vnni\n"
    text += "\nmodel name\t: Another\nflags\t\t: x\n"
    assert read_cpuinfo(text) == ("A CPU", {"fpu", "avx2", "avx_vnni"})
    assert read_cpuinfo("") == ("", set())


def test_this_machine_has_cores_memory_and_versions():
    this = this_machine()
    assert this.cores >= 1
    assert 0.5 < this.memory_gb < 100_000
    assert {"python", "athena", "onnxruntime"} <= set(this.versions)
    assert f"{this.cores} cores" in this.description


@pytest.mark.parametrize(("vnni", "said"), [(True, "with VNNI"), (False, "without VNNI")])
def test_the_caption_says_whether_int8_is_fast(vnni, said):
    assert said in machine.Machine("A CPU", 2, vnni, 8.0, "Linux x86_64").description
