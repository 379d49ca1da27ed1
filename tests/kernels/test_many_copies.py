"""The compiled loops over many copies against their definitions, in every kind of step."""

from itertools import product

import numpy as np
import pytest
from copies_at_work import at_work, drive, flying, gravity, planes

import jostle as jo
from jostle.ensembles import ByEvents, Copies, Gaps, advance
from jostle.kernels import cpu, functions, reference
from jostle.kernels.reference.copies import DONE, HITS, MOREAU_JEAN, NO_NEAREST, NOT_FINITE, PAOLI, STATUS
from rows import few

SETS = {"floor": [[0.0, 1.0]], "corner": [[0.0, 1.0], [1.0, 0.0]], "valley": [[0.6, 0.8], [-0.6, 0.8]]}


def disc(t, q, parameters):
    return np.sqrt(q[0] ** 2 + q[1] ** 2) - 1.0


def table(t, q, parameters):
    return q[1] - 0.2 * np.sin(4.0 * t)


def outwards(t, q, parameters):
    return q / np.sqrt(q[0] ** 2 + q[1] ** 2)


def bowl(t, q, parameters):
    return 1.0 - np.sqrt(q[0] ** 2 + q[1] ** 2)


def swinging_bowl(t, q, parameters):
    return 1.0 - np.sqrt((q[0] - 0.1 * np.sin(3.0 * t)) ** 2 + q[1] ** 2)


def height(t, q, parameters):
    return q[1]


def too_flat(t, q, parameters):
    return 0.0, 0.4


def both(name, *given):
    return getattr(reference, name)(*given), getattr(cpu, name)(*given)


def agree(defined, found):
    for number, (one, other) in enumerate(zip(defined, found, strict=True)):
        tangents = len(found) == 6 and number == 4  # differences of flights
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-7 if tangents else 1e-9)


@pytest.mark.parametrize("normals", SETS.values(), ids=list(SETS))
@pytest.mark.parametrize("scheme", [PAOLI, MOREAU_JEAN], ids=["Paoli", "MoreauJean"])
@pytest.mark.parametrize("e", [0.0, 0.4, 1.0])
def test_steps_are_as_defined(scheme, normals, e):
    flags = scheme, True, False, np.zeros(len(normals))
    defined, found = both("march", drive(), planes(normals), *flags, *at_work(len(normals), e=e))
    agree(defined, found)
    assert (defined[1][:, HITS] > 0).any()


@pytest.mark.parametrize(("name", "e"), few(product(SETS, [0.0, 0.4, 1.0])))
def test_flights_are_as_defined(name, e):
    normals = SETS[name]
    defined, found = both("fly", drive(), planes(normals), *flying(len(normals), n=2, e=e, tangents=2))
    agree(defined, found)
    assert (defined[1][:, HITS] > 0).any()
    assert defined[2][:, 0].any() == (e < 1.0), "contacts at rest"


@pytest.mark.parametrize("scheme", [PAOLI, MOREAU_JEAN], ids=["Paoli", "MoreauJean"])
def test_curved_gaps_are_as_defined(scheme):
    rows = functions.rows_of(disc, outwards, 1.0)
    defined, found = both("march", gravity(), rows, scheme, False, False, np.zeros(1), *at_work(1, above=1.0))
    agree(defined, found)
    assert defined[1][:, HITS].any()


@pytest.mark.parametrize("e", [0.0, 0.4])
@pytest.mark.parametrize("moving", [False, True], ids=["at rest", "moving"])
def test_bowls_are_as_defined(moving, e):
    """Contacts that stay closed, whose largest gaps bound the next ones."""
    rows = functions.rows_of(swinging_bowl if moving else bowl, None, 1.0)
    given = at_work(1, above=0.3, e=e)
    defined, found = both("march", gravity(), rows, MOREAU_JEAN, False, moving, np.zeros(1), *given)
    agree(defined, found)
    assert np.isfinite(defined[2][:, 1]).any()


def test_moving_gaps_are_as_defined():
    rows = functions.rows_of(table, None, 1.0)
    defined, found = both("march", gravity(), rows, MOREAU_JEAN, True, True, np.zeros(1), *at_work(1, above=0.3))
    agree(defined, found)
    assert defined[1][:, HITS].any()


@pytest.mark.parametrize("length", [0.0, 0.5])
def test_a_gap_is_closed_within_its_length(length):
    """The ball rests 1e-10 above the floor: a contact if the length says so."""
    given = list(at_work(1, n=1))
    given[3][0, :, :] = [[0.0, 1e-10], [0.0, 1e-10], [0.0, 0.0]]
    given[7], given[8] = 1, 1
    flags = MOREAU_JEAN, True, False, np.array([length])
    defined, found = both("march", gravity(), planes([[0.0, 1.0]]), *flags, *given)
    agree(defined, found)
    assert (defined[0][0, 0, 1] < 0.0) == (length == 0.0)


@pytest.mark.parametrize("name", ["march", "fly"])
def test_copies_that_stop_are_as_defined(name):
    """The force of the second copy is infinite after a while."""
    flags = (PAOLI, True, False, np.zeros(1)) if name == "march" else ()
    given = list((at_work if name == "march" else flying)(1, n=3))
    given[1] = np.array([[1.0], [np.inf], [2.0]])
    defined, found = both(name, drive(), planes([[0.0, 1.0]]), *flags, *given)
    agree(defined, found)
    assert defined[1][:, STATUS].tolist() == [0, NOT_FINITE, 0]
    assert defined[1][1, DONE] == 0
    assert np.isnan(defined[-1][1]).all()


def test_a_search_that_finds_no_nearest_point_is_as_defined():
    rows = functions.rows_of(height, too_flat, 1.0)
    defined, found = both("march", gravity(), rows, PAOLI, False, False, np.zeros(1), *at_work(1, n=1, above=0.2))
    assert defined[1][0, STATUS] == found[1][0, STATUS] == NO_NEAREST
    assert defined[1][0, DONE] == found[1][0, DONE]


def test_saved_sections_are_those_after_the_first():
    given = list(flying(1, tangents=0))
    all_of_them = cpu.fly(gravity(), planes([[0.0, 1.0]]), *given[:8], 3, 5, 0, 5)[5]
    for kernels in (reference, cpu):
        some = kernels.fly(gravity(), planes([[0.0, 1.0]]), *given[:8], 3, 5, 2, 2)[5]
        np.testing.assert_allclose(some, all_of_them[:, 2:4], rtol=1e-12)


def stop(t, q, parameters):
    return parameters[0] - q[0]


@pytest.mark.parametrize("scheme", [ByEvents(), jo.Paoli(), jo.MoreauJean()], ids=lambda one: type(one).__name__)
def test_copies_move_by_the_definitions_as_well(scheme, monkeypatch):
    copies = Copies(q0=[0.0], v0=[1.0], force=[0.3], within=Gaps(stop, flat=True), parameters=[0.4, 0.7])
    compiled = advance(copies, scheme, t=1.0, h=0.05)
    monkeypatch.setattr("jostle.kernels.interface._cpu", lambda: reference)
    defined = advance(copies, scheme, t=1.0, h=0.05)
    np.testing.assert_allclose(compiled.q0, defined.q0, atol=1e-12)
    np.testing.assert_allclose(compiled.v0, defined.v0, atol=1e-12)
