"""torch.nn.functional's names, on tensors, by family.

activations (with dropout), linear_embedding (with one_hot), losses (with cosine_similarity), normalisation, convolution (with
pad), pooling.
"""

from gradlab._public import FUNCTIONAL, public
from gradlab.nn.functional.activations import (
    dropout,
    elu,
    gelu,
    hardtanh,
    leaky_relu,
    log_softmax,
    logsigmoid,
    relu,
    relu6,
    sigmoid,
    silu,
    softmax,
    softplus,
    softsign,
    tanh,
)
from gradlab.nn.functional.convolution import conv1d, conv2d, conv_transpose1d, conv_transpose2d, pad
from gradlab.nn.functional.linear_embedding import embedding, linear, one_hot
from gradlab.nn.functional.losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cosine_similarity,
    cross_entropy,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    nll_loss,
    smooth_l1_loss,
)
from gradlab.nn.functional.normalisation import batch_norm, layer_norm, normalize
from gradlab.nn.functional.pooling import adaptive_avg_pool2d, avg_pool1d, avg_pool2d, max_pool1d, max_pool2d
from gradlab.operators.inplace import relu_

__all__ = [
    "adaptive_avg_pool2d",
    "avg_pool1d",
    "avg_pool2d",
    "batch_norm",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "conv1d",
    "conv2d",
    "conv_transpose1d",
    "conv_transpose2d",
    "cosine_similarity",
    "cross_entropy",
    "dropout",
    "elu",
    "embedding",
    "gelu",
    "hardtanh",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "logsigmoid",
    "max_pool1d",
    "max_pool2d",
    "mse_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "relu",
    "relu6",
    "relu_",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "softmax",
    "softplus",
    "softsign",
    "tanh",
]

globals().update({name: public(globals()[name], tensors=FUNCTIONAL) for name in __all__})
