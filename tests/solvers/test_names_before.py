"""Solvers that have other names now are still found by their old ones, with a warning."""

import pickle

import pytest

import jostle as jo


@pytest.mark.parametrize(("old", "new"), [("Exact", "ActiveSet"), ("Nesterov", "GaussSeidel")])
def test_an_old_name_is_the_solver_and_says_its_new_name(old, new):
    with pytest.warns(DeprecationWarning, match=rf"^jo\.{old} was renamed: use jo\.{new}$") as said:
        solver = getattr(jo, old)
    assert solver is getattr(jo, new)
    assert said[0].filename == __file__
    assert old not in dir(jo)
    assert pickle.loads(pickle.dumps(solver(tol=1e-3))) == solver(tol=1e-3)


def test_a_name_that_never_was_is_no_attribute():
    with pytest.raises(AttributeError, match="has no attribute 'Exactly'"):
        _ = jo.Exactly
