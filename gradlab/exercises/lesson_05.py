"""Lesson 05, build the engine: sixty lines that do what backward does, without torch."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradlab.exercises._framework import Exercise, Prediction, Verdict, Wrong

PREDICTIONS = [
    Prediction(
        "05A",
        "`y = a * a` for an `a` of 3. How many edges should the node of y have?",
        {
            "one, to a": "Both inputs are the same tensor, but there are two inputs, and each sends its own part back: 3 and 3. With one edge the gradient would be half of what it should be.",
            "two, both to a": "Yes: one for each input. Each carries 3, and 3 + 3 is the slope 6.",
        },
        shows="2",
    ),
    Prediction(
        "05B",
        "A tempting backward: call yourself for every edge, `def push(v, g): v.grad += g; for u, s in v.edges: push(u, g * s)`. It gives right gradients. A chain of 25 doublings `y = y + y`: how often is push called?",
        {
            "26 times": "Every doubling has two edges to the same value, and push follows both: the calls double at each step.",
            "50 times": "Two edges each, yes; but below each edge *everything* is walked again. The calls double at each step.",
            "67 million times": "Yes: the calls double with every step. That is why a node waits until all has arrived, and then runs once.",
        },
        shows="67,108,863",
    ),
    Prediction(
        "05C",
        "Our engine keeps a `.grad` in *every* value, also the inner ones. x = 3, `h = x * x`, `y = h * 2`; backward twice. x.grad should be 12 + 12 = 24. What is it?",
        {
            "24": "The first backward left a 2 in h. The second adds its 2 to it, h hands on 4, and x gets 24 more: 12 + 24.",
            "36": "Yes: the first backward left a 2 in h; the second finds it there, adds 2, and hands on 4 instead of 2.",
            "12": "Leaves do add up. The trouble is that the inner value does as well.",
        },
        shows="36",
    ),
]

_VALUE = """
class Value:
    def __init__(self, data, edges=()):
        self.data, self.grad, self.edges = data, None, list(edges)
    def __add__(self, other):
        {wrap_add}
        return Value(self.data + other.data, {add})
    def __mul__(self, other):
        {wrap_mul}
        return Value(self.data * other.data, {mul})
{reflected}
"""
_WRAP = "other = other if isinstance(other, Value) else Value(other)"


def _value(
    add: str = "[(self, 1.0), (other, 1.0)]",
    mul: str = "[(self, other.data), (other, self.data)]",
    wrap: str = _WRAP,
    reflected: str = "    __radd__ = __add__\n    __rmul__ = __mul__",
) -> str:
    return _VALUE.format(add=add, mul=mul, wrap_add=wrap, wrap_mul=wrap, reflected=reflected)


class BuildValue(Exercise):
    id = "05-1"
    title = "A number that remembers"
    points = 3
    forbids = ("torch", "gradlab")
    prelude = "import math\nimport numpy as np"
    question = """
        Complete `Value`. A result remembers its inputs in `.edges`, a list of pairs *(input, slope)*: by how much the result grows when this input grows. `+` and `*` should also take plain numbers, on
        either side: `v * 3` and `3 * v`.
    """
    names = ("Value",)
    hints = (
        "What are the two slopes of a product? (Lesson 03.)",
        "Towards self the slope is other's number, and the other way round. A plain number becomes a Value first. `3 * v` calls `v.__rmul__(3)`.",
        "```python\n    def __mul__(self, other):\n        other = other if isinstance(other, Value) else Value(other)\n        return Value(self.data * other.data, [(self, other.data), (other, ____)])\n    __rmul__ = __mul__\n```",
    )
    stub = """
        class Value:
            def __init__(self, data, edges=()):
                self.data = data             # the number
                self.grad = None             # filled by backward
                self.edges = list(edges)     # pairs (input, slope)

            def __add__(self, other):
                return Value(self.data + other.data, [(self, 1.0), ...])

            def __mul__(self, other):
                return Value(..., [])
    """
    solution = _value()
    also_right = (
        _value(
            reflected="    def __radd__(self, other):\n        return self + other\n    def __rmul__(self, other):\n        return self * other"
        ),
        _value(add="((self, 1), (other, 1))"),
    )
    wrong = (
        Wrong(_value(mul="[(self, self.data), (other, other.data)]"), "own-factor"),
        Wrong(_value(reflected=""), "left-hand-numbers"),
        Wrong(_value(wrap="pass"), "plain-numbers"),
        Wrong(
            _value(mul="[(self, other.data)] if self is other else [(self, other.data), (other, self.data)]"),
            "one-edge-for-two-inputs",
        ),
        Wrong(_value(add="[(self, self.data), (other, other.data)]"), "slope-is-not-value"),
    )
    misconceptions = {
        "own-factor": "In a product each input's slope is the *other* factor.",
        "left-hand-numbers": "A plain number works on the right of your operator, not on its left: Python asks the number first, then looks into v for the method that takes it from the other side (`__rmul__` for `*`).",
        "plain-numbers": "With a plain number it raises: that has no `.data`. Make a Value of it first.",
        "one-edge-for-two-inputs": "`a * a` has two inputs, so two edges, although both lead to a. With one, its gradient is half of what it should be.",
        "slope-is-not-value": "For a sum you stored the inputs' *values*. If one input grows by 1, the sum grows by 1, whatever the values are.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """Two numbers."""
        return {"a": float(rng.uniform(2, 3)), "b": float(rng.uniform(4, 5))}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """Data and edges of several expressions, inputs by name."""
        Value = answer["Value"]
        a, b = Value(inputs["a"]), Value(inputs["b"])
        names = {id(a): "a", id(b): "b"}
        programs = {
            "a + b": lambda: a + b,
            "a * b": lambda: a * b,
            "a * a": lambda: a * a,
            "a * 3": lambda: a * 3,
            "a + 3": lambda: a + 3,
            "3 * a": lambda: 3 * a,
            "3 + a": lambda: 3 + a,
        }
        found: dict[str, Any] = {}
        for name, run in programs.items():
            try:
                y = run()
            except Exception as error:
                found[name] = {"raised": f"{type(error).__name__}: {error}"}
                continue
            try:
                edges = [[names.get(id(v), "number"), float(s)] for v, s in y.edges]
                found[name] = {"data": float(y.data), "edges": edges}
            except (AttributeError, TypeError, ValueError):
                found[name] = {"unlike": True}
        return found

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Against data and slopes by hand; edges to plain numbers do not count."""
        a, b = inputs["a"], inputs["b"]
        true = {
            "a + b": (a + b, [["a", 1.0], ["b", 1.0]]),
            "a * b": (a * b, [["a", b], ["b", a]]),
            "a * a": (a * a, [["a", a], ["a", a]]),
            "a * 3": (3 * a, [["a", 3.0]]),
            "a + 3": (a + 3, [["a", 1.0]]),
            "3 * a": (3 * a, [["a", 3.0]]),
            "3 + a": (a + 3, [["a", 1.0]]),
        }
        for name, (data, edges) in true.items():
            got = seen[name]
            if "raised" in got:
                example = f"`{name}` raised `{got['raised']}`."
                if "3" not in name:
                    return BuildValue.not_right(example)
                return BuildValue.fits("left-hand-numbers" if name.startswith("3") else "plain-numbers", example)
            if "unlike" in got:
                return BuildValue.not_right(
                    f"`{name}` should be a Value with a number in `.data` and pairs (input, slope) in `.edges`, each slope a number."
                )
            own = [e for e in got["edges"] if e[0] != "number"]
            example = f"For a = {a:.2f}, b = {b:.2f} the edges of `{name}` should be {[(n, round(s, 2)) for n, s in edges]}; yours are {[(n, round(s, 2)) for n, s in own]}."
            if not np.isclose(got["data"], data):
                return BuildValue.not_right(f"`{name}` should be {data:.2f}; yours is {got['data']:.2f}.")
            same = [e[0] for e in sorted(own)] == [e[0] for e in sorted(edges)] and np.allclose(
                [e[1] for e in sorted(own)], [e[1] for e in sorted(edges)]
            )
            if same:
                continue
            if name == "a * a" and len(own) == 1:
                return BuildValue.fits("one-edge-for-two-inputs", example)
            if name == "a * b" and len(own) == 2 and np.allclose(sorted(e[1] for e in own), sorted([a, b])):
                return BuildValue.fits("own-factor", example)
            return (
                BuildValue.fits("slope-is-not-value", example)
                if "+" in name and len(own) == len(edges)
                else BuildValue.not_right(example)
            )
        return BuildValue.right("Right. This is all that a graph is.")


