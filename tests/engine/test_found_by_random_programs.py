"""What the state machine found, one named program for each kind of fault: each must end in gradlab as it does in torch."""

from __future__ import annotations

import warnings

import pytest
import torch

import gradlab


def outcome(lib, program):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return program(lib)
        except (RuntimeError, IndexError, TypeError) as error:
            return next(t.__name__ for t in (IndexError, TypeError, RuntimeError) if isinstance(error, t))


def a_view_made_under_no_grad_requires_grad_with_its_base(lib):
    x = lib.ones(3, requires_grad=True)
    with lib.no_grad():
        v = x[1:]
    before = v.requires_grad, v.is_leaf
    x.detach_()
    return before, v.requires_grad


def a_view_made_under_no_grad_is_no_root(lib):
    h = lib.ones(3, requires_grad=True) * 2
    with lib.no_grad():
        v = h[1:]
    v.backward(lib.ones(2))


def a_view_made_under_no_grad_has_no_history_after_its_base_was_written(lib):
    x = lib.ones(2, 3)
    with lib.no_grad():
        v = x[:, :1]
    x[0] = lib.ones(3, requires_grad=True)
    return v.grad_fn


def a_view_of_a_leaf_starts_again_after_the_leaf_was_written(lib):
    x = lib.ones(3, requires_grad=True)
    v = x[1:]
    with lib.no_grad():
        x.mul_(2)
    v.sum().backward()
    return v.grad_fn.name(), x.grad.tolist()


def a_view_starts_again_though_its_base_takes_no_gradient_any_more(lib):
    x = lib.ones(3, requires_grad=True)
    v = x.view(-1)
    x.detach_()
    x.add_(1)
    return v.grad_fn.name(), v.grad_fn.next_functions, v.requires_grad


def a_view_of_a_base_with_new_data_starts_again_at_the_base(lib):
    x = lib.ones(3, requires_grad=True)
    v = x[1:]
    x.data = lib.zeros(3)
    with lib.no_grad():
        x.mul_(2)
    v.sum().backward()
    return v.grad_fn.name(), v.tolist(), x.grad.tolist()


def a_view_cannot_be_written_before_its_new_history_was_asked_for(lib):
    x = lib.ones(3)
    v = x[:1]
    x.mul_(lib.ones(3, requires_grad=True))
    v.mul_(2)


def a_view_can_be_written_after_its_new_history_was_asked_for(lib):
    x = lib.ones(3)
    v = x[:1]
    x.mul_(lib.ones(3, requires_grad=True))
    asked = v.grad_fn.name()
    v.mul_(2)
    return asked, x.tolist(), v.grad_fn.name()


def left_behind(lib):
    """A view made under no_grad whose base got a history since: it can have none."""
    x = lib.ones(2, 3)
    with lib.no_grad():
        v = x[:1]
    x.mul_(lib.ones(3, requires_grad=True))
    return v


def a_view_left_behind_cannot_say_whether_it_is_a_leaf(lib):
    return left_behind(lib).is_leaf


def a_view_left_behind_can_be_used_without_recording(lib):
    v = left_behind(lib)
    with lib.no_grad():
        return (v + v).tolist(), v[0].tolist(), v.exp().requires_grad


def a_view_left_behind_cannot_be_used_with_recording(lib):
    return left_behind(lib).exp()


def a_view_left_behind_may_be_told_to_require_grad(lib):
    return left_behind(lib).requires_grad_().requires_grad


def a_view_left_behind_retains_nothing(lib):
    v = left_behind(lib)
    v.retain_grad()
    return v.retains_grad


def squeezing_nothing_is_still_a_view(lib):
    x = lib.ones(3)
    v = x.squeeze()
    v.add_(1)
    return v._is_view(), x._version, x.tolist()


def a_slice_that_takes_everything_from_the_end(lib):
    return lib.ones(2, 1, requires_grad=True)[..., -1:].grad_fn.name()


def writing_one_element_of_a_stretched_tensor(lib):
    e = lib.zeros(()).expand(2)
    e[0] = 2.0
    return e.tolist()


