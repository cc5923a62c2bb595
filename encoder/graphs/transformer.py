"""Parts of transformers in the forms that different exporters write."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class QuickGELU(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(1.702 * x)


class FloatNorm(nn.LayerNorm):
    """CLIP's own, which casts to float32 and back."""

    def forward(self, x):
        return super().forward(x.type(torch.float32)).type(x.dtype)


NO_MASK = torch.zeros(1)


class Scaled(torch.autograd.Function):
    """scaled_dot_product_attention as torch 2 exports it: the root of the scale is taken
    from the shape, and multiplies both sides."""

    @staticmethod
    def forward(ctx, q, k, v, mask):
        s = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        if mask.numel() > 1:
            s = s + mask
        return s.softmax(-1) @ v

    @staticmethod
    def symbolic(g, q, k, v, mask):
        def ints(*x):
            return g.op("Constant", value_t=torch.tensor(x, dtype=torch.int64))

        def number(x):
            return g.op("Constant", value_t=torch.tensor(x, dtype=torch.float32))

        width = g.op("Slice", g.op("Shape", q), ints(-1), ints(2**63 - 1))
        root = g.op("Sqrt", g.op("Cast", width, to_i=1))
        scale = g.op("Sqrt", g.op("Cast", g.op("Div", number([1.0]), root), to_i=1))
        k = g.op("Transpose", k, perm_i=[0, 1, 3, 2])
        s = g.op("MatMul", g.op("Mul", q, scale), g.op("Mul", k, scale))
        if mask.type().sizes() != [1]:
            s = g.op("Add", s, mask)
        y = g.op("MatMul", g.op("Softmax", s, axis_i=-1), v)
        y.setType(q.type())
        return y


class ScaledByFunctions(Scaled):
    """The same as torch 2's other exporter writes it: CastLike, a key transposed by way of
    three dimensions, and Dropout."""

    @staticmethod
    def symbolic(g, q, k, v, mask):
        def ints(*x):
            return g.op("Constant", value_t=torch.tensor(x, dtype=torch.int64))

        one = g.op("CastLike", g.op("Constant", value_t=torch.tensor(1.0)), q)
        width = g.op("CastLike", g.op("Gather", g.op("Shape", q), ints(-1)), q)
        root = g.op("Sqrt", g.op("Div", one, g.op("Sqrt", width)))
        shape, most = g.op("Shape", k), ints(2**63 - 1)
        last, rows, first = g.op("Slice", shape, ints(-1), most), g.op("Slice", shape, ints(-2), ints(-1)), g.op("Slice", shape, ints(0), ints(-2))
        flat = g.op("Reshape", k, g.op("Concat", ints(-1), rows, last, axis_i=0))
        turned = g.op("Reshape", g.op("Transpose", flat, perm_i=[0, 2, 1]), g.op("Concat", first, last, rows, axis_i=0))
        s = g.op("MatMul", g.op("Mul", q, root), g.op("Mul", turned, g.op("CastLike", root, turned)))
        p = g.op("Dropout", g.op("Softmax", s, axis_i=-1), g.op("Constant", value_t=torch.tensor(0.0)))
        y = g.op("MatMul", p, v)
        y.setType(q.type())
        return y


class Unflatten(torch.autograd.Function):
    """The last dimension in three, as torch 2's nn.MultiheadAttention does it; what comes out
    has no known shape, so that a squeeze of it becomes an If."""

    @staticmethod
    def forward(ctx, x, width):
        return x.reshape(x.shape[:-1] + (3, width))

    @staticmethod
    def symbolic(g, x, width):
        def ints(*v):
            return g.op("Constant", value_t=torch.tensor(v, dtype=torch.int64))

        rank, one = ints(3), ints(1)
        dim = g.op("Mod", g.op("Add", rank, g.op("Constant", value_t=torch.tensor(-1))), rank)
        size = g.op("Shape", x)
        head = g.op("Slice", size, ints(0), g.op("Reshape", dim, one))
        tail = g.op("Slice", size, g.op("Reshape", g.op("Add", dim, one), one), ints(2**63 - 1))
        parts = ints(3, width)
        y = g.op("Reshape", x, g.op("Concat", head, parts, tail, axis_i=0))
        y.setType(x.type().with_sizes([None] * 4))
        return y


