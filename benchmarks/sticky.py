"""Sticky blocks on a line: ``python benchmarks/sticky.py [--quick]``.

The mergers of up to 10^6 blocks, and their positions at one time from the projection and from the queue of events, in
processor seconds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from jostle import macro


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the processor, and the answer."""
    begin = time.process_time()
    answer = call()
    return time.process_time() - begin, answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="at most 10^5 blocks")
    random = np.random.default_rng(0)
    for n in (10**4, 10**5) if parser.parse_args().quick else (10**4, 10**5, 10**6):
        blocks = macro.StickyBlocks(np.arange(n) * 1.2 / n, 1 / n, random.normal(size=n))
        seconds, mergers = timed(blocks.mergers)
        projecting, x = timed(lambda blocks=blocks: blocks.at(0.01))
        difference = np.abs(blocks._followed(0.01) - x).max()
        print(
            f"{n:8} blocks: {len(mergers)} mergers in {seconds:.2f} s; positions by projection in {projecting:.4f} s, "
            f"by the queue to {difference:.0e}", flush=True
        )  # fmt: skip


if __name__ == "__main__":
    main()
