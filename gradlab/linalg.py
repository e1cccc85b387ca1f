"""torch.linalg's names: norms and the inverse."""

from gradlab._public import public
from gradlab.operators import LINALG

inv, norm, vector_norm = (public(LINALG[name], name) for name in ("inv", "norm", "vector_norm"))

__all__ = ["inv", "norm", "vector_norm"]
