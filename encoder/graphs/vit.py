"""Vision transformers beside CLIP: timm's and Hugging Face's ViT, SigLIP, DINOv2."""

import torch
from torch import nn
from torch.nn import functional as F

from transformer import NO_MASK, Attention, Block, Later, Later1, RMSNorm, Scaled


class ViT(nn.Module):
    """timm's VisionTransformer. head: classes, 0 for none. pool: "token", "avg" or "" for
    the grid of tokens. distilled: DeiT's second token and head."""

    def __init__(self, side, patch, width, layers, heads, head=0, pool="token", how="plain", act=None, norm=None,
                 scale=False, distilled=False, unbind=True):
        super().__init__()
        extra = 2 if distilled else 1
        self.patch_embed = nn.Conv2d(3, width, patch, patch)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.dist_token = nn.Parameter(torch.zeros(1, 1, width)) if distilled else None
        self.pos_embed = nn.Parameter(torch.zeros(1, (side // patch) ** 2 + extra, width))
        self.blocks = nn.Sequential(*[Block(width, heads, act and act(), how, scale, norm, unbind) for _ in range(layers)])
        self.norm = (norm or (lambda w: nn.LayerNorm(w, eps=1e-6)))(width)
        self.head = nn.Linear(width, head) if head else nn.Identity()
        self.head_dist = nn.Linear(width, head) if distilled else None
        self.pool, self.extra = pool, extra

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        first = [self.cls_token.expand(x.shape[0], -1, -1)]
        if self.extra == 2:
            first.append(self.dist_token.expand(x.shape[0], -1, -1))
        x = self.norm(self.blocks(torch.cat(first + [x], dim=1) + self.pos_embed))
        if self.extra == 2:
            return (self.head(x[:, 0]) + self.head_dist(x[:, 1])) / 2
        if self.pool == "avg":
            x = x[:, 1:].mean(dim=1)
        elif self.pool == "token":
            x = x[:, 0]
        return self.head(x)


class DINOv2(nn.Module):
    """Headless: the class token after the last normalisation. Its positions are for a
    larger side, and are interpolated for any other."""

    def __init__(self, side, patch, width, layers, heads, registers=0, tokens=False):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, width, patch, patch)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.register_tokens = nn.Parameter(torch.zeros(1, registers, width)) if registers else None
        self.grid, self.patch, self.tokens = side // patch, patch, tokens
        self.pos_embed = nn.Parameter(torch.zeros(1, self.grid ** 2 + 1, width))
        self.blocks = nn.ModuleList([Block(width, heads, scale=True, unbind=False) for _ in range(layers)])
        self.norm = nn.LayerNorm(width, eps=1e-6)

    def positions(self, x, h, w):
        grid = self.pos_embed[:, 1:].reshape(1, self.grid, self.grid, -1).permute(0, 3, 1, 2)
        grid = F.interpolate(grid, size=(h // self.patch, w // self.patch), mode="bicubic", align_corners=False)
        return torch.cat([self.pos_embed[:, :1], grid.permute(0, 2, 3, 1).reshape(1, -1, x.shape[-1])], dim=1)

    def forward(self, image):
        _, _, h, w = image.shape
        x = self.patch_embed(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), x], dim=1) + self.positions(x, h, w)
        if self.register_tokens is not None:
            x = torch.cat([x[:, :1], self.register_tokens.expand(x.shape[0], -1, -1), x[:, 1:]], dim=1)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return (x, x[:, 0]) if self.tokens else x[:, 0]


class SigLIPHead(nn.Module):
    """Attention of a learnt probe: Hugging Face's by nn.MultiheadAttention, timm's by hand."""

    def __init__(self, width, heads, timm):
        super().__init__()
        self.timm, self.heads = timm, heads
        self.probe_embed = nn.Parameter(torch.zeros(1, 1, width))
        if timm:
            self.q, self.kv, self.proj = nn.Linear(width, width), nn.Linear(width, 2 * width), nn.Linear(width, width)
        else:
            self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.fc1, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, n, c = x.shape
        if self.timm:
            q = self.q(self.probe_embed.expand(b, -1, -1)).reshape(b, 1, self.heads, c // self.heads).transpose(1, 2)
            k, v = self.kv(x).reshape(b, n, 2, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
            y = self.proj(Scaled.apply(q, k, v, NO_MASK).transpose(1, 2).reshape(b, 1, c))
        else:
            y = self.attention(self.probe_embed.repeat(b, 1, 1), x, x)[0]
        y = y + self.fc2(F.gelu(self.fc1(self.norm(y)), approximate="tanh"))
        return y[:, 0]


class SigLIP(nn.Module):
    """No class token; normalised as Immich exports it, or with last_hidden_state as
    Hugging Face's SiglipVisionModel."""

    def __init__(self, side, patch, width, layers, heads, timm=True):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, width, patch, patch)
        self.pos_embed = nn.Parameter(torch.zeros(1, (side // patch) ** 2, width))
        self.blocks = nn.Sequential(*[Block(width, heads, nn.GELU(approximate="tanh"), "sdpa" if timm else "plain")
                                      for _ in range(layers)])
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.head, self.timm = SigLIPHead(width, heads, timm), timm

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2) + self.pos_embed
        x = self.norm(self.blocks(x))
        return F.normalize(self.head(x), dim=-1) if self.timm else (x, self.head(x))


class HFViT(ViT):
    """ViTModel: last_hidden_state, and pooler_output through a tanh."""

    def __init__(self, *args, **kw):
        super().__init__(*args, pool="", **kw)
        self.pooler = nn.Linear(args[2], args[2])

    def forward(self, x):
        x = super().forward(x)
        return x, torch.tanh(self.pooler(x[:, 0]))


class Newest(nn.Module):
    """A transformer of operators that came with opset 20 to 23, or of their decompositions."""

    def __init__(self, op, opset):
        super().__init__()
        later = lambda since, name: name if op and opset >= since else None
        attention = "op" if later(23, "Attention") else "plain"
        self.stem = nn.Conv2d(3, 64, 16, 16)
        self.group, self.stem_norm = later(21, "GroupNormalization"), nn.GroupNorm(4, 64)
        self.vit = nn.Sequential(
            Block(64, 4, Later1(later(20, "Gelu"), F.gelu), attention, True),
            Block(64, 4, Later1(later(20, "GeluTanh"), lambda x: F.gelu(x, approximate="tanh")), attention, True,
                  lambda w: RMSNorm(w, bool(later(23, "RMSNormalization")))))
        self.head = nn.Linear(64, 96)

    def forward(self, x):
        x = self.stem(x)
        if self.group:
            x = Later.apply("GroupNormalization", x, self.stem_norm.weight, self.stem_norm.bias)
        else:
            x = self.stem_norm(x)
        x = self.vit(x.flatten(2).transpose(1, 2))
        a, b = x.mean(1), x.pow(2).mean(1).sqrt()
        x = torch.cat(torch.split(a * b, 32, -1)[::-1], -1)
        return F.normalize(self.head(x), dim=-1)
