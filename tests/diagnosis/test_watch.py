"""watch(): what it sees, what it leaves alone, and what nan=True finds."""

import gc
import sys
import threading
import tracemalloc
import weakref

import pytest

import gradlab
from gradlab.diagnosis import ledger, watch
from gradlab.diagnosis.picture import marks
from gradlab.graphs import Log

torch = pytest.importorskip("torch")


@pytest.fixture(params=["torch", "gradlab"])
def T(request):
    return torch if request.param == "torch" else gradlab


def here(offset=0):
    """The line of the caller."""
    return sys._getframe(1).f_lineno + offset


def test_the_log_has_file_line_and_code(T):
    x = T.tensor([1.0, 2.0], requires_grad=True)
    with watch() as w:
        y = x * 2
        line = here(-1)
        y.detach()
    assert isinstance(w.log, Log)
    mul = next(event for event in w.log.events if event.call == "mul")
    assert (mul.file, mul.line) == (__file__, line)
    assert mul.code.startswith("y = x * 2")
    assert Log.from_json(w.log.to_json()).events[-1].call == "detach"


def test_results_are_those_of_an_unwatched_run(T):
    def run():
        x = T.tensor([1.0, 2.0], requires_grad=True)
        y = (x * x).exp()
        y.sum().backward()
        return y.tolist(), x.grad.tolist(), y.grad_fn.name()

    plain = run()
    with watch(), watch(nan=True):
        assert run() == plain


def test_nothing_is_kept_alive(T):
    with watch(nan=True) as w:
        x = T.tensor([1.0, 2.0], requires_grad=True)
        y = x * x
        loss = y.sum()
        loss.backward()
        gone = [weakref.ref(t) for t in (x, y, loss)]
        del x, y, loss
        gc.collect()
        assert [ref() for ref in gone] == [None] * 3
    assert w.log.events


def test_memory_is_bounded(monkeypatch):
    """A full ledger stays as large as it is, however long the program runs."""
    monkeypatch.setattr(ledger, "LIMIT", 1000)
    x = torch.ones(1, requires_grad=True)

    def steps():
        for _ in range(700):
            (x * 2).sum()
        gc.collect()

    with watch() as w:
        tracemalloc.start()
        steps()
        full = tracemalloc.get_traced_memory()[0]
        steps()
        steps()
        grown = tracemalloc.get_traced_memory()[0] - full
        tracemalloc.stop()
    assert len(w.log.events) == 1000
    assert grown < 0.2 * full


def test_no_hook_is_left(T):
    x = T.tensor([1.0, 2.0], requires_grad=True)
    with watch(nan=True):
        loss = (x * x).sum()
        loss.backward(retain_graph=True)
    calls = []
    loss.grad_fn.register_hook(lambda grad_inputs, grad_outputs: calls.append(grad_inputs))
    x.grad = None
    loss.backward()
    assert x.grad.tolist() == [2.0, 4.0] and len(calls) == 1


def test_the_mode_ends_with_the_block(T):
    x = T.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(ZeroDivisionError), watch() as w:
        1 / 0  # noqa: B018
    count = len(w.log.events)
    x * 2
    assert len(w.log.events) == count


def test_nested_watches_both_see(T):
    x = T.tensor([1.0, 2.0], requires_grad=True)
    with watch() as outer:
        with watch() as inner:
            y = (x * 2).detach()
        z = y * 3
    assert outer.why(x, z).cause == inner.why(x, y).cause == "detached"
    assert len(outer.log.events) > len(inner.log.events)


def test_a_watch_is_entered_once():
    w = watch()
    with w:
        pass
    with pytest.raises(RuntimeError, match="entered before"), w:
        pass


def test_a_watch_is_left_in_its_own_thread():
    w = watch()
    w.__enter__()
    errors = []

    def leave():
        try:
            w.__exit__(None, None, None)
        except RuntimeError as error:
            errors.append(str(error))

    thread = threading.Thread(target=leave)
    thread.start()
    thread.join()
    w.__exit__(None, None, None)
    assert "thread that entered it" in errors[0]


def test_other_threads_are_not_followed_and_their_work_is_connected_by_the_graph(T):
    x = T.tensor([1.0, 2.0], requires_grad=True)
    made = []
    with watch() as w:
        thread = threading.Thread(target=lambda: made.append(x * 2))
        thread.start()
        thread.join()
        cut = made[0].detach()
        loss = cut.sum()
    assert w.why(x, loss).cause == "detached"


def test_a_module_under_watch_names_lines_of_the_users_code():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)

        def forward(self, x):
            h = torch.relu(self.first(x))
            h = h.detach()
            self.line = here(-1)
            return self.second(h)

    net = Net()
    torch.nn.init.ones_(net.first.weight)  # or relu may have nothing to pass on
    with watch() as w:
        loss = net(torch.ones(4, 2)).sum()
        loss.backward()
    found = {each.name: each for each in w.why(net, loss)}
    assert found["first.weight"].cause == "detached"
    assert found["first.weight"].where == (__file__, net.line)
    assert found["second.weight"].cause == "has-grad"


def test_drawing_and_asking_inside_a_watch_are_not_part_of_the_program(T):
    x = T.tensor([1.0, 2.0], requires_grad=True)
    with watch() as w:
        loss = (x * x).sum()
        count = len(w.log.events)
        gradlab.draw(loss).text()
        gradlab.why(x, loss)
        w.why(x, loss)
        assert len(w.log.events) == count


