"""Small programs, each with one reason why a gradient is missing, and the line that is to blame (marked `#!`).

A program sees `T` (torch or gradlab), `np`, `why` and, when it has a watch, `w` around all of it. `ask` is evaluated at
the end.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    name: str
    cause: str
    code: str
    ask: str = "w.why(x, loss)"
    engines: tuple[str, ...] = ("torch", "gradlab")
    nan: bool = False

    @property
    def watched(self) -> bool:
        return "w.why" in self.ask


def _split(cause: str, text: str, **options) -> list[Program]:
    """Programs separated by `### name` or `### name | ask`."""
    found = []
    for part in text.split("### ")[1:]:
        head, _, code = part.partition("\n")
        name, _, ask = head.partition(" | ")
        more = {**options, **({"ask": ask.strip()} if ask else {})}
        if name.startswith("torch:"):
            name, more["engines"] = name.removeprefix("torch:"), ("torch",)
        found.append(Program(f"{cause}-{name.strip()}", cause, code.strip("\n") + "\n", **more))
    return found


GRAPH = [
    *_split("has-grad", """
### plain
x = T.tensor([1.0, 2.0], requires_grad=True)
loss = (x * 3).sum()
loss.backward()
### from-an-earlier-loss
x = T.tensor([1.0, 2.0], requires_grad=True)
b = T.tensor(5.0, requires_grad=True)
(x * 3).sum().backward()
loss = b * b
### retained | why(h, loss)
x = T.tensor([1.0, 2.0], requires_grad=True)
h = x * x
h.retain_grad()
loss = h.sum()
loss.backward()
### one-element-not-zero
x = T.tensor([1.0, 2.0], requires_grad=True)
loss = (x * T.tensor([0.0, 1.0])).sum()
loss.backward()
### without-a-loss | why(x)
x = T.tensor(2.0, requires_grad=True)
(x * x).backward()
""", ask="why(x, loss)"),
    *_split("not-required", """
### forgotten
x = T.tensor([1.0, 2.0])
b = T.tensor(1.0, requires_grad=True)
loss = (x * b).sum()
### nothing-requires
x = T.tensor([1.0, 2.0])
loss = (x * 2).sum()
### frozen-parameter | why(m.weight, loss)
m = T.nn.Linear(2, 1)
m.weight.requires_grad = False
loss = m(T.ones(3, 2)).sum()
loss.backward()
### from-numpy
x = T.from_numpy(np.ones(3, dtype=np.float32))
loss = (x * T.ones(3, requires_grad=True)).sum()
loss.backward()
### detached-result-asked-by-graph-alone | why(y)
x = T.tensor([1.0, 2.0], requires_grad=True)
y = (x * 2).detach()
### buffer | why(m.running_mean, loss)
m = T.nn.BatchNorm1d(2)
loss = m(T.tensor([[1.0, 2.0], [3.0, 5.0]])).sum()
loss.backward()
""", ask="why(x, loss)"),
    *_split("non-leaf", """
### product | why(y, loss)
x = T.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
loss = y.sum()
loss.backward()
### hidden-layer | why(h, loss)
m = T.nn.Linear(2, 3)
h = m(T.ones(4, 2))
loss = (h * h).sum()
loss.backward()
### element-of-a-leaf | why(e, loss)
x = T.tensor([1.0, 2.0, 3.0], requires_grad=True)
e = x[1]
loss = e * e
loss.backward()
### clone-of-a-leaf | why(y)
x = T.tensor([1.0, 2.0], requires_grad=True)
y = x.clone()
### straight-through-on-inner | why(a, loss)
leaf = T.tensor([1.0, 2.5], requires_grad=True)
a = 2 * leaf
loss = (a + (a.round() - a).detach()).sum()
loss.backward()
### parameter-times-two | why(q, loss)
p = T.nn.Parameter(T.ones(2))
q = p * 2
loss = q.sum()
### the-loss-itself | why(loss, loss)
x = T.tensor([1.0, 2.0], requires_grad=True)
loss = (x * x).sum()
loss.backward()
""", ask="why(x, loss)"),
    *_split("rebound", """
