"""One interface: every set of kernels offers the same functions, and each function is compared with its definition."""

import inspect
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

import jostle as jo
import pretended_device
from jostle import kernels
from jostle.kernels import (
    Answer,
    Blocks,
    Cone,
    ContactRows,
    Grip,
    GripRows,
    Lever,
    LeverRows,
    Solids,
    Stop,
    interface,
    offers,
)
from jostle.kernels.compiling import KERNELS as compiled_kernels
from jostle.kernels.reference.cones import metrics_of_blocks
from jostle.kernels.reference.dense import ROUND_OFF
from kernel_sets import NAMES, cpu, reference, use_definitions
from plain import crowd
from pretended_kernels import CONTACT_KERNELS

SETS = {"reference": reference, "cpu": cpu}


@pytest.mark.parametrize("name", NAMES)
def test_an_implementation_has_the_signature_of_its_definition(name):
    defined, found = (inspect.signature(getattr(each, name)) for each in SETS.values())
    assert list(found.parameters) == list(defined.parameters)


def test_the_first_array_says_which_implementation_runs(monkeypatch):
    calls = []
    monkeypatch.setattr(kernels.outran, "on_numpy", lambda *_: calls.append("numpy"))
    monkeypatch.setitem(kernels.outran.implementations, "pretended_device", lambda *_: calls.append("pretended_device"))
    kernels.outran(np.ones((2, 1)), 0.1, np.ones(2), 1)
    monkeypatch.setitem(interface.PACKAGES, "pretended_device", "pretended_kernels")
    kernels.outran(pretended_device.ones((2, 1)), 0.1, pretended_device.ones(2), 1)
    assert calls == ["numpy", "pretended_device"]
    with pytest.raises(TypeError, match="there are no kernels for arrays of builtins"):
        kernels.outran([1.0], 0.1, 0.2, 1)
    with pytest.raises(TypeError, match="there are no kernels for arrays of test_interface"):
        kernels.outran(type("ndarray", (), {})(), 0.1, 0.2, 1)
    with pytest.raises(TypeError, match="there is no kernel exact for arrays of pretended_device"):
        kernels.exact(pretended_device.ones((2, 1)), *pretended_device.ones((3, 2)), 1)


def test_kernels_are_named_without_importing_those_of_the_cpu(monkeypatch):
    monkeypatch.setattr(interface, "import_module", lambda _: pytest.fail("imported"))
    assert offers(np.zeros(2), frozenset(NAMES))


def test_every_device_has_the_kernels_of_a_step():
    assert set(NAMES) > CONTACT_KERNELS


def test_all_kernels_are_compiled_again_when_one_of_their_files_changes():
    digested = [Path(str(source)) for source in interface.sources_of_kernels()]
    assert all(source.exists() for source in digested)
    for kernel in compiled_kernels:
        file = Path(inspect.getfile(kernel.py_func))
        if "jostle" in file.parts:  # not one of the tests
            assert any(source in (file, *file.parents) for source in digested), file


# --- one comparison a kernel: its arguments, and what of its result must agree ---


def bodies(random, n=14, d=2):
    """Contacts of n balls on a jittered lattice, some of them with a wall, in unit rows of the metric."""
    q = np.stack(np.meshgrid(np.arange(4.0), np.arange(4.0)), axis=-1).reshape(-1, 2)[:n]
    q = q + random.uniform(-0.1, 0.1, (n, d))
    (i, j), normal, gap = reference.all_pairs(q, np.full(n, 0.5), np.full(n, 0.15), np.full(d, np.inf))
    wall = random.permutation(n)[:3]
    i, j = np.append(i, wall), np.append(j, [-1, -2, -3])
    normal, gap = np.vstack([normal, np.tile([0.0, -1.0], (3, 1))]), np.append(gap, [0.0, 0.1, -0.1])
    return q, i, j, normal, gap, random.uniform(0.5, 2.0, n)


def rows(random):
    _, i, j, normal, _, mass = bodies(random)
    return ContactRows(i, j, normal), np.repeat(mass, 2).reshape(-1, 2)


def adjoint(random):
    contacts, _ = rows(random)
    return contacts, random.normal(size=len(contacts.i)), 14, 2