def writing_all_of_a_stretched_tensor(lib):
    lib.zeros(()).expand(2).add_(1)


def filling_a_stretched_tensor(lib):
    e = lib.ones(3).expand(2, 3)
    e[:, :1].zero_()
    e[:, 1:].fill_(7)
    return e.copy_(e).tolist()


def writing_what_partly_overlaps_the_input(lib):
    x = lib.ones(1, 3)
    x[::2].sub_(x)


def writing_a_leaf_of_more_dimensions_into_a_row(lib):
    x = lib.ones(1, 3, requires_grad=True)
    y = x * 1
    y[0] = x
    return [None if n is None else n.name().split("::")[-1] for n, _ in y.grad_fn.next_functions]


def adding_into_a_view_keeps_the_operands_own_edge(lib):
    base = lib.ones(2, 2)
    base.t().add_(lib.ones((), requires_grad=True))
    return [None if n is None else n.name().split("::")[-1] for n, _ in base.grad_fn.next_functions]


def a_write_into_a_view_cannot_be_walked_twice(lib):
    x = lib.ones(3, requires_grad=True)
    y = x * 1.0
    y[0] = 5.0
    y.sum().backward()
    y.sum().backward()


def hooks_of_a_lone_root_are_called_though_nothing_leads_from_it(lib):
    seen = []
    a, b = lib.ones(1, requires_grad=True), lib.ones(1, requires_grad=True)
    a.register_hook(lambda g: seen.append(g.tolist()))
    a.backward(inputs=[b])
    return seen, a.grad, b.grad


def a_leaf_frozen_after_the_forward_is_not_filled(lib):
    x = lib.ones(1, requires_grad=True)
    y = x * 2
    x.requires_grad_(False)
    y.backward()
    return x.grad


def stacking_stretched_tensors_gives_ordinary_memory(lib):
    e = lib.ones(1, 3).expand(2, 3)
    return list(lib.stack([e, e]).view(-1).shape)


def the_slope_of_relu_has_a_second_derivative_of_zero(lib):
    x = lib.ones(2, requires_grad=True)
    (g,) = lib.autograd.grad(x.relu().sum(), x, create_graph=True)
    return lib.autograd.grad(g.sum(), x)[0].tolist()


def a_gradient_of_a_sum_may_be_stored_with_create_graph(lib):
    x = lib.ones(2, 1, requires_grad=True)
    x.expand(2, 3).sum().backward(create_graph=True)
    return x.grad.tolist(), x.grad.requires_grad


def a_stored_gradient_with_history_is_added_to_in_place(lib):
    x = lib.ones(2, requires_grad=True)
    (x * x).sum().backward(create_graph=True)
    first = x.grad
    (x * 3).sum().backward()
    return x.grad is first, x.grad.tolist(), x.grad.requires_grad


def a_leaf_that_was_detached_and_written_takes_no_gradient(lib):
    x = lib.ones(1, requires_grad=True)
    y = x * 2
    x.detach_()
    x.copy_(y)
    y.backward()


def what_was_overwritten_gets_a_gradient_of_zero_also_from_infinity(lib):
    x = lib.ones(2, requires_grad=True)
    y = x * 1
    y.copy_(lib.ones(2, requires_grad=True))
    y.backward(lib.tensor([float("inf"), 1.0]))
    return x.grad.tolist()


def nothing_is_recorded_of_inference_tensors_alone(lib):
    with lib.inference_mode():
        c = lib.ones(2, requires_grad=True)
    results = c.view(-1), c[:1], c.exp(), c * c, c**2, lib.cat([c, c]), c * 2, c + lib.ones(2)
    return [(r.requires_grad, r.grad_fn and r.grad_fn.name(), r.is_inference()) for r in results]


NOT_PROGRAMS = ("outcome", "left_behind")
PROGRAMS = [f for name, f in list(globals().items()) if getattr(f, "__module__", None) == __name__ and name not in NOT_PROGRAMS]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_ends_as_in_torch(program):
    assert outcome(gradlab, program) == outcome(torch, program)
