"""Empty batches, and means over nothing: shapes, values and gradients as in torch."""

import numpy as np
import pytest
import torch

import gradlab

PROGRAMS = """
F.conv2d(zeros(0, 3, 4, 4), ones(2, 3, 2, 2)) | F.conv2d(zeros(0, 3, 4, 4), ones(2, 3, 2, 2), ones(2))
F.conv1d(zeros(0, 3, 4), ones(2, 3, 2)) | F.conv2d(zeros(0, 2, 4, 4), ones(2, 1, 2, 2), groups=2)
F.conv_transpose2d(zeros(0, 3, 4, 4), ones(3, 2, 2, 2)) | F.conv_transpose1d(zeros(0, 3, 4), ones(3, 2, 2))
F.max_pool2d(zeros(0, 3, 4, 4), 2) | F.max_pool1d(zeros(0, 3, 4), 2) | F.avg_pool2d(zeros(0, 3, 4, 4), 2)
F.avg_pool1d(zeros(0, 3, 4), 2) | F.adaptive_avg_pool2d(zeros(0, 3, 4, 4), 2) | F.layer_norm(zeros(0, 3), (3,))
F.layer_norm(zeros(0, 3), (3,), ones(3), ones(3)) | F.batch_norm(zeros(0, 3), T.zeros(3), T.ones(3))
F.cross_entropy(zeros(0, 3), T.zeros(0, dtype=T.long))
F.cross_entropy(zeros(0, 3), T.zeros(0, dtype=T.long), reduction='sum')
F.cross_entropy(zeros(0, 3), T.zeros(0, dtype=T.long), reduction='none')
F.cross_entropy(zeros(0, 3), T.zeros(0, dtype=T.long), label_smoothing=0.1) | F.cross_entropy(zeros(0, 3), T.zeros(0, 3))
F.cross_entropy(zeros(0, 3, 2), T.zeros(0, 2, dtype=T.long))
F.cross_entropy(zeros(0, 3), T.zeros(0, dtype=T.long), weight=T.ones(3))
F.nll_loss(zeros(0, 3), T.zeros(0, dtype=T.long)) | F.mse_loss(zeros(0, 3), T.zeros(0, 3))
F.l1_loss(zeros(0, 3), T.zeros(0, 3)) | F.smooth_l1_loss(zeros(0, 3), T.zeros(0, 3))
F.huber_loss(zeros(0, 3), T.zeros(0, 3)) | F.binary_cross_entropy(zeros(0, 3), T.zeros(0, 3))
F.binary_cross_entropy_with_logits(zeros(0, 3), T.zeros(0, 3)) | F.kl_div(zeros(0, 3), T.zeros(0, 3))
F.kl_div(zeros(0, 3), T.zeros(0, 3), reduction='batchmean') | F.cosine_similarity(zeros(0, 3), T.zeros(0, 3))
F.embedding(T.zeros(0, dtype=T.long), ones(3, 2)) | F.linear(zeros(0, 3), ones(2, 3), ones(2))
F.linear(zeros(2, 0), ones(2, 0), ones(2)) | F.softmax(zeros(0, 3), 1) | F.softmax(zeros(3, 0), 1)
F.log_softmax(zeros(3, 0), 1) | F.gelu(zeros(0, 3)) | F.pad(zeros(0, 1, 3), (1, 1))
F.pad(zeros(0, 1, 3), (1, 1), mode='reflect') | F.pad(zeros(0, 1, 3), (1, 1), mode='circular')
F.pad(zeros(0, 1, 3), (1, 1), mode='replicate') | F.dropout(zeros(0, 3), 0.5) | F.normalize(zeros(0, 3))
F.one_hot(T.zeros(0, dtype=T.long), 3)
F.cross_entropy(tensor([[0., 1.]], requires_grad=True), T.tensor([0]), weight=T.tensor([0., 1.]))
F.cross_entropy(tensor([[0., 1.], [1., 2.]], requires_grad=True), T.tensor([-100, -100]))
F.cross_entropy(tensor([[0., 1.], [1., 2.]], requires_grad=True), T.tensor([0, -100]), weight=T.tensor([0., 1.]))
F.nll_loss(tensor([[0., 1.], [1., 2.]], requires_grad=True), T.tensor([0, -100]), weight=T.tensor([0., 1.]))
F.nll_loss(zeros(2, 2, 2), T.zeros(2, 2, dtype=T.long), weight=T.tensor([0., 1.]))
F.nll_loss(zeros(2), T.tensor(0), weight=T.tensor([0., 1.])) | F.conv2d(zeros(1, 3, 1, 4), ones(2, 3, 2, 2))
F.max_pool2d(zeros(1, 0, 4, 4), 2) | zeros(0, 3).max(1)[0] | zeros(0, 3).sort(1)[0] | zeros(0, 3).cumsum(0)
zeros(0, 3).prod(0) | zeros(0, 3).logsumexp(0) | zeros(0, 3).norm() | zeros(0, 3).var(0) | zeros(0, 3).std()
zeros(0, 3) @ zeros(3, 2) | zeros(2, 0) @ zeros(0, 2) | zeros(0, 2, 3) @ zeros(0, 3, 2)
T.einsum('bi,bj->ij', zeros(0, 2), zeros(0, 3)) | T.cat([zeros(0, 2), ones(1, 2)]) | T.stack([zeros(0)])
zeros(0, 3)[:, [0, 1]] | zeros(3)[[]] | zeros(3)[T.zeros(3) > 0] | zeros(0, 3).repeat(2, 1) | zeros(0, 3).flip(0)
zeros(0, 3).roll(1, 0) | zeros(0, 3).tril() | zeros(0, 3).index_select(1, T.tensor([0]))
zeros(0, 3).gather(1, T.zeros(0, 2, dtype=T.long))
"""  # zeros and ones make leaves that require grad; T.zeros and T.ones do not


def outcome(T, program):
    leaves = []

    def leaf(make):
        return lambda *size: leaves.append(make(*size, requires_grad=True)) or leaves[-1]

    def tensor(*args, **options):
        made = T.tensor(*args, **options)
        leaves.extend([made] * made.requires_grad)
        return made

    known = {"T": T, "F": T.nn.functional, "zeros": leaf(T.zeros), "ones": leaf(T.ones), "tensor": tensor}
    try:
        y = eval(program, known)
        if y.requires_grad:
            y.sum().backward()
    except Exception as error:
        return type(error).__name__, [], []
    return tuple(y.shape), y.detach().tolist(), [x.grad.tolist() for x in leaves if x.grad is not None]


@pytest.mark.parametrize("program", [p.strip() for line in PROGRAMS.strip().splitlines() for p in line.split(" | ")])
@pytest.mark.filterwarnings("ignore")
def test_as_in_torch(program):
    ours, theirs = outcome(gradlab, program), outcome(torch, program)
    assert ours[0] == theirs[0]
    np.testing.assert_allclose(np.array(ours[1], float), np.array(theirs[1], float))
    assert len(ours[2]) == len(theirs[2])
    for a, b in zip(ours[2], theirs[2], strict=True):
        np.testing.assert_allclose(np.array(a, float), np.array(b, float), rtol=1e-6)