def whitened(random):
    contacts, inverse = rows(random)
    contacts.normal[3] = 0.0
    c, noise, slack = random.normal(size=(3, len(contacts.i)))
    w = random.normal(size=inverse.shape) / ROUND_OFF  # so that the round-off of c + G w counts
    return contacts, inverse, w, c, np.abs(noise), slack, 2


def answer(random):
    contacts, mass = rows(random)
    m = len(contacts.i)
    w, p = random.normal(size=mass.shape), random.exponential(1.0, m)
    u = w + reference.adjoint(contacts, p, len(mass), 1) / mass + 0.01 * random.normal(size=w.shape)
    c, length = random.normal(size=m), np.where(random.uniform(size=m) < 0.5, 0.3, 0.0)
    return contacts, Answer(c, np.full(m, 1e-15), length, w, mass, u, p), 2


def dense_answer(random):
    contacts, found, _ = answer(random)
    w, mass, u = (vector.ravel() for vector in (found.w, found.mass, found.u))
    return reference.pairs_to_dense(contacts, len(found.w)), found._replace(w=w, mass=mass, u=u)


def independent(random, m=6, n=9):
    """Unit rows that do not depend on each other, so that multipliers are unique, and offsets, some violated."""
    A = random.normal(size=(m, n))
    return A / np.linalg.norm(A, axis=1, keepdims=True), random.normal(size=m) - 0.3


def exact(random):
    A, s0 = independent(random)
    return A, s0, np.full(len(s0), 1e-15), np.zeros(len(s0)), 100


def project_dense(random):
    A, c = independent(random)
    return A, c, random.normal(size=9), random.uniform(0.5, 2.0, 9), 1e-14, *np.zeros((2, len(c))), 100


def project_few(random):
    A, c = independent(random)
    mass, lengths = random.uniform(0.5, 2.0, 9), np.where(np.arange(len(c)) % 2, 0.3, 0.0)
    return A, (c, np.zeros(len(c)), lengths), random.normal(size=9), mass, 1.0 / np.sqrt(mass), 1e-8, 100


def sweep_rows(random):
    A, s0 = independent(random)
    A = csr_array(A)
    return A.data, A.indices, A.indptr, 9, s0, np.zeros(6), Stop(np.full(6, 1e-10), 1e-10, 10_000, 20)


def sweep_cones(random):
    blocks, d = 3, 3
    A = random.normal(size=(blocks * d + 2, 14)) / 4.0
    axis = random.normal(size=(blocks, d))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    local = np.stack([A[k * d : (k + 1) * d] @ A[k * d : (k + 1) * d].T for k in range(blocks)])
    A[blocks * d :] /= np.linalg.norm(A[blocks * d :], axis=1, keepdims=True)
    scale, s0, rows = metrics_of_blocks(local, axis), random.normal(size=len(A)) - 0.3, csr_array(A)
    coulomb, free = bool(random.uniform() < 0.5), np.array([False, True])
    kinds = Blocks(axis, np.full(blocks, 0.3), np.zeros(blocks), local, scale, coulomb, np.zeros(blocks), free)
    stop = Stop(np.full(len(A), 1e-10), 1e-10, 10_000, 20)
    return rows.data, rows.indices, rows.indptr, 14, s0, np.zeros(len(A)), kinds, stop


def sweep_grips(random, n=6):
    contacts, mass, _ = chain(random, n)
    arms, inverse = random.uniform(0.5, 1.0, (n - 1, 2)), np.stack([1.0 / mass, 4.0 / mass], axis=1)
    W_n = inverse[contacts.i, 0] + inverse[contacts.j, 0]
    W_t = W_n + inverse[contacts.i, 1] * arms[:, 0] ** 2 + inverse[contacts.j, 1] * arms[:, 1] ** 2
    grip = Grip(*contacts, arms, random.uniform(0.1, 0.5, n - 1), np.stack([W_n, W_t], axis=1), np.zeros(n - 1))
    s0, coulomb = random.normal(size=(n - 1, 2)) - 0.3, bool(random.uniform() < 0.5)
    stop = Stop(np.full(n - 1, 1e-10), 1e-10, 10_000, 20)
    return grip, inverse, s0, np.zeros((n - 1, 2)), coulomb, stop, 1, None


