"""The digits: real, whole, and learnable."""

import numpy as np

import gradlab


def test_the_digits_are_the_uci_test_set():
    images, labels = gradlab.datasets.digits()
    assert (tuple(images.shape), images.dtype, labels.dtype) == ((1797, 1, 8, 8), gradlab.float32, gradlab.int64)
    # the counts that the repository's description gives for the test set
    assert np.bincount(labels.numpy()).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert (images.min().item(), images.max().item()) == (0.0, 1.0)
    assert (images[0, 0, 0] * 16).tolist() == [0, 0, 5, 13, 9, 1, 0, 0]  # the first line of the file


def test_the_held_out_part_is_disjoint_and_the_rest():
    (train, _), (test, labels) = gradlab.datasets.digits(train=True), gradlab.datasets.digits(train=False)
    assert (len(train), len(test)) == (1437, 360)
    assert set(labels.tolist()) == set(range(10))


def test_a_linear_model_learns_them():
    gradlab.manual_seed(0)
    (x, y), (held_x, held_y) = gradlab.datasets.digits(train=True), gradlab.datasets.digits(train=False)
    model = gradlab.nn.Sequential(gradlab.nn.Flatten(), gradlab.nn.Linear(64, 10))
    optimizer = gradlab.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(60):
        optimizer.zero_grad()
        gradlab.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    assert (model(held_x).argmax(1) == held_y).float().mean().item() > 0.85
