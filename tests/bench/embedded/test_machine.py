"""What the system tells of the machine, and of a host that runs other machines on its cores."""

import pytest

from bench.embedded.machine import ProcessorTime, processor_time, read_stat

STAT = "cpu  100 20 30 4000 50 6 7 80 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n"


def test_work_done_and_stolen_without_idling():
    assert read_stat(STAT) == ProcessorTime(done=163, stolen=80)


@pytest.mark.parametrize("text", ["", "cpu  1 2 3 4\n"])
def test_a_system_that_does_not_tell_stole_nothing(text):
    assert read_stat(text) == ProcessorTime(0, 0)


def test_the_share_is_of_the_work_between():
    before = ProcessorTime(done=1000, stolen=500)
    assert ProcessorTime(done=1300, stolen=600).stolen_since(before) == 0.25
    assert before.stolen_since(before) == 0.0


def test_now_is_not_before():
    before = processor_time()
    assert processor_time().done >= before.done