def grip_rows(random, m=9, n=5):
    """Contacts of n balls in the plane or in space, three of them with a wall; and their inverse masses (n, 2)."""
    d = int(random.integers(2, 4))
    i, normal = random.integers(0, n - 1, m), random.normal(size=(m, d))
    j = np.where(np.arange(m) < 3, -1 - np.arange(m), i + 1)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    arms = random.uniform(0.5, 1.0, (m, 2)) * np.stack([np.ones(m), j >= 0], axis=1)
    return GripRows(i, j, normal, arms), random.uniform(0.5, 2.0, (n, 2))


def spread_out(pair, d):
    """One number for each coordinate of velocities and spins, from two for each body."""
    return np.repeat(pair, [d, 1 if d == 2 else 3], axis=1)


def adjoint_grips(random):
    contacts, inverse = grip_rows(random)
    d, rolls = contacts.normal.shape[1], bool(random.uniform() < 0.5)
    return contacts, random.normal(size=(9, d + rolls * (1 if d == 2 else 3))), len(inverse), 2


def rates_grips(random):
    contacts, inverse = grip_rows(random)
    width = spread_out(inverse, contacts.normal.shape[1]).shape[1]
    height = contacts.normal.shape[1] if random.uniform() < 0.5 else width
    return contacts, random.normal(size=(len(inverse), width)), height, 2


def whitened_grips(random):
    contacts, inverse = grip_rows(random)
    d = contacts.normal.shape[1]
    c, noise, guess = random.normal(size=(3, 9, d))
    w = random.normal(size=spread_out(inverse, d).shape) / ROUND_OFF  # so that the round-off of c + G w counts
    return contacts, random.uniform(0.1, 1.0, 9), inverse, w, c, np.abs(noise), guess, 2


def residual_grips(random):
    contacts, inverse = grip_rows(random)
    m, d = contacts.normal.shape
    mass, p, c = 1.0 / spread_out(inverse, d), random.normal(size=(m, d)), random.normal(size=(m, d))
    w = random.normal(size=mass.shape)
    u = w + reference.adjoint_grips(contacts, p, len(w), 1) / mass + 0.01 * random.normal(size=w.shape)
    length = np.where(random.uniform(size=(m, 1)) < 0.5, 0.3, 0.0) * np.ones((m, d))
    answer = Answer(c, np.full((m, d), random.choice([1e-15, 0.5])), length, w, mass, u, p)
    return contacts, random.uniform(0.1, 1.0, m), bool(random.uniform() < 0.5), answer, 2


def lever_rows(random, m=9, n=5, rolls=None):
    """Contacts of n bodies in the plane or in space, three of them with a wall; and inverse masses of coordinates."""
    d = int(random.integers(2, 4))
    s, i = 1 if d == 2 else 3, random.integers(0, n - 1, m)
    j = np.where(np.arange(m) < 3, -1 - np.arange(m), i + 1)
    first, second = random.normal(size=(2, m, d + s if rolls else d, d + s))
    first[:, :d, :d], second[:, :d, :d] = -np.eye(d), np.eye(d)
    second[j < 0] = 0.0
    inverse = random.uniform(0.5, 2.0, (n, d + s))
    inverse[:, :d] = inverse[:, :1]
    return LeverRows(i, j, first, second), inverse


def cone_of(random, rows):
    normal = random.normal(size=rows.first.shape[:2])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    return Cone(normal, random.uniform(0.1, 1.0, len(normal)), np.zeros(len(normal)))


def adjoint_levers(random):
    rows, inverse = lever_rows(random, rolls=bool(random.uniform() < 0.5))
    return rows, random.normal(size=rows.first.shape[:2]), len(inverse)


def rates_levers(random):
    rows, inverse = lever_rows(random, rolls=bool(random.uniform() < 0.5))
    return rows, random.normal(size=inverse.shape)


def whitened_levers(random):
    rows, inverse = lever_rows(random)
    c, noise, guess = random.normal(size=(3, *rows.first.shape[:2]))
    w = random.normal(size=inverse.shape) / random.choice([1.0, ROUND_OFF])  # so that the round-off of c + G w counts
    return rows, cone_of(random, rows), bool(random.uniform() < 0.5), inverse, w, c, np.abs(noise), guess


