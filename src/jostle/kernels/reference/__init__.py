"""What each kernel computes, its arguments, and the types, constants and formulas that its implementations share.

The tests have a definition of each in plain NumPy, `tests/contact_definitions.py`: slow, short, and their oracle.
"""
