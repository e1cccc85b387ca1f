"""What modules, losses and optimizers do in programs that testers wrote, run here and in torch with one outcome."""

import copy
import warnings
from functools import partial

import numpy as np
import pytest
import torch

import gradlab
from tests.engine.beside import attempt, beside_torch

OVERRIDABLE = [
    "train eval double float half to apply _apply requires_grad_ zero_grad state_dict load_state_dict",
    "_save_to_state_dict _load_from_state_dict get_extra_state set_extra_state",
    "modules named_modules children parameters named_parameters buffers named_buffers forward extra_repr __repr__ _get_name",
]
OPERATIONS = {
    "train": lambda m, T: m.train(),
    "eval": lambda m, T: m.eval(),
    "double": lambda m, T: m.double(),
    "to": lambda m, T: m.to(T.float64),
    "apply": lambda m, T: m.apply(lambda module: None),
    "freeze": lambda m, T: m.requires_grad_(False),
    "zero": lambda m, T: m.zero_grad(),
    "save": lambda m, T: m.state_dict(),
    "load": lambda m, T: m.load_state_dict(m.state_dict()),
    "call": lambda m, T: m(T.ones(1, 2)),
    "show": lambda m, T: repr(m),
    "parameters": lambda m, T: list(m.parameters()),
}


def overriding(T, log):
    """A Linear that notes every call of a method that subclasses override."""

    def noted(name):
        def method(self, *args, **options):
            log.append(name)
            return getattr(super(Noted, self), name)(*args, **options)

        return method

    class Noted(T.nn.Linear):
        pass

    for name in " ".join(OVERRIDABLE).split():
        setattr(Noted, name, noted(name))
    Noted.get_extra_state = lambda self: log.append("get_extra_state")
    Noted.set_extra_state = lambda self, state: log.append("set_extra_state")
    return Noted


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_childs_own_methods_are_called(operation):
    logs = {}
    for T in (torch, gradlab):
        logs[T] = []
        net = T.nn.Sequential(T.nn.Sequential(overriding(T, logs[T])(2, 2)), T.nn.ReLU())
        logs[T].clear()
        OPERATIONS[operation](net, T)
    ours, theirs = (set(logs[T]) - {"modules", "named_modules", "children"} for T in (gradlab, torch))  # how, not what
    assert ours == theirs


def tried(function, *args, **options):
    return attempt(partial(function, *args, **options))


def filled(module):
    for number, parameter in enumerate(module.parameters()):
        parameter.data.fill_(0.25 * (number + 1))
    return module


@beside_torch
def test_extra_state(T):
    class Counting(T.nn.Module):
        def __init__(self, count):
            super().__init__()
            self.count = count

        def get_extra_state(self):
            return self.count

        def set_extra_state(self, state):
            self.count = state

    a, b = T.nn.Sequential(Counting(3)), T.nn.Sequential(Counting(8))
    found = [a.state_dict(), b.load_state_dict(a.state_dict()), b[0].count, tried(a.load_state_dict, {})]
    yield [*found, tried(T.nn.ReLU().load_state_dict, {"_extra_state": 1}), a.load_state_dict({}, strict=False)]


@beside_torch
def test_a_layout_of_its_own(T):
    class Halved(T.nn.Linear):
        def _save_to_state_dict(self, destination, prefix, keep_vars):
            super()._save_to_state_dict(destination, prefix, keep_vars)
            destination[prefix + "half"] = destination.pop(prefix + "weight") / 2

        def _load_from_state_dict(self, state_dict, prefix, *rest):
            state_dict[prefix + "weight"] = state_dict.pop(prefix + "half") * 2
            super()._load_from_state_dict(state_dict, prefix, *rest)

    a, b = filled(T.nn.Sequential(Halved(1, 1))), T.nn.Sequential(Halved(1, 1))
    yield [a.state_dict(), b.load_state_dict(a.state_dict()), b[0].weight, tried(b.load_state_dict, {"0.half": T.ones(1, 1)})]


@beside_torch
def test_a_destination_is_filled(T):
    mine = {}
    found = filled(T.nn.Linear(1, 1)).state_dict(destination=mine, prefix="layer.")
    yield [mine, found is mine, type(T.nn.Linear(1, 1).state_dict()).__name__, T.nn.BatchNorm1d(1).state_dict()._metadata]


