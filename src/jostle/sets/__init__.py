"""Admissible sets Q(t): bodies may touch their boundaries but never cross them."""

from jostle.contacts import Contacts

__all__ = ["Contacts"]
