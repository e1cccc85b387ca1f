"""Operators with two differentiable outputs: one node, and either gradient may be missing."""

import pytest

from tests.engine.beside import beside_torch, graph


@pytest.mark.parametrize("name", ["var_mean", "std_mean"])
@pytest.mark.parametrize("options", [{}, {"dim": 1}, {"dim": (0, 1), "keepdim": True}, {"dim": 0, "correction": 0}])
def test_spread_and_mean(name, options):
    @beside_torch
    def program(torch):
        def rounded(x):
            return [round(v, 4) for v in x.flatten().tolist()], list(x.shape)

        x = (torch.arange(6, dtype=torch.float64).view(2, 3) ** 2).requires_grad_()
        spread, mean = getattr(torch, name)(x, **options)
        yield graph(mean.grad_fn), spread.output_nr, mean.output_nr, rounded(spread), rounded(mean)
        for out in (spread, mean, spread * mean):
            (g,) = torch.autograd.grad(out.sum(), x, retain_graph=True, create_graph=True)
            yield rounded(g)
        yield rounded(torch.autograd.grad((g * g).sum(), x)[0])
        log, (_, mean) = [], getattr(torch, name)(x, **options)
        mean.grad_fn.register_prehook(lambda grads: log.append([None if g is None else rounded(g) for g in grads]))
        mean.sum().backward()
        yield log

    program()