@beside_torch
def test_old_state_dicts(T):
    class Scaled(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = T.nn.Parameter(T.tensor(1.0))

    norm, scaled = T.nn.BatchNorm1d(1), Scaled()
    plain_dict = {"weight": T.ones(1), "bias": T.ones(1), "running_mean": T.ones(1), "running_var": T.ones(1)}
    loaded = norm.load_state_dict(plain_dict)  # without num_batches_tracked: before torch 0.4.1
    yield [loaded, norm.state_dict(), scaled.load_state_dict({"scale": T.tensor([3.0])}), scaled.scale]


@beside_torch
def test_what_does_not_fit(T):
    layer = filled(T.nn.Linear(1, 1))
    bad = [{"weight": 3, "bias": T.ones(1)}, {"weight": T.ones(2, 1), "bias": T.ones(1)}, {"weight": T.ones(1, 1)}, {"b": 1}, 3]
    yield [tried(layer.load_state_dict, each) for each in bad] + [layer.load_state_dict({"x": T.ones(1)}, strict=False)]


@beside_torch
def test_messages_name_missing_keys_first(T):
    try:
        T.nn.Linear(1, 1).load_state_dict({"w": T.ones(1)})
    except RuntimeError as error:
        yield [line.strip()[:12] for line in str(error).splitlines()[1:]]


@beside_torch
def test_what_may_take_an_attributes_place(T):
    kinds = {
        "parameter": lambda: T.nn.Parameter(T.ones(1)),
        "module": lambda: T.nn.ReLU(),
        "buffer": lambda: T.nn.Buffer(T.ones(1)),
        "tensor": lambda: T.ones(1),
        "none": lambda: None,
        "number": lambda: 3,
    }
    found = []
    for first in ("parameter", "module", "buffer", "number"):
        for second in kinds:
            module = T.nn.Module()
            module.it = kinds[first]()
            said = tried(setattr, module, "it", kinds[second]())
            found += [(first, second), said, list(module._parameters), list(module._modules), list(module._buffers)]
    yield found


@beside_torch
def test_before_init(T):
    class Early(T.nn.Module):
        def __init__(self, value):
            self.it = value
            super().__init__()

    yield [tried(Early, each) for each in (T.nn.Parameter(T.ones(1)), T.nn.ReLU())]


@beside_torch
def test_hooks_that_always_run(T):
    found = []
    for broken in ("forward", "pre-hook", "hook", "nothing"):
        log = []

        class Module(T.nn.Module):
            def forward(self, x, fails=broken == "forward"):
                return 1 / 0 if fails else x * 2

        module = Module()
        module.register_forward_pre_hook(lambda *a, fails=broken == "pre-hook": 1 / 0 if fails else None)
        module.register_forward_hook(lambda m, a, out, log=log: log.append(out is None), always_call=True)
        module.register_forward_hook(lambda *a, fails=broken == "hook": 1 / 0 if fails else None)
        module.register_forward_hook(lambda m, a, k, out, log=log: log.append(len(k)), always_call=True, with_kwargs=True)
        found += [tried(module, T.ones(1)), log]
    yield found


@beside_torch
def test_an_always_hook_that_fails_too_is_a_warning(T):
    module = T.nn.ReLU()
    module.register_forward_pre_hook(lambda *a: 1 / 0)
    module.register_forward_hook(lambda *a: {}[3], always_call=True)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        yield [tried(module, T.ones(1)), ["silenced" in str(each.message) for each in told]]


@beside_torch
def test_what_hooks_return(T):
    found = []
    for result in (7, (1,), ((T.ones(1),), {}), [(T.ones(1),), {}]):
        module = T.nn.ReLU()
        module.register_forward_pre_hook(lambda m, a, k, result=result: result, with_kwargs=True)
        found.append(tried(module, T.zeros(1)))
    for result in (lambda g: g[0], lambda g: (g[0] * 2,), lambda g: (), lambda g: (g[0], None), lambda g: [g[0] * 3]):
        module, x = T.nn.Tanh(), T.zeros(2, requires_grad=True)
        module.register_full_backward_hook(lambda m, gi, go, result=result: result(gi))
        found += [tried(module(x).sum().backward), x.grad]
    module = T.nn.Linear(1, 1)  # no input requires grad
    module.register_full_backward_hook(lambda m, gi, go: (None,))
    yield [*found, tried(module(T.ones(1, 1)).sum().backward)]


@beside_torch
def test_padding_is_checked_when_the_module_is_made(T):
    wrong = [{"padding": "foo"}, {"padding": "same", "stride": 2}, {"padding": "same"}, {"padding": "valid", "stride": 2}]
    yield [tried(lambda k=k, o=o: type(k(1, 1, 3, **o)).__name__) for k in (T.nn.Conv1d, T.nn.Conv2d) for o in wrong]


@beside_torch
def test_a_convolution_with_changed_weights(T):
    class Doubled(T.nn.Conv1d):
        def _conv_forward(self, input, weight, bias):
            return super()._conv_forward(input, weight * 2, bias)

    yield filled(Doubled(1, 1, 2))(T.ones(1, 1, 3))


@beside_torch
def test_sums_of_containers(T):
    class Mine(T.nn.Sequential):
        pass

    one = Mine(T.nn.ReLU())
    yield [type(one + one).__name__, len(one + one), tried(one.__add__, [T.nn.ReLU()]), tried(one.__add__, 3)]


@beside_torch
def test_parameters_that_are_none(T):
    module = T.nn.Linear(1, 1, bias=False)
    yield [tried(module.get_parameter, name) for name in ("bias", "weigh")] + [T.nn.Buffer(T.ones(1, requires_grad=True))]


@beside_torch
def test_gains(T):
    gain = T.nn.init.calculate_gain
    yield [tried(gain, "leaky_relu", each) for each in (0.5, 2, True, "a")]


@beside_torch
def test_weighted_losses(T):
    F, found = T.nn.functional, []
    x, y = T.tensor([[1.0, -2.0], [0.5, 3.0]], requires_grad=True), T.tensor([[0.0, 1.0], [2.0, 3.5]])
    for loss in (F.mse_loss, F.l1_loss, F.huber_loss):
        for weight in (T.tensor(2.0), T.ones(2), T.ones(1, 2), T.tensor([[1.0, 2.0], [3.0, 4.0]])):
            found += [tried(loss, x, y, weight=weight, reduction=how) for how in ("none", "mean", "sum")]
    yield found


@beside_torch
def test_losses_of_two_dtypes(T):
    F = T.nn.functional
    kinds = [T.float32, T.float64, T.int64]
    pairs = [(T.tensor([1, 3]).to(a), T.tensor([2, 7]).to(b)) for a in kinds for b in kinds]
    found = [tried(F.huber_loss, x, y, reduction=how) for x, y in pairs for how in ("none", "mean")]
    x, soft = T.zeros(2, 3), T.full((2, 3), 0.5)
    yield found + [tried(F.cross_entropy, x, soft, ignore_index=n) for n in (-100, -1, 0, 1)]


@beside_torch
def test_normalisation_of_two_dtypes(T):
    F, kinds, found = T.nn.functional, [T.float16, T.float32, T.float64], []
    for a in kinds:
        for b in kinds:
            x, weight = T.tensor([[1.0, 3.0], [2.0, 8.0]]).to(a), T.ones(2).to(b)
            found += [tried(lambda x=x, w=weight: F.layer_norm(x, (2,), w).dtype.itemsize)]
            found += [tried(lambda x=x, w=weight: F.batch_norm(x, None, None, w, training=True).dtype.itemsize)]
            found += [tried(lambda x=x, w=weight: F.batch_norm(x, w.clone(), w.clone()).dtype.itemsize)]
    yield found


@beside_torch
def test_options_of_optimizers(T):
    p, optim = T.ones(1, requires_grad=True), T.optim
    made = [
        (optim.SGD, {"lr": "a"}),
        (optim.SGD, {"lr": np.float32(0.1)}),
        (optim.SGD, {"lr": -1}),
        (optim.Adam, {"lr": None}),
        (optim.Adam, {"betas": (0.9, 1.0)}),
    ]
    yield [tried(lambda k=kind, o=options: k([p], **o) and 1) for kind, options in made]


@beside_torch
def test_an_optimizer_without_a_step(T):
    class Idle(T.optim.Optimizer):
        pass

    p = T.ones(1, requires_grad=True)
    p.grad = T.ones(1)
    yield tried(Idle([p], {"lr": 1}).step)


@beside_torch
def test_a_step_count_that_is_a_number(T):
    p = T.ones(1, requires_grad=True)
    optimizer = T.optim.Adam([p], lr=0.5)
    state = optimizer.state_dict()
    state["state"] = {0: {"step": 3, "exp_avg": T.ones(1), "exp_avg_sq": T.ones(1)}}
    optimizer.load_state_dict(copy.deepcopy(state))
    p.grad = T.ones(1)
    optimizer.step()
    yield [p, optimizer.state[p]]


@beside_torch
def test_a_momentum_buffer_lies_as_the_parameter(T):
    p = T.ones(2, 3).t().requires_grad_()
    optimizer = T.optim.SGD([p], lr=0.1, momentum=0.9)
    (p * 2).sum().backward()
    optimizer.step()
    yield [p.stride(), optimizer.state[p]["momentum_buffer"].stride()]


@beside_torch
def test_what_containers_and_vectors_are_made_of(T):
    nn = T.nn
    yield tried(nn.ParameterList([T.ones(1)]).extend, T.ones(2)), tried(nn.ModuleList().extend, 3)
    yield tried(nn.utils.vector_to_parameters, [1.0], [nn.Parameter(T.ones(1))])
    yield tried(T.autograd.grad, T.ones(1, requires_grad=True).sum(), [None])


@beside_torch
def test_a_property_is_in_the_way_of_a_parameter(T):
    class Positive(T.nn.Module):
        @property
        def w(self):
            return 1

    yield tried(setattr, Positive(), "w", T.nn.Parameter(T.ones(1)))


@pytest.mark.parametrize("value", [3, "a", [1.0]])
def test_an_entry_of_a_parameter_list_is_a_tensor(value):
    with pytest.raises(TypeError, match="ParameterList"):
        gradlab.nn.ParameterList([value])
