"""Arrays in, arrays out: the loops, in plain NumPy (`reference`) and in numba (`cpu`)."""