_ORDER = """
def order(y):
    users, seen, todo = {id(y): 0}, {id(y)}, [y]
    while todo:
        for v, _ in todo.pop().edges:
            users[id(v)] = users.get(id(v), 0) + 1
            if id(v) not in seen:
                seen.add(id(v))
                todo.append(v)
    ready, listed = [y], []
    while ready:
        u = ready.pop()
        listed.append(u)
        for v, _ in u.edges:
            users[id(v)] -= 1
            if users[id(v)] == 0:
                ready.append(v)
    return listed
"""


class Order(Exercise):
    id = "05-2"
    title = "Who has to wait?"
    points = 3
    forbids = ("torch", "gradlab")
    prelude = "import math\nimport numpy as np"
    question = """
        Write `order(y)`: the list of all values behind y, each **once**, y first, and **no value before one that uses it**. It has to manage a chain of 20 000 values, so no recursion.
    """
    names = ("order",)
    hints = (
        "When may a value be listed? When everybody who uses it has been listed. How many are they?",
        "First walk: count for each value how many edges lead to it. Second walk: list a value, count down at its edges; who reaches zero may be listed.",
        "```python\n    ready, listed = [y], []\n    while ready:\n        u = ready.pop()\n        listed.append(u)\n        for v, _ in u.edges:\n            users[id(v)] -= 1\n            if ____:\n                ready.append(v)\n```",
    )
    stub = """
        def order(y):
            "All values behind y, each once, y first, none before one that uses it."
            ...
    """
    solution = _ORDER
    also_right = (
        """
        def order(y):
            done, entered, todo = [], set(), [(y, False)]
            while todo:
                v, leaving = todo.pop()
                if leaving:
                    done.append(v)
                elif id(v) not in entered:
                    entered.add(id(v))
                    todo.append((v, True))
                    todo += [(u, False) for u, _ in v.edges]
            return done[::-1]
        """,
    )
    wrong = (
        Wrong(
            "def order(y):\n    listed, seen, todo = [], set(), [y]\n    while todo:\n        v = todo.pop(0)\n        if id(v) not in seen:\n            seen.add(id(v))\n            listed.append(v)\n            todo += [u for u, _ in v.edges]\n    return listed",
            "first-met-first-listed",
        ),
        Wrong(
            "def order(y):\n    done, seen = [], set()\n    def visit(v):\n        if id(v) not in seen:\n            seen.add(id(v))\n            for u, _ in v.edges:\n                visit(u)\n            done.append(v)\n    visit(y)\n    return done[::-1]",
            "recursion-is-deep-enough",
        ),
        Wrong(_ORDER.replace("return listed", "return listed[::-1]"), "wrong-way-round"),
        Wrong(
            "def order(y):\n    listed, todo = [], [y]\n    while todo and len(listed) < 100000:\n        v = todo.pop()\n        listed.append(v)\n        todo += [u for u, _ in v.edges]\n    return listed",
            "listed-again-and-again",
        ),
    )
    misconceptions = {
        "first-met-first-listed": "A value was listed when it was first met, while another one that uses it was still to come.",
        "recursion-is-deep-enough": "A RecursionError: Python allows about 1000 calls inside each other, and graphs are deeper. Keep a list of your own of what is still to visit.",
        "wrong-way-round": "Your list begins at the leaves. Backward begins at y.",
        "listed-again-and-again": "A value that is used twice was listed twice. Each once.",
    }

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """The orders of two diamonds by name, and the length of a long chain."""

        class Value:
            def __init__(self, name: str, edges: Any = ()) -> None:
                self.name, self.edges, self.data, self.grad = name, [(v, 1.0) for v in edges], 1.0, None

        x = Value("x")
        h = Value("h", [x])
        a = Value("a", [h])
        b = Value("b", [a])
        found: dict[str, Any] = {}
        for name, y in {"one": Value("y", [h, b]), "other": Value("y", [b, h]), "twice": Value("y", [h, h])}.items():
            got = answer["order"](y)
            found[name] = None if got is None else [str(getattr(v, "name", v)) for v in got][:50]
        chain = Value("0")
        keep = [chain]
        for i in range(20000):
            chain = Value(str(i), [chain])
            keep.append(chain)
        try:
            found["chain"] = len(answer["order"](chain))
        except RecursionError:
            found["chain"] = -1
        for v in keep:
            v.edges = []
        return found

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """The only right orders of these graphs."""
        if seen["one"] is None:
            return Order.not_right("`order` returned None; it should return a list.")
        for name in ("one", "other"):
            got = seen[name]
            if not set(got) <= {"y", "b", "a", "h", "x"}:
                return Order.not_right("`order` should list the values themselves, not something made of them.")
            if sorted(got) != sorted(set(got)):
                return Order.fits("listed-again-and-again", f"Your list: {got}.")
            if got == ["x", "h", "a", "b", "y"]:
                return Order.fits("wrong-way-round", f"Your list: {got}.")
            if got != ["y", "b", "a", "h", "x"]:
                if sorted(got) == ["a", "b", "h", "x", "y"]:
                    return Order.fits(
                        "first-met-first-listed", f"h is used by a and by y, a by b, b by y. Your list: {got}."
                    )
                return Order.not_right(f"The values are y, b, a, h, x; your list: {got}.")
        if seen["twice"] != ["y", "h", "x"]:
            return Order.fits("listed-again-and-again", f"For y = h + h your list: {seen['twice']}.")
        if seen["chain"] == -1:
            return Order.fits("recursion-is-deep-enough")
        return (
            Order.right("Right: what waits, waits.")
            if seen["chain"] == 20001
            else Order.not_right(f"A chain of 20 001 values; you listed {seen['chain']}.")
        )


