"""How the tests are started: with how many processes, and without modules that need a GPU where there is none."""

import os
from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("cupy") else ["src/jostle/kernels/cuda/*"]


@pytest.hookimpl(optionalhook=True)  # only pytest-xdist asks
def pytest_xdist_auto_num_workers():
    """One process more than there are cores, because tests wait for browsers, for other programs and for clocks."""
    return (os.cpu_count() or 1) + 1
