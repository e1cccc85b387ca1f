"""Big graphs are folded, and say so."""

import re

import pytest

from gradlab.drawing import draw, player
from gradlab.drawing.fold import repeats
from tests.drawing.models import ResNet, Transformer

torch = pytest.importorskip("torch")


def loss_of(model, data):
    return model(data).square().mean()


@pytest.fixture(scope="module")
def resnet():
    torch.manual_seed(0)
    model = ResNet((3, 4, 6, 3))
    return model, loss_of(model, torch.randn(2, 3, 32, 32))


@pytest.fixture(scope="module")
def transformer():
    torch.manual_seed(0)
    model = Transformer(layers=12)
    return model, loss_of(model, torch.randint(0, 50, (2, 8)))


@pytest.mark.parametrize("which", ["resnet", "transformer"])
def test_a_big_graph_folds_by_itself(which, request):
    model, loss = request.getfixturevalue(which)
    drawing = draw(loss, params=model)
    assert 15 <= drawing.scene.size <= 300
    assert max(drawing.size()) < 3000
    text = drawing.text()
    assert re.search(r"note: Folded: [\d,]+ boxes drawn as \d+\. fold=False draws all of them\.", text)
    with_parameters = [name for name, child in model.named_children() if list(child.parameters())]
    missing = [name for name in with_parameters if name not in drawing.source]
    assert missing == []


def test_repeated_blocks_are_one(transformer):
    model, loss = transformer
    assert "layers.1 – 11  ×11" in draw(loss, params=model).text()


def test_fold_can_be_steered(resnet):
    model, loss = resnet
    whole = draw(loss, params=model, fold=False)
    assert whole.scene.groups == []
    top = draw(loss, params=model, fold=1)
    assert {"conv1", "bn1", "layer1", "layer2", "layer3", "layer4", "fc"} <= {group.title for group in top.scene.groups}
    only = draw(loss, params=model, fold=["layer1", "layer2.0"])
    assert {group.title for group in only.scene.groups} == {"layer1", "layer2.0"}
    with pytest.raises(ValueError, match="no parameter in this graph belongs to 'layer9'"):
        draw(loss, params=model, fold="layer9")


class Tied(torch.nn.Module):
    """A language model whose last layer has the embedding's weight, and whose blocks share one layer."""

    def __init__(self):
        super().__init__()
        self.embed, self.head = torch.nn.Embedding(9, 4), torch.nn.Linear(4, 9, bias=False)
        self.head.weight = self.embed.weight
        self.blocks = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(50))
        self.common = torch.nn.Linear(4, 4)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = self.common(block(x)).tanh()
        return {"logits": self.head(x), "hidden": (x,)}


def test_what_a_loop_does_between_its_blocks_belongs_to_it():
    blocks = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(80))
    x = torch.ones(1, 4)
    for block in blocks:
        x = x + block(x).tanh()
    drawing = draw(x, params={"blocks": blocks})
    text = drawing.text()
    assert 15 <= drawing.scene.size <= 30
    (rest,) = re.findall(r"\[blocks\.(\d+) – 79 +×\d+: (\d+) operations", text)
    assert int(rest[1]) >= 4 * (80 - int(rest[0])) - 3  # a Linear is two operations, with Tanh and Add
    assert len(re.findall(r"Tanh #\d+ \(", text)) <= int(rest[0]) + 1


def test_modules_that_share_a_weight_keep_their_names():
    model = Tied()
    drawing = draw(model(torch.tensor([1, 2])), params=model)
    text = drawing.text()
    assert 15 <= drawing.scene.size <= 300
    for name in ("embed: Embedding", "head: Mm", "common: ", "blocks"):
        assert name in text
    assert "embed.weight: leaf · parameter, shape (9, 4) float32, also head.weight" in text
    assert drawing.snapshot.named("head.weight") is drawing.snapshot.named("embed.weight")


def test_after_backward_a_fold_counts_what_is_freed():
    model = Transformer(layers=6)
    loss = loss_of(model, torch.randint(0, 50, (2, 8)))
    loss.backward()
    assert re.search(r"layers.1 – 5  ×5: .*saved: □ \d+ freed", draw(loss, params=model).text())


