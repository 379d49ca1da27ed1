"""
Gluey particles
===============

Remark 4.3 of Bernicot and Lefebvre-Lepot 2010. Gluey contacts store the impulse that
pressed them together, and they open only after they have been pulled apart by the same
impulse. Here discs are pressed together, and then the force changes its direction.
Orange bars push, and purple bars pull.
"""

import numpy as np

import jostle as jo

rows = [(x, 0.87 * y) for y in range(4) for x in np.arange(0.0, 6.0) + 0.5 * (y % 2)]
q0 = np.array(rows) * 1.02


def press_then_pull(t, q):
    return (1.0 if t < 1.0 else -0.9) * (q.mean(axis=0) - q)


cluster = jo.Motion(q0=q0, within=jo.Balls(np.full(len(q0), 0.5)), force=press_then_pull)
sol = jo.solve(cluster, jo.Gluey(), t=2.4, h=0.02, every=0.1)

jo.viz.strip(sol, [0.5, 1.5, 2.4])
