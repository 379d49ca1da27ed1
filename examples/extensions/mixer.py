"""A problem with a source, an outlet and an ending that every run of it has."""

import numpy as np

import jostle as jo


class Mixer(jo.Motion):
    """Balls that rain into a column; the bottom lets out who is below its height."""

    def __init__(self, n, *, radius, bottom=0.0):
        within = jo.Balls(np.full(n, radius)) & jo.Box(
            [0, -np.inf], [4, np.inf], radii=radius
        )
        super().__init__(
            q0=np.zeros((n, 2)),
            force=[0.0, -9.81],
            within=within,
            present=np.zeros(n, dtype=bool),
        )
        object.__setattr__(self, "bottom", bottom)

    def changes(self):
        box = ([0.5, self.bottom + 6.0], [3.5, self.bottom + 9.0])
        source = jo.Source(box, rate=20.0, within=self.within)
        return [source, jo.Outlet(lambda q: q[:, 1] < self.bottom)]

    def ending(self):
        return jo.stopping.Empty()

    def longest_step(self):
        return 0.05
