"""Which rows of long tables `make test` runs; `make test-all` runs all."""

import os

import numpy as np
import pytest

WHOLE = os.environ.get("JOSTLE_TESTS") == "all"
"""Whether this is `make test-all`."""


def whole(row):
    """A row that `make test-all` alone runs; tuples are the values of several arguments."""
    return pytest.param(*row if isinstance(row, tuple) else [row], marks=pytest.mark.whole)


def few(rows):
    """The first and the last row for `make test`, and the others for `make test-all`."""
    rows = list(rows)
    return [row if k in (0, len(rows) - 1) else whole(row) for k, row in enumerate(rows)]


def each_value(rows):
    """So many rows of tables that were multiplied that each value of each argument comes; rows have pairs of them."""
    missing, kept = set().union(*rows), []
    while missing:
        kept.append(max(rows, key=lambda row: len(missing & row)))
        missing -= kept[-1]
    return kept


def halvings(h, times=4):
    """So many steps h, h / 2, h / 4, ...; in `make test` without the last one, which takes as long as the others."""
    return h / 2.0 ** np.arange(times if WHOLE else times - 1)


def examples(count):
    """The number of random examples: all in `make test-all`, a sixth of them, but four at least, in `make test`."""
    return count if WHOLE else max(4, count // 6)
