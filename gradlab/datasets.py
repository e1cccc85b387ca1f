"""Data for the lessons: 8x8 handwritten digits, small enough to travel with the package."""

from __future__ import annotations

from collections import namedtuple
from importlib import resources
from typing import Any

import numpy as np

from gradlab.operators.creation import tensor

Digits = namedtuple("Digits", "images labels")


def digits(train: bool | None = None) -> Any:
    """1,797 handwritten digits: `images` (N, 1, 8, 8) float32 between 0 and 1, `labels` (N,) int64 from 0 to 9.

    train: True for the 1,437 images of the first writers in the file, False for the 360 that are held out, None for all.

    Source: E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning Repository (1998),
    https://doi.org/10.24432/C50P49, its test set, under CC BY 4.0; stored here as whole numbers from 0 to 16 in digits.npz.

    >>> import gradlab
    >>> images, labels = gradlab.datasets.digits()
    >>> images.shape, labels[:3]
    (gradlab.Size([1797, 1, 8, 8]), tensor([0, 1, 2]))
    """
    with resources.files("gradlab").joinpath("digits.npz").open("rb") as file, np.load(file) as stored:
        images, labels = stored["images"], stored["labels"]
    part = slice(None) if train is None else slice(0, 1437) if train else slice(1437, None)
    return Digits(tensor((images[part, None] / 16).astype(np.float32)), tensor(labels[part].astype(np.int64)))
