"""A ball slides through a labyrinth: Venel's scheme with constraints written as a function."""

import numpy as np

import jostle as jo

holes = np.array([[1.4, 0.8], [2.1, 2.2], [2.9, 0.9], [4.2, 1.5], [5.2, 3.1]])


@jo.constraints  # every entry stays >= 0
def board(t, q):
    return np.concatenate([np.linalg.norm(q - holes, axis=1) - 0.5, q, [6, 4] - q])


ball = jo.Sweeping(q0=[0.5, 0.6], velocity=lambda t, q: [1.0, 0.3], within=board)
sol = jo.solve(ball, jo.Venel(), t=8.0, h=1e-2)
print("ends at", sol.q[-1].round(4), "smallest gap on the way", f"{sol.gaps().min():.1e}")
