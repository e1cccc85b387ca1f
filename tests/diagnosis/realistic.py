"""Ten realistic torch programs with one planted bug each (its line ends with `#!`)."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Planted:
    name: str
    cause: str
    ask: str
    code: str


HEAD = """
import torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(0)
"""

PLANTED = [
    Planted("gan-step", "detached", "w.why(generator[0].weight, g_loss)", """
generator = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
critic = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
g_opt = torch.optim.Adam(generator.parameters(), lr=1e-3)
c_opt = torch.optim.Adam(critic.parameters(), lr=1e-3)
real = torch.randn(16, 2)
for step in range(2):
    fake = generator(torch.randn(16, 4))
    c_opt.zero_grad()
    c_loss = F.softplus(-critic(real)).mean() + F.softplus(critic(fake.detach())).mean()
    c_loss.backward()
    c_opt.step()
    g_opt.zero_grad()
    verdict = critic(fake.detach())  #!
    g_loss = F.softplus(-verdict).mean()
    g_loss.backward()
    g_opt.step()
"""),
    Planted("rnn-with-carried-state", "data-attribute", "w.why(cell.w_in.weight, loss)", """
class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.w_in = nn.Linear(3, 5)
        self.w_state = nn.Linear(5, 5)

    def forward(self, x, h):
        h = torch.tanh(self.w_in(x) + self.w_state(h))
        return h.data  #!

cell, head = Cell(), nn.Linear(5, 1)
opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
series = torch.randn(20, 8, 3)
h = torch.zeros(8, 5)
for start in range(0, 20, 5):
    h = h.detach()
    losses = []
    for t in range(start, start + 5):
        h = cell(series[t], h)
        losses.append((head(h) - series[t, :, :1]).pow(2).mean())
    loss = torch.stack(losses).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""),
    Planted("weight-tying", "left-torch", "w.why(net.embed.weight, loss)", """
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 6)
        self.mix = nn.Linear(6, 6)

    def forward(self, features):
        h = torch.tanh(self.mix(features))
        tied = torch.as_tensor(self.embed.weight.tolist())  #!
        return h @ tied.t()

net = Tagger()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
loss = F.cross_entropy(net(torch.randn(7, 6)), torch.randint(0, 11, (7,)))
opt.zero_grad()
loss.backward()
"""),
    Planted("frozen-backbone", "not-required", "w.why(model.head.weight, loss)", """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8))
        self.head = nn.Linear(8, 3)
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return self.head(self.backbone(x)) * self.scale

model = Net()
for name, p in model.named_parameters():
    if not name.startswith("scale"):
        p.requires_grad_(False)  #!
opt = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
loss = F.cross_entropy(model(torch.randn(5, 4)), torch.randint(0, 3, (5,)))
loss.backward()
opt.step()
"""),
    Planted("gradient-checkpointing", "no-grad-mode", "w.why(block[0].weight, loss)", """
import warnings
from torch.utils.checkpoint import checkpoint
warnings.simplefilter("ignore")
block = nn.Sequential(nn.Linear(4, 16), nn.GELU(), nn.Linear(16, 4))
head = nn.Linear(4, 1)
x = torch.randn(8, 4)
h = checkpoint(block, x, use_reentrant=True)  #!
loss = head(h).pow(2).mean()
loss.backward()
"""),
    Planted("custom-function", "function-returned-none", "w.why(layer.weight, loss)", """
class MyLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return x @ weight.t() + bias

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        if ctx.needs_input_grad[0]:
            return g @ weight, None, g.sum(0)
        return None, None, g.sum(0)  #!

layer = nn.Linear(4, 3)
out = MyLinear.apply(torch.randn(6, 4), layer.weight, layer.bias)
loss = F.cross_entropy(torch.relu(out), torch.randint(0, 3, (6,)))
loss.backward()
"""),
    Planted("straight-through", "non-differentiable-op", "w.why(layer.weight, loss)", """
class Quantized(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 4))
        self.bias = nn.Parameter(torch.zeros(3))

    def forward(self, x):
        scale = self.weight.detach().abs().max() / 7
        quantized = torch.round(self.weight / scale) * scale  #!
        return F.linear(x, quantized, self.bias)

layer = Quantized()
opt = torch.optim.SGD(layer.parameters(), lr=0.1)
loss = layer(torch.randn(9, 4)).pow(2).mean()
opt.zero_grad()
loss.backward()
opt.step()
"""),
    Planted("target-network", "no-grad-mode", "w.why(online[0].weight, loss)", """
import copy
online = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
target = copy.deepcopy(online)
opt = torch.optim.Adam(online.parameters(), lr=1e-3)
state, action = torch.randn(32, 4), torch.randint(0, 2, (32, 1))
reward, following = torch.randn(32), torch.randn(32, 4)
for step in range(3):
    with torch.no_grad():
        q = online(state).gather(1, action).squeeze(1)  #!
    wanted = reward + 0.9 * target(following).max(1).values
    loss = F.smooth_l1_loss(q, wanted)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for t, o in zip(target.parameters(), online.parameters()):
            t.mul_(0.99).add_(o, alpha=0.01)
"""),
    Planted("mixed-in-place", "data-attribute", "w.why(features.weight, loss)", """
features, gate = nn.Linear(4, 6), nn.Linear(4, 6)
x = torch.randn(10, 4)
buffer = torch.zeros(10, 12)
opened = torch.sigmoid(gate(x))
buffer[:, :6] = opened
buffer.data[:, 6:] = features(x)  #!
buffer.mul_(2.0)
hidden = torch.relu(buffer) * 2
hidden += 1
loss = hidden.mean()
loss.backward()
"""),
    Planted("optimizer-before-to", "rebound", "w.why(weight, loss)", """
weight = torch.randn(3, 2, requires_grad=True)
bias = torch.zeros(3, requires_grad=True)
opt = torch.optim.SGD([weight, bias], lr=0.1)
weight = weight.to(torch.float64)  #!
x = torch.randn(5, 2, dtype=torch.float64)
for step in range(2):
    loss = (x @ weight.t() + bias).pow(2).mean()
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()
"""),
]  # fmt: skip
