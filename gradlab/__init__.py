"""gradlab: see autograd think."""

__version__ = "0.1.0"
