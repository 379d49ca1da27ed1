"""Admissible sets Q(t): bodies may touch their boundaries but never cross them."""
