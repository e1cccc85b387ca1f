"""Following a value by name through the source."""

import linecache

import pytest

from gradlab.diagnosis.flow import leads, rebinds


@pytest.fixture
def flows(tmp_path):
    """flows(source): whether the value of the line ending in #from reaches the line ending in #to."""

    def ask(source):
        file = tmp_path / "program.py"
        file.write_text(source)
        linecache.checkcache(str(file))
        lines = source.splitlines()
        places = [
            ((str(file), next(n for n, text in enumerate(lines, 1) if text.endswith(end))),) for end in ("#from", "#to")
        ]
        return leads(*places)

    return ask


@pytest.mark.parametrize(
    "source",
    [
        "a = x.item()  #from\nb = 2 * a\ny = tensor(b)  #to\n",
        "y = [\n  x.item(),  #from\n  3,\n]\nz = f(y)  #to\n",
        "for v in values:\n    kept.append(v.item())  #from\ny = tensor(kept)  #to\n",
        "config = {}\nconfig['a'] = x.item()  #from\ny = w * config['a']  #to\n",
        "store.value = x.item()  #from\nz = 1\ny = w * store.value  #to\n",
        "def read(t):\n    return t.item()  #from\ns = read(x)\ny = w * s  #to\n",
        "s = x.item()  #from\ndef scale(t, by):\n    return t * by  #to\ny = scale(w, s)\n",
        "class Buffer:\n    def push(self, t):\n        self.items.append(t.item())  #from\n"
        "    def get(self):\n        return tensor(self.items)  #to\n",
        "class Net:\n    def __init__(self, k):\n        self.k = k\n    def forward(self, x):\n        return x * self.k  #to\n"
        "s = x.item()  #from\nnet = Net(s)\n",
    ],
)
def test_flows(flows, source):
    assert flows(source)


@pytest.mark.parametrize(
    "source",
    [
        "print(x.item())  #from\ny = tensor(3)  #to\n",
        "seen.append(x.item())  #from\ny = w * 0.5  #to\nprint(seen)\n",
        "while x.item() > 3:  #from\n    y = tensor(1)  #to\n",
        "def f(x):\n    s = x.item()  #from\n    print(s)\ndef g(s):\n    return tensor(s)  #to\n",
        "def log(t):\n    print(t.item())  #from\nlog(x)\ny = tensor(1)  #to\n",
        "for batch in data:\n    loss = step(batch)  #to\n    print(loss.item())  #from\n",
    ],
)
def test_does_not_flow(flows, source):
    assert not flows(source)


def test_without_source_nothing_is_said():
    assert not leads((("<string>", 1),), (("<string>", 2),))


@pytest.mark.parametrize(
    "line, name", [("w = w - 0.1 * g", "w"), ("self.w = self.w * 2", "self.w"), ("v = w * 2", None), ("w -= 1", None)]
)
def test_rebinding(tmp_path, line, name):
    file = tmp_path / "line.py"
    file.write_text(line + "\n")
    assert rebinds((str(file), 1)) == name
