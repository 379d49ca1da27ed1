"""The kernels in CUDA: their sources, run on the host by one thread, and the same on a GPU where there is one."""

import sys
from itertools import chain, pairwise
from types import SimpleNamespace

import emulated_cupy
import numpy as np
import pytest
from rows_in_space import rows_in_space, sweeping
from test_contacts import whitened
from test_interface import ARGUMENTS, CONTACT_KERNELS, FIRST, LOOSELY

import jostle.kernels
from contact_definitions import accelerated_sweeps
from jostle.kernels import ContactRows, Grip, space
from jostle.kernels.devices import array_module
from jostle.kernels.interface import KERNELS
from jostle.kernels.reference.sweeps import Stop
from kernel_sets import cpu, reference
from rows import whole

NAMES = sorted(CONTACT_KERNELS)


def usable_cupy():
    try:
        return array_module("cuda")
    except RuntimeError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module", params=["host", "gpu"])
def device(request):
    """A set of kernels, and how arrays come to it and back."""
    if request.param == "gpu":
        cupy = usable_cupy()
        from jostle.kernels.cuda import arrangement, fused

        kernels = SimpleNamespace(**{name: KERNELS[name].serving("cupy") for name in NAMES})
        return SimpleNamespace(
            kernels=kernels, to=cupy.asarray, arrangement=arrangement, fused=fused, back=cupy.asnumpy
        )
    if emulated_cupy.COMPILER is None:
        pytest.skip(emulated_cupy.REASON)
    kernels, modules = emulated_cupy.kernels()
    return SimpleNamespace(kernels=kernels, to=np.array, back=np.asarray, **modules)


def moved(device, arguments):
    def there(one):
        if isinstance(one, tuple):
            return type(one)(*map(there, one))
        return device.to(one) if isinstance(one, np.ndarray) else one

    return list(map(there, arguments))


def test_the_kernels_on_the_host_do_not_take_the_place_of_those_on_a_gpu():
    """Else arrays of CuPy would be given to them by all tests that come later."""

    def known():
        registered = {name: kernel.implementations.get("cupy") for name, kernel in KERNELS.items()}
        return sys.modules.get("jostle.kernels.cuda"), vars(jostle.kernels).get("cuda"), registered

    before = known()
    emulated_cupy.kernels()
    assert known() == before


def test_all_kernels_are_compared(device):
    assert sorted(vars(device.kernels)) == NAMES


@pytest.mark.parametrize("seed", [0, whole(1), whole(2)])
@pytest.mark.parametrize("name", NAMES)
def test_each_kernel_is_its_definition(device, name, seed):
    arguments = ARGUMENTS[name](np.random.default_rng(seed))
    defined, found = getattr(reference, name)(*arguments), getattr(device.kernels, name)(*moved(device, arguments))
    if not isinstance(defined, tuple):
        defined, found = (defined,), (found,)
    assert len(defined) == len(found)
    for one, other in list(zip(defined, found, strict=True))[: FIRST.get(name)]:
        np.testing.assert_allclose(device.back(other), one, atol=LOOSELY.get(name, 1e-13), rtol=1e-12)
    assert any(np.any(one) for one in defined), "nothing was compared"


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("periodic", [False, True])
def test_lists_of_balls_of_all_sizes(device, d, periodic):
    random = np.random.default_rng(d)
    q, radii = random.uniform(0.0, 10.0, (300, d)), {1: 0.4, 2: 0.4, 3: 1.2}[d] * 2.0 ** -random.uniform(0.0, 6.0, 300)
    period = np.where(np.arange(d) == 0, 10.0, np.inf) if periodic else np.full(d, np.inf)
    found = device.kernels.pair_list(*moved(device, (q, radii, period)), 1)
    defined = reference.pair_list(q, radii, period, 1)
    assert len(defined[0]) > 20
    for one, other in zip(defined, found, strict=True):
        np.testing.assert_array_equal(device.back(other), one)
    cutoff = random.uniform(0.0, 0.05, 300)
    near = device.kernels.near(*found, *moved(device, (q, radii, cutoff, period)), 2)
    for one, other in zip(cpu.near(*defined, q, radii, cutoff, period, 1), near, strict=True):
        np.testing.assert_allclose(device.back(other), one, atol=1e-13)


