"""Macroscopic models in time: what moves, may touch, and does not overlap."""