### update
w_ = None
x = T.tensor([2.0], requires_grad=True)
(x * x).sum().backward()
x = x - 0.1 * x.grad
loss = (x * x).sum()
loss.backward()
### converted
x = T.tensor([2.0, 1.0], requires_grad=True).to(T.float64)
loss = (x * x).sum()
loss.backward()
### scaled-at-birth
x = T.randn(3, 2, requires_grad=True) * 0.1
loss = (x * x).sum()
loss.backward()
### reshaped
x = T.randn(6, requires_grad=True)
x = x.reshape(2, 3)
loss = (x * x).sum()
loss.backward()
### held-by-the-optimizer-only
x = T.tensor([2.0, 1.0], requires_grad=True)
opt = T.optim.SGD([x], lr=0.1)
x = x.to(T.float64)
loss = (x * x).sum()
loss.backward()
""", ask="why(x, loss)"),
    *_split("not-reached", """
### unused
x = T.tensor(2.0, requires_grad=True)
b = T.tensor(5.0, requires_grad=True)
loss = b * b
loss.backward()
### side-branch
x = T.tensor(2.0, requires_grad=True)
b = T.tensor(5.0, requires_grad=True)
side = x * 3
loss = b * b
loss.backward()
### loss-without-graph
x = T.tensor([1.0, 2.0], requires_grad=True)
loss = (x * 2).detach().sum()
### unused-layer | why(spare.weight, loss)
m, spare = T.nn.Linear(2, 1), T.nn.Linear(2, 1)
loss = m(T.ones(3, 2)).sum()
loss.backward()
### inner-result-beside-the-loss | why(y, loss)
x = T.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
loss = (x * 3).sum()
loss.backward()
### view-from-no-grad | why(v, loss)
x = T.tensor([1.0, 2.0, 3.0], requires_grad=True)
with T.no_grad():
    v = x[1]
loss = v * 2
loss.backward()
""", ask="why(x, loss)"),
    *_split("no-backward-yet", """
### forward-only
x = T.tensor([1.0, 2.0], requires_grad=True)
loss = (x * x).sum()
### nothing-saved
x = T.tensor([1.0, 2.0], requires_grad=True)
loss = (x + 1).sum()
### retained-inner | why(h, loss)
x = T.tensor([1.0, 2.0], requires_grad=True)
h = x * x
h.retain_grad()
loss = h.sum()
### another-loss-ran
x = T.tensor(2.0, requires_grad=True)
b = T.tensor(5.0, requires_grad=True)
other = b * b
other.backward()
loss = x * x * b
### not-scalar
x = T.tensor([1.0, 2.0], requires_grad=True)
loss = x * x
### edited-in-place
x = T.tensor([1.0, 2.0], requires_grad=True)
y = T.exp(x)
y += 1
loss = y.sum()
""", ask="why(x, loss)"),
    *_split("not-differentiable-dtype", """
### integers
x = T.tensor([1, 2, 3])
loss = (x * T.ones(3, requires_grad=True)).sum()
### booleans
x = T.tensor([True, False])
loss = (x * T.ones(2, requires_grad=True)).sum()
### indices | why(i)
x = T.tensor([0.1, 0.9, 0.3], requires_grad=True)
i = x.argmax()
""", ask="why(x, loss)"),
    *_split("nan", """
### zero-times-infinity
x = T.tensor([0.0, 1.0], requires_grad=True)
loss = T.where(x > 0, T.sqrt(x), T.zeros(2)).sum()
loss.backward()
### minus-one-root
x = T.tensor([-1.0, 4.0], requires_grad=True)
loss = T.sqrt(x).sum()
loss.backward()
""", ask="why(x, loss)"),
    *_split("inf", """
### sqrt-at-zero
x = T.tensor([0.0, 4.0], requires_grad=True)
loss = T.sqrt(x).sum()
loss.backward()
### one-over-zero
x = T.tensor([0.0, 1.0], requires_grad=True)
loss = T.log(x).sum()
loss.backward()
""", ask="why(x, loss)"),
    *_split("all-zero", """
### times-zero
x = T.tensor([3.0, 4.0], requires_grad=True)
loss = (x * 0).sum()
loss.backward()
### dead-relu
x = T.tensor([-3.0, -4.0], requires_grad=True)
loss = T.relu(x).sum()
loss.backward()
### rounded
x = T.tensor([1.2, 2.7], requires_grad=True)
loss = (x.round() * 3).sum()
loss.backward()
### wiped
x = T.tensor([3.0, 4.0], requires_grad=True)
loss = (x * x).sum()
loss.backward()
x.grad.zero_()
""", ask="why(x, loss)"),
    *_split("unknown", """
