"""Sentences: what happened in a step, in words. Also the line that a screen reader reads."""

from __future__ import annotations

from gradlab.drawing import numbers
from gradlab.drawing.dot import op_title
from gradlab.drawing.rules import factor
from gradlab.graphs.records import Edge, Recording, Snapshot, Step, Values

# A sentence is a list of (words, style); a style is "" (plain), "name" or "grad".
Sentence = list[tuple[str, str]]


def plain(sentence: Sentence) -> str:
    return "".join(words for words, _ in sentence)


def name_of(snapshot: Snapshot, tensor: int) -> str:
    record = snapshot.tensors[tensor]
    return record.name or ("parameter" if record.is_parameter else "leaf" if record.is_leaf else "tensor")


def goal_of(snapshot: Snapshot, edge: Edge) -> str:
    assert edge.target is not None
    target = snapshot.nodes[edge.target]
    return op_title(target) if target.tensor is None else name_of(snapshot, target.tensor)


def gradient(values: Values | None) -> str:
    """A gradient in a few words.

    >>> gradient(Values((200, 10), "float32", low=-0.5, high=2.0))
    '(200, 10) in −0.5 … 2.0'
    """
    if values is None:
        return "nothing"
    words = numbers.brief(values)
    if values.low is not None and values.high is not None:
        words += f" in {numbers.number(values.low)} … {numbers.number(values.high)}".replace("-", "−")
    if values.nonfinite and values.numbers is None:
        words += f", {values.nonfinite:,} of them NaN or infinite"
    return words


def edge_label(snapshot: Snapshot, step: Step, edge: Edge) -> str | None:
    """What ran along an edge, with the local rule where it is short and the gradient a number."""
    passed = step.outgoing[edge.input] if edge.input < len(step.outgoing) else None
    if passed is None:
        return None
    words = numbers.brief(passed)
    rule = factor(snapshot, snapshot.nodes[step.node], edge.input)
    if rule not in (None, "1") and passed.shape == () and len(rule or "") <= 16:
        return f"× {rule} = {words}"
    return words


def said(recording: Recording, number: int) -> Sentence:
    """What step `number` did, without the freeing."""
    snapshot, step = recording.before, recording.steps[number]
    if step.tensor is not None:
        return _accumulated(name_of(snapshot, step.tensor), step)
    node = snapshot.nodes[step.node]
    arrived = ", ".join(gradient(values) for values in step.incoming if values is not None) or "no gradient"
    sentence: Sentence = [(node.name, "name"), (" received ", ""), (arrived, "grad")]
    if not step.outgoing and recording.error is not None and number == len(recording.steps) - 1:
        return [*sentence, (" and failed: " + recording.error.partition(". ")[0] + ".", "")]
    sentence += _passed(snapshot, step)
    for tensor in step.retained:
        sentence += [(" " + name_of(snapshot, tensor) + ".grad", "name"), (" is kept (retain_grad).", "")]
    return sentence


def _passed(snapshot: Snapshot, step: Step) -> Sentence:
    edges = [edge for edge in snapshot.edges_from(step.node) if edge.target is not None]
    sent = [(edge, step.outgoing[edge.input]) for edge in edges if edge.input < len(step.outgoing)]
    sent = [(edge, values) for edge, values in sent if values is not None]
    if not sent:
        return [(" and passes nothing on.", "")]
    values = {gradient(value) for _, value in sent}
    arrived = {gradient(value) for value in step.incoming}
    if len(sent) > 1 and len(values) == 1:
        goals = " and ".join(dict.fromkeys(goal_of(snapshot, edge) for edge, _ in sent))
        how = " and passes it on unchanged to " if values == arrived else f" and passes {next(iter(values))} to "
        twice = f", along {len(sent)} edges" if len({edge.target for edge, _ in sent}) == 1 else ""
        return [(how, ""), (goals, "name"), (twice + ".", "")]
    sentence: Sentence = [(" and passes ", "")]
    for place, (edge, value) in enumerate(sent):
        if place:
            sentence.append((", " if place + 1 < len(sent) else " and ", ""))
        sentence += [(gradient(value), "grad"), (" to ", ""), (goal_of(snapshot, edge), "name")]
    return [*sentence, (".", "")]


def _accumulated(name: str, step: Step) -> Sentence:
    arrived, after = gradient(step.incoming[0] if step.incoming else None), gradient(step.grad_after)
    sentence: Sentence = [(f"{name}.grad", "name")]
    if step.grad_before is None:
        return [*sentence, (" was None and is now ", ""), (after, "grad"), (".", "")]
    return [
        *sentence,
        (" was ", ""),
        (gradient(step.grad_before), "grad"),
        ("; ", ""),
        (arrived, "grad"),
        (" is added, and it is now ", ""),
        (after, "grad"),
        (".", ""),
    ]


def would(snapshot: Snapshot, number: int) -> Sentence:
    """What backward would do at a node, told from the graph alone."""
    node = snapshot.nodes[number]
    if node.tensor is not None:
        return [(f"{name_of(snapshot, node.tensor)}.grad", "name"), (" would receive the sum of what arrives.", "")]
    sentence: Sentence = [(node.name, "name"), (" would run", "")]
    goals = list(dict.fromkeys(goal_of(snapshot, e) for e in snapshot.edges_from(number) if e.target is not None))
    if goals:
        sentence += [(" and pass gradients to ", ""), (" and ".join(goals[:4]), "name")]
    return [*sentence, (". No backward has been run: there are no values.", "")]


def freed(names: list[str]) -> str:
    if not names:
        return ""
    listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f" Its saved {listed} {'is' if len(names) == 1 else 'are'} freed."
