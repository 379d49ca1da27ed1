"""Functions that studies of the tests run in other processes, some of which do not survive the first attempt."""

import os
import signal
from pathlib import Path

import numpy as np


def noted(folder, k):
    """Note that run k was tried, and say how often."""
    file = Path(folder) / f"tried_{k}"
    with open(file, "ab") as notes:
        notes.write(b".")
    return file.stat().st_size


def drawn(k, seed):
    """A result that depends on the case and on the seed."""
    return {"value": k + float(np.random.default_rng(seed).random())}


def calm(k, folder, seed):
    """The result without accidents."""
    return drawn(k, seed)


def kills_its_process(k, folder, seed):
    """Case 4 does not survive its first attempt."""
    if noted(folder, k) == 1 and k == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return drawn(k, seed)


def always_kills_its_process(k, folder, seed):
    """Case 1 survives no attempt."""
    noted(folder, k)
    if k == 1:
        os._exit(7)
    return drawn(k, seed)


def kills_the_study(k, folder, seed):
    """The first attempt of case 6 kills the process of the study."""
    if noted(folder, k) == 1 and k == 6:
        os.kill(os.getppid(), signal.SIGKILL)
    return drawn(k, seed)


def not_a_number(sol):
    return float("nan")


def two_numbers(sol):
    return np.array([1.0, 2.0])


def last_velocity(sol):
    return sol.u[-1][-1]


def first_place(sol):
    return sol.q[0][0, 0]


def calm_and_noted(k, folder, seed):
    noted(folder, k)
    return drawn(k, seed)


def fails_first(k, folder):
    """How often it was tried; the first attempt fails."""
    tried = noted(folder, k)
    if tried == 1:
        raise RuntimeError("not yet")
    return tried


def spread(width, seed):
    """A number from an interval."""
    return {"value": width * float(np.random.default_rng(seed).random())}
