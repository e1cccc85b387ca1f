"""torch.nn's names."""

from gradlab.nn import functional
