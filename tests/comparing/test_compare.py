"""compare(): one function in gradlab and in torch, side by side."""

import numpy as np
import pytest

import gradlab
from gradlab.comparing import compare

pytest.importorskip("torch")

X = np.array([1.0, -2.0, 3.0], dtype=np.float32)


def only_in_gradlab(T, mistake, right):
    return mistake() if T is gradlab else right()


def test_agreement():
    result = compare(lambda T, x, w: T.tanh(x * w).sum(), X, 2 * X)
    assert result.same and result
    assert result.differences == []
    assert [row.what for row in result.rows] == [
        "result", "dtype of result", "nodes", "graph", "gradient of x", "gradient of w",
    ]  # fmt: skip
    assert result.text().startswith("gradlab and torch agree")


def test_a_wrong_value():
    result = compare(lambda T, x: only_in_gradlab(T, lambda: x * 2.001, lambda: x * 2), X)
    assert not result.same
    assert [text.partition(":")[0] for text in result.differences] == ["result", "gradient of x"]


def test_a_wrong_dtype():
    result = compare(lambda T, x: only_in_gradlab(T, lambda: x.double(), lambda: x * 1), X)
    assert any("dtype of result: gradlab float64, torch float32" in text for text in result.differences)


def test_a_wrong_gradient_alone():
    result = compare(lambda T, x: only_in_gradlab(T, lambda: x + x.detach(), lambda: x + x), X)
    assert "gradient of x: gradlab [1., 1., 1.], torch [2., 2., 2.]" in result.differences


def test_another_node_of_the_same_value():
    result = compare(lambda T, x: only_in_gradlab(T, lambda: x * x, lambda: x**2), X)
    assert any("MulBackward0" in text and "PowBackward0" in text for text in result.differences)


def test_another_order_of_the_same_nodes():
    result = compare(lambda T, x, y: only_in_gradlab(T, lambda: y * x, lambda: x * y), X, X)
    assert [text.partition(":")[0] for text in result.differences] == ["graph"]


def test_a_gradient_that_is_missing():
    result = compare(lambda T, x, y: (only_in_gradlab(T, lambda: x.detach(), lambda: x) * y).sum(), X, X)
    assert any(text.startswith("gradient of x: gradlab None") for text in result.differences)


def test_the_same_error_agrees_and_its_words_may_differ():
    result = compare(lambda T, x: x @ T.ones(5, 5), X)
    assert result.same
    assert result.rows[0].what == "error" and result.rows[0].torch.startswith("RuntimeError in forward")


def test_an_error_of_one_engine():
    def fn(T, x):
        if T is gradlab:
            raise NotImplementedError("conv3d")
        return x

    result = compare(fn, X)
    assert result.differences == ["error: gradlab NotImplementedError in forward: conv3d, torch none"]


def test_an_error_in_the_backward_is_told_apart():
    def fn(T, x):
        y = T.exp(x)
        y += 1
        return y

    result = compare(fn, X)
    assert result.same
    assert "in backward" in result.rows[0].torch


def test_the_functions_own_backward_is_used():
    def fn(T, x):
        (x * x).sum().backward()
        return x.grad * 1

    result = compare(fn, X)
    assert result.same
    assert result.torch.gradients["x"].tolist() == [2.0, -4.0, 6.0]


def test_several_results_and_integers_and_nan():
    result = compare(lambda T, x, i: {"a": x[i], "b": T.sqrt(x), "c": (x > 0)}, X, np.array([2, 0]))
    assert result.same, result.text()
    assert "dtype of result c" in [row.what for row in result.rows]


def test_plain_values():
    assert compare(lambda T, x: (x.shape[0], bool(x.requires_grad), None), X).same
    assert not compare(lambda T, x: only_in_gradlab(T, lambda: 3, lambda: 4), X).same


def test_inputs_are_not_shared_between_the_engines():
    array = X.copy()

    def fn(T, x):
        with T.no_grad():
            x.mul_(10)
        return x * 1

    assert compare(fn, array).same
    assert array.tolist() == X.tolist()


def test_pictures_and_html():
    result = compare(lambda T, x: (x * x).sum(), X)
    ours, theirs = result.pictures()
    assert "gradlab graph" in ours.text() and "torch graph" in theirs.text()
    page = result._repr_mimebundle_()["text/html"]
    assert page.count('src="data:image/svg+xml,') == 2 and "gradient of x" in page
    assert compare(lambda T: 3).pictures() == (None, None)


@pytest.mark.parametrize("size", [0, 1, 1000])
def test_any_size(size):
    assert compare(lambda T, x: (x * x).sum(), np.ones(size, dtype=np.float32)).same
