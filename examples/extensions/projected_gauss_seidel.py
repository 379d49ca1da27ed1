"""A solver: projected Gauss-Seidel on the multipliers, with a dense matrix."""

from dataclasses import dataclass

import numpy as np

import jostle as jo
from jostle.solvers import SOLVERS


@dataclass(frozen=True, kw_only=True)
class ProjectedGaussSeidel(jo.Solver):
    """The base class adds the stopping test, residuals and a check for empty sets."""

    tol: float = 1e-6
    max_iterations: int = 10_000

    def _solve(self, w, K, M, slack, guess):
        G, inverse = K.G.toarray(), M.solve(np.eye(len(w)))
        p, u, iterations = np.zeros(len(slack)), w.copy(), 0
        while iterations < self.max_iterations:
            iterations += 1
            for i, row in enumerate(G):
                push = inverse @ row
                new = max(0.0, p[i] - (K.c[i] + row @ u) / (row @ push))
                u, p[i] = u + push * (new - p[i]), new
            if np.abs(p * K.slack(u)).sum() < 1e-3 * self.tol * M.inner(u - w, u - w):
                break
        return u, p, iterations


SOLVERS.register("projected_gauss_seidel", ProjectedGaussSeidel)  # for scenario files
