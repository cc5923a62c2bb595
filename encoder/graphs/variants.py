"""Small networks, each with one peculiarity of other architectures or exporters."""

import numpy
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn
from torch.nn import functional as F

from onnxio import to_half
from convolutional import conv
from transformer import Block


class GeM(nn.Module):
    """The generalised mean of retrieval networks, whitened and normalised."""

    def __init__(self, width=64, out=48):
        super().__init__()
        self.body = nn.Sequential(conv(3, 32, 3, 4, act=nn.PReLU(32)), conv(32, width, 3, 4, act=nn.ReLU()))
        self.whiten = nn.Linear(width, out)
        self.register_buffer("p", torch.tensor([3.0]))

    def forward(self, x):
        x = self.body(x).clamp(min=1e-6).pow(self.p)
        x = F.adaptive_avg_pool2d(x, 1).pow(1.0 / self.p).flatten(1)
        return F.normalize(self.whiten(x), p=2, dim=1)


class ConvNeXtV2(nn.Module):
    """Channels last, with a response normalised over the image, and Hugging Face's poolers."""

    def __init__(self, width=64):
        super().__init__()
        self.stem, self.depth = nn.Conv2d(3, width, 8, 8), nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm, self.fc1, self.fc2 = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.gamma, self.beta = nn.Parameter(torch.ones(1, 1, 1, 4 * width)), nn.Parameter(torch.zeros(1, 1, 1, 4 * width))
        self.last = nn.LayerNorm(width)

    def forward(self, x):
        x = self.stem(x)
        y = F.gelu(self.fc1(self.norm(self.depth(x).permute(0, 2, 3, 1))))
        g = torch.norm(y, p=2, dim=(1, 2), keepdim=True)
        y = self.gamma * (y * (g / (g.mean(dim=-1, keepdim=True) + 1e-6))) + self.beta + y
        x = x + self.fc2(y).permute(0, 3, 1, 2)
        return x, self.last(x.mean([-2, -1]))


class HFResNet(nn.Module):
    """last_hidden_state of four dimensions, pooler_output of 1×width×1×1; ECA's attention by a
    convolution over channels."""

    def __init__(self, width=64):
        super().__init__()
        self.body = nn.Sequential(conv(3, 32, 7, 4, act=nn.ELU()), nn.MaxPool2d(3, 2, 1), conv(32, width, 3, 2, act=nn.Mish()))
        self.eca = nn.Conv1d(1, 1, 5, padding=2, bias=False)

    def forward(self, x):
        x = self.body(x)
        y = x.mean((2, 3)).view(x.shape[0], 1, -1)
        x = x * self.eca(y).sigmoid().view(x.shape[0], -1, 1, 1).expand_as(x)
        return x, F.adaptive_avg_pool2d(x, (1, 1))


class HFSwin(nn.Module):
    """Tokens pooled over a line of them, and patches merged as rows of every second one."""

    def __init__(self, width=32):
        super().__init__()
        self.stem, self.blocks = nn.Conv2d(3, width, 16, 16), Block(width, 2)
        self.norm, self.reduction = nn.LayerNorm(4 * width), nn.Linear(4 * width, 2 * width, bias=False)
        self.last = nn.LayerNorm(2 * width)

    def forward(self, x):
        x = self.stem(x)
        b, c, h, w = x.shape
        x = self.blocks(x.flatten(2).transpose(1, 2)).view(b, h, w, c)
        x = torch.cat([x[:, 0::2, 0::2, :], x[:, 1::2, 0::2, :], x[:, 0::2, 1::2, :], x[:, 1::2, 1::2, :]], -1)
        x = self.last(self.reduction(self.norm(x.view(b, -1, 4 * c))))
        return x, torch.flatten(F.adaptive_avg_pool1d(x.transpose(1, 2), 1), 1)