### no-loss-given | why(x)
x = T.tensor([3.0, 4.0], requires_grad=True)
### ran-and-gone
x = T.tensor([3.0, 4.0], requires_grad=True)
loss = (x * x).sum()
loss.backward()
x.grad = None
### autograd-grad-ran
x = T.tensor([3.0, 4.0], requires_grad=True)
loss = (x * x).sum()
g = T.autograd.grad(loss, x)
""", ask="why(x, loss)"),
    *_split("frozen-after-forward", """
### seen-in-the-graph
x = T.tensor([3.0, 4.0], requires_grad=True)
loss = (x * x).sum()
x.requires_grad_(False)
loss.backward()
""", ask="why(x, loss)"),
]

WATCHED = [
    *_split("not-required", """
### required-too-late
x = T.tensor([1.0, 2.0])
h = x * 2  #!
x.requires_grad_()
b = T.ones(2, requires_grad=True)
loss = (h * b).sum()
loss.backward()
### unfrozen-too-late
m = T.nn.Linear(2, 2).requires_grad_(False)
x = m.weight
h = (x * 3).sum(0)  #!
m.requires_grad_(True)
b = T.ones(2, requires_grad=True)
loss = (h * b).sum()
loss.backward()
"""),
    *_split("not-reached", """
### only-its-shape-is-used
x = T.tensor([1.0, 2.0], requires_grad=True)
noise = T.rand_like(x) + T.zeros_like(x) + T.full_like(x, 3.0)
b = T.ones(2, requires_grad=True)
loss = (b + noise).sum()
loss.backward()
"""),
    *_split("detached", """
### plain
x = T.tensor([1.0, 2.0], requires_grad=True)
y = (x * 2).detach()  #!
b = T.ones(2, requires_grad=True)
loss = (y * b).sum()
loss.backward()
### made-to-require-grad-again
x = T.tensor([1.0, 2.0], requires_grad=True)
y = (x * 2).detach()  #!
y.requires_grad = True
loss = y.sum()
loss.backward()
### in-place
x = T.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
y.detach_()  #!
loss = (y * T.ones(2, requires_grad=True)).sum()
loss.backward()
### in-a-function
def features(t):
    h = t.exp()
    return h.detach()  #!
x = T.tensor([1.0, 2.0], requires_grad=True)
b = T.ones(2, requires_grad=True)
loss = (features(x) * b).sum()
loss.backward()
### of-the-result-itself | w.why(y)
x = T.tensor([1.0, 2.0], requires_grad=True)
h = x * 2
y = h.detach()  #!
### in-a-layer | w.why(m.weight, loss)
m, head = T.nn.Linear(2, 3), T.nn.Linear(3, 1)
h = m(T.ones(4, 2))
z = h.detach()  #!
loss = head(z).sum()
loss.backward()
### a-print-beside-it
x = T.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
seen = y.sum().item()
z = y.detach() * 3  #!
loss = (z * T.ones(2, requires_grad=True)).sum()
loss.backward()
### last-step-only
x = T.tensor([1.0, 2.0], requires_grad=True)
b = T.ones(2, requires_grad=True)
h = x * 1
for i in range(3):
    h = T.tanh(h * b)
    h = h.detach()  #!
loss = (h * b).sum()
loss.backward()
### without-a-loss | w.why(x)
x = T.tensor([1.0, 2.0], requires_grad=True)
y = (x * 2).detach()  #!
b = T.ones(2, requires_grad=True)
loss = (y * b).sum()
loss.backward()
"""),
    *_split("data-attribute", """
### plain
x = T.tensor([1.0, 2.0], requires_grad=True)
y = x.data * 2  #!
b = T.ones(2, requires_grad=True)
loss = (y * b).sum()
loss.backward()
### of-an-inner-result
x = T.tensor([1.0, 2.0], requires_grad=True)
h = x.exp()
v = h.data  #!
loss = (v * T.ones(2, requires_grad=True)).sum()
loss.backward()
### written-through
x = T.tensor([1.0, 2.0], requires_grad=True)
b = T.ones(2, requires_grad=True)
y = T.zeros(2)
y.copy_(x.data)  #!
loss = (y * b).sum()
loss.backward()
### requires-again
x = T.tensor([1.0, 2.0], requires_grad=True)
y = (x * x).data.requires_grad_()  #!
loss = y.sum()
loss.backward()
"""),
    *_split("left-torch", """