def test_a_fault_of_the_watch_does_not_stop_the_program(T, monkeypatch):
    from gradlab.diagnosis.ledger import Ledger

    def broken(*_, **__):
        raise KeyError("a fault in watch")

    monkeypatch.setattr(Ledger, "call", broken)
    x = T.tensor([1.0, 2.0], requires_grad=True)
    with watch() as w:
        (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert "could not follow mul" in repr(w)


def kinds(w):
    return [(finding.kind, finding.where[1]) for finding in w.findings]


def test_an_edit_of_what_backward_needs_is_told_before_the_backward(T):
    x = T.tensor([1.0, 2.0], requires_grad=True)
    with watch(nan=True) as w:
        y = x.exp()
        loss = y.sum()
        y += 1
        line = here(-1)
        assert kinds(w) == [("edit", line)]
    assert "ExpBackward0" in w.findings[0].text and "will raise" in w.findings[0].text
    with pytest.raises(RuntimeError):
        (loss + y.sum()).backward()


def test_a_harmless_edit_is_not_told(T):
    x = T.tensor([1.0, 2.0], requires_grad=True)
    with watch(nan=True) as w:
        y = x * 2
        y += 1
        z = x.exp()
        z.sum().backward()
        z.detach().add_(1)  # its graph is freed
        (x.detach() * 1).add_(1)
    assert w.findings == []


def test_an_edit_through_data_is_silent_and_told(T):
    p = T.tensor(2.0, requires_grad=True)
    with watch(nan=True) as w:
        y = p * p
        p.data.mul_(10)
        line = here(-1)
    assert kinds(w) == [("silent-edit", line)]
    y.backward()
    assert p.grad.item() == 40.0  # 4 is right


def test_an_optimizer_step_between_two_backwards_is_told():
    w_ = torch.tensor([[2.0]], requires_grad=True)
    optimizer = torch.optim.SGD([w_], lr=0.1)
    with watch(nan=True) as w:
        h = torch.ones(1, 1, requires_grad=True) @ w_
        loss = h.sum()
        loss.backward(retain_graph=True)
        optimizer.step()
        line = here(-1)
    assert kinds(w) == [("edit", line)]


def test_a_training_loop_has_no_findings():
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    optimizer = torch.optim.Adam(model.parameters())
    with watch(nan=True) as w:
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.ones(4, 2)).pow(2).mean().backward()
            optimizer.step()
    assert w.findings == []


def test_births_of_nan_are_told_once_and_not_for_what_follows(T):
    x = T.tensor([-1.0, 4.0], requires_grad=True)
    with watch(nan=True) as w:
        y = T.sqrt(x)
        line = here(-1)
        z = y * 2
        z + 1
    assert kinds(w) == [("nan", line)]


def test_a_nan_of_the_backward_names_the_forward_line(T):
    x = T.tensor([0.0, 1.0], requires_grad=True)
    with watch(nan=True) as w:
        root = T.sqrt(x)
        line = here(-1)
        loss = T.where(x > 0, root, T.zeros(2)).sum()
        loss.backward()
    assert kinds(w) == [("backward-nan", line)]
    assert w.why(x, loss).where == (__file__, line)


def test_without_nan_no_value_is_read():
    with watch() as w:
        torch.sqrt(torch.tensor([-1.0]))
    assert w.findings == []


def per_sample_gradients():
    torch.func.vmap(torch.func.grad(lambda x: (x * x).sum()))(torch.ones(3, 2))
    torch.func.jacrev(lambda x: x**2)(torch.ones(3))


def sparse():
    index = torch.tensor([[0, 1], [1, 0]])
    matrix = torch.sparse_coo_tensor(index, torch.ones(2), (2, 2), requires_grad=True)
    torch.sparse.mm(matrix, torch.ones(2, 2, requires_grad=True)).sum().backward()


def meta():
    (torch.empty(3, device="meta", requires_grad=True) * 2).sum()


def nested():
    torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], requires_grad=True) * 2


def recurrent():
    out, _ = torch.nn.LSTM(3, 4)(torch.randn(5, 2, 3))
    out.sum().backward()


def autocast():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.nn.Linear(2, 2)(torch.ones(1, 2)).sum().backward()


def second_order():
    x = torch.randn(3, requires_grad=True)
    (g,) = torch.autograd.grad((x * x).sum(), x, create_graph=True)
    g.pow(2).sum().backward()


def saved_elsewhere():
    with torch.autograd.graph.save_on_cpu():
        y = (torch.ones(2, requires_grad=True) ** 2).sum()
    y.backward()


def closures():
    layer = torch.nn.Linear(2, 1)
    optimizer = torch.optim.LBFGS(layer.parameters())

    def closure():
        optimizer.zero_grad()
        loss = layer(torch.ones(1, 2)).pow(2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)


@pytest.mark.parametrize("nan", [False, True], ids=["plain", "nan"])
@pytest.mark.parametrize(
    "program",
    [per_sample_gradients, sparse, meta, nested, recurrent, autocast, second_order, saved_elsewhere, closures],
    ids=lambda program: program.__name__,
)
def test_whatever_torch_offers_runs_unharmed(program, nan):
    with watch(nan=nan) as w:
        program()
    assert "could not follow" not in repr(w)
    assert w.findings == []


def test_the_picture_marks_the_break_at_the_node_that_took_what_was_cut_off(T):
    w, b = (T.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    with watch() as seen:
        loss = (w.exp().detach() * b).sum()
        loss.backward()
    d = seen.why(w, loss)
    (mark,) = marks(d)
    assert d.snapshot.nodes[mark.toward].name == "MulBackward0"
    assert mark.text.startswith("cut by detach() (test_watch.py line ")
