"""Frames to write, and what must come back."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

SHAPES = st.one_of(
    st.tuples(st.integers(0, 6), st.integers(1, 3)),
    st.sampled_from([(0,), (1,), (5,), (3, 4), (2, 3, 2), ()]),
)
EXACT = st.floats(-1e6, 1e6, width=32)
"""Numbers that float32 holds."""


def points(shape: tuple[int, ...]) -> int:
    """How many points a configuration is drawn as."""
    return shape[0] if len(shape) == 2 and shape[1] <= 3 else int(np.prod(shape))


@st.composite
def frame(draw, shape):
    """(q, u, radii, pairs, multipliers, normals): some bodies away, contacts of all kinds."""
    n = points(shape)
    q, u = draw(arrays(float, shape, elements=EXACT)), draw(arrays(float, shape, elements=EXACT))
    radii = draw(arrays(float, (n,), elements=st.sampled_from([0.5, 1.0])))
    away = draw(arrays(bool, (n,)))
    if draw(st.booleans()):
        q.reshape(n, -1 if n else 1)[away] = np.nan
    m = draw(st.integers(0, 5))
    bodies, walls = st.integers(0, max(n - 1, 0)), st.integers(0, 3)
    pair = st.one_of(
        st.tuples(bodies, bodies), st.tuples(bodies, walls.map(lambda k: -1 - k)), st.tuples(st.just(-1), walls)
    )
    pairs = np.array(draw(st.lists(pair, min_size=m, max_size=m)), dtype=np.int64).reshape(m, 2)
    multipliers = draw(arrays(float, (m,), elements=st.sampled_from([0.0, -0.5, 0.25, 3.0])))
    normals = draw(arrays(float, (m, draw(st.integers(0, 4))), elements=EXACT))
    return q, u, radii, pairs, multipliers, normals


@st.composite
def runs(draw):
    """A shape, and some frames of it."""
    shape = draw(SHAPES)
    return shape, draw(st.lists(frame(shape), min_size=1, max_size=5))


def returned(shape, q, u, radii, pairs, multipliers, normals, contacts=True):
    """What a file gives back of a frame: (q, u, radii, pairs, multipliers, normals)."""
    n = points(shape)
    away = np.isnan(q.reshape(n, -1 if n else 1)).any(axis=1)
    q, u = q.copy(), u.copy()
    q.reshape(n, -1 if n else 1)[away], u.reshape(n, -1 if n else 1)[away] = np.nan, 0.0
    if not contacts:
        return q, u, np.where(away, 0.0, radii), np.zeros((0, 2)), np.zeros(0), np.zeros((0, 0))
    active = (multipliers != 0.0) & (not away.all())
    kept = normals[active] if normals.shape[1] <= 3 else np.zeros((active.sum(), 0))
    return q, u, np.where(away, 0.0, radii), pairs[active], multipliers[active], kept


def assert_same(found, expected):
    """Arrays of equal shapes and values, NaN where NaN is."""
    for here, there in zip(found, expected, strict=True):
        assert np.shape(here) == np.shape(there)
        np.testing.assert_array_equal(here, there)