### item
x = T.tensor([1.0, 2.0], requires_grad=True)
b = T.ones(2, requires_grad=True)
s = (x * 3).sum().item()  #!
loss = (b * s).sum()
loss.backward()
### item-and-back
x = T.tensor([1.0, 2.0], requires_grad=True)
s = (x * 3).sum().item()  #!
k = s / 2
loss = T.tensor(k, requires_grad=True) * 2
loss.backward()
### numpy
x = T.tensor([1.0, 2.0], requires_grad=True)
b = T.ones(2, requires_grad=True)
a = (x * 2).detach().numpy()  #!
c = np.exp(a)
y = T.from_numpy(c)
loss = (y * b).sum()
loss.backward()
### tolist
x = T.tensor([1.0, 2.0], requires_grad=True)
b = T.ones(2, requires_grad=True)
values = (x * x).tolist()  #!
values = [2 * v for v in values]
loss = (T.tensor(values) * b).sum()
loss.backward()
### float
x = T.tensor([1.0, 2.0], requires_grad=True)
b = T.ones(2, requires_grad=True)
scale = float(x.norm())  #!
loss = (b * scale).sum()
loss.backward()
### collected-in-a-list
x = T.tensor([1.0, 2.0], requires_grad=True)
b = T.ones(2, requires_grad=True)
losses = []
for v in x:
    losses.append((v * v).item())  #!
loss = T.tensor(losses).sum() * b.sum()
loss.backward()
### through-a-function
def score(t):
    value = (t * t).sum()
    return value.item()  #!
x = T.tensor([1.5, 2.25], requires_grad=True)
b = T.ones(2, requires_grad=True)
s = score(x)
loss = (b * s).sum()
loss.backward()
### the-loss-itself | w.why(loss)
x = T.tensor([1.0, 2.0], requires_grad=True)
total = 0.0
for v in x:
    total += (v * v).item()  #!
loss = T.tensor(total)
"""),
    *_split("rebuilt", """
### list-of-tensors
x = T.tensor(2.0, requires_grad=True)
b = T.tensor(0.5, requires_grad=True)
pair = T.tensor([x * x, 1 / b])  #!
loss = (pair * b).sum()
loss.backward()
### torch:tensor-of-tensor
import warnings
warnings.simplefilter("ignore")
x = T.tensor([1.0, 2.0], requires_grad=True)
y = T.tensor(x * 2, requires_grad=True)  #!
loss = y.sum()
loss.backward()
### torch:variable
x = T.tensor([1.0, 2.0], requires_grad=True)
h = x * 2
y = T.autograd.Variable(h, requires_grad=True)  #!
loss = y.sum()
loss.backward()
### parameter
x = T.tensor([1.0, 2.0], requires_grad=True)
h = x * 2
p = T.nn.Parameter(h)  #!
loss = (p * p).sum()
loss.backward()
"""),
    *_split("no-grad-mode", """
### block
x = T.tensor([1.0, 2.0], requires_grad=True)
b = T.ones(2, requires_grad=True)
with T.no_grad():
    y = x * 2  #!
loss = (y * b).sum()
loss.backward()
### decorator
@T.no_grad()
def encode(t):
    return t.exp()  #!
x = T.tensor([1.0, 2.0], requires_grad=True)
b = T.ones(2, requires_grad=True)
loss = (encode(x) * b).sum()
loss.backward()
### set-grad-enabled
x = T.tensor([1.0, 2.0], requires_grad=True)
b = T.ones(2, requires_grad=True)
with T.set_grad_enabled(False):
    h = x + 1  #!
loss = (h * b).sum()
loss.backward()
### left-off
x = T.tensor([1.0, 2.0], requires_grad=True)
b = T.ones(2, requires_grad=True)
T.set_grad_enabled(False)
h = x + 1  #!
T.set_grad_enabled(True)
loss = (h * b).sum()
loss.backward()
### rebound-update
x = T.tensor([2.0], requires_grad=True)
(x * x).sum().backward()
with T.no_grad():
    x = x - 0.1 * x.grad  #!
b = T.ones(1, requires_grad=True)
loss = (x * b).sum()
loss.backward()
### view
x = T.tensor([1.0, 2.0, 3.0], requires_grad=True)
with T.no_grad():
    v = x[1]  #!
loss = v * 2
loss.backward()
### whole-loss | w.why(loss)
x = T.tensor([1.0, 2.0], requires_grad=True)
with T.no_grad():
    loss = (x * x).sum()  #!
### written-into-a-buffer
x = T.tensor([1.0, 2.0], requires_grad=True)
b = T.ones(2, requires_grad=True)
y = T.zeros(2)
with T.no_grad():
    y += x  #!
