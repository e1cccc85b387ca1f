"""Views after writes: what follows the memory, and what follows the tensor."""

from tests.engine.beside import beside_torch


@beside_torch
def test_retain_grad_follows_a_view_whose_base_was_written(torch):
    base = torch.ones(3, requires_grad=True).clone()
    first, second, part = base[:], base[:], base[1:]
    for view in (first, second, part):
        view.retain_grad()
    first.mul_(2)
    (first + second).sum().backward()
    yield first.grad, second.grad, part.grad
    base = torch.ones(3, requires_grad=True).clone()
    part = base[1:]
    part.retain_grad()
    base.mul_(3)
    (part * part).sum().backward()
    yield part.grad, part.retains_grad


@beside_torch
def test_a_view_of_an_inference_tensor_is_one(torch):
    with torch.inference_mode():
        x = torch.ones(4)
    for view in (x[1:], x.view(2, 2), x.unsqueeze(0), *x.split(2), x.detach()):
        yield view.is_inference(), view.requires_grad, view._is_view()
    yield (x + 1).is_inference()
