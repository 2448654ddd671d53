"""Processes of a pool end with the process that started them, however that one ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading


def end_with_parent() -> None:
    """Initializer of a process pool: this process exits when its parent is gone, SIGKILL included.

    Without it, a killed step leaves its pool waiting for work for ever. Interrupts are for the parent.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if (parent := multiprocessing.parent_process()) is not None:
        threading.Thread(target=_exit_after, args=(parent,), daemon=True).start()


def _exit_after(parent: multiprocessing.process.BaseProcess) -> None:
    parent.join()
    os._exit(1)
