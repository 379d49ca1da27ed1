"""Verification of crowds by the tests of guidelines: RiMEA, IMO, and ISO 20414 / NIST Technical Note 1822.

``jostle verify`` prints the table, and the documentation shows it. Every test is a scenario with the default behaviour
of scenarios. Tests with fewer people or smaller sizes than in the guideline are marked as reduced.
"""

from jostle.verification.standards import Line, verify

__all__ = ["Line", "verify"]
