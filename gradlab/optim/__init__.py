"""torch.optim's names: SGD, Adam and AdamW, with parameter groups, state dicts and closures."""

from gradlab.optim.adam import Adam, AdamW
from gradlab.optim.optimizer import Optimizer
from gradlab.optim.sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer"]
