"""Eight threads, eight models: modes are per thread, and the results are those of one thread."""

from __future__ import annotations

import threading

import numpy as np

import gradlab


def train(seed):
    rng = np.random.default_rng(seed)
    w = gradlab.tensor(rng.standard_normal((4, 3)), requires_grad=True)
    x, y = gradlab.tensor(rng.standard_normal((16, 4))), gradlab.tensor(rng.standard_normal((16, 3)))
    for step in range(60):
        loss = ((x @ w).tanh() - y).pow(2).mean()
        loss.backward(retain_graph=step % 3 == 0)
        with gradlab.no_grad():
            w -= 0.1 * w.grad
            assert not (w * 2).requires_grad
        assert (w * 2).requires_grad
        w.grad = None
    return w.detach().numpy()


def in_threads(function, arguments):
    results, errors = {}, []

    def run(argument):
        try:
            results[argument] = function(argument)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(a,)) for a in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    return [results[a] for a in arguments]


def test_eight_models_trained_at_once_are_those_trained_one_by_one():
    for alone, together in zip(map(train, range(8)), in_threads(train, range(8)), strict=True):
        np.testing.assert_array_equal(alone, together)


def test_no_grad_holds_for_its_own_thread_only():
    inside, checked = threading.Event(), threading.Event()

    def switched_off(_):
        with gradlab.no_grad():
            inside.set()
            assert checked.wait(10)
            return gradlab.is_grad_enabled()

    def other(_):
        assert inside.wait(10)
        enabled = gradlab.is_grad_enabled()
        checked.set()
        return enabled

    assert in_threads(lambda which: [switched_off, other][which](which), [0, 1]) == [False, True]


def test_one_graph_walked_by_several_threads_accumulates_every_pass():
    x = gradlab.ones(50, dtype=gradlab.float64, requires_grad=True)
    y = (x * 2).tanh().sum()
    lock = threading.Lock()

    def walk(_):
        with lock:
            y.backward(retain_graph=True)

    in_threads(walk, range(8))
    one = gradlab.ones(50, dtype=gradlab.float64, requires_grad=True)
    (one * 2).tanh().sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 8 * one.grad.numpy(), rtol=1e-12)
