"""What small gaps make of a multiple impact: sampled outcomes, held against event-driven integration."""

import numpy as np
import pytest

import jostle as jo


def line(v, e, mass=1.0):
    n = len(v)
    return jo.Motion(q0=np.arange(n) * 1.0, v0=v, within=jo.Line(np.full(n, 0.5)), mass=mass, law=jo.Restitution(e))


@pytest.mark.parametrize("e", [0.5, 1.0])
def test_impacts_by_times_are_those_of_event_driven_integration_on_a_line(e):
    v, mass, gaps = [1.0, 0.1, -0.2, -0.7], np.array([1.0, 2.0, 0.5, 1.0]), np.array([0.3, 0.15, 0.7])
    found = jo.impacts.impacts_by_times(line(v, e, mass), gaps=gaps)
    q0 = np.concatenate([[0.0], np.cumsum(1.0 + gaps)])
    apart = jo.Motion(q0=q0, v0=v, within=jo.Line(np.full(4, 0.5)), mass=mass, law=jo.Restitution(e))
    exact = jo.solve_by_events(apart, t=1e4)
    rows = [event.pairs[0, 0] for event in exact.events]
    assert list(found.rows) == rows
    np.testing.assert_allclose(found.velocity, exact.u(1e4), atol=1e-12)


def test_impacts_by_times_are_the_limit_of_small_gaps_between_discs():
    """Discs that are a little too small: the gaps are sums of what is missing."""
    rack, missing = jo.models.rack(rows=3, e=0.9), np.random.default_rng(5).uniform(0.0, 1.0, 7)
    contacts = rack.within.linearise(0.0, rack.q0)
    closed = contacts.only(np.flatnonzero(contacts.gap <= contacts.tolerance()))
    found = jo.impacts.impacts_by_times(rack, gaps=missing[closed.pairs].sum(axis=1))
    discs = jo.Balls(0.5 - 1e-6 * missing)
    exact = jo.solve_by_events(jo.Motion(q0=rack.q0, v0=rack.v0, within=discs, law=rack.law), t=1e-3)
    assert [closed.pairs[row].tolist() for row in found.rows] == [event.pairs[0].tolist() for event in exact.events]
    np.testing.assert_allclose(found.velocity, exact.u(1e-3), atol=1e-4)


def test_fig10_the_cradle_is_not_continuous_in_the_gaps():
    found = jo.impacts.outcomes(line([1.0, 0.0, 0.0, 0.0, 0.0], 1.0), samples=200)
    np.testing.assert_allclose(found.velocities, [[0.0, 0.0, 0.0, 0.0, 1.0]], atol=1e-14)
    np.testing.assert_allclose(found.touching, [-0.6, 0.4, 0.4, 0.4, 0.4], atol=1e-12)
    assert found.counts.tolist() == [200]
    assert not found.continuous


def test_every_outcome_is_one_of_some_order_and_its_gaps_lead_to_it():
    rack = jo.models.rack(rows=3, e=1.0)
    found, orders = jo.impacts.outcomes(rack, samples=300, seed=3), jo.impacts.binary_impacts(rack)
    assert len(found.counts) > 3
    assert found.counts.sum() == 300
    assert (np.diff(found.counts) <= 0).all()
    for velocity, gaps in zip(found.velocities, found.gaps, strict=True):
        assert min(np.abs(velocity - one.velocity).max() for one in orders.outcomes) < 1e-9
        np.testing.assert_allclose(jo.impacts.impacts_by_times(rack, gaps=gaps).velocity, velocity, atol=1e-12)
    same = jo.impacts.outcomes(rack, samples=300, seed=3)
    np.testing.assert_array_equal(same.velocities, found.velocities)
    assert (jo.impacts.outcomes(rack, samples=300, seed=4).counts != found.counts).any()


def test_where_contacts_are_orthogonal_small_gaps_change_nothing():
    corner = jo.convex.Cone([[1.0, 0.0], [1.0, 1.0]])
    law = {"law": jo.Restitution(0.5), "samples": 50}
    found = jo.impacts.outcomes([-1.0, -0.5], corner, mass=[[2.0, 1.0], [1.0, 1.0]], **law)
    assert found.continuous
    assert not jo.impacts.outcomes([-1.0, -0.5], corner, **law).continuous


def test_samples_that_are_cut_are_counted():
    found = jo.impacts.outcomes(line([1.0, 0.0, -1.0], 0.0), samples=10, max_impacts=3)
    assert found.unfinished == 10
    assert not found.continuous
    assert "10 samples cut" in repr(found)