_BACKWARD = """
def in_order(y):
    done, entered, todo = [], set(), [(y, False)]
    while todo:
        v, leaving = todo.pop()
        if leaving:
            done.append(v)
        elif id(v) not in entered:
            entered.add(id(v))
            todo.append((v, True))
            todo += [(u, False) for u, _ in v.edges]
    return done[::-1]

def {name}(y):
{body}
"""
_RIGHT_BODY = """    arrived = {id(y): 1.0}
    for v in in_order(y):
        g = arrived.pop(id(v))
        if not v.edges:
            v.grad = g if v.grad is None else v.grad + g
        for u, slope in v.edges:
            arrived[id(u)] = arrived.get(id(u), 0.0) + g * slope"""
_STORING_BODY = """    for v in in_order(y):
        if v.grad is None:
            v.grad = 0.0
    y.grad = 1.0
    for v in in_order(y):
        for u, slope in v.edges:
            u.grad += v.grad * slope"""


class Backward(Exercise):
    id = "05-3"
    title = "Backward"
    points = 3
    forbids = ("torch", "gradlab")
    prelude = "import math\nimport numpy as np"
    question = """
        Now the walk itself. Write `backward(y)`: start with a 1 at y; each value in `in_order(y)` multiplies what arrived by the slope of each edge and hands it on. Afterwards every **leaf** (a value
        without edges) has its gradient in `.grad`.
    """
    names = ("backward",)
    hints = (
        "Go through `in_order(y)`. What has arrived at a value when its turn comes, and where do you keep it until then?",
        "A dict from id(value) to what has arrived so far. Where ways meet: add.",
        "```python\n    arrived = {id(y): 1.0}\n    for v in in_order(y):\n        g = arrived[id(v)]\n        for u, slope in v.edges:\n            arrived[id(u)] = arrived.get(id(u), 0.0) + ____\n```",
    )
    stub = _BACKWARD.format(name="backward", body='    "Fill .grad of every leaf behind y."\n    ...')
    solution = _BACKWARD.format(name="backward", body=_RIGHT_BODY)
    also_right = (_BACKWARD.format(name="backward", body=_STORING_BODY),)
    wrong = (
        Wrong(
            _BACKWARD.format(
                name="backward", body=_RIGHT_BODY.replace("arrived.get(id(u), 0.0) + g * slope", "g * slope")
            ),
            "overwritten",
        ),
        Wrong(_BACKWARD.format(name="backward", body=_RIGHT_BODY.replace("+ g * slope", "+ slope")), "forgot-incoming"),
        Wrong(
            _BACKWARD.format(name="backward", body=_RIGHT_BODY.replace("{id(y): 1.0}", "{id(y): y.data}")),
            "starts-with-the-value",
        ),
        Wrong(
            _BACKWARD.format(
                name="backward",
                body="    def push(v, g):\n        if not v.edges:\n            v.grad = g\n        for u, slope in v.edges:\n            push(u, g * slope)\n    push(y, 1.0)",
            ),
            "overwritten",
        ),
    )
    misconceptions = {
        "overwritten": "Where two ways meet, only the last one counts: the sum of both should.",
        "forgot-incoming": "What arrived at the value is missing: a slope alone is handed on.",
        "starts-with-the-value": "The walk starts with y's *value*. It starts with a 1: y grows once as much as y.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """Slopes of a diamond."""
        return {"s": [float(s) for s in rng.uniform(1.5, 3, size=6)]}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """The leaves' gradients after one backward."""

        class Value:
            def __init__(self, data: float, edges: Any = ()) -> None:
                self.data, self.grad, self.edges = data, None, list(edges)

        s = inputs["s"]
        x, w = Value(2.0), Value(5.0)
        h = Value(3.0, [(x, s[0]), (w, s[1])])
        a = Value(4.0, [(h, s[2])])
        y = Value(7.0, [(a, s[3]), (h, s[4]), (x, s[5])])
        answer["backward"](y)
        return [None if v.grad is None else float(v.grad) for v in (x, w)]

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """All ways, added."""
        s = inputs["s"]
        into_h = s[3] * s[2] + s[4]
        true = [into_h * s[0] + s[5], into_h * s[1]]
        if None in seen:
            return Backward.not_right("A leaf has no gradient after your backward: its `.grad` is still None.")
        if np.allclose(seen, true):
            return Backward.right("Right: this is backward.")
        example = f"Two leaves should get {true[0]:.3f} and {true[1]:.3f}; they get {seen[0]:.3f} and {seen[1]:.3f}."
        if np.allclose(np.array(seen) / 7.0, true):
            return Backward.fits("starts-with-the-value", example)
        if np.isclose(seen[1], s[1]) or np.isclose(seen[1], s[1] * 2):
            return Backward.fits("forgot-incoming", example)
        at_h = (s[3] * s[2], s[4], into_h)
        lost = [(x, h * s[1]) for h in at_h for x in (h * s[0], s[5], true[0])]
        if any(np.allclose(seen, one) for one in lost):
            return Backward.fits("overwritten", example)
        return Backward.not_right(example)


class SecondBackward(Exercise):
    id = "05-4"
    title = "The second backward"
    points = 2
    forbids = ("torch", "gradlab")
    prelude = "import math\nimport numpy as np"
    question = """
        This backward keeps a `.grad` in every value. Once, it is right. Run it **twice** on the same y, and the leaves get too much (prediction 05C). Repair it: leaves add up over calls, as in torch;
        inner values have `.grad` None afterwards.
    """
    names = ("backward_again",)
    hints = (
        "What is in an inner value's `.grad` when the second call begins?",
        "Inner values need a gradient only *during* one walk: keep it in a dict of that walk, not in the value.",
        "```python\n    arrived = {id(y): 1.0}          # lives for one call\n    ...\n        if not v.edges:             # a leaf\n            v.grad = g if v.grad is None else ____\n```",
    )
    stub = _BACKWARD.format(name="backward_again", body=_STORING_BODY)
    solution = _BACKWARD.format(name="backward_again", body=_RIGHT_BODY)
    also_right = (
        _BACKWARD.format(
            name="backward_again",
            body="    line = in_order(y)\n    for v in line:\n        if v.edges or v.grad is None:\n            v.grad = 0.0\n    y.grad = y.grad + 1.0\n    for v in line:\n        for u, slope in v.edges:\n            u.grad += v.grad * slope\n    for v in line:\n        if v.edges:\n            v.grad = None",
        ),
    )
    wrong = (
        Wrong(
            _BACKWARD.format(
                name="backward_again",
                body=_STORING_BODY.replace(
                    "        if v.grad is None:\n            v.grad = 0.0", "        v.grad = 0.0"
                ),
            ),
            "leaves-forget",
        ),
        Wrong(
            _BACKWARD.format(
                name="backward_again",
                body=_STORING_BODY.replace(
                    "        if v.grad is None:\n            v.grad = 0.0",
                    "        if v.grad is None or v.edges:\n            v.grad = 0.0",
                ),
            ),
            "inner-gradients-left",
        ),
        Wrong(
            _BACKWARD.format(name="backward_again", body=_STORING_BODY.replace("y.grad = 1.0", "y.grad += 1.0")),
            "inner-gradients-count-again",
        ),
    )
    misconceptions = {
        "leaves-forget": "Now the leaves are cleared at each call. They should add up, as torch's do: clearing is the training loop's business.",
        "inner-gradients-left": "The leaves are right, but inner values still hold a gradient after the walk: memory that nobody asked for.",
        "inner-gradients-count-again": "At the second call an inner value still holds the first call's gradient, and hands it on again.",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """Slopes of a small graph."""
        return {"s": [float(s) for s in rng.uniform(1.5, 3, size=3)]}

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """The leaf after one and two calls, and what inner values hold."""

        class Value:
            def __init__(self, data: float, edges: Any = ()) -> None:
                self.data, self.grad, self.edges = data, None, list(edges)

        s = inputs["s"]
        x = Value(2.0)
        h = Value(3.0, [(x, s[0]), (x, s[1])])
        y = Value(4.0, [(h, s[2])])
        grads: list[Any] = []
        for _ in range(2):
            answer["backward_again"](y)
            grads.append(None if x.grad is None else float(x.grad))
        return {"grads": grads, "inner": h.grad is not None or y.grad is not None}

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Once, and twice as much."""
        s = inputs["s"]
        once = (s[0] + s[1]) * s[2]
        if None in seen["grads"]:
            return SecondBackward.not_right("The leaf has no gradient.")
        first, second = seen["grads"]
        example = (
            f"One call should leave {once:.3f} in x.grad and two {2 * once:.3f}; you have {first:.3f} and {second:.3f}."
        )
        if not np.isclose(first, once):
            return SecondBackward.not_right(example)
        if np.isclose(second, once):
            return SecondBackward.fits("leaves-forget", example)
        if not np.isclose(second, 2 * once):
            return SecondBackward.fits("inner-gradients-count-again", example)
        return (
            SecondBackward.fits("inner-gradients-left")
            if seen["inner"]
            else SecondBackward.right("Right: leaves remember, inner values do not.")
        )


_ENGINE = """
class Scalar:
    def __init__(self, data, edges=()):
        self.data, self.grad, self.edges = data, None, list(edges)
    def __add__(self, other):
        other = other if isinstance(other, Scalar) else Scalar(other)
        return Scalar(self.data + other.data, [(self, 1.0), (other, 1.0)])
    def __mul__(self, other):
        other = other if isinstance(other, Scalar) else Scalar(other)
        return Scalar(self.data * other.data, [(self, other.data), (other, self.data)])
    __radd__, __rmul__ = __add__, __mul__
{more}

def run_back(y):
    done, entered, todo = [], set(), [(y, False)]
    while todo:
        v, leaving = todo.pop()
        if leaving:
            done.append(v)
        elif id(v) not in entered:
            entered.add(id(v))
            todo.append((v, True))
            todo += [(u, False) for u, _ in v.edges]
    arrived = {{id(y): 1.0}}
    for v in reversed(done):
        g = arrived.pop(id(v))
        if not v.edges:
            v.grad = g if v.grad is None else v.grad + g
        for u, slope in v.edges:
            arrived[id(u)] = arrived.get(id(u), 0.0) + g * slope
"""


def _more(
    sub: str = "[(self, 1.0), (other, -1.0)]",
    div: str = "[(self, 1.0 / other.data), (other, -self.data / other.data ** 2)]",
    tanh: str = "[(self, 1.0 - t * t)]",
) -> str:
    return _ENGINE.format(
        more=f"    def __sub__(self, other):\n        return Scalar(self.data - other.data, {sub})\n    def __truediv__(self, other):\n        return Scalar(self.data / other.data, {div})\n    def tanh(self):\n        t = math.tanh(self.data)\n        return Scalar(t, {tanh})"
    )


class FiftyGraphs(Exercise):
    id = "05-5"
    title = "Fifty random graphs"
    core = False
    points = 2
    forbids = ("torch", "gradlab")
    prelude = "import math\nimport numpy as np"
    question = """
        Add `-`, `/` and `.tanh()` to the engine. The check builds fifty random graphs with it and compares every gradient with those of a real engine.
    """
    names = ("Scalar", "run_back")
    hints = (
        "Each operation needs its value and one slope per input; `run_back` stays as it is.",
        "a - b: 1 and -1. a / b: 1/b and -a/b². tanh: 1 - tanh², computed from the *result*.",
        "```python\n    def tanh(self):\n        t = math.tanh(self.data)\n        return Scalar(t, [(self, ____)])\n```",
    )
    stub = _ENGINE.format(
        more="    def __sub__(self, other):\n        ...\n    def __truediv__(self, other):\n        ...\n    def tanh(self):\n        ..."
    )
    solution = _more()
    wrong = (
        Wrong(_more(sub="[(self, 1.0), (other, 1.0)]"), "sign-lost"),
        Wrong(_more(div="[(self, 1.0 / other.data), (other, self.data / other.data ** 2)]"), "sign-lost"),
        Wrong(_more(tanh="[(self, 1.0 - self.data ** 2)]"), "input-for-result"),
        Wrong(_more(div="[(self, 1.0 / other.data), (other, 1.0 / self.data)]"), "quotient-like-product"),
    )
    misconceptions = {
        "sign-lost": "A sign: in `a - b` and `a / b` the result gets smaller when b grows.",
        "input-for-result": "tanh: the formula of its slope is right, but what has to be put into it is the *result*, not x.",
        "quotient-like-product": "a / b towards b: that is not a product. How does 1/b move when b grows, and how fast?",
    }

    @staticmethod
    def inputs(rng: np.random.Generator) -> dict[str, Any]:
        """Fifty programs: each a list of [operation, first place, second place] over three leaves."""
        ops = ["add", "mul", "sub", "div", "tanh"]
        singles = [[[op, 0, 1]] for op in ops]
        graphs = [
            [[ops[rng.integers(5)], int(rng.integers(3 + i)), int(rng.integers(3 + i))] for i in range(8)]
            for _ in range(45)
        ]
        return {
            "leaves": [[float(v) for v in rng.uniform(0.5, 2, size=3)] for _ in range(50)],
            "graphs": singles + graphs,
        }

    @staticmethod
    def probe(answer: dict[str, Any], inputs: dict[str, Any]) -> Any:
        """For each graph the value of its sum and the three gradients."""
        import math
        import operator

        import numpy as np

        Value, backward = answer["Scalar"], answer["run_back"]
        ops: dict[str, Any] = {
            "add": operator.add,
            "mul": operator.mul,
            "sub": operator.sub,
            "div": operator.truediv,
            "tanh": lambda a, b: a.tanh(),
        }

        def run(leaves: Any, graph: Any) -> Any:
            values = [Value(v) for v in leaves]
            roots = values[:3]
            for op, i, j in graph:
                a, b = values[i], values[j]
                if op == "div":
                    b = b * b + Value(1.0)
                made = ops[op](a, b)
                if made is None:
                    return None
                values.append(made)
            y = values[-1]
            for v in roots:
                y = y + v
            backward(y)
            return [float(y.data), *(float(v.grad) for v in roots)]

        found: list[Any] = []
        for leaves, graph in zip(inputs["leaves"], inputs["graphs"], strict=True):
            try:
                found.append(run(leaves, graph))
            except ZeroDivisionError:
                found.append([math.nan] * 4)
            if found[-1] is None:
                return {"missing": "an operation"}
        return {"rows": np.array(found)}

    @staticmethod
    def judge(inputs: dict[str, Any], seen: Any) -> Verdict:
        """Against gradlab's engine (which the course's tests compare with torch)."""
        import operator

        import gradlab

        ops: dict[str, Any] = {
            "add": operator.add,
            "mul": operator.mul,
            "sub": operator.sub,
            "div": operator.truediv,
            "tanh": lambda a, b: a.tanh(),
        }
        if "missing" in seen:
            return FiftyGraphs.not_right("An operation returns None: it is still to be written.")
        rows = []
        for leaves, graph in zip(inputs["leaves"], inputs["graphs"], strict=True):
            values = [gradlab.tensor(v, dtype=gradlab.float64, requires_grad=True) for v in leaves]
            roots = values[:3]
            for op, i, j in graph:
                a, b = values[i], values[j]
                if op == "div":
                    b = b * b + 1.0
                values.append(ops[op](a, b))
            y = values[-1]
            for v in roots:
                y = y + v
            y.backward()
            rows.append([y.item(), *(v.grad.item() for v in roots)])
        true = np.array(rows)
        good = np.isclose(seen["rows"], true, rtol=1e-6, atol=1e-8).all(axis=1)
        if good.all():
            return FiftyGraphs.right("Right: fifty graphs, every gradient equal.")
        first = int(np.argmin(good))
        names = ["a + b", "a * b", "a - b", "a / (b*b + 1)", "tanh(a)"]
        if first >= 5:
            return FiftyGraphs.not_right(f"Single operations are right; of fifty graphs {int(good.sum())} are.")
        example = f"For {names[first]} the gradients should be {np.round(true[first, 1:], 3).tolist()}; yours are {np.round(seen['rows'][first, 1:], 3).tolist()} (each leaf was added once more)."
        flipped = np.isclose(np.abs(seen["rows"][first, 1:] - 1), np.abs(true[first, 1:] - 1)).all()
        if flipped:
            return FiftyGraphs.fits("sign-lost", example)
        mine, a = seen["rows"][first, 1:], inputs["leaves"][first][0]
        if first == 4 and np.isclose(mine[0], 2 - a * a):
            return FiftyGraphs.fits("input-for-result", example)
        if first == 3 and np.isclose(mine[0], true[first, 1]):
            return FiftyGraphs.fits("quotient-like-product", example)
        return FiftyGraphs.not_right(example)
