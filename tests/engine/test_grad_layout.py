"""A first gradient lies in memory as its leaf does, whatever the formula made; and gradients in inference mode."""

import numpy as np

import gradlab
from tests.engine.beside import attempt, beside_torch


def strides(torch, leaf, loss):
    loss(leaf).backward()
    return tuple(leaf.stride()), tuple(leaf.grad.stride()), attempt(lambda: tuple(leaf.grad.view(-1).shape))


@beside_torch
def test_the_layout_of_a_first_gradient(torch):
    def leaves():
        yield torch.arange(6.0).view(2, 3).clone()
        yield torch.arange(6.0).view(3, 2).t()
        yield torch.arange(6.0).view(2, 3).transpose(0, 1)[:, :]
        yield torch.ones(3).expand(2, 3)
        yield torch.ones(1, 3).expand(2, 3)

    for loss in (
        lambda x: (x @ torch.ones(x.shape[1], 4)).sum(),
        lambda x: (torch.ones(4, x.shape[0]) @ x).sum(),
        lambda x: (torch.ones(4, x.shape[1]) @ x.t()).sum(),
        lambda x: (x * 2).sum(),
        lambda x: (x.t() * torch.arange(6.0).view(x.shape[1], x.shape[0])).sum(),
        lambda x: x.t().softmax(-1).pow(2).sum(),
        lambda x: x.reshape(-1).cumsum(0).sum(),
        lambda x: torch.cat([x, x]).sum(),
    ):
        for leaf in leaves():
            yield strides(torch, leaf.detach().requires_grad_(), loss)


@beside_torch
def test_the_layout_of_a_first_gradient_of_three_dims(torch):
    for dims in ((0, 1, 2), (2, 0, 1), (1, 2, 0), (0, 2, 1)):
        x = torch.arange(24.0).view(2, 3, 4).permute(dims).detach().requires_grad_()
        yield strides(torch, x, lambda x: (x.transpose(1, 2).softmax(-1) ** 2).sum())
        x.grad = None
        yield strides(torch, x, lambda x: (x * x).sum())


@beside_torch
def test_products_and_backward_in_inference_mode(torch):
    with torch.inference_mode():
        yield (torch.ones(3) @ torch.ones(3, 2)).tolist(), (torch.ones(2, 3) @ torch.ones(3)).tolist()
        yield (torch.ones(3) @ torch.ones(4, 3, 2)).tolist()
    x = torch.ones(3, requires_grad=True)
    y = (x * x).sum()
    with torch.inference_mode():
        y.backward(retain_graph=True)
        y.backward()
    yield x.grad.tolist()


@beside_torch
def test_no_inputs_are_an_error(torch):
    y = (torch.ones(2, requires_grad=True) * 2).sum()
    yield attempt(lambda: torch.autograd.grad(y, ())), attempt(lambda: y.backward(inputs=[]))


@beside_torch
def test_equal_elements_are_normalised_to_zeros(torch):
    for n in (3, 100, 1000, 5000):
        for value in (3.3, 1e6, -0.1):
            yield torch.nn.functional.layer_norm(torch.full((3, n), value), (n,)).abs().max().item()


def test_rows_far_from_zero_keep_their_differences():
    """The exact result, from doubles: float32 holds 1000.01 to six digits, and so it should come out."""
    x = 1000 + 0.01 * gradlab.arange(4096.0, dtype=gradlab.float64) / 4096
    exact = gradlab.nn.functional.layer_norm(x.float().double(), (4096,))
    assert (gradlab.nn.functional.layer_norm(x.float(), (4096,)) - exact).abs().max().item() < 1e-4


def test_a_read_only_gradient_is_copied_so_that_the_next_can_be_added():
    class ReadOnly(gradlab.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            array = np.ones(3, np.float32)
            array.setflags(write=False)
            return gradlab.as_tensor(array)

    x = gradlab.ones(3, requires_grad=True)
    for wanted in (1, 2):
        ReadOnly.apply(x).sum().backward()
        assert x.grad.tolist() == [wanted] * 3
