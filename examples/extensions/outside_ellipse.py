"""A constraint set: the outside of an ellipse, |A q| >= 1, for one point."""

import numpy as np

import jostle as jo
from jostle.convex.linear_map import Dense


class OutsideEllipse(jo.ConstraintSet):
    """{q : |A q| >= 1} with the half axes a and b; the gap is convex in q."""

    convex_gaps, moving = True, False

    def __init__(self, a, b):
        self.A = np.diag([1 / a, 1 / b])

    def linearise(self, t, q, cutoff=np.inf):
        x = self.A @ q
        size = np.linalg.norm(x)
        return jo.sets.Contacts(
            gap=np.array([size - 1.0]),
            G=Dense((self.A @ x / size)[None]),
            pairs=np.array([[0, -1]]),  # body 0 and constraint 0 of this set
            constraint_count=1,  # the set has one constraint
            describe=lambda row: "the ellipse",
            at=q,
        )