def residual_levers(random):
    rows, inverse = lever_rows(random)
    p, c = random.normal(size=(2, *rows.first.shape[:2]))
    w = random.normal(size=inverse.shape)
    u = w + reference.adjoint_levers(rows, p, len(w)) * inverse + 0.01 * random.normal(size=w.shape)
    length = np.where(random.uniform(size=(len(c), 1)) < 0.5, 0.3, 0.0) * np.ones(c.shape)
    answer = Answer(c, np.full(c.shape, random.choice([1e-15, 0.5])), length, w, 1.0 / inverse, u, p)
    return rows, cone_of(random, rows), bool(random.uniform() < 0.5), answer


def sweep_levers(random):
    """Contacts of a chain of clumps, the first of which touches a wall."""
    rows, inverse = lever_rows(random, 5, 5)
    rows = rows._replace(i=np.arange(5), j=np.append(-1, np.arange(4)), second=rows.second.copy())
    rows.second[:], d = -rows.first[:, :, :], rows.first.shape[1]
    rows.second[:, :, d:] = random.normal(size=rows.second[:, :, d:].shape)
    rows.second[0] = 0.0
    cone, shape, coulomb = cone_of(random, rows), rows.first.shape[:2], bool(random.uniform() < 0.5)
    zeros = np.zeros(shape)
    local, scale, noise, *_ = reference.whitened_levers(
        rows, cone, coulomb, inverse, 0.0 * inverse, zeros, zeros, zeros
    )
    stop = Stop(np.full(5, 1e-10), 1e-10, 10_000, 20)
    lever = Lever(*rows, cone.normal, 0.3 * cone.mu, local, scale, 0.0 * noise)
    return lever, inverse, random.normal(size=shape) - 0.3, zeros, coulomb, stop, 1, None


def chain(random, n=8):
    """Contacts of a chain of discs in the plane: independent rows."""
    i, j = np.arange(n - 1), np.arange(1, n)
    normal = random.normal(size=(n - 1, 2))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    return ContactRows(i, j, normal), random.uniform(0.5, 2.0, n), random.normal(size=n - 1) - 0.3


def gauss_seidel(random):
    contacts, mass, s0 = chain(random)
    unit = reference.norms(contacts, np.repeat(1.0 / mass, 2).reshape(-1, 2), 1)
    return contacts, unit, 1.0 / mass, s0, np.zeros(7), Stop(np.full(7, 1e-10), 1e-10, 10_000, 20), 1, None


def interior_point(random):
    contacts, mass, s0 = chain(random)
    mass = np.repeat(mass, 2).reshape(-1, 2)
    unit = reference.norms(contacts, 1.0 / mass, 1)
    contacts = contacts._replace(normal=contacts.normal / unit[:, None])
    places = np.stack([np.arange(8.0), np.zeros(8)], axis=1)
    return contacts, mass, s0, random.uniform(0.0, 1.0, 7), places, np.full(7, 1e-11), 1e-11, 100, 10**6, 2


def listed(random):
    q, *_ = bodies(random)
    radii, period = random.uniform(0.4, 0.6, len(q)), np.array([4.3, np.inf])
    i, j = reference.pair_list(q, radii + 0.3, period, 1)
    return i, j, q, radii, random.uniform(0.0, 0.2, len(q)), period, 2


def obstacle(random):
    east, north = np.ones((2, 6, 5))
    east[-1], north[:, -1] = 0.0, 0.0
    there = np.ones((6, 5), dtype=bool)
    load = random.normal(size=(6, 5))
    return east, north, np.full((6, 5), 0.5), load, np.zeros((6, 5)), there, ~there, 1e-3, 1e-12, 1e-10, 100, 200


def runs(random):
    starts = np.array([0, 1, 9, 20])
    low, high = np.array([True, False, True]), np.array([False, False, True])
    return random.normal(size=20), random.uniform(0.5, 2.0, 20), random.permutation(20), starts, low, high


def floor(random):
    free, start = random.uniform(size=(12, 9)) < 0.85, np.full((12, 9), np.inf)
    free[0, :3], start[0, :3] = True, [0.0, 0.1, 0.05]
    return free, start, 0.1


def walkers(random, n=40):
    """Where people are, two of them at the same place, their radii, and where they want to go; the last one stands."""
    q, radii = random.uniform(0.0, 4.0, (n, 2)), random.uniform(0.1, 0.2, n)
    q[1] = q[0]
    angle = random.uniform(0.0, 2.0 * np.pi, n)
    direction = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    direction[-1] = 0.0
    return q, radii, direction