def test_long_lists_are_sorted_too(device):
    """A large ball has many rows, more than an insertion sort is used for."""
    random = np.random.default_rng(0)
    i, j = random.permutation(200), np.full(200, 200)
    normal, p = random.normal(size=(200, 3)), random.normal(size=200)
    found = device.kernels.adjoint(*moved(device, (ContactRows(i, j, normal), p)), 201, 2)
    np.testing.assert_allclose(device.back(found), reference.adjoint(ContactRows(i, j, normal), p, 201, 1), atol=1e-12)
    if device.back is np.asarray:  # a GPU multiplies and adds at once
        assert found[200].tobytes() == _in_order(normal, p).tobytes()
    again = device.kernels.adjoint(*moved(device, (ContactRows(i, j, normal), p)), 201, 2)
    assert device.back(again).tobytes() == device.back(found).tobytes()


def _in_order(normal, p):
    total = np.zeros(3)
    for push, e in zip(p, normal, strict=True):
        total = np.array([np.float64(t + push * k) for t, k in zip(total, e, strict=True)])
    return total


@pytest.fixture(params=[1, 2, 3], ids=["1-D", "2-D", "3-D"])
def blocked(request, device, monkeypatch):
    """Contacts of many balls and walls, two of them far apart, that are arranged in many blocks."""
    monkeypatch.setattr(device.arrangement, "ROWS_A_BLOCK", 4)
    monkeypatch.setattr(space, "NARROWEST", 1.1)
    return rows_in_space(request.param)


def arranged(device, i, j, n, d, places):
    """The order of the rows, where each colour of each block begins, and where the blocks of each group do."""
    found = device.arrangement.arranged(*moved(device, (i, j)), n, d, places)
    return device.back(found.source).astype(int), device.back(found.begin), found.groups, device.back(found.number)


def test_blocks_and_colours_share_no_body_and_nothing_is_lost(device, blocked):
    i, j, _, _, q = blocked
    order, begin, groups, number = arranged(device, i, j, *q.shape, device.to(q))
    colours = device.arrangement.COLOURS
    assert sorted(order) == list(range(len(i)))
    assert sorted(number) == list(range(len(q)))
    assert begin[-1] == len(i)
    assert groups[-1] == (len(begin) - 1) // colours > 8
    bodies = [[{i[c]} | ({j[c]} if j[c] >= 0 else set()) for c in order[a:b]] for a, b in pairwise(begin)]
    for segment in bodies:
        assert len(set().union(*segment)) == sum(map(len, segment)), "rows of a colour share a body"
    for first, last in pairwise(groups):
        rows = [chain(*bodies[b * colours : (b + 1) * colours]) for b in range(first, last)]
        blocks = [set().union(*one) for one in rows]
        assert len(set().union(*blocks)) == sum(map(len, blocks)), "blocks of a group share a body"
    assert {0, 1} <= set(order[begin[groups[-2] * colours] :].tolist()), "bodies far apart are in the last block"


@pytest.mark.parametrize(("far", "launched"), [(True, 7), (False, 2000), whole((True, 2000)), whole((False, 7))])
def test_sweeps_are_what_one_would_do_in_their_order(device, blocked, launched, far, monkeypatch):
    """However many iterations a launch does, also where the selection of rows changes between them."""
    monkeypatch.setattr(device.fused, "ITERATIONS_A_LAUNCH", launched)
    i, j, normal, s0, q = blocked
    if not far:  # then the fourth group is the last, and does what belongs to the bodies too
        i, j, normal, s0 = i[2:], j[2:], normal[2:], s0[2:]
    n, random = len(q), np.random.default_rng(1)
    inverse, start, never = random.uniform(0.5, 2.0, n), random.uniform(size=len(i)), np.full(len(i), -np.inf)
    A, unit = whitened(i, j, normal, np.repeat(inverse, normal.shape[1]).reshape(n, -1))
    order = arranged(device, i, j, *q.shape, device.to(q))[0]
    for iterations, every in ((0, 20), (1, 20), (12, 20), (3, 1)):
        stop = Stop(never, 0.0, iterations, every)
        _, p, _ = accelerated_sweeps(A[order], s0[order], start[order], stop)
        rest = unit, inverse, s0, start, stop, 1, q
        found, counted = device.kernels.gauss_seidel(*moved(device, (ContactRows(i, j, normal), *rest)))
        assert counted == iterations
        np.testing.assert_allclose(device.back(found)[order], p, atol=1e-9)


