"""Where random numbers come from: torch.random's names over numpy's generator (PCG64); the numbers are not torch's."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from gradlab.devices import device as check_device


class Generator:
    """A source of random numbers of its own.

    >>> import gradlab
    >>> g = gradlab.Generator().manual_seed(1)
    >>> bool((gradlab.rand(2, generator=g) == gradlab.rand(2, generator=g.manual_seed(1))).all())
    True
    """

    def __init__(self, device: Any = "cpu") -> None:
        check_device(device)
        self._seed = 0

    @cached_property
    def _source(self) -> np.random.Generator:
        """Made when first drawn from: loading numpy.random is a fifth of what `import gradlab` may cost."""
        return np.random.default_rng()

    def manual_seed(self, seed: int) -> Generator:
        """Start again from a seed.

        >>> import gradlab
        >>> gradlab.Generator().manual_seed(3).initial_seed()
        3
        """
        self._seed, self._source = int(seed), np.random.default_rng(int(seed) % 2**64)
        return self

    def initial_seed(self) -> int:
        """The seed it was last started from.

        >>> import gradlab
        >>> g = gradlab.Generator().manual_seed(3)
        >>> g.initial_seed()
        3
        """
        return self._seed


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Start gradlab's random numbers from a seed: the same program then draws the same numbers.

    >>> import gradlab
    >>> _ = gradlab.manual_seed(0)
    >>> a = gradlab.rand(3)
    >>> _ = gradlab.manual_seed(0)
    >>> gradlab.equal(a, gradlab.rand(3))
    True
    """
    return default_generator.manual_seed(seed)


def initial_seed() -> int:
    """The seed of the last manual_seed.

    >>> import gradlab
    >>> _ = gradlab.manual_seed(3)
    >>> gradlab.initial_seed()
    3
    """
    return default_generator.initial_seed()


def get_rng_state() -> Any:
    """The state of the random numbers, for `set_rng_state`.

    >>> import gradlab
    >>> state = gradlab.get_rng_state()
    >>> a = gradlab.rand(2)
    >>> gradlab.set_rng_state(state)
    >>> gradlab.equal(a, gradlab.rand(2))
    True
    """
    return default_generator._source.bit_generator.state


def set_rng_state(state: dict) -> None:
    """Continue from a state that `get_rng_state` gave.

    >>> import gradlab
    >>> state = gradlab.get_rng_state()
    >>> a = gradlab.randn(2)
    >>> gradlab.set_rng_state(state)
    >>> gradlab.equal(a, gradlab.randn(2))
    True
    """
    default_generator._source.bit_generator.state = state


def source(generator: Generator | None = None) -> np.random.Generator:
    """The numpy generator to draw from."""
    return (generator or default_generator)._source
