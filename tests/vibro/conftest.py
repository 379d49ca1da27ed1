"""Flights take general steps in these tests, because a glide is compiled for each force, which takes a second."""

from functools import cache

import pytest
from numba import njit

from jostle.kernels import functions
from jostle.kernels.compiling import GLIDE
from rows import WHOLE


@cache
def no_glide():
    """A glide that leaves every step to the general loop."""
    return njit(GLIDE, **functions.OPTIONS)(lambda t0, done, left, h, held, q, p, root, shift, G, vectors: 0)


@pytest.fixture(autouse=not WHOLE)
def general_steps(monkeypatch):
    """`test_glides_take_the_general_steps` compares both; `make test-all` glides in all tests."""
    monkeypatch.setattr(functions, "glide_of", lambda *_: no_glide())
