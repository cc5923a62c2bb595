"""Weights, calibration and ONNX export, shared by all networks of this folder."""

import io
import math
import re
import warnings

import numpy
import onnx
import torch
from onnx import numpy_helper
from torch import nn

warnings.filterwarnings("ignore")


# Where the last normalisation of a block is that is added to what it read.
LAST = {"Bottleneck": "bn3|body", "BasicBlock": "bn2", "ResBottleneckBlock": "f", "MBConv": "block", "FusedMBConv": "block",
        "InvertedResidual": "conv|block", "_InvertedResidual": "layers"}


def settle(model, *inputs, seed=1, gain=1.0):
    """Gives a network random weights that keep activations in range and the result
    dependent on the image, because an almost constant result would hide errors."""
    torch.manual_seed(seed)
    for name, p in model.named_parameters():
        leaf = name.rsplit(".", 1)[-1]
        if "gamma" in leaf or "scale" in name:  # layer scale
            nn.init.uniform_(p, 0.2, 0.6)
        elif p.dim() == 4 or p.dim() >= 2 and not any(w in name for w in ("embed", "token", "table")):
            nn.init.normal_(p, std=gain / math.sqrt(p[0].numel()))
        elif leaf == "weight" and p.dim() == 1:  # of normalisations
            nn.init.uniform_(p, 0.6, 1.4)
        elif leaf == "bias":
            nn.init.normal_(p, std=0.1)
        else:
            nn.init.normal_(p, std=0.5)
    for m in model.modules():
        part = LAST.get(type(m).__name__)
        last = [x for n, x in m.named_modules() if part and isinstance(x, nn.BatchNorm2d) and re.match(part, n)][-1:]
        for norm in last:
            norm.weight.data.mul_(0.3)  # a sum of many blocks must not amplify what is rounded
    norms = [m for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    model.eval()
    for m in norms:  # statistics of what really passes, not 0 and 1
        m.reset_running_stats()
        m.momentum = None
        m.train()
    if norms:
        with torch.no_grad():
            calibrate(model, inputs[0])
        for m in norms:  # a channel that hardly varied may do so in another picture
            m.running_var.clamp_(min=0.2 * m.running_var.mean().item())
    return model.eval()


def calibrate(model, x):
    """Runs four smaller images, or two of its size if the network requires it."""
    side = x.shape[-1]
    try:
        model(image(side // 2, 4))
    except RuntimeError:
        model(image(side, 2))


def image(side, batch=1, seed=3):
    """Returns patches of colour with noise, as in the tests."""
    g = torch.Generator().manual_seed(seed)
    coarse = nn.functional.interpolate(torch.rand(batch, 3, 8, 8, generator=g), size=(side, side))
    x = 0.7 * coarse + 0.3 * torch.rand(batch, 3, side, side, generator=g)
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    return (x - mean.view(1, 3, 1, 1)) / std.view(1, 3, 1, 1)


def export(model, inputs, opset=17, names=("image",), outputs=("output",), dynamic=None, folding=True, fused=True):
    """Exports by torch and returns the model. Weights are rounded to half precision, so that
    graphs in half and single precision share them. Numbers of operators, such as √2, are not
    rounded, because fusing recognises them (convert.changes)."""
    f = io.BytesIO()
    torch.onnx.export(model, tuple(inputs), f, opset_version=opset, input_names=list(names),
                      output_names=list(outputs), dynamic_axes=dynamic or {}, do_constant_folding=folding,
                      training=torch.onnx.TrainingMode.EVAL if fused else torch.onnx.TrainingMode.PRESERVE)
    m = onnx.load_model_from_string(f.getvalue())
    return standard(rounded(m))


def tensors(graph):
    """Yields all constants of a graph."""
    yield from graph.initializer
    for n in graph.node:
        for a in n.attribute:
            if a.type == onnx.AttributeProto.TENSOR:
                yield a.t


def to_half(x):
    limit = numpy.finfo(numpy.float16).max  # masks are the smallest float32
    finite = numpy.isfinite(x)
    return numpy.where(finite, numpy.clip(x, -limit, limit), x).astype(numpy.float16)


SMALL = 16


def rounded(m):
    for t in tensors(m.graph):
        if t.data_type == onnx.TensorProto.FLOAT:
            x = numpy_helper.to_array(t)
            if x.size > SMALL:
                t.CopyFrom(numpy_helper.from_array(to_half(x).astype(numpy.float32), t.name))
    return m


def standard(m):
    """Moves operators of later opsets from the exporter's private domain to the standard
    one. convert.lift sets the opset."""
    for n in m.graph.node:
        if n.domain == "later":
            n.domain = ""
    for i in reversed(range(len(m.opset_import))):
        if m.opset_import[i].domain == "later":
            del m.opset_import[i]
    return m
