"""Integers and masks: what they become, how numbers meet them, and what is refused because torch has no such operation."""

import numpy as np
import pytest
import torch

import gradlab


def outcome(lib, program):
    """The result's values and dtype, or the kind of error: torch's, or a subclass of it in gradlab."""
    T = lib
    names = {"T": T, "F": T.nn.functional, "b": T.tensor([True, False]), "f": T.ones(2), "i": T.tensor([1, -2])}
    names |= {"u": T.tensor([1, 200], dtype=T.uint8), "i8": T.tensor([1, -2], dtype=T.int8), "i0": T.tensor([0, 1])}
    names |= {"i2": T.ones(2, 2, dtype=T.int64), "b2": T.ones(2, 2, dtype=T.bool), "i4": T.arange(16).reshape(1, 1, 4, 4)}
    try:
        result = eval(program, names | {"b4": T.ones(1, 1, 4, 4, dtype=T.bool)})
    except Exception as error:
        return type(error)
    values = np.array(result.tolist(), float).round(5) + 0.0  # no -0.0
    return str(result.dtype).split(".")[-1], str(values.tolist())  # as text: nan is nan


def programs(text):
    return [p.strip() for line in text.strip().splitlines() for p in line.split(" | ")]


MASKS = """
b**2 | b**1 | b**0 | b**True | b**2.0 | b**i.abs() | 2**b | 1.5**b | b.square() | T.pow(b, 2) | b//1 | b//i | b%2 | 5%b[:1]
b%i | b.sign() | T.sign(b) | b.clamp(0, 1) | b.clamp_min(1) | b.clamp(min=b) | b.sort()[0] | b.max() | b**-1 | b**b | True**b
b//b | b//True | True//b[:1] | b%b | True%b[:1] | b.remainder(b) | T.floor_divide(b, b) | b.abs()
T.div(b, b, rounding_mode='floor') | T.div(b, b, rounding_mode='trunc') | b.clamp(False, True) | T.addcmul(b, b, b) | b2@b2
T.mm(b2, b2) | T.mv(b2, b) | T.dot(b, b) | b2@b | T.bmm(b2[None], b2[None]) | T.addmm(b2, b2, b2) | F.linear(b2, b2)
T.einsum('ij,jk', b2, b2) | F.conv2d(b4, b4) | F.conv1d(b4[0], b4[0]) | F.conv_transpose2d(b4, b4) | F.avg_pool2d(b4, 2)
F.max_pool2d(b4, 2) | F.max_pool1d(b4[0], 2) | F.adaptive_avg_pool2d(b4, 2) | b.topk(1) | b.kthvalue(1) | b.median()
b.median(0) | b.ceil() | b.floor() | b.round() | b.trunc() | b.frac() | T.round(b, decimals=1) | T.lerp(b, b, 0.5)
T.logaddexp(b, b) | T.addcdiv(b, b, b)
"""
INTEGERS = """
2**T.tensor([-1]) | 2**T.tensor([-1, 0, 3]) | 1**T.tensor([-1, -2]) | (-1)**T.tensor([-1, -2]) | 0**T.tensor([-1, 1])
i**T.tensor([-1, -2]) | i**T.tensor([-1, 3]) | T.tensor([0, 1])**T.tensor([-1, -1]) | i8**i8 | i**-1 | i.pow(-1) | i**0 | u**2
i8**2 | T.frac(i) | T.logaddexp(i, i) | T.logaddexp(f, i) | T.addcdiv(i, i, i) | T.addcdiv(i, f, i) | T.addcdiv(f, f, i)
T.round(i, decimals=1) | T.lerp(i, i, 1) | T.lerp(i, i, 0.5) | T.lerp(i, i, i) | F.adaptive_avg_pool2d(i4, 2)
F.max_pool2d(i4, 2) | i.ceil() | i.abs() | i.median() | T.addmm(i2, i2, i2, beta=0.5) | T.addmm(i2, i2, i2, alpha=0.5)
T.addmm(i2, i2, i2, beta=2.0, alpha=-1.5) | i2@i2 | i.topk(1)[0]
"""
SMALL = """
u+-1 | u+300 | u-300 | u-(-1) | u*300 | u*-1 | u==-1 | u==300 | u==257 | u!=-1 | u<-1 | u<300 | u>-1 | u>=300 | u<=-1 | u//300
u%300 | u//-1 | u%-1 | u/300 | 300-u | -1-u | 300//u | 300%u | -1%u | 300**u | -1**u | i8+300 | i8==300 | i8<300 | i8*1000
300-i8 | u&300 | u|300 | u^-1 | T.add(u, 300) | T.rsub(u, 300) | T.remainder(u, 300) | i==2**63 | i*-2**63 | u*2**70 | i+2**70
u+T.tensor(300) | u**-1 | u**300 | i8**300 | u.clamp(0, 300) | u.clamp(-1, 300) | u.clamp(min=-1) | u.clamp_min(300)
u.clamp_max(300) | u.clamp_min(-1) | T.where(b, u, 300) | T.where(b, 300, u) | T.where(b, u, -1) | T.where(b, i8, -200)
T.where(b, u, 7) | T.where(b, b, 300) | b.where(b, 300) | u.scatter(0, i0, 300) | u.scatter(0, i0, -1)
u.index_fill(0, i0, 300) | u.index_fill(0, i0, -1) | i.index_fill(0, i0, 1.5)
"""
FILLS = """
i.masked_fill(b, 1.0) | i.masked_fill(b, 0.5) | i.masked_fill(b, -1.7) | i.masked_fill(b, float('inf'))
i.masked_fill(b, float('nan')) | i.masked_fill(b, True) | i.masked_fill(b, T.tensor(0.5)) | i.masked_fill_(b, 1.0)
i.masked_fill_(b, 0.5) | u.masked_fill(b, 300) | u.masked_fill(b, -1) | b.masked_fill(~b, 2) | b.masked_fill(~b, 0.5)
f.masked_fill(b, 3) | i8.masked_fill_(b, -200) | i8.masked_fill(b, 7.0) | u.fill_(300) | u.fill_(-1) | i.fill_(1.7) | b.fill_(2)
u.fill_(T.tensor(300)) | T.full_like(u, 300) | T.full_like(u, -1) | T.full_like(f, T.tensor(3)) | T.full((2,), 300, dtype=T.uint8)
T.full((2,), -1, dtype=T.uint8) | T.full((2,), 1.7, dtype=T.int64) | T.full((2,), float('nan'), dtype=T.int64)
T.full((2,), 1e300) | f.fill_(1e300) | f.half().fill_(70000) | f.half().fill_(65504) | f.fill_(float('inf'))
f.fill_(-float('nan'))
f.masked_fill(b, 1e300) | f.masked_fill(b, float('inf')) | f.index_fill(0, i0, 1e300) | f.scatter(0, i0, 1e300)
F.pad(f, (1, 1), value=1e300) | F.pad(u, (1, 1), value=300) | F.pad(i, (1, 1), value=1.5)
T.addcmul(u, u, u, value=300) | T.addcmul(u, u, u, value=2) | T.addcmul(i, i, i, value=0.5) | T.addcmul(i, i, i, value=-2)
T.addcmul(f, f, f, value=0.5) | i.addcmul_(i, i, value=2)
"""
DIVISION_BY_ZERO = """
i//0 | i//i0 | i%0 | i%i0 | u//0 | u%0 | b//b | b%b | 5//i0 | 5%i0 | i//0.0 | i%0.0 | f//0 | f%0 | f//i0 | f%i0 | i/0
i/i0 | f/i0 | T.div(i, 0, rounding_mode='floor') | T.div(i, i0, rounding_mode='trunc')
T.div(f, 0, rounding_mode='trunc') | i.floor_divide(i0)
i.remainder(i0) | i.remainder_(0) | i.div_(0, rounding_mode='floor') | T.zeros(0, dtype=T.int64)//0
i//T.tensor(0) | i%T.tensor(0.0)
"""
PLACES_OF_MASKS = """
b.argmax() | b.argmin() | b.argmax(0) | b2.argmin(1) | b.bincount()
b.long().bincount() | b.long().argmax() | i.argmax() | u.bincount()
"""
NETWORKS = """
F.mse_loss(i, i) | F.mse_loss(f, i) | F.mse_loss(b, b) | F.huber_loss(i, i) | F.huber_loss(f, i) | F.smooth_l1_loss(i, i)
F.l1_loss(i, i) | F.l1_loss(f, i, reduction='sum') | F.nll_loss(i2, i0) | F.cross_entropy(i2, i0)
F.elu(i) | F.elu(b) | F.gelu(i) | F.silu(i) | F.silu(b) | F.softplus(i) | F.leaky_relu(i) | F.logsigmoid(i) | F.relu(i)
F.relu6(i) | F.leaky_relu(i, inplace=True) | F.elu(f.half()) | F.silu(f.half()) | F.mse_loss(f, f.half())
F.relu6(u) | F.relu6(b)
F.hardtanh(i) | F.hardtanh(i, -1.5, 0.5) | F.hardtanh(b) | F.hardtanh(u) | F.hardtanh(u, 0, 300) | F.hardtanh(u, 3, 7)
F.hardtanh(i, inplace=True) | F.layer_norm(i2, (2,)) | F.batch_norm(i2, None, None, training=True)
F.batch_norm(i2, T.zeros(2), T.ones(2)) | F.avg_pool2d(i4, 2) | F.avg_pool2d(-i4, 3) | F.avg_pool1d(i4[0], 2)
F.binary_cross_entropy_with_logits(f, b) | F.binary_cross_entropy_with_logits(f, i) | F.binary_cross_entropy_with_logits(i, f)
F.binary_cross_entropy_with_logits(f, f, weight=i) | F.binary_cross_entropy_with_logits(f, f.double())
F.binary_cross_entropy_with_logits(f.half(), f) | F.binary_cross_entropy_with_logits(f, f, reduction='none')
F.binary_cross_entropy(f, b) | F.binary_cross_entropy(f, i) | F.binary_cross_entropy(f, f.double())
F.binary_cross_entropy(i0, i0) | F.relu(b) | T.relu(b) | b.relu() | b.relu_() | F.relu(b, inplace=True) | F.relu(i0, inplace=True)
F.dropout(i, 0.5) | F.dropout(b, 0.5) | F.dropout(i, 0.5, inplace=True) | F.dropout(i, 1.0) | F.dropout(b, 1.0)
F.dropout(i, 0.0) | F.dropout(i, 0.5, False) | F.dropout(i[:0], 0.5) | F.max_pool1d(i4[0], 2) | F.max_pool1d(u[None], 2)
F.max_pool1d(i4[0, :, :0], 2) | F.max_pool1d(i4[0], 2, return_indices=True)[0] | F.kl_div(i, f) | F.kl_div(f, i)
F.kl_div(b, f) | F.kl_div(u, f, log_target=True)
F.nll_loss(i2.float(), i0, i) | F.nll_loss(i2.float(), i0, f.double()) | F.nll_loss(i2.float(), i0, f.half())
F.cross_entropy(i2.float(), i0, i) | F.cross_entropy(i2.float(), i0, f.double()) | F.cross_entropy(i2.double(), i0, f.double())
F.cross_entropy(i2.float(), i0, f.double(), label_smoothing=0.5) | F.cross_entropy(i2.float(), i2.float(), i)
F.nll_loss(T.zeros(1, 2, 2), i0[None], i) | F.nll_loss(T.zeros(0, 2), i0[:0], i)
"""


@pytest.mark.parametrize("program", programs(MASKS + INTEGERS + SMALL + FILLS + DIVISION_BY_ZERO + PLACES_OF_MASKS + NETWORKS))
def test_as_in_torch(program):
    wanted, got = outcome(torch, program), outcome(gradlab, program)
    if isinstance(wanted, type) and isinstance(got, type):
        assert issubclass(got, wanted)
    else:
        assert got == wanted
