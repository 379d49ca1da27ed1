"""What runs of people tell: who left when and where, densities, jams, forces, and exports."""