loss = (y * b).sum()
loss.backward()
"""),
    *_split("inference-mode", """
### cloned-and-used
x = T.tensor([1.0, 2.0], requires_grad=True)
b = T.ones(2, requires_grad=True)
with T.inference_mode():
    y = x * 2  #!
loss = (y.clone() * b).sum()
loss.backward()
### the-result-itself | w.why(y)
x = T.tensor([1.0, 2.0], requires_grad=True)
with T.inference_mode():
    y = x * 2  #!
"""),
    *_split("non-differentiable-op", """
### argmax
x = T.tensor([[0.1, 0.9], [0.8, 0.3]], requires_grad=True)
b = T.ones(2, requires_grad=True)
pred = x.argmax(dim=1)  #!
loss = ((pred.float() - b) ** 2).mean()
loss.backward()
### comparison
x = T.tensor([0.2, 0.7], requires_grad=True)
b = T.ones(2, requires_grad=True)
mask = (x > 0.5).float()  #!
loss = (mask * b).sum()
loss.backward()
### long-cast
x = T.tensor([1.7, 2.3], requires_grad=True)
b = T.ones(2, requires_grad=True)
y = x.long().float()  #!
loss = (y * b).sum()
loss.backward()
### sort-indices
x = T.tensor([3.0, 1.0, 2.0], requires_grad=True)
b = T.ones(3, requires_grad=True)
order = x.sort().indices  #!
loss = (order.float() * b).sum()
loss.backward()
### used-as-index
x = T.tensor([3.0, 1.0, 2.0], requires_grad=True)
table = T.tensor([1.0, 2.0, 3.0], requires_grad=True)
i = x.argmax()  #!
loss = table[i] * 2
loss.backward()
### round
x = T.tensor([1.2, 2.7], requires_grad=True)
y = T.round(x * 2)  #!
loss = (y * 3).sum()
loss.backward()
### the-indices-themselves | w.why(i)
x = T.tensor([0.1, 0.9, 0.3], requires_grad=True)
i = x.argmax()  #!
### equality
x = T.tensor([1.0, 0.0, 1.0], requires_grad=True)
target = T.tensor([1.0, 1.0, 1.0])
hit = (x == target)  #!
loss = hit.float().mean() * T.ones((), requires_grad=True)
loss.backward()
"""),
    *_split("function-returned-none", """