def descent(random):
    """Distances of which some are not known, the nodes that are free, and the directions of the others."""
    d = reference.marched(*floor(random))
    return d, 0.1, random.random(d.shape) < 0.8, random.normal(size=(*d.shape, 2))


def headings(random):
    """People on a grid and beyond it, in fields of single and double precision that do not reach everywhere."""
    fields = [((0, 0), random.normal(size=(9, 7, 2)).astype(np.float32)), ((2, 1), random.normal(size=(5, 4, 2)))]
    fields[1][1][3, 2] = np.nan
    exits, outward = random.uniform(size=(3, 2, 2)), random.normal(size=(3, 2))
    q, field = random.uniform(-0.5, 1.5, (60, 2)), random.integers(-2, 2, 60)
    return q, field, fields, np.array([0.1, 0.2]), 0.12, (9, 7), exits, outward, 2


def moved(random, n=9):
    """A field of places (n, 3), and another one nearby."""
    q = random.normal(size=(n, 3))
    return q, q + 0.1 * random.normal(size=(n, 3))


TETRAHEDRON = Solids(
    np.array([0, 0, 6]),
    np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]),
    np.array([0, 0, 4]),
    np.arange(0, 15, 3),
    np.array([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]),
    *np.zeros((2, 2)),
)
"""A point, and a tetrahedron."""
ARGUMENTS = {
    "pairs_to_dense": lambda random: (rows(random)[0], 14),
    "rates": lambda random: (rows(random)[0], random.normal(size=(14, 2)), 2),
    "magnitude": lambda random: (rows(random)[0], random.normal(size=(14, 2)), 2),
    "adjoint": adjoint,
    "adjoint_grips": adjoint_grips,
    "rates_grips": rates_grips,
    "whitened_grips": whitened_grips,
    "residual_grips": residual_grips,
    "adjoint_levers": adjoint_levers,
    "rates_levers": rates_levers,
    "local_levers": lambda random: lever_rows(random, rolls=bool(random.uniform() < 0.5)),
    "whitened_levers": whitened_levers,
    "residual_levers": residual_levers,
    "sweep_levers": sweep_levers,
    "norms": lambda random: (*rows(random), 2),
    "whitened": whitened,
    "residual_pairs": answer,
    "residual_dense": dense_answer,
    "by_pair": lambda random: (
        np.array([[0, 1], [3, -2], [2, 5]]), np.array([1.0, 2.0, 3.0]), np.array([[2, 5], [1, 0], [3, -2]]), -1.0, 2
    ),
    "exact": exact,
    "project_dense": project_dense,
    "project_few": project_few,
    "sweep_rows": sweep_rows,
    "sweep_cones": sweep_cones,
    "sweep_grips": sweep_grips,
    "gauss_seidel": gauss_seidel,
    "interior_point": interior_point,
    "all_pairs": lambda random: listed(random)[2:6],
    "pair_list": lambda random: (*listed(random)[2:4], listed(random)[5], 2),
    "near": listed,
    "near_polygons": lambda random: (
        random.normal(size=(6, 2)), np.array([0, 1, 3, 4, 6]), np.full(4, 0.1), np.full(6, 2.0),
        *np.triu_indices(4, 1), 2
    ),
    "near_segments": lambda random: (
        random.uniform(size=(9, 2)), np.full(9, 0.3), *random.uniform(size=(2, 4, 2)), random.uniform(size=(4, 2))
    ),
    "near_solids": lambda random: (
        random.normal(size=(5, 3)), np.array([0, 1, 5]), np.full(2, 0.1), np.full(2, 2.0), np.arange(2), TETRAHEDRON,
        np.zeros(1, np.int64), np.ones(1, np.int64), 2
    ),
    "obstacle": obstacle,
    "isotonic": runs,
    "pressures": runs,
    "envelopes": lambda random: (random.normal(size=(5, 12)).cumsum(axis=1),),
    "marched": floor,
    "expected_ways": lambda random: (*moved(random), 0.1, 0.5, 1.0, 2),
    "outran": lambda random: (moved(random)[0], 0.5, np.full(9, 0.4), 2),
    "stayed": lambda random: (*moved(random), *random.uniform(size=(2, 9)), np.full(9, 5.0), 2),
    "near_planes": lambda random: (
        random.uniform(size=(9, 2)), np.full(1, 0.1), random.uniform(0.0, 0.3, 9),
        np.array([[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]]), np.array([0.0, 0.1, 0.5]), 2
    ),
    "descent": descent,
    "headings": headings,
    "turned": lambda random: (*walkers(random), 2.0, 0.3, 0.9, 3),
    "gaps_ahead": lambda random: (*walkers(random), 0.7, 0.8, 3),
    "spread": lambda random: (random.uniform(size=(7, 5)), *(random.uniform(size=(2, 7, 5)) < 0.7), 0.2, 6),
}  # fmt: skip
LOOSELY = {
    "sweep_rows": 1e-5, "sweep_cones": 1e-4, "sweep_grips": 1e-4, "sweep_levers": 1e-4,
    "gauss_seidel": 1e-5, "interior_point": 1e-5, "obstacle": 1e-9, "isotonic": 1e-12, "near_solids": 1e-9
}  # fmt: skip
"""What iterates agrees as far as it was asked to."""
FIRST = {
    "near_solids": 3,
    "sweep_rows": 2,
    "sweep_cones": 2,
    "sweep_grips": 1,
    "sweep_levers": 1,
    "gauss_seidel": 1,
    "interior_point": 1,
    "obstacle": 1,
}
"""Of these so many results must agree: how many iterations were made depends on the order of the rows."""


