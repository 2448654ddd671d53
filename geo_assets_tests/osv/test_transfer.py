"""Threads of a transfer end when the caller is interrupted."""

import os
import signal
import threading

import pytest

from geo_assets.osv.transfer import Stopped, Transfer, finish, threads


def test_an_interrupt_is_heard_while_threads_work():
    transfer, started, heard = Transfer(1), threading.Event(), []

    def fetch():
        started.set()
        transfer.wait(60.0)

    def interrupt():
        started.wait()
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), threads(1) as pool, transfer.stopping():
        jobs = [pool.submit(fetch) for _ in range(3)]
        try:
            threading.Thread(target=interrupt).start()
            finish(jobs)
        finally:
            heard.append(jobs[0].running())
    assert heard == [True]
    assert isinstance(jobs[0].exception(), Stopped)
    assert all(job.cancelled() or isinstance(job.exception(), Stopped) for job in jobs)


def test_finish_waits_for_all_and_raises_nothing():
    with threads(2) as pool:
        jobs = [pool.submit(divmod, 1, n) for n in (0, 1, 2)]
        finish(jobs)
    assert [job.done() for job in jobs] == [True] * 3
    assert isinstance(jobs[0].exception(), ZeroDivisionError) and jobs[2].result() == (0, 1)
