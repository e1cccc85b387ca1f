"""torch.special's names for some of the operators."""

from gradlab._public import public
from gradlab.operators import SPECIAL

globals().update({name: public(function, name) for name, function in SPECIAL.items()})

__all__ = sorted(SPECIAL)