class Rotary(nn.Module):
    """EVA-02 and DINOv3: positions turn queries and keys; a gated perceptron."""

    def __init__(self, width=64, heads=4, grid=7):
        super().__init__()
        self.stem, self.cls_token = nn.Conv2d(3, width, 16, 16), nn.Parameter(torch.zeros(1, 1, width))
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width, bias=False), nn.Linear(width, width)
        self.norm1, self.norm2, self.proj = nn.LayerNorm(width), nn.LayerNorm(width), nn.Linear(width, width)
        self.gates, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(2 * width, width)
        self.heads = heads
        d = width // heads
        steps = torch.arange(grid).float()
        y, x = torch.meshgrid(steps, steps, indexing="ij")
        angles = torch.stack([y.flatten(), x.flatten()], -1)[:, :, None] * 100 ** -torch.arange(0, 1, 4 / d)
        self.register_buffer("angles", angles.flatten(1).repeat(1, 2))

    def turn(self, x, pairs):
        sin, cos = self.angles.sin(), self.angles.cos()
        first, rest = x[:, :, :1], x[:, :, 1:]
        if pairs:  # EVA-02: neighbours
            turned = torch.stack([-rest[..., 1::2], rest[..., ::2]], -1).reshape(rest.shape)
        else:  # DINOv3: halves
            a, b = rest.chunk(2, dim=-1)
            turned = torch.cat([-b, a], -1)
        return torch.cat([first, rest * cos + turned * sin], dim=2)

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), x], 1)
        b, n, c = x.shape
        y = self.norm1(x)
        q, k, v = (p(y).reshape(b, n, self.heads, -1).transpose(1, 2) for p in (self.q, self.k, self.v))
        q, k = self.turn(q, True), self.turn(k, False)
        y = ((q * (c // self.heads) ** -0.5) @ k.transpose(-2, -1)).softmax(-1) @ v
        x = x + self.proj(y.transpose(1, 2).reshape(b, n, c))
        a, g = self.gates(self.norm2(x)).chunk(2, dim=-1)
        return (x + self.fc2(F.silu(a) * g))[:, 0]


class Weights:
    """Builds a file node by node."""

    def __init__(self, seed):
        self.rng, self.nodes, self.tensors = numpy.random.default_rng(seed), [], []

    def tensor(self, name, *shape, scale=None, low=None):
        x = self.rng.uniform(low, low + 1, shape) if low is not None else self.rng.standard_normal(shape) * (
            scale or (2 / max(1, numpy.prod(shape[1:]))) ** 0.5)
        self.tensors.append(numpy_helper.from_array(to_half(x).astype(numpy.float32), name))
        return name

    def const(self, name, x):
        self.tensors.append(numpy_helper.from_array(x, name))
        return name

    def node(self, op, inputs, out, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [out], **attributes))
        return out

    def model(self, shape, out, size, opset, **more):
        graph = helper.make_graph(self.nodes, "net", [helper.make_tensor_value_info("data", TensorProto.FLOAT, shape)] + [
            helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in self.tensors if more.get("listed")],
            [helper.make_tensor_value_info(out, TensorProto.FLOAT, [shape[0], size])], self.tensors)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=3 if more.get("listed") else 7)


def keras():
    """tf2onnx: rows of pixels, padding by name, a classifier of MatMul, Add and Softmax."""
    w = Weights(7)
    x = w.node("Transpose", ["data"], "nchw", perm=[0, 3, 1, 2])
    x = w.node("Conv", [x, w.tensor("k1", 32, 3, 3, 3), w.tensor("b1", 32, scale=0.1)], "c1", strides=[2, 2], auto_pad="SAME_UPPER")
    x = w.node("Min", [w.node("Max", [x, w.const("zero", numpy.float32(0))], "m1"), w.const("six", numpy.float32(6))], "r1")
    x = w.node("Pad", [x, w.const("pads", numpy.array([0, 0, 0, 0, 0, 0, 1, 1]))], "p2")
    x = w.node("Conv", [x, w.tensor("k2", 32, 1, 3, 3)], "c2", strides=[2, 2], group=32, auto_pad="VALID")
    x = w.node("Conv", [w.node("Sigmoid", [x], "s2"), w.tensor("k3", 64, 32, 1, 1)], "c3", auto_pad="SAME_LOWER")
    x = w.node("AveragePool", [w.node("Relu", [x], "r3")], "a3", kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER")
    x = w.node("MaxPool", [x], "a4", kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_LOWER")
    x = w.node("ReduceMean", [x], "global_average_pooling2d", axes=[2, 3], keepdims=0)
    x = w.node("Add", [w.node("MatMul", [x, w.tensor("k5", 64, 1000, scale=0.2)], "mm"), w.tensor("b5", 1000, scale=0.1)], "logits")
    w.node("Softmax", [x], "predictions", axis=1)
    return w.model(["unk", 224, 224, 3], "predictions", 1000, 13)


def caffe():
    """MXNet and Caffe: weights listed as inputs, local normalisation, Sum, a normalised picture."""
    w = Weights(9)
    x = w.node("BatchNormalization", ["data", w.tensor("g0", 3, low=0.5), w.tensor("b0", 3, scale=0.1), w.tensor("m0", 3, scale=0.1),
                                      w.tensor("v0", 3, low=0.5)], "bn", epsilon=2e-5, momentum=0.9)
    x = w.node("Conv", [x, w.tensor("k1", 48, 3, 7, 7)], "c1", kernel_shape=[7, 7], strides=[4, 4], pads=[3, 3, 3, 3])
    x = w.node("LRN", [w.node("Relu", [x], "r1")], "n1", size=5, alpha=1e-3, beta=0.75, bias=1.0)
    x = w.node("MaxPool", [x], "p1", kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1])
    y = w.node("LeakyRelu", [w.node("Conv", [x, w.tensor("k2", 48, 48, 3, 3)], "c2", pads=[1, 1, 1, 1])], "r2", alpha=0.1)
    x = w.node("Sum", [x, y, x], "s2")
    x = w.node("GlobalAveragePool", [x], "pool5")
    x = w.node("Reshape", [x, w.const("to", numpy.array([0, -1]))], "flat")
    x = w.node("Gemm", [w.node("Dropout", [x], "drop", ratio=0.5), w.tensor("k3", 1000, 48), w.tensor("b3", 1000, scale=0.1)], "fc",
               transB=1, alpha=1.0, beta=1.0)
    w.node("Softmax", [x], "prob")
    return w.model([1, 3, 224, 224], "prob", 1000, 8, listed=True)