@pytest.mark.parametrize(("d", "coulomb"), [(2, True), (3, False), whole((2, False)), whole((3, True))])
def test_sweeps_with_friction_are_what_one_would_do_in_their_order(device, d, coulomb, monkeypatch):
    monkeypatch.setattr(device.arrangement, "ROWS_A_BLOCK", 4)
    monkeypatch.setattr(space, "NARROWEST", 1.1)
    (i, j, normal), _, _, s_n, *_, q = sweeping(d, 1)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    m, n, random = len(i), len(q), np.random.default_rng(1)
    arms, mu, noise = random.uniform(0.3, 0.6, (m, 2)), random.uniform(0.0, 0.8, m), np.zeros(m)
    arms[j < 0, 1] = 0.0
    inverse = random.uniform(0.5, 2.0, (n, 2)) * [1.0, 4.0]
    W_n = inverse[i, 0] + np.where(j < 0, 0.0, inverse[j, 0])
    W_t = W_n + inverse[i, 1] * arms[:, 0] ** 2 + np.where(j < 0, 0.0, inverse[j, 1] * arms[:, 1] ** 2)
    grip = Grip(i, j, normal, arms, mu, np.stack([W_n, W_t], axis=1), noise)
    s0 = s_n[:, None] * normal + random.normal(size=(m, d))
    start, never = random.uniform(size=(m, 1)) * normal, np.full(m, -np.inf)
    order = arranged(device, i, j, n, d, device.to(q))[0]
    in_order = Grip(*(array[order] for array in grip))
    for iterations, every in ((0, 20), (1, 20), (12, 20), (3, 1)):
        stop = Stop(never, 0.0, iterations, every)
        p, _ = reference.sweep_grips(in_order, inverse, s0[order], start[order], coulomb, stop, 1, None)
        given = moved(device, (grip, inverse, s0, start, coulomb, stop, 1, q))
        found, counted = device.kernels.sweep_grips(*given)
        assert counted == iterations
        np.testing.assert_allclose(device.back(found)[order], p, atol=1e-9)
    assert (np.linalg.norm(p, axis=1) > 0.0).sum() > 20


@pytest.mark.parametrize("nowhere", [np.nan, np.inf])
def test_bodies_that_are_nowhere_spoil_no_block(device, blocked, nowhere):
    i, j, _, _, q = blocked
    for places in (np.where(np.arange(len(q))[:, None] % 9 == 0, nowhere, q), np.full_like(q, nowhere), None):
        given = None if places is None else device.to(places)
        order, begin, _, _ = arranged(device, i, j, *q.shape, given)
        assert sorted(order) == list(range(len(i)))
        assert begin[-1] == len(i)


def test_a_ball_with_more_neighbours_than_colours(device):
    """Those that are left without a colour are swept one after the other."""
    random, m = np.random.default_rng(3), 150
    normal = random.normal(size=(m, 3))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    i, j = np.full(m, m), np.arange(m)
    places = np.vstack([normal, np.zeros((1, 3))])
    inverse, s0 = random.uniform(0.5, 2.0, m + 1), random.normal(size=m) - 0.5
    A, unit = whitened(i, j, normal, np.repeat(inverse, 3).reshape(m + 1, 3))
    order, begin, _, _ = arranged(device, i, j, *places.shape, device.to(places))
    assert np.diff(begin)[device.arrangement.COLOURS - 1] > m - 96
    stop = Stop(np.full(m, -np.inf), 0.0, 30, 20)
    _, p, _ = accelerated_sweeps(A[order], s0[order], np.zeros(m), stop)
    rest = unit, inverse, s0, np.zeros(m), stop, 1, places
    found, _ = device.kernels.gauss_seidel(*moved(device, (ContactRows(i, j, normal), *rest)))
    np.testing.assert_allclose(device.back(found)[order], p, atol=1e-9)


def test_many_pairs_are_found_in_the_table(device):
    random = np.random.default_rng(0)
    pairs = np.unique(random.integers(-40, 300, (5000, 2)), axis=0)
    values = random.normal(size=len(pairs))
    wanted = random.permutation(np.vstack([pairs, pairs + 1000]))
    found = device.kernels.by_pair(*moved(device, (pairs, values, wanted)), -7.0, 1)
    np.testing.assert_array_equal(device.back(found), reference.by_pair(pairs, values, wanted, -7.0, 1))


def test_numbers_of_other_types_are_converted(device):
    """Kernels look at no type: what a solver or set of a user hands over may be of another one."""
    (i, j, normal), p, bodies, chunks = ARGUMENTS["adjoint"](np.random.default_rng(0))
    p, shorter = p.astype(np.float32), ContactRows(i.astype(np.int32), j.astype(np.int32), normal)
    found = device.kernels.adjoint(*moved(device, (shorter, p)), bodies, chunks)
    np.testing.assert_allclose(
        device.back(found), reference.adjoint(ContactRows(i, j, normal), p.astype(float), bodies, 1), atol=1e-13
    )
    pairs, values, wanted, *rest = ARGUMENTS["by_pair"](np.random.default_rng(0))
    found = device.kernels.by_pair(*moved(device, (pairs.astype(np.int32), values, wanted.astype(np.int32))), *rest)
    np.testing.assert_array_equal(device.back(found), reference.by_pair(pairs, values, wanted, *rest))
