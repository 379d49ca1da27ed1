"""G with many contacts of bodies and a few general rows: a constraint of the user beside 10^4 discs, a joint.

The contacts keep the form and the fused loops of `Pairs`; the general rows do not cost them that.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from jostle.arrays import Array, Booleans, Integers
from jostle.convex.linear_map import Contacting, Dense, LinearMap, Sparse
from jostle.convex.metric import Metric
from jostle.convex.pairs import Pairs
from jostle.kernels.sharing import concatenated


@dataclass(frozen=True, eq=False)
class Mixed(LinearMap):
    """A linear map of contacts and general rows on the same space.

    Parameters
    ----------
    pairs : Pairs
        The contacts.
    general : LinearMap
        The other rows.
    of_contacts : array of bool, shape (m,)
        True for each row that is a contact.
    """

    pairs: Pairs
    general: LinearMap
    of_contacts: Booleans

    @cached_property
    def shape(self) -> tuple[int, int]:
        return len(self.of_contacts), self.pairs.shape[1]

    @property
    def contacts(self) -> Contacting:
        return self.pairs.contacts

    @cached_property
    def others(self) -> Integers:
        return np.flatnonzero(~self.of_contacts)

    def _merged(self, of_pairs: Array, of_general: Array) -> Array:
        """(m,) values of the contacts and of the general rows, in the order of the rows."""
        merged = np.empty(len(self.of_contacts))
        merged[self.of_contacts], merged[self.others] = of_pairs, of_general
        return merged

    def __matmul__(self, u: Array) -> Array:
        return self._merged(self.pairs @ u, self.general @ u)

    def adjoint(self, p: Array) -> Array:
        return self.pairs.adjoint(np.ascontiguousarray(p[self.of_contacts])) + self.general.adjoint(p[self.others])

    def magnitude(self, u: Array) -> Array:
        return self._merged(self.pairs.magnitude(u), self.general.magnitude(u))

    def norms(self, M: Metric) -> Array:
        return self._merged(self.pairs.norms(M), self.general.norms(M))

    def opposite(self) -> Mixed:
        return Mixed(self.pairs.opposite(), self.general.opposite(), self.of_contacts)

    def tocsr(self) -> Any:
        from scipy.sparse import csr_array, vstack

        rows = csr_array(vstack([self.pairs.tocsr(), self.general.tocsr()]))
        order = np.empty(self.shape[0], dtype=np.int64)
        order[np.concatenate([np.flatnonzero(self.of_contacts), self.others])] = np.arange(self.shape[0])
        return rows[order]

    def rows(self, selection: Booleans | Integers) -> LinearMap:
        chosen = np.arange(self.shape[0])[selection]
        of_contacts = self.of_contacts[chosen]
        place = np.empty(self.shape[0], dtype=np.int64)
        place[self.of_contacts], place[self.others] = np.arange(self.pairs.shape[0]), np.arange(len(self.others))
        pairs, general = self.pairs.rows(place[chosen[of_contacts]]), self.general.rows(place[chosen[~of_contacts]])
        if of_contacts.all():
            return pairs
        return Mixed(pairs, general, of_contacts) if of_contacts.any() else general


def stacked(*blocks: LinearMap, pairs: Integers | None = None, known: bool = False) -> LinearMap:
    """The maps one above the other: contacts stay contacts, all other rows are put together.

    `pairs` (2, m) are the numbers of the contacts, if those of the blocks are not to be kept; `known` if they are
    certain to be those of bodies.
    """
    sizes = [block.shape[0] for block in blocks]
    there = [block for block, size in zip(blocks, sizes, strict=True) if size] or list(blocks[:1])
    if len(there) == 1:
        return there[0] if pairs is None else _renumbered(there[0], pairs)
    contacts = [block.contacts for block in there]
    found = [contact for contact in contacts if contact is not None]
    others = [_general(block) for block in there if len(block.others)]
    general = _put_together(others) if others else None
    if not found:
        assert general is not None
        return general
    of_contacts = None if general is None else np.concatenate([_of_contacts(block) for block in there])
    if pairs is None:
        pairs = np.concatenate([[contact.i, contact.j] for contact in found], axis=1)
    elif of_contacts is not None:
        pairs = np.ascontiguousarray(pairs[:, of_contacts])
    joined = Pairs(
        pairs[0],
        pairs[1],
        concatenated([contact.normal for contact in found]),
        found[0].bodies,
        next((contact.places for contact in found if contact.places is not None), None),
        known,
    )
    return joined if general is None or of_contacts is None else Mixed(joined, general, of_contacts)


def _of_contacts(block: LinearMap) -> Booleans:
    """(m,) which rows of a map are contacts."""
    of_contacts = np.ones(block.shape[0], dtype=bool)
    of_contacts[block.others] = False
    return of_contacts


def _general(block: LinearMap) -> LinearMap:
    """The rows of a map that are not contacts."""
    return block if block.contacts is None else block.rows(block.others)


def _renumbered(block: LinearMap, pairs: Integers) -> LinearMap:
    """The map with other numbers of its contacts."""
    contacts = block.contacts
    if contacts is None or len(block.others):
        return block
    return Pairs(pairs[0], pairs[1], contacts.normal, contacts.bodies, contacts.places)


def _put_together(blocks: list[LinearMap]) -> LinearMap:
    """General rows one above the other; a foreign form stays as it is if it is alone."""
    if len(blocks) == 1:
        return blocks[0]
    if all(block.dense() is block for block in blocks):
        return Dense(np.concatenate([block.toarray() for block in blocks]))
    from scipy.sparse import csr_array, vstack

    return Sparse(csr_array(vstack([block.tocsr() for block in blocks])))