def test_every_kernel_is_compared():
    assert sorted(ARGUMENTS) == NAMES


@pytest.mark.each_value
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", NAMES)
def test_each_kernel_is_its_definition(name, seed):
    defined, found = (getattr(each, name)(*ARGUMENTS[name](np.random.default_rng(seed))) for each in SETS.values())
    if not isinstance(defined, tuple):
        defined, found = (defined,), (found,)
    assert len(defined) == len(found)
    for one, other in list(zip(defined, found, strict=True))[: FIRST.get(name)]:
        np.testing.assert_allclose(
            np.maximum(other, 0.0) if name == "obstacle" else other, one, atol=LOOSELY.get(name, 1e-13), rtol=1e-12
        )
    assert any(np.any(one) for one in defined), "nothing was compared"


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith(("_grips", "_levers")) and name not in FIRST])
def test_blocks_are_their_definition_in_the_plane_and_in_space_with_rolling_and_without(name):
    for seed in range(3, 15):
        test_each_kernel_is_its_definition(name, seed)


def test_nothing_is_written_into_arguments():
    for name in NAMES:
        for each in SETS.values():
            given = [ARGUMENTS[name](np.random.default_rng(0)) for _ in range(2)]
            getattr(each, name)(*given[0])
            for one, other in zip(*given, strict=True):
                np.testing.assert_equal(one, other, name)


# --- the whole house stands on the definitions alone ---


def programs():
    """Small programs that need most kernels: balls in a box, people who leave a room, an impact of a granular gas."""
    floor = jo.HalfSpace([0.0, 1.0])
    ball = jo.Motion(q0=[0.0, 1.0], v0=[1.0, 0.0], force=[0.0, -9.81], within=floor, law=jo.Restitution(0.8))
    yield jo.solve(ball, jo.Paoli(), t=1.0, h=1e-2).q
    heap = jo.models.spheres(np.full(12, 0.5), box=([0, 0], [3, np.inf]))
    yield jo.solve(heap, jo.Maury(), t=0.5, h=0.02).q
    room = jo.crowds.Room([(0, 0), (4, 0), (4, 3), (0, 3)], doors=[((4, 1), (4, 2))])
    yield jo.solve(crowd(6, radius=0.2, room=room, speed=1.4), jo.Venel(), t=1.0, h=0.05).q
    grid = jo.macro.Grid([-1, -1], [1, 1], h=1 / 5)
    for Law in (jo.macro.Isotropic, jo.macro.Square):
        yield Law(grid, saturated=grid.disc([0, 0], 1.0)).impact(grid.velocity(lambda x, y: -x, lambda x, y: y)).u.cells


def test_programs_give_the_same_answers_on_the_definitions(monkeypatch):
    compiled = list(programs())
    use_definitions(monkeypatch)
    for one, other in zip(compiled, programs(), strict=True):
        np.testing.assert_allclose(other, one, atol=1e-6)
