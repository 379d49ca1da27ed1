"""Admissible sets Q(t): what may be touched and never crossed."""
