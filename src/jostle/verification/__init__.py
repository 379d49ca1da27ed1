"""Verification of crowds by the tests of guidelines: RiMEA 4.1.1, IMO 1533, ISO 20414 and NIST 1822.

``jostle dev verify`` prints the table, and the documentation shows it. Every test is a scenario with the default
behaviour of scenarios. Tests with fewer people or smaller sizes than in the guideline are marked as reduced.
"""

from jostle.verification.standards import EDITIONS, KNOWN_FAILURES, Line, verify

__all__ = ["EDITIONS", "KNOWN_FAILURES", "Line", "verify"]
