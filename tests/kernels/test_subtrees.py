"""Factorisations that several threads share: subtrees of the dissection at the same time."""

import numpy as np
import pytest

from jostle.kernels import ContactRows
from jostle.kernels.cpu import barrier, dissection
from jostle.kernels.cpu.dissection import adjacency, dissect, fronts
from jostle.kernels.cpu.multifrontal import AT, BELOW, arranged, layout
from kernel_sets import cpu, reference


@pytest.fixture
def shared(monkeypatch):
    """Small problems are shared, too."""
    monkeypatch.setattr(dissection, "SHARED_WORK", 1.0)
    monkeypatch.setattr(barrier, "SHARED_WORK", 1.0)


def discs(islands=1):
    """Contacts of discs on lattices far from each other."""
    side = np.arange(12.0)
    one = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
    q = np.concatenate([one + 100.0 * k for k in range(islands)])
    q += np.random.default_rng(0).uniform(-0.1, 0.1, q.shape)
    n = len(q)
    (i, j), normal, gap = reference.all_pairs(q, np.full(n, 0.5), np.full(n, 0.1), np.full(2, np.inf))
    return i, j, normal, gap, q


def tree_of(i, j, q):
    graph = adjacency(i, j, len(q))
    order, first, last, parent = dissect(q, *graph)
    place, below, rows = fronts(order, first, last, parent, *graph)
    return place, (first, last, parent, below, rows)


@pytest.mark.parametrize("islands", [1, 3])
def test_units_are_subtrees_and_the_groups_above_them(shared, islands):
    i, j, _, _, q = discs(islands)
    _, tree = tree_of(i, j, q)
    unit, parent = dissection.units(tree, 2), tree[2]
    assert 8 < len(set(unit.tolist())) < len(parent)
    for g in set(unit.tolist()):
        inside = np.flatnonzero(unit == g)
        assert inside.tolist() == list(range(inside[0], g + 1))
        for h in inside[:-1]:
            assert unit[parent[h]] == g
    work = dissection.work_of(tree, 2)
    for g in set(unit.tolist()):
        assert work[unit == g].sum() <= max(dissection.SUBTREE * work.sum(), work[g])


@pytest.mark.parametrize("members", [1, 2, 3, 8, 40])
def test_each_unit_has_one_owner_and_all_threads_have_work(shared, members):
    i, j, _, _, q = discs()
    _, tree = tree_of(i, j, q)
    unit, owner = dissection.units(tree, 2), dissection.owners(tree, 2, members)
    for g in set(unit.tolist()):
        assert len(set(owner[unit == g].tolist())) == 1
    assert 0 <= owner.min() <= owner.max() < members
    if members <= 8:
        assert len(set(owner.tolist())) == members
    if members == 2:
        work = dissection.work_of(tree, 2)
        assert work[owner == 0].sum() < 0.65 * work.sum()


def test_updates_that_wait_at_the_same_time_have_places_of_their_own(shared):
    i, j, normal, _, q = discs()
    place, tree = tree_of(i, j, q)
    _, ends, _, start = arranged(i, j, normal, place)
    plan, unit, parent = layout(ends, start, tree, 2), dissection.units(tree, 2), tree[2]
    later = 2 * np.diff(plan.groups[BELOW])
    spans = [(at, at + r * (r + 1) // 2) for at, r in zip(plan.groups[AT, :-1].tolist(), later.tolist(), strict=True)]
    for g in range(len(parent)):
        for h in range(g):
            waiting = unit[g] != unit[h] or parent[h] > g  # other units are eliminated at any time
            apart = spans[g][1] <= spans[h][0] or spans[h][1] <= spans[g][0]
            assert apart or not waiting, (g, h)
    assert max(end for _, end in spans) <= plan.groups[AT, -1]


@pytest.mark.parametrize("islands", [1, 3])
@pytest.mark.parametrize("chunks", [2, 3, 7])
def test_the_interior_point_has_the_same_bits_on_any_number_of_threads(shared, chunks, islands):
    i, j, normal, gap, q = discs(islands)
    mass = np.random.default_rng(1).uniform(0.5, 2.0, q.shape)
    unit = cpu.norms(ContactRows(i, j, normal), 1.0 / mass, 1)
    rest = mass, (gap - 0.1) / unit, np.zeros(len(gap)), q, np.full(len(i), 1e-9), 1e-9, 100, 10**9
    one, several = (
        cpu.interior_point(ContactRows(i, j, normal / unit[:, None]), *rest, count) for count in (1, chunks)
    )
    assert one[1] == several[1] > 3
    assert one[2] <= 1.0
    assert one[0].tobytes() == several[0].tobytes()