def test_a_small_graph_is_not_folded():
    x = torch.ones(2, requires_grad=True)
    assert draw((x * 2).sum(), params={"a.b.x": x}).scene.groups == []


def test_a_long_chain_shows_one_turn_and_folds_the_rest():
    x = torch.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(5000):
        y = y * 1.0001 + 0.1
    drawing = draw(y)
    assert drawing.scene.size == 5
    assert "Mul → Add  ×4,999" in drawing.text()
    assert drawing.svg().startswith("<svg")


def test_an_unrolled_network_keeps_its_weights_in_sight():
    w = torch.eye(4, requires_grad=True)
    h = torch.ones(4)
    for _ in range(150):
        h = torch.tanh(w @ h + 1)
    text = draw(h).text()
    assert "×149" in text
    assert "w: leaf" in text


def test_a_graph_without_a_pattern_is_cut_into_stretches():
    x = torch.tensor(1.0, requires_grad=True)
    y, rng = x, torch.Generator().manual_seed(1)
    operations = [torch.sin, torch.cos, torch.exp, torch.tanh, torch.sigmoid, torch.sqrt, torch.neg]
    for which in torch.randint(0, 7, (900,), generator=rng).tolist():
        y = operations[which](y)
    assert 15 <= draw(y).scene.size <= 300


def test_repeats():
    assert repeats(list("xabababy")) == [(0, 1, 1), (1, 2, 3), (7, 1, 1)]
    assert repeats(list("aaaaaa")) == [(0, 1, 6)]
    assert repeats([]) == []
    assert sum(period * times for _, period, times in repeats(list("abcabcabdabd" * 7))) == 84


@pytest.mark.parametrize("blocks", [(1, 1, 1, 1), (2, 2, 2, 1)])
def test_a_tall_graph_folds_although_it_has_few_boxes(blocks):
    model = ResNet(blocks)
    loss = loss_of(model, torch.randn(2, 3, 32, 32))
    whole, drawing = draw(loss, params=model, fold=False), draw(loss, params=model)
    assert len(whole.snapshot.nodes) < 200 and whole.size()[1] > 4000
    assert 15 <= drawing.scene.size <= 30
    assert max(drawing.size()) < 3200
    assert "layer3" in drawing.text()


def test_a_graph_of_a_few_screens_is_drawn_whole():
    x = torch.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(46):
        y = y.sin()
    assert draw(y).scene.groups == []
    for _ in range(20):
        y = y.sin()
    assert re.search(r"note: Folded: 68 boxes drawn as \d\.", draw(y).text())
    steps = x
    for k in range(60):
        steps = steps.sin() if k % 7 in (0, 2, 3) else steps.exp() if k % 11 < 4 else steps.tanh()
    assert draw(steps).scene.size > 30  # no pattern worth a name: all of it is drawn, in no made-up pieces


def test_parameters_without_names_go_into_the_pattern_that_uses_them():
    model = Transformer(layers=5)
    loss = loss_of(model, torch.randint(0, 50, (2, 8)))
    drawing = draw(loss)
    assert drawing.scene.size < 40 and max(drawing.size()) < 3000
    assert "note: The parameters have no names: draw(..., params=model) folds by modules." in drawing.text()
    assert "no names" not in draw(loss, params=model).text()


def test_a_folded_stretch_can_be_opened_as_a_module_can():
    x = torch.tensor(1.0, requires_grad=True)
    for times, boxes in ((60, 122), (5000, 32 + 4)):
        y = x
        for _ in range(times):
            y = y * 1.0001 + 0.1
        graph = draw(y).snapshot
        items = player.of_snapshot(graph)["items"]
        (path,) = [item["path"] for item in items.values() if item["sub"] == "folded"]
        opened = player.of_snapshot(graph, opened=[path])["items"]
        assert len(items) == 5 and boxes - 2 <= len(opened) <= boxes
    part = next(item["path"] for item in opened.values() if item["sub"] == "folded")
    assert len(player.of_snapshot(graph, opened=[path, part])["items"]) > len(opened)
