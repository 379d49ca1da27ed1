"""An export format: XYZ files, which most molecule viewers can read."""

import numpy as np

import jostle as jo


def write_xyz(sol, path):
    """Write the number of bodies, the time and a line per body, for each saved time.

    `path` is a temporary file, which gets its final name when it is complete.
    """
    with open(path, "w") as file:
        for t, q in zip(sol.t, sol.q, strict=True):
            x = np.asarray(q).reshape(-1, sol.facts.dimension or q.shape[-1])
            x = np.pad(x[np.isfinite(x).all(axis=1)], ((0, 0), (0, 3 - x.shape[1])))
            file.write(f"{len(x)}\nt = {t:g}\n")
            file.writelines(f"A {a:g} {b:g} {c:g}\n" for a, b, c in x)


jo.io.EXPORTS.register("xyz", write_xyz)  # jostle export run.vtkhdf -o run.xyz
