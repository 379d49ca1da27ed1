"""The second-order projection: an interior point method, for tight tolerances in larger problems.

PIQP (Schwan, Jiang, Kuhn & Jones 2023) does the work, on rows of length one and distances divided by the
largest violation, so that its absolute tolerance means the same in all units. Its answer is put through
our own stopping test, and asked for more precisely if it fails.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jostle.arrays import Array
from jostle.convex.metric import Metric
from jostle.convex.polyhedron import Polyhedron
from jostle.convex.projection import residual
from jostle.solvers.base import Solver

TIGHTEN = (1e-1, 1e-3, 1e-5, 1e-7)
"""PIQP's tolerance, as parts of ours, tried in this order."""
FINEST = 1e-15


@dataclass(frozen=True, kw_only=True)
class InteriorPoint(Solver):
    """Second order, sparse factorisations: ten to thirty iterations at any size and tolerance.

    >>> import jostle as jo
    >>> K = jo.Cone([[1.0, 0.0], [0.0, 1.0]])
    >>> jo.InteriorPoint().project([-1.0, 2.0], K).point.round(6) + 0.0
    array([0., 2.])
    """

    tol: float = 1e-8
    max_iterations: int = 200

    def _solve(self, w: Array, K: Polyhedron, M: Metric, slack: Array, guess: Array | None) -> tuple[Array, Array, int]:
        import piqp
        from scipy.sparse import csc_array, csc_matrix, diags_array, eye_array

        unit, s0, _ = self._whitened(w, K, M, slack)
        scale = -s0.min()
        white = K.G.tocsr() @ diags_array(M.root) if M.diagonal else csc_array(M.whiten(K.G.toarray()))
        A = csc_matrix(diags_array(1.0 / unit) @ white)
        identity, nothing = csc_matrix(eye_array(len(w))), np.zeros(len(w))
        best: tuple[float, Array, Array] | None = None
        iterations = 0
        for part in TIGHTEN:
            solver = piqp.SparseSolver()
            solver.settings.eps_abs = max(part * self.tol, FINEST)
            solver.settings.eps_rel = 0.0
            solver.settings.eps_duality_gap_abs = max(part * self.tol, FINEST)
            solver.settings.eps_duality_gap_rel = 0.0
            solver.settings.max_iter = self.max_iterations
            solver.setup(identity, nothing, G=A, h_l=-s0 / scale)
            status = solver.solve()
            iterations += int(solver.result.info.iter)
            if status == piqp.PIQP_PRIMAL_INFEASIBLE:
                self._raise_if_empty(K, M)
            p = np.maximum(np.asarray(solver.result.z_l), 0.0) * scale / unit
            u = w + M.solve(K.G.adjoint(p))
            if np.isfinite(u).all():
                found = residual(w, K, M, u, p)
                worst = max(found.primal, found.dual, found.complementarity)
                if best is None or worst < best[0]:
                    best = worst, u, p
                if worst <= self.tol:
                    break
            if status != piqp.PIQP_SOLVED or part * self.tol <= FINEST:
                break
        if best is None or best[0] > self.tol:
            self._raise_if_empty(K, M)
        if best is None:
            return w.copy(), np.zeros(len(unit)), iterations
        return best[1], best[2], iterations
