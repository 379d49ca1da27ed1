"""How to project: one file per algorithm, one interface, one stopping test."""
