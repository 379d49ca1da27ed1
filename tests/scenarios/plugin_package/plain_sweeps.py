"""A solver of a plug-in."""

from dataclasses import dataclass, field

import numpy as np

import jostle as jo


@dataclass(frozen=True, kw_only=True)
class PlainSweeps(jo.Solver):
    """Projected Gauss-Seidel iteration on the multipliers."""

    max_iterations: int = 10_000
    sweeps: int = field(default=1, metadata={"description": "Sweeps over all contacts in one iteration."})

    def _solve(self, w, K, M, slack, guess):
        G = K.G.toarray()
        inverse = M.solve(np.eye(len(w)))
        p, u, count = np.zeros(len(slack)), w.copy(), 0
        while count < self.max_iterations:
            count += 1
            for i, row in [*enumerate(G)] * self.sweeps:
                push = inverse @ row
                new = max(0.0, p[i] - (K.c[i] + row @ u) / (row @ push))
                u, p[i] = u + push * (new - p[i]), new
            if np.abs(p * (K.c + G @ u)).sum() < 1e-3 * self.tol * np.dot(u - w, M.times(u - w)):
                break
        return u, p, count
