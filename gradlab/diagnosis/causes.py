"""The closed list of answers that why() can give."""

from __future__ import annotations

# What a tensor's flags and the finished graph can tell.
FROM_GRAPH = (
    "has-grad",
    "not-required",
    "non-leaf",
    "rebound",
    "not-reached",
    "no-backward-yet",
    "not-differentiable-dtype",
    "nan",
    "inf",
    "all-zero",
    "unknown",
)

# What only somebody who watched the program run can tell.
FROM_LOG = (
    "detached",
    "data-attribute",
    "left-torch",
    "rebuilt",
    "no-grad-mode",
    "inference-mode",
    "non-differentiable-op",
    "function-returned-none",
    "cleared",
    "frozen-after-forward",
)

CAUSES = FROM_GRAPH + FROM_LOG

# One line a cause, for tables and headings.
HEADLINES = {
    "has-grad": "has a gradient",
    "not-required": "does not require grad",
    "non-leaf": "an inner result: its gradient passes through and is not kept",
    "rebound": "the name now holds a computed result, not the leaf",
    "not-reached": "the loss does not depend on it",
    "no-backward-yet": "no backward has run yet",
    "not-differentiable-dtype": "this dtype cannot have a gradient",
    "nan": "the gradient contains NaN",
    "inf": "the gradient contains an infinity",
    "all-zero": "the gradient is zero everywhere",
    "unknown": "the graph alone cannot tell",
    "detached": "cut by detach()",
    "data-attribute": "cut by .data",
    "left-torch": "the value left the tensors and came back as a plain number",
    "rebuilt": "a new tensor was built from the values",
    "no-grad-mode": "computed while recording was off",
    "inference-mode": "computed in inference mode",
    "non-differentiable-op": "passed through an operation without a derivative",
    "function-returned-none": "a custom Function returned None for it",
    "cleared": "the gradient was there and was cleared",
    "frozen-after-forward": "requires_grad was switched off after the forward",
}
