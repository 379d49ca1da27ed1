"""Suggestions for misspelt names: of arguments, of keys in scenario files, of columns, of what is chosen by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

CLOSENESS = 0.6
"""Similarity, between 0 and 1, from which on an error suggests another spelling."""


def nearest(word: str, choices: Iterable[str]) -> str:
    """The most similar of the choices, or an empty text if none is similar.

    >>> nearest("maurey", ["maury", "paoli"]), nearest("euler", ["maury", "paoli"])
    ('maury', '')
    """
    return next(iter(difflib.get_close_matches(word, list(choices), n=1, cutoff=CLOSENESS)), "")


def suggestion(word: str, choices: Iterable[str], otherwise: str) -> str:
    """The end of a message about an unknown name: the most similar of the choices, or other words if none is similar.

    >>> suggestion("maurey", ["maury", "paoli"], "see `jostle list`")
    "did you mean 'maury'?"
    >>> suggestion("euler", ["maury", "paoli"], "see `jostle list`")
    'see `jostle list`'
    """
    near = nearest(word, choices)
    return f"did you mean {near!r}?" if near else otherwise
