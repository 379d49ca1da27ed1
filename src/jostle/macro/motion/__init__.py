"""Densities that move and never exceed one (Bourdin & Maury 2020, section 6)."""
