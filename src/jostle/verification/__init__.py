"""Verification of crowds by the tests of guidelines: RiMEA, IMO, and ISO 20414 / NIST Technical Note 1822.

``jostle verify`` prints the table, and the documentation shows it. Every test is a scenario with the behaviour that
scenarios have by default; a test that is reduced, in people or in size, says so.
"""

from jostle.verification.standards import Line, verify

__all__ = ["Line", "verify"]