class MultiheadAttention2(nn.MultiheadAttention):
    """nn.MultiheadAttention as torch 2 runs it without its fast path."""

    def forward(self, x, key, value, need_weights=False, attn_mask=None):
        x = x.transpose(0, 1)
        n, b, c = x.shape
        y = Unflatten.apply(F.linear(x, self.in_proj_weight, self.in_proj_bias), self.embed_dim)
        y = y.unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
        q, k, v = (y[i].view(n, b * self.num_heads, c // self.num_heads).transpose(0, 1) for i in range(3))
        q, k, v = (t.view(b, self.num_heads, n, c // self.num_heads) for t in (q, k, v))
        y = Scaled.apply(q, k, v, NO_MASK).permute(2, 0, 1, 3).contiguous().view(b * n, c)
        y = F.linear(y, self.out_proj.weight, self.out_proj.bias).view(n, b, c)
        return y.transpose(1, 0), None


class Later(torch.autograd.Function):
    """Operators of opset 20 to 23, which torch 1.13 does not know."""

    @staticmethod
    def forward(ctx, op, *x):
        if op == "Gelu":
            return F.gelu(x[0])
        if op == "GeluTanh":
            return F.gelu(x[0], approximate="tanh")
        if op == "RMSNormalization":
            return x[0] * torch.rsqrt((x[0] ** 2).mean(-1, keepdim=True) + 1e-6) * x[1]
        if op == "GroupNormalization":
            return F.group_norm(x[0], 4, x[1], x[2])
        s = x[0] @ x[1].transpose(-2, -1) / math.sqrt(x[0].shape[-1])
        if op == "CausalAttention":
            s = s + torch.full(s.shape[-2:], -math.inf).triu(1)
        return s.softmax(-1) @ x[2]

    @staticmethod
    def symbolic(g, op, *x):
        if op == "GeluTanh":
            y = g.op("later::Gelu", x[0], approximate_s="tanh")
        elif op == "RMSNormalization":
            y = g.op("later::RMSNormalization", *x, epsilon_f=1e-6, axis_i=-1)
        elif op == "GroupNormalization":
            y = g.op("later::GroupNormalization", *x, num_groups_i=4, epsilon_f=1e-5)
        elif op == "CausalAttention":
            y = g.op("later::Attention", *x, is_causal_i=1)
        else:
            y = g.op("later::" + op, *x)
        y.setType(x[0].type())
        return y


class Later1(nn.Module):
    """One of the operators of Later without weights, or its decomposition."""

    def __init__(self, op, plain):
        super().__init__()
        self.op, self.plain = op, plain

    def forward(self, x):
        return Later.apply(self.op, x) if self.op else self.plain(x)


class Attention(nn.Module):
    """timm's and DINOv2's: one product for q, k and v. how: "plain", "sdpa" (torch 2's
    decomposition), "functions" (that of its other exporter) or "op" (opset 23's Attention)."""

    def __init__(self, width, heads, how="plain", bias=True, unbind=True):
        super().__init__()
        self.heads, self.how, self.unbind = heads, how, unbind
        self.qkv, self.proj = nn.Linear(width, 3 * width, bias=bias), nn.Linear(width, width)

    def forward(self, x):
        b, n, c = x.shape
        qkv = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0) if self.unbind else (qkv[0], qkv[1], qkv[2])
        if self.how == "plain":
            s = (q * (c // self.heads) ** -0.5) @ k.transpose(-2, -1)
            y = s.softmax(-1) @ v
        elif self.how == "sdpa":
            y = Scaled.apply(q, k, v, NO_MASK)
        elif self.how == "functions":
            y = ScaledByFunctions.apply(q, k, v, NO_MASK)
        else:
            y = Later.apply("Attention", q, k, v)
        return self.proj(y.transpose(1, 2).reshape(b, n, c))


class LayerScale(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * self.gamma


class RMSNorm(nn.Module):
    def __init__(self, width, op=False):
        super().__init__()
        self.weight, self.op = nn.Parameter(torch.ones(width)), op

    def forward(self, x):
        if self.op:
            return Later.apply("RMSNormalization", x, self.weight)
        return x * torch.rsqrt((x ** 2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Block(nn.Module):
    """Attention and perceptron, each after a normalisation, with optional layer scale."""

    def __init__(self, width, heads, act=None, how="plain", scale=False, norm=None, unbind=True):
        super().__init__()
        norm = norm or (lambda w: nn.LayerNorm(w, eps=1e-6))
        self.norm1, self.norm2 = norm(width), norm(width)
        self.attn = Attention(width, heads, how, unbind=unbind)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), act or nn.GELU(), nn.Linear(4 * width, width))
        self.ls1 = LayerScale(width) if scale else nn.Identity()
        self.ls2 = LayerScale(width) if scale else nn.Identity()

    def forward(self, x):
        x = x + self.ls1(self.attn(self.norm1(x)))
        return x + self.ls2(self.mlp(self.norm2(x)))
