"""copy, deepcopy and pickle of tensors, parameters and optimizer states, as in torch."""

import copy
import pickle

from tests.engine.beside import beside_torch


@beside_torch
def test_deepcopy_keeps_shared_memory_shared(lib):
    a = lib.arange(6.0).reshape(2, 3)
    copied = copy.deepcopy(
        {"a": a, "t": a.t(), "column": a[:, 1], "rest": a[1:], "flat": a.view(6), "same": a.detach()}
    )
    copied["a"][1, 1] = 50.0
    yield copied
    yield [(x.stride(), x.storage_offset()) for x in copied.values()]
    yield a, copy.deepcopy(lib.ones(2).expand(3, 2)).stride(), copy.deepcopy(lib.ones(0, 3))


@beside_torch
def test_deepcopy_of_a_parameter_leaves_its_gradient_behind(lib):
    x = lib.ones(2, requires_grad=True)
    x.sum().backward()
    x.tag = "mine"
    yield copy.deepcopy(x).grad, copy.deepcopy(x).tag
    layer = lib.nn.Linear(1, 1)
    layer.also = layer.weight
    layer(lib.ones(1, 1)).sum().backward()
    twin = copy.deepcopy(layer)
    yield twin.weight.grad, twin.also is twin.weight, type(twin.weight).__name__, twin.weight.requires_grad


@beside_torch
def test_copy_and_pickle_take_attributes_along_and_make_leaves(lib):
    for make in (lambda: lib.ones(2, requires_grad=True), lambda: lib.ones(2, requires_grad=True) * 2):
        x = make()
        x.tag = [1]
        y = copy.copy(x)
        yield y.is_leaf, y.requires_grad, y.tag is x.tag, y.data_ptr() == x.data_ptr(), y.grad
    p = lib.nn.Parameter(lib.ones(2))
    p.tag = 1
    q = pickle.loads(pickle.dumps(p))
    yield q.tag, type(q).__name__, q
    yield pickle.loads(pickle.dumps(lib.nn.Buffer(lib.ones(1), persistent=False))).persistent


@beside_torch
def test_two_optimizers_go_on_with_one_state(lib):
    p, q = (lib.tensor([1.0], requires_grad=True) for _ in range(2))
    for kind in (lambda p: lib.optim.Adam([p], lr=0.1), lambda p: lib.optim.SGD([p], lr=0.1, momentum=0.9)):
        first, second = kind(p), kind(q)
        for optimizer, w in ((first, p), (second, q), (first, p), (second, q)):
            optimizer.zero_grad()
            (w * w).sum().backward()
            optimizer.step()
            if optimizer is first and not second.state:
                second.load_state_dict(first.state_dict())
        yield [round(w.item(), 5) for w in (p, q)]
