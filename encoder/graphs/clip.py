"""CLIP in the forms of OpenAI, Hugging Face and open_clip, structure only, reimplemented."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from transformer import NO_MASK, FloatNorm, MultiheadAttention2, QuickGELU, Scaled


class ResidualBlock(nn.Module):
    """Attention over length × batch × width, as in OpenAI's file; batch first in later ones."""

    def __init__(self, width, heads, mask=None, first=False, act=QuickGELU, norm=FloatNorm, mha=nn.MultiheadAttention):
        super().__init__()
        self.attn = mha(width, heads, batch_first=first)
        self.ln_1, self.ln_2 = norm(width), norm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), act(), nn.Linear(4 * width, width))
        self.mask = mask

    def forward(self, x):
        y = self.ln_1(x)
        x = x + self.attn(y, y, y, need_weights=False, attn_mask=self.mask)[0]
        return x + self.mlp(self.ln_2(x))


class Visual(nn.Module):
    """OpenAI's VisionTransformer."""

    def __init__(self, side, patch, width, layers, heads, out):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, patch, patch, bias=False)
        self.class_embedding = nn.Parameter(torch.zeros(width))
        self.positional_embedding = nn.Parameter(torch.zeros((side // patch) ** 2 + 1, width))
        self.ln_pre, self.ln_post = FloatNorm(width), FloatNorm(width)
        self.blocks = nn.Sequential(*[ResidualBlock(width, heads) for _ in range(layers)])
        self.proj = nn.Parameter(torch.zeros(width, out))

    def forward(self, x):
        x = self.conv1(x)
        x = x.reshape(x.shape[0], x.shape[1], -1).permute(0, 2, 1)
        first = self.class_embedding.to(x.dtype) + torch.zeros(x.shape[0], 1, x.shape[-1], dtype=x.dtype)
        x = torch.cat([first, x], dim=1) + self.positional_embedding.to(x.dtype)
        x = self.blocks(self.ln_pre(x).permute(1, 0, 2)).permute(1, 0, 2)
        return self.ln_post(x[:, 0, :]) @ self.proj


class Text(nn.Module):
    """OpenAI's text half: the output at the end token, which has the largest number."""

    def __init__(self, words, length, width, layers, heads, out):
        super().__init__()
        self.token_embedding = nn.Embedding(words, width)
        self.positional_embedding = nn.Parameter(torch.zeros(length, width))
        mask = torch.full((length, length), -math.inf).triu_(1)
        self.blocks = nn.Sequential(*[ResidualBlock(width, heads, mask) for _ in range(layers)])
        self.ln_final = FloatNorm(width)
        self.text_projection = nn.Parameter(torch.zeros(width, out))

    def forward(self, text):
        x = self.token_embedding(text) + self.positional_embedding
        x = self.ln_final(self.blocks(x.permute(1, 0, 2)).permute(1, 0, 2))
        return x[torch.arange(x.shape[0]), text.argmax(dim=-1)] @ self.text_projection


class Both(nn.Module):
    """The whole model: the similarity of each text and each image."""

    def __init__(self, visual, text):
        super().__init__()
        self.visual, self.text = visual, text
        self.logit_scale = nn.Parameter(torch.ones([]))

    def forward(self, image, text):
        a, b = self.visual(image), self.text(text)
        a, b = a / a.norm(dim=1, keepdim=True), b / b.norm(dim=1, keepdim=True)
        logits = self.logit_scale.exp() * a @ b.t()
        return logits, logits.t()


class Bottleneck(nn.Module):
    def __init__(self, inside, planes, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inside, planes, 1, bias=False), nn.BatchNorm2d(planes), nn.ReLU(inplace=True),
            nn.Conv2d(planes, planes, 3, padding=1, bias=False), nn.BatchNorm2d(planes), nn.ReLU(inplace=True),
            nn.AvgPool2d(stride) if stride > 1 else nn.Identity(),
            nn.Conv2d(planes, 4 * planes, 1, bias=False), nn.BatchNorm2d(4 * planes))
        self.side = nn.Sequential(nn.AvgPool2d(stride), nn.Conv2d(inside, 4 * planes, 1, bias=False),
                                  nn.BatchNorm2d(4 * planes)) if stride > 1 or inside != 4 * planes else nn.Identity()

    def forward(self, x):
        return F.relu(self.body(x) + self.side(x))


class AttentionPool(nn.Module):
    """Attention pooling: the mean queries all positions, optionally written as einsum."""

    def __init__(self, places, width, heads, out, einsum):
        super().__init__()
        self.positional_embedding = nn.Parameter(torch.zeros(places + 1, width))
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(width, width) for _ in range(3))
        self.c_proj, self.heads, self.einsum = nn.Linear(width, out), heads, einsum

    def forward(self, x):
        x = x.flatten(start_dim=2).permute(2, 0, 1)
        x = torch.cat([x.mean(dim=0, keepdim=True), x], dim=0) + self.positional_embedding[:, None, :]
        if not self.einsum:
            y, _ = F.multi_head_attention_forward(
                query=x[:1], key=x, value=x, embed_dim_to_check=x.shape[-1], num_heads=self.heads,
                q_proj_weight=self.q_proj.weight, k_proj_weight=self.k_proj.weight, v_proj_weight=self.v_proj.weight,
                in_proj_weight=None, in_proj_bias=torch.cat([self.q_proj.bias, self.k_proj.bias, self.v_proj.bias]),
                bias_k=None, bias_v=None, add_zero_attn=False, dropout_p=0, out_proj_weight=self.c_proj.weight,
                out_proj_bias=self.c_proj.bias, use_separate_proj_weight=True, training=False, need_weights=False)
            return y.squeeze(0)
        n, b, c = x.shape
        q = self.q_proj(x[:1]).view(1, b, self.heads, -1) * (c // self.heads) ** -0.5
        k, v = self.k_proj(x).view(n, b, self.heads, -1), self.v_proj(x).view(n, b, self.heads, -1)
        weights = torch.einsum("qbhd,kbhd->bhqk", q, k).softmax(-1)
        return self.c_proj(torch.einsum("bhqk,kbhd->qbhd", weights, v).reshape(1, b, c)[0])


class ModifiedResNet(nn.Module):
    """CLIP RN50."""

    def __init__(self, side, width, layers, heads, out, einsum=False):
        super().__init__()
        half = width // 2

        def conv(a, b, stride=1):
            return [nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True)]

        stages, inside = [], width
        for i, n in enumerate(layers):
            for j in range(n):
                stages.append(Bottleneck(inside, width << i, 2 if i and not j else 1))
                inside = 4 * width << i
        self.body = nn.Sequential(*conv(3, half, 2), *conv(half, half), *conv(half, width), nn.AvgPool2d(2), *stages)
        self.attnpool = AttentionPool((side // 32) ** 2, inside, heads, out, einsum)

    def forward(self, x):
        return self.attnpool(self.body(x.type(self.attnpool.c_proj.weight.dtype)))


class HFAttention(nn.Module):
    """Hugging Face's attention before and after torch 2."""

    def __init__(self, width, heads, how):
        super().__init__()
        self.heads, self.how = heads, how
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(width, width) for _ in range(4))

    def shape(self, x, b):
        return x.view(b, -1, self.heads, x.shape[-1] // self.heads).transpose(1, 2).contiguous()

    def forward(self, x, mask=None):
        b, n, c = x.size()
        if self.how == "sdpa":
            q, k, v = (self.shape(p(x), b) for p in (self.q_proj, self.k_proj, self.v_proj))
            y = Scaled.apply(q, k, v, NO_MASK if mask is None else mask)
        else:
            flat = (b * self.heads, -1, c // self.heads)
            q = self.shape(self.q_proj(x) * (c // self.heads) ** -0.5, b).view(*flat)
            k, v = self.shape(self.k_proj(x), b).view(*flat), self.shape(self.v_proj(x), b).view(*flat)
            s = torch.bmm(q, k.transpose(1, 2))
            if mask is not None:
                s = (s.view(b, self.heads, n, n) + mask).view(b * self.heads, n, n)
            y = torch.bmm(F.softmax(s, dim=-1), v).view(b, self.heads, n, c // self.heads)
        return self.out_proj(y.transpose(1, 2).reshape(b, n, c))


class HFLayer(nn.Module):
    def __init__(self, width, heads, how, act):
        super().__init__()
        self.self_attn = HFAttention(width, heads, how)
        self.layer_norm1, self.layer_norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.fc1, self.fc2, self.act = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), act

    def forward(self, x, mask=None):
        x = x + self.self_attn(self.layer_norm1(x), mask)
        return x + self.fc2(self.act(self.fc1(self.layer_norm2(x))))


class HFVision(nn.Module):
    """CLIPVisionModelWithProjection: image_embeds and last_hidden_state."""

    def __init__(self, side, patch, width, layers, heads, out, how="plain"):
        super().__init__()
        n = (side // patch) ** 2 + 1
        self.patch_embedding = nn.Conv2d(3, width, patch, patch, bias=False)
        self.class_embedding = nn.Parameter(torch.zeros(width))
        self.position_embedding = nn.Embedding(n, width)
        self.register_buffer("position_ids", torch.arange(n).expand((1, -1)))
        self.pre_layrnorm, self.post_layernorm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.layers = nn.ModuleList([HFLayer(width, heads, how, QuickGELU()) for _ in range(layers)])
        self.visual_projection = nn.Linear(width, out, bias=False)

    def forward(self, pixel_values):
        patches = self.patch_embedding(pixel_values).flatten(2).transpose(1, 2)
        first = self.class_embedding.expand(pixel_values.shape[0], 1, -1)
        x = torch.cat([first, patches], dim=1) + self.position_embedding(self.position_ids)
        x = self.pre_layrnorm(x)
        for layer in self.layers:
            x = layer(x)
        pooled = self.post_layernorm(x[:, 0, :])
        return self.visual_projection(pooled), x


class HFVisionModel(HFVision):
    """CLIPVisionModel: last_hidden_state and pooler_output, no projection."""

    def forward(self, pixel_values):
        x = super().forward(pixel_values)[1]
        return x, self.post_layernorm(x[:, 0, :])


class HFText(nn.Module):
    """CLIPTextModelWithProjection, with a mask of the text."""

    def __init__(self, words, length, width, layers, heads, out, how="plain"):
        super().__init__()
        self.token_embedding = nn.Embedding(words, width)
        self.position_embedding = nn.Embedding(length, width)
        self.register_buffer("position_ids", torch.arange(length).expand((1, -1)))
        self.layers = nn.ModuleList([HFLayer(width, heads, how, QuickGELU()) for _ in range(layers)])
        self.final_layer_norm = nn.LayerNorm(width)
        self.text_projection = nn.Linear(width, out, bias=False)

    def forward(self, input_ids, attention_mask):
        b, n = input_ids.size()
        x = self.token_embedding(input_ids) + self.position_embedding(self.position_ids[:, :n])
        lowest = torch.finfo(x.dtype).min
        causal = torch.full((n, n), lowest)
        steps = torch.arange(n)
        causal = causal.masked_fill(steps < (steps + 1).view(n, 1), 0)[None, None].expand(b, 1, n, n)
        inverted = 1.0 - attention_mask[:, None, None, :].expand(b, 1, n, n).to(x.dtype)
        mask = causal + inverted.masked_fill(inverted.to(torch.bool), lowest)
        for layer in self.layers:
            x = layer(x, mask)
        x = self.final_layer_norm(x)
        pooled = x[torch.arange(b), input_ids.to(torch.int).argmax(dim=-1)]
        return self.text_projection(pooled)


class HFBoth(nn.Module):
    """CLIPModel as optimum exports it: four outputs, of which the embeddings are normalised."""

    def __init__(self, vision, text):
        super().__init__()
        self.vision, self.text = vision, text
        self.logit_scale = nn.Parameter(torch.ones([]))

    def forward(self, input_ids, pixel_values, attention_mask):
        a, b = self.vision(pixel_values)[0], self.text(input_ids, attention_mask)
        a, b = a / a.norm(p=2, dim=-1, keepdim=True), b / b.norm(p=2, dim=-1, keepdim=True)
        per_text = torch.matmul(b, a.t()) * self.logit_scale.exp()
        return per_text.t(), per_text, b, a


class OpenVisual(nn.Module):
    """open_clip's VisionTransformer and encode_image(normalize=True), as Immich exports it."""

    def __init__(self, side, patch, width, layers, heads, out, act=nn.GELU, normalise=True, mha=nn.MultiheadAttention):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, patch, patch, bias=False)
        self.class_embedding = nn.Parameter(torch.zeros(width))
        self.positional_embedding = nn.Parameter(torch.zeros((side // patch) ** 2 + 1, width))
        self.ln_pre, self.ln_post = nn.LayerNorm(width), nn.LayerNorm(width)
        self.blocks = nn.Sequential(*[ResidualBlock(width, heads, None, True, act, nn.LayerNorm, mha) for _ in range(layers)])
        self.proj, self.normalise = nn.Parameter(torch.zeros(width, out)), normalise

    def forward(self, x):
        x = self.conv1(x)
        x = x.reshape(x.shape[0], x.shape[1], -1).permute(0, 2, 1)
        first = self.class_embedding.view(1, 1, -1).expand(x.shape[0], -1, -1).to(x.dtype)
        x = torch.cat([first, x], dim=1) + self.positional_embedding.to(x.dtype)
        x = self.blocks(self.ln_pre(x))
        pooled, _ = self.ln_post(x)[:, 0], x[:, 1:]
        pooled = pooled @ self.proj
        return F.normalize(pooled, dim=-1) if self.normalise else pooled


class OpenText(Text):
    """open_clip's text half, normalised; its numbers are int32 in Immich's files."""

    def forward(self, text):
        return F.normalize(super().forward(text.long()), dim=-1)
