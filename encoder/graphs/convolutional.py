"""Convolutional networks that torchvision does not have: timm's EfficientNet, MobileCLIP's
image half, and the forms of TensorFlow and Caffe2."""

import torch
from torch import nn
from torch.nn import functional as F


def conv(a, b, k=3, stride=1, groups=1, act=None):
    """A convolution with its normalisation, which the exporter makes one."""
    layers = [nn.Conv2d(a, b, k, stride, k // 2, groups=groups, bias=False), nn.BatchNorm2d(b)]
    return nn.Sequential(*layers, *([act] if act else []))


class SE(nn.Module):
    """Squeeze and excitation. pool: a mean (timm) or a window of the whole (MobileOne), whose
    size is fixed when it is exported."""

    def __init__(self, width, inside, pool, act):
        super().__init__()
        self.reduce, self.expand = nn.Conv2d(width, inside, 1), nn.Conv2d(inside, width, 1)
        self.pool, self.act = pool, act

    def forward(self, x):
        if self.pool == "mean":
            s = x.mean((2, 3), keepdim=True)
        else:
            _, c, h, w = x.size()
            s = F.avg_pool2d(x, kernel_size=[int(h), int(w)]).view(-1, c, 1, 1)
        return x * torch.sigmoid(self.expand(self.act(self.reduce(s))))


class TimmEfficientNet(nn.Module):
    """Head 0 returns the pooled features. same: padding as TensorFlow does it,
    computed from the size of the picture."""

    def __init__(self, widths=(16, 24, 40, 80), head=0, same=False):
        super().__init__()
        self.same, self.blocks, inside = same, nn.ModuleList(), widths[0]
        self.stem = conv(3, inside, 3, 2, act=nn.SiLU())
        for i, w in enumerate(widths):
            mid = 4 * inside
            self.blocks.append(nn.ModuleList([
                conv(inside, mid, 1, act=nn.SiLU()), conv(mid, mid, 5 if i % 2 else 3, 2 if i else 1, mid, nn.SiLU()),
                SE(mid, inside, "mean", nn.SiLU()), conv(mid, w, 1)]))
            inside = w
        self.conv_head = conv(inside, 4 * inside, 1, act=nn.SiLU())
        self.classifier = nn.Linear(4 * inside, head) if head else nn.Identity()
        if same:
            for m in self.modules():
                if isinstance(m, nn.Conv2d) and m.stride[0] == 2:
                    m.padding = (0, 0)

    def forward(self, x):
        x = self.stem(self.pad(x, 3))
        for i, (expand, depth, se, project) in enumerate(self.blocks):
            y = expand(x)
            y = project(se(depth(self.pad(y, 5 if i % 2 else 3) if i else y)))
            x = x + y if x.shape[1] == y.shape[1] else y
        return self.classifier(F.adaptive_avg_pool2d(self.conv_head(x), 1).flatten(1))

    def pad(self, x, k):
        if not self.same:
            return x
        h, w = x.shape[-2:]
        ph, pw = max((-(-h // 2) - 1) * 2 + k - h, 0), max((-(-w // 2) - 1) * 2 + k - w, 0)
        return F.pad(x, [pw // 2, pw - pw // 2, ph // 2, ph - ph // 2])


class RepBlock(nn.Module):
    """FastViT's block after reparameterisation: a depthwise mixer and a perceptron of convolutions."""

    def __init__(self, width):
        super().__init__()
        self.mix = nn.Conv2d(width, width, 3, 1, 1, groups=width)
        self.large, self.fc1, self.fc2 = conv(width, width, 7, 1, width), nn.Conv2d(width, 3 * width, 1), nn.Conv2d(3 * width, width, 1)
        self.layer_scale = nn.Parameter(torch.ones(width, 1, 1))

    def forward(self, x):
        x = self.mix(x)
        return x + self.layer_scale * self.fc2(F.gelu(self.fc1(self.large(x))))


class AttentionBlock(nn.Module):
    def __init__(self, width, head=32):
        super().__init__()
        self.norm, self.head = nn.BatchNorm2d(width), head
        self.qkv, self.proj = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)
        self.large, self.fc1, self.fc2 = conv(width, width, 7, 1, width), nn.Conv2d(width, 3 * width, 1), nn.Conv2d(3 * width, width, 1)
        self.layer_scale_1 = nn.Parameter(torch.ones(width, 1, 1))
        self.layer_scale_2 = nn.Parameter(torch.ones(width, 1, 1))

    def mix(self, x):
        shape = x.shape
        b, c, h, w = shape
        x = torch.flatten(x, start_dim=2).transpose(-2, -1)
        q, k, v = self.qkv(x).reshape(b, h * w, 3, c // self.head, self.head).permute(2, 0, 3, 1, 4).unbind(0)
        x = ((q * self.head ** -0.5) @ k.transpose(-2, -1)).softmax(dim=-1) @ v
        return self.proj(x.transpose(1, 2).reshape(b, h * w, c)).transpose(-2, -1).reshape(shape)

    def forward(self, x):
        x = x + self.layer_scale_1 * self.mix(self.norm(x))
        return x + self.layer_scale_2 * self.fc2(F.gelu(self.fc1(self.large(x))))


class MobileCLIP(nn.Module):
    """The image half of MobileCLIP-S0."""

    def __init__(self, widths, layers, out):
        super().__init__()
        w = widths[0]
        body = [nn.Conv2d(3, w, 3, 2, 1), nn.GELU(), nn.Conv2d(w, w, 3, 2, 1, groups=w), nn.GELU(), nn.Conv2d(w, w, 1), nn.GELU()]
        for i, (w, n) in enumerate(zip(widths, layers)):
            if i:
                a = widths[i - 1]
                body += [nn.Conv2d(a, w, 7, 2, 3, groups=a), nn.GELU(), nn.Conv2d(w, w, 1), nn.GELU()]
            last = i == len(widths) - 1
            if last:
                body.append(nn.Conv2d(w, w, 7, 1, 3, groups=w))
            body += [AttentionBlock(w) if last else RepBlock(w) for _ in range(n)]
        self.body = nn.Sequential(*body)
        self.exp = nn.Conv2d(w, 2 * w, 3, 1, 1, groups=w)
        self.se = SE(2 * w, w // 8, "window", nn.ReLU())
        self.proj = nn.Parameter(torch.zeros(2 * w, out))

    def forward(self, x):
        x = F.gelu(self.se(self.exp(self.body(x))))
        return x.mean(dim=[2, 3]) @ self.proj


class Pixels(nn.Module):
    """A network that takes the pixels as they are: bytes, or floats, or rows of pixels."""

    def __init__(self, net, nhwc, scale):
        super().__init__()
        self.net, self.nhwc = net, nhwc
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1))
        self.register_buffer("std", torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1))
        self.scale = scale

    def forward(self, x):
        if self.nhwc:
            x = x.permute(0, 3, 1, 2)
        x = x.to(torch.float32)
        return self.net((x / 255 - self.mean) / self.std if self.scale else x)


class Caffe2(nn.Module):
    """The classifier is a convolution, and nothing is flattened: 1×1000×1×1."""

    def __init__(self, net):
        super().__init__()
        self.net, self.fc = net, nn.Conv2d(320, 1000, 1)

    def forward(self, x):
        return self.fc(F.adaptive_avg_pool2d(self.net(x), 1))
