"""`solve`: the time loop, and what it is made of."""
