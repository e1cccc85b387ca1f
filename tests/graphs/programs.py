"""Small programs, one expression each, that mean the same in gradlab and in torch.

`T` is the module, x and y are (2, 3), v is (3,), m is (3, 3), n is (4, 3), s a scalar; all require grad. c (2, 3) is a
constant, i an index tensor, b a boolean mask.
"""

from typing import Any

import numpy as np

EXPRESSIONS = """
x + y | x + 1 | 1 + x | x - y | 1 - x | x * y | x * 2 | x * c | c * x | x * x | x / y | x / 2.0 | 1 / x | x ** 2
x ** y | 2 ** x | x ** 0.5 | -x | abs(x) | x @ m | x @ v | v @ v | m @ m | T.mm(x, m) | T.addmm(v, x, m)
T.dot(v, v) | T.bmm(x[None], m[None]) | T.exp(x) | T.log(x) | T.log1p(x) | T.log2(x) | T.log10(x) | T.expm1(x)
T.sqrt(x) | T.rsqrt(x) | T.sin(x) | T.cos(x) | T.tan(x) | T.sinh(x) | T.cosh(x) | T.tanh(x) | T.asin(x / 9)
T.acos(x / 9) | T.atan(x) | T.sigmoid(x) | T.relu(x) | T.erf(x) | T.reciprocal(x) | T.square(x) | T.sign(x)
T.floor(x) | T.ceil(x) | T.frac(x) | T.maximum(x, y) | T.minimum(x, y) | T.where(b, x, y) | T.clamp(x, 0.5, 2.0)
T.clamp_min(x, 1.0) | T.clamp_max(x, 1.0) | T.lerp(x, y, 0.3) | x.sum() | x.sum(1) | x.sum(0, keepdim=True)
x.mean() | x.mean(1) | x.prod() | x.prod(1) | x.max() | x.min() | x.max(1).values | x.min(0).values | x.amax(1)
x.amin() | x.var() | x.std(1) | x.median() | x.logsumexp(1) | x.cumsum(1) | x.cumprod(1) | x.norm()
T.softmax(x, 1) | T.log_softmax(x, -1) | x.reshape(3, 2) | x.view(6) | x.T | x.t() | x.transpose(0, 1)
x.permute(1, 0) | x.unsqueeze(0) | x[None].squeeze(0) | x.flatten() | x[0] | x[:, 1] | x[0, 1] | x[:, i] | x[b]
x[..., None] | x.expand(4, 2, 3) | T.cat([x, y]) | T.stack([x, y], 1) | x.chunk(3, 1)[1] | x.split(1)[0]
x.unbind(0)[1] | x.flip(0) | T.roll(x, 1, 0) | x.tril() | x.triu(1) | m.diagonal() | T.diag(v) | m.trace()
x.repeat(2, 1) | x.gather(1, k) | x.index_select(1, i) | T.masked_fill(x, b, 0.0) | x.masked_select(b) | x.clone()
x.double() | T.outer(v, v) | F.linear(x, m, v) | F.mse_loss(x, c) | F.l1_loss(x, c) | F.cross_entropy(x, t)
F.nll_loss(T.log_softmax(x, 1), t) | F.binary_cross_entropy_with_logits(x, c) | F.layer_norm(x, (3,), v, v)
F.gelu(x) | F.silu(x) | F.leaky_relu(x, 0.1) | F.elu(x) | F.softplus(x) | F.embedding(k, n)
F.smooth_l1_loss(x, c) | T.einsum("ij,jk->ik", x, m)
""".replace("\n", "|").split("|")
EXPRESSIONS = [expression.strip() for expression in EXPRESSIONS if expression.strip()]


def data(T: Any) -> dict[str, Any]:
    """The same tensors in either engine."""
    rng = np.random.default_rng(5)

    def leaf(*shape):
        array = rng.uniform(0.5, 3.0, shape).astype(np.float32)
        return T.tensor(array.tolist(), requires_grad=True)

    made = {"x": leaf(2, 3), "y": leaf(2, 3), "v": leaf(3), "m": leaf(3, 3), "n": leaf(4, 3), "s": leaf()}
    made["c"] = T.tensor(rng.uniform(0.1, 0.9, (2, 3)).astype(np.float32).tolist())
    made["i"], made["k"], made["t"] = T.tensor([0, 2]), T.tensor([[0, 1, 2], [2, 1, 0]]), T.tensor([0, 2])
    made["b"] = T.tensor([[True, False, True], [False, True, True]])
    return made | {"T": T, "F": T.nn.functional}


def two_losses(T):
    t = T.tensor(1.5, requires_grad=True)
    trunk = t.exp()
    (trunk * 2).backward(retain_graph=True)
    return trunk.sin(), {"t": t}


def accumulation(T):
    w = T.tensor(2.0, requires_grad=True)
    for _ in range(3):
        (w * 3).backward()
    return w * w, {"w": w}


def freed(T):
    w = T.tensor([1.0, 2.0], requires_grad=True)
    y = (w.exp() * w + 1).sum()
    y.backward()
    return y, {"w": w}


def in_place(T):
    w = T.tensor([1.0, 2.0], requires_grad=True)
    y = w * 2
    y += 1
    y[0] = 5.0
    return y.sum(), {"w": w}


def versions(T):
    w = T.tensor([1.0, 2.0], requires_grad=True)
    with T.no_grad():
        w -= 0.1
    return w * w, {"w": w}


def carried(T):
    w, h = T.tensor([[0.5, 0.1], [0.2, 0.3]], requires_grad=True), T.ones(2)
    for _ in range(4):
        h = T.tanh(w @ h)
    return h.sum(), {"w": w}


def cut(T):
    w = T.tensor(2.0, requires_grad=True)
    return w * (w * w).detach(), {"w": w}


def gradient_of_a_gradient(T):
    w = T.tensor(2.0, requires_grad=True)
    (first,) = T.autograd.grad(w.exp() * w, w, create_graph=True)
    return first, {"w": w}


def perceptron(T):
    w1 = T.tensor([[0.1, -0.2], [0.3, 0.4], [0.5, -0.6]], requires_grad=True)
    b1 = T.tensor([0.1, 0.2, 0.3], requires_grad=True)
    x, target = T.tensor([[1.0, 2.0], [3.0, 4.0]]), T.tensor([0, 2])
    return T.nn.functional.cross_entropy(T.relu(x @ w1.T + b1), target), {"w1": w1, "b1": b1}


def own_function(T):
    class Square(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    w = T.tensor(3.0, requires_grad=True)
    return Square.apply(w) + w, {"w": w}


PROGRAMS = [
    two_losses,
    accumulation,
    freed,
    in_place,
    versions,
    carried,
    cut,
    perceptron,
    own_function,
]