### one-of-two-inputs
class Scale(T.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        b, = ctx.saved_tensors
        return g * b, None  #!
y = T.tensor([1.0, 2.0], requires_grad=True)
x = T.tensor([3.0, 4.0], requires_grad=True)
loss = Scale.apply(y, x).sum()
loss.backward()
### single
class Cut(T.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a * 2

    @staticmethod
    def backward(ctx, g):
        return None  #!
x = T.tensor([3.0, 4.0], requires_grad=True)
b = T.ones(2, requires_grad=True)
loss = (Cut.apply(x) * b).sum()
loss.backward()
"""),
    *_split("cleared", """
### zero-grad
x = T.tensor([1.0, 2.0], requires_grad=True)
opt = T.optim.SGD([x], lr=0.1)
loss = (x * x).sum()
loss.backward()
opt.zero_grad()  #!
### set-to-none
x = T.tensor([1.0, 2.0], requires_grad=True)
loss = (x * x).sum()
loss.backward()
x.grad = None  #!
### module | w.why(m.weight, loss)
m = T.nn.Linear(2, 1)
loss = m(T.ones(3, 2)).sum()
loss.backward()
m.zero_grad()  #!
"""),
    *_split("frozen-after-forward", """
### attribute
x = T.tensor([1.0, 2.0], requires_grad=True)
loss = (x * x).sum()
x.requires_grad = False  #!
loss.backward()
### module | w.why(m.weight, loss)
m = T.nn.Linear(2, 1)
loss = m(T.ones(3, 2)).sum()
m.requires_grad_(False)  #!
loss.backward()
"""),
    *_split("not-reached", """
### never-used
x = T.tensor(2.0, requires_grad=True)
b = T.tensor(5.0, requires_grad=True)
loss = b * b
loss.backward()
### only-printed
x = T.tensor([1.0, 2.0], requires_grad=True)
b = T.tensor(5.0, requires_grad=True)
print(f"norm {(x * x).sum().item():.2f}", end="")
loss = b * b
loss.backward()
### used-elsewhere
x = T.tensor([1.0, 2.0], requires_grad=True)
b = T.tensor(5.0, requires_grad=True)
side = (x * x).sum()
loss = b * b
loss.backward()
### logged-beside-the-loss
x = T.tensor([1.0, 2.0], requires_grad=True)
b = T.tensor(5.0, requires_grad=True)
history = []
for i in range(2):
    history.append((x * x).sum().item())
    loss = b * b * 0.5
loss.backward()
### inputs-given
x = T.tensor(2.0, requires_grad=True)
b = T.tensor(5.0, requires_grad=True)
loss = x * b
loss.backward(inputs=[b])  #!
"""),
    *_split("no-backward-yet", """
### forward-only | w.why(x)
x = T.tensor([1.0, 2.0], requires_grad=True)
loss = (x * x).sum()
### grad-only
x = T.tensor([1.0, 2.0], requires_grad=True)
loss = (x * x).sum()
g = T.autograd.grad(loss, x)  #!
### edited-in-place
x = T.tensor([1.0, 2.0], requires_grad=True)
y = T.exp(x)
z = y * 3
y += 1  #!
loss = (y + z).sum()
try:
    loss.backward()
except RuntimeError:
    pass
"""),
    *_split("has-grad", """
### trained
x = T.tensor([1.0, 2.0], requires_grad=True)
opt = T.optim.SGD([x], lr=0.1)
for i in range(3):
    opt.zero_grad()
    loss = (x * x).sum()
    loss.backward()
    opt.step()
"""),
    *_split("rebound", """
### update
x = T.tensor([2.0], requires_grad=True)
(x * x).sum().backward()
x = x - 0.1 * x.grad  #!
loss = (x * x).sum()
loss.backward()
### converted
x = T.tensor([2.0], requires_grad=True)
opt = T.optim.SGD([x], lr=0.1)
x = x.to(T.float64)  #!
loss = (x * x).sum()
loss.backward()
### leaf-kept-elsewhere
x = T.tensor([2.0], requires_grad=True)
kept = [x]
x = x * 3  #!
loss = (x * x).sum()
loss.backward()
"""),
    *_split("non-leaf", """
### hidden | w.why(h, loss)
m = T.nn.Linear(2, 3)
h = m(T.ones(4, 2))  #!
loss = (h * h).sum()
loss.backward()
### same-name-again | w.why(h, loss)
m = T.nn.Linear(2, 3)
h = m(T.ones(4, 2))
h = T.relu(h)  #!
loss = (h * h).sum()
loss.backward()
"""),
    *_split("not-required", """
### plain
x = T.tensor([1.0, 2.0])  #!
b = T.ones(2, requires_grad=True)
loss = (x * b).sum()
loss.backward()
### frozen-before | w.why(m.weight, loss)
m, head = T.nn.Linear(2, 2), T.nn.Linear(2, 1)
m.requires_grad_(False)  #!
loss = head(m(T.ones(3, 2))).sum()
loss.backward()
"""),
    *_split("nan", """
### sqrt-in-where
x = T.tensor([0.0, 1.0], requires_grad=True)
root = T.sqrt(x)  #!
loss = T.where(x > 0, root, T.zeros(2)).sum()
loss.backward()
### root-of-negative
x = T.tensor([-1.0, 1.0], requires_grad=True)
h = x * 1
y = T.sqrt(h)  #!
loss = y.sum()
loss.backward()
### infinity-minus-infinity
x = T.tensor([1000.0, 1.0], requires_grad=True)
e = T.exp(x)
s = e - e  #!
loss = s.sum()
loss.backward()
""", nan=True),
    *_split("inf", """
### sqrt-at-zero
x = T.tensor([0.0, 4.0], requires_grad=True)
y = T.sqrt(x)  #!
loss = y.sum()
loss.backward()
### division
x = T.tensor([0.0, 4.0], requires_grad=True)
y = 1 / x  #!
loss = y.sum()
loss.backward()
""", nan=True),
    *_split("all-zero", """
### wiped
x = T.tensor([1.0, 2.0], requires_grad=True)
opt = T.optim.SGD([x], lr=0.1)
loss = (x * x).sum()
loss.backward()
opt.zero_grad(set_to_none=False)  #!
### dead-relu
x = T.tensor([-1.0, -2.0], requires_grad=True)
loss = T.relu(x).sum()
loss.backward()
"""),
]  # fmt: skip

PROGRAMS = GRAPH + WATCHED
