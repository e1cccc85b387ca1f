"""torch.utils' names that gradlab has: checkpoint."""

from gradlab.utils import checkpoint

__all__ = ["checkpoint"]
