"""Flights take general steps in tests, because a glide is compiled for each force, which takes a second.

`make test-all` glides in all tests. In `make test`, those of `kernels/test_many_copies.py` do, and
`test_glides_take_the_general_steps` compares both.
"""

from functools import cache

from numba import njit

from jostle.kernels import functions
from jostle.kernels.compiling import GLIDE

glide_of = functions.glide_of
"""The function that compiles a glide."""


@cache
def no_glide():
    """A glide that leaves every step to the general loop."""
    return njit(GLIDE, **functions.OPTIONS)(lambda t0, done, left, h, held, q, p, root, shift, G, vectors: 0)
