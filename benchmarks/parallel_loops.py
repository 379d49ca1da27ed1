"""One parallel loop over contacts, by jostle's threads and by numba's: ``python benchmarks/parallel_loops.py``.

The rates of all gaps, normal . (v_j - v_i): the kernel of jostle, in as many pieces as there are threads, and the same
loop with ``njit(parallel=True)`` and ``prange``. Microseconds of a call, the best and the median; a step of a large
run makes hundreds of such calls, and waits for each.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from jostle import kernels
from jostle.kernels import ContactRows


@numba.njit(parallel=True)
def with_prange(i: Any, j: Any, normal: Any, v: Any, out: Any) -> None:
    """out_c = normal_c . (v_j - v_i)."""
    for c in numba.prange(len(i)):
        rate = 0.0
        for k in range(normal.shape[1]):
            rate += normal[c, k] * (v[j[c], k] - v[i[c], k])
        out[c] = rate


def measured(call: Callable[[], object], seconds: float) -> tuple[float, float]:
    """The shortest time of a call and the median, in microseconds."""
    call()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return 1e6 * min(times), 1e6 * float(np.median(times))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="shorter measurements")
    seconds, random = 0.5 if parser.parse_args().quick else 2.0, np.random.default_rng(0)
    print("    rows threads   jostle: best   median   prange: best   median")
    for rows in (100, 10_000, 100_000, 1_000_000):
        n = max(rows // 3, 2)
        i = np.sort(random.integers(0, n - 1, rows))
        normal, v, out = random.normal(size=(rows, 3)), random.normal(size=(n, 3)), np.empty(rows)
        contacts = ContactRows(i, i + 1, normal)
        for threads in (1, numba.get_num_threads()):
            numba.set_num_threads(threads)
            ours = measured(lambda given=contacts, v=v, k=threads: kernels.rates(given, v, k), seconds)  # type: ignore[misc]
            theirs = measured(lambda given=(*contacts, v, out): with_prange(*given), seconds)  # type: ignore[misc]
            print(f"{rows:8d}{threads:8d}{ours[0]:15.1f}{ours[1]:9.1f}{theirs[0]:15.1f}{theirs[1]:9.1f}")
    print(f"numba's threading layer: {numba.threading_layer()}; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
