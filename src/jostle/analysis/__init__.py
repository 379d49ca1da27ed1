"""What the theorems ask and promise, computed."""

from jostle.analysis.angles import acute, orthogonal
from jostle.analysis.order import Order, order
from jostle.analysis.venel import eta, gamma, inverse_triangle

__all__ = ["Order", "acute", "eta", "gamma", "inverse_triangle", "order", "orthogonal"]
