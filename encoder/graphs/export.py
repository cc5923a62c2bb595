#!/usr/bin/python3
"""Writes the networks of the tests as ONNX files: export.py FOLDER [PATTERN] [--full]

Needs Debian's python3-torch, python3-torchvision and python3-onnx. The structure is that of
the networks people have; the weights are random (onnxio.settle). Most are narrower and
shallower than the originals, which changes no operator; --full writes them as they are.
index.json lists what each file takes, and which tensor is its embedding; INDEX.md is the
same for people."""

import fnmatch
import json
import os
import subprocess
import sys
import time

import onnx
import torch
import torchvision.models as tv

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import clip  # noqa: E402
import convert  # noqa: E402
import convolutional as cn  # noqa: E402
import transformer  # noqa: E402
import variants  # noqa: E402
import vit  # noqa: E402
from onnxio import export, image, settle  # noqa: E402

FOLDER, FULL = sys.argv[1], "--full" in sys.argv
PATTERN = next((a for a in sys.argv[2:] if not a.startswith("-")), "*")
SHARD = next((int(a[8:]) for a in sys.argv if a.startswith("--shard=")), None)  # of SHARDS processes
SHARDS, asked = 2, 0
BATCH = {0: "batch"}
SIDES = {0: "batch", 2: "height", 3: "width"}
index = []


def wide(small, full):
    return full if FULL else small


def wanted(name):
    """Reports whether this process exports a network, since processes take turns."""
    global asked
    asked += 1
    return fnmatch.fnmatch(name, PATTERN) and (SHARD is None or asked % SHARDS == SHARD)


def producer(m, name):
    return next((n for n in m.graph.node if name in n.output), None)


def before(m):
    """Returns the input of the classifier that produces the first output."""
    name = m.graph.output[0].name
    while True:
        n = producer(m, name)
        if n.op_type in ("Gemm", "MatMul", "Conv"):
            return n.input[0]
        name = n.input[0]


def write(name, m, form, **entry):
    file = name + ("." + form if form else "") + ".onnx"
    convert.save(m, os.path.join(FOLDER, file), form == "external")
    index.append(dict(file=file, network=name, form=form, opset=m.opset_import[0].version, **entry))


def network(name, model, size, embedding=None, side=224, opset=17, outputs=("output",), dynamic=None, forms=("fp16",),
            gain=1.0, exact=False, folding=True, settled=False, input_name="image", fused=True, always=False, **more):
    """Exports a network and its other forms. embedding: the right tensor; by default what the
    classifier reads. exact: the file is of the original size."""
    if not always and not wanted(name):
        return
    start = time.time()
    x = image(side)
    model = model()
    if not settled:
        settle(model, x, gain=gain)
    axes = {input_name: dynamic} if dynamic else {}
    axes.update({o: BATCH for o in outputs if dynamic})
    m = export(model, (x,), opset, (input_name,), outputs, axes, folding, fused)
    entry = dict(input=input_name, side=side, type="float", layout="NCHW", embedding=before(m) if embedding is None else embedding, size=size,
                 reference=name + ".onnx", full=bool(exact or FULL), refused="", **more)
    write(name, m, "", **entry)
    for form in ("fp16",) if FULL and forms else forms:
        other(name, m, form, entry)
    print("%-24s %5.1f s" % (name, time.time() - start), flush=True)


def other(name, m, form, entry):
    if form.startswith("fp16"):
        io, norms = form != "fp16-io32", form == "fp16-norm32"
        write(name, convert.half(m, io, norms), form, **dict(entry, type="float16" if io else "float", changes=convert.changes(m)))
    elif form == "external":
        write(name, m, form, **entry)
    elif form == "int8":
        write(name, convert.integers(m), form, **dict(entry, refused="integers"))
    elif form == "functions":
        write(name, convert.functions(m), form, **entry)
    elif form.startswith("dynamo"):
        write(name, convert.dynamo(m, int(form[6:])), form, **entry)
    elif form.startswith("opset"):
        write(name, convert.lift(m, int(form[5:])), form, **entry)


def torchvision():
    network("resnet50", lambda: tv.resnet50(), 2048, exact=True)
    network("resnext50", lambda: tv.resnext50_32x4d(), 2048, opset=13, dynamic=BATCH, exact=True)
    network("efficientnet_b0", lambda: tv.efficientnet_b0(), 1280, opset=12, exact=True, forms=("fp16", "fp16-io32"))
    network("efficientnet_v2_s", lambda: tv.efficientnet_v2_s(), 1280, opset=14, dynamic=SIDES, exact=True)
    network("mobilenet_v2", lambda: tv.mobilenet_v2(), 1280, opset=11, exact=True, forms=("fp16", "dynamo18"))
    network("mobilenet_v3", lambda: tv.mobilenet_v3_large(), 1280, opset=16, dynamic=BATCH, exact=True)
    network("regnet_y", lambda: tv.regnet_y_400mf(), 440, opset=15, exact=True, forms=("fp16", "fp16-io32", "opset20"))
    network("mnasnet", lambda: tv.mnasnet1_0(), 1280, opset=17, dynamic=SIDES, exact=True, forms=("fp16", "opset18"))
    network("squeezenet", lambda: tv.squeezenet1_1(), 512, "", opset=13, gain=1.4, exact=True, forms=("fp16", "external"))
    network("shufflenet_v2", lambda: tv.shufflenet_v2_x1_0(), 1024, opset=12, dynamic=BATCH, exact=True)
    network("vgg16", vgg16, wide(512, 4096), opset=13, gain=1.4)
    network("resnet18-unfused", lambda: tv.resnet18(), 512, opset=17, dynamic=BATCH, fused=False, exact=True, forms=("fp16", "dynamo18"))
    network("densenet121", lambda: tv.densenet121(), 1024, opset=13, exact=True)
    network("inception_v3", lambda: tv.inception_v3(init_weights=False, transform_input=True), 2048, side=299, opset=14, exact=True)
    network("googlenet", lambda: tv.googlenet(init_weights=False, transform_input=True), 1024, opset=11, dynamic=BATCH, exact=True)
    network("convnext_t", lambda: tv.convnext_tiny() if FULL else tv.ConvNeXt(convnext_blocks()), wide(256, 768), opset=16,
            forms=("fp16", "opset18", "dynamo18"))
    network("convnext_t-dynamic", lambda: tv.ConvNeXt(convnext_blocks()), 256, opset=17, dynamic=SIDES)
    swin = dict(patch_size=[4, 4], window_size=[7, 7], stochastic_depth_prob=0)
    network("swin_t", lambda: tv.swin_t() if FULL else tv.SwinTransformer(embed_dim=32, depths=[2, 2, 2, 2], num_heads=[2, 4, 8, 16], **swin),
            wide(256, 768), opset=17, forms=("fp16", "opset19"))
    network("swin_t-dynamic", lambda: tv.SwinTransformer(embed_dim=32, depths=[2, 2], num_heads=[2, 4], **swin), 64, opset=13, dynamic=BATCH)
    network("vit_b_32", lambda: tv.vit_b_32(), 768, exact=True)
    network("vit_b_16", lambda: tv.vit_b_16() if FULL else tv.VisionTransformer(224, 16, 3, 3, 192, 768), wide(192, 768), opset=14,
            dynamic=BATCH, forms=("fp16", "external", "opset18"))


def vgg16():
    part, last = wide(4, 1), wide(512, 4096)
    v = tv.VGG(tv.vgg.make_layers([w if w == "M" else w // part for w in tv.vgg.cfgs["D"]]), init_weights=False)
    nn = torch.nn
    v.classifier = nn.Sequential(nn.Linear(512 // part * 49, last), nn.ReLU(True), nn.Dropout(),
                                 nn.Linear(last, last), nn.ReLU(True), nn.Dropout(), nn.Linear(last, 1000))
    return v


def convnext_blocks():
    b = tv.convnext.CNBlockConfig
    return [b(32, 64, 2), b(64, 128, 2), b(128, 256, 2), b(256, None, 2)]


def clips():
    small = (224, 32, 128, 2, 2, 64)
    b32 = (224, 32, 768, 12, 12, 512)
    network("clip_openai_b32", lambda: clip.Visual(*b32), 512, "output", opset=17, exact=True)
    network("clip_openai_b32-small", lambda: clip.Visual(*small), 64, "output", opset=17, forms=("fp16-norm32", "int8"))
    network("clip_openai_b32-dynamic", lambda: clip.Visual(*small), 64, "output", opset=14, dynamic=BATCH, forms=("fp16", "fp16-io32"))
    network("clip_hf_b32", lambda: clip.HFVision(*wide(small, b32)), wide(64, 512), "image_embeds", opset=14, dynamic=SIDES,
            outputs=("image_embeds", "last_hidden_state"), input_name="pixel_values", forms=("fp16", "fp16-io32", "int8", "external"))
    network("clip_hf_b32-sdpa", lambda: clip.HFVision(*small, how="sdpa"), 64, "image_embeds", opset=17, dynamic=SIDES,
            outputs=("image_embeds", "last_hidden_state"), input_name="pixel_values", forms=("fp16", "opset18", "dynamo18", "functions"))
    network("clip_hf_vision", lambda: clip.HFVisionModel(*small), 128, "pooler_output", opset=12, dynamic=BATCH,
            outputs=("last_hidden_state", "pooler_output"), input_name="pixel_values")
    network("clip_openclip_b32", lambda: clip.OpenVisual(*wide(small, b32)), wide(64, 512), "embedding", opset=17,
            outputs=("embedding",), dynamic=BATCH, forms=("fp16", "opset19"))
    network("clip_openclip_b32-fixed", lambda: clip.OpenVisual(*small, act=clip.QuickGELU, normalise=False), 64, "image_features",
            opset=13, outputs=("image_features",), forms=("fp16", "dynamo18"))
    for name, dynamic in (("clip_openclip_b32-torch2", BATCH), ("clip_openclip_b32-torch2-fixed", None)):
        network(name, lambda: clip.OpenVisual(*small, mha=transformer.MultiheadAttention2), 64, "embedding", opset=14, outputs=("embedding",),
                dynamic=dynamic)
    rn = wide((16, (2, 1, 1, 2), 8, 64), (64, (3, 4, 6, 3), 32, 1024))
    network("clip_rn50", lambda: clip.ModifiedResNet(224, *rn), rn[3], "output", opset=15, dynamic=BATCH)
    network("clip_rn50-einsum", lambda: clip.ModifiedResNet(224, 16, (1, 1, 1, 1), 8, 64, True), 64, "output", opset=13)
    pairs()


def pairs():
    """Models with both halves, and the text halves alone."""
    for name, make in (("clip_openai_pair", openai_pair), ("clip_hf_pair", hf_pair)):
        if wanted(name):
            make(name)
    texts()


TOKENS = torch.randint(1, 900, (3, 77), generator=torch.Generator().manual_seed(5))
TOKENS[torch.arange(3), torch.tensor([5, 76, 20])] = 999  # the end of the text


class Normalised(torch.nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        x = self.net(x)
        x = x[0] if isinstance(x, tuple) else x
        return x / x.norm(dim=-1, keepdim=True)


def pair(name, model, visual, args, names, outputs, axes, opset, embedding, picture):
    settle(model)
    half = Normalised(visual(model))
    network(name + "-visual", lambda: half, 64, "output", opset=opset, settled=True, forms=(), always=True)
    half_visual = convert.changes(onnx.load(os.path.join(FOLDER, name + "-visual.onnx")))
    entry = dict(input=picture, side=224, type="float", layout="NCHW", embedding=embedding, size=64,
                 reference=name + "-visual.onnx", full=False, refused="")
    m = export(model, args, opset, names, outputs, axes)
    write(name, m, "", **entry)
    write(name, convert.half(m), "fp16", **dict(entry, type="float16", changes=half_visual))


def openai_pair(name):
    model = clip.Both(clip.Visual(224, 32, 128, 2, 2, 64), clip.Text(1000, 77, 64, 2, 4, 64))
    pair(name, model, lambda m: m.visual, (image(224), TOKENS), ("image", "text"), ("logits_per_image", "logits_per_text"),
         {n: BATCH for n in ("image", "text")}, 14, "", "image")


def hf_pair(name):
    model = clip.HFBoth(clip.HFVision(224, 32, 128, 2, 2, 64), clip.HFText(1000, 77, 64, 2, 4, 64))
    names = ("input_ids", "pixel_values", "attention_mask")
    axes = {"input_ids": {0: "texts", 1: "length"}, "pixel_values": SIDES, "attention_mask": {0: "texts", 1: "length"}}
    pair(name, model, lambda m: m.vision, (TOKENS, image(224), torch.ones_like(TOKENS)), names,
         ("logits_per_image", "logits_per_text", "text_embeds", "image_embeds"), axes, 14, "image_embeds", "pixel_values")


def texts():
    kinds = (("text_openai", clip.Text, 14, (TOKENS[:1],), ("text",), "output"),
             ("text_openclip", clip.OpenText, 17, (TOKENS[:1].int(),), ("text",), "text_embedding"),
             ("text_hf", clip.HFText, 14, (TOKENS[:1], torch.ones(1, 77, dtype=torch.int64)), ("input_ids", "attention_mask"), "text_embeds"))
    for name, kind, opset, args, names, out in kinds:
        for dynamic in (False, True):
            text(name + ("-dynamic" if dynamic else ""), kind, opset, args, names, out, dynamic)


def text(name, kind, opset, args, names, out, dynamic):
    if not wanted(name):
        return
    model = settle(kind(1000, 77, 64, 2, 4, 64))
    axes = {n: {0: "batch", 1: "length"} if kind is clip.HFText else {0: "batch"} for n in names} if dynamic else {}
    m = export(model, args, opset, names, (out,), axes)
    entry = dict(input=names[0], inputs=list(names), side=0, type="int32" if args[0].dtype == torch.int32 else "int64", layout="text",
                 embedding=out, size=64, reference=name + ".rows.onnx", full=False, refused="")
    write(name, m, "", **entry)
    rows = convert.floats_in(m)
    convert.save(rows, os.path.join(FOLDER, name + ".rows.onnx"))
    write(name, convert.half(m), "fp16", **dict(entry, changes=convert.changes(rows)))


def transformers():
    tiny = (224, 32, 128, 2, 2)
    network("timm_vit-headless", lambda: vit.ViT(*wide(tiny, (224, 32, 768, 12, 12))), wide(128, 768), "output", opset=17, dynamic=BATCH,
            forms=("fp16", "int8"))
    network("timm_vit", lambda: vit.ViT(*tiny, head=1000, how="sdpa"), 128, opset=17, forms=("fp16", "dynamo18", "opset20"))
    network("timm_vit-functions", lambda: vit.ViT(*tiny, head=1000, how="functions"), 128, opset=17, dynamic=BATCH, forms=("fp16", "dynamo18"))
    network("timm_vit-avg", lambda: vit.ViT(*tiny, head=21841, pool="avg"), 128, opset=13, dynamic=BATCH)
    network("timm_vit-tokens", lambda: vit.ViT(*tiny, pool=""), 128, "output", opset=16, pool="class")
    network("deit_s-distilled", lambda: vit.ViT(224, 16, 64, 2, 4, head=1000, distilled=True), 64, opset=17, forms=("fp16", "opset18"))
    network("hf_vit", lambda: vit.HFViT(*tiny), 128, "pooler_output", opset=14, dynamic=SIDES,
            outputs=("last_hidden_state", "pooler_output"), input_name="pixel_values")
    dino = wide((518, 14, 64, 2, 4), (518, 14, 384, 12, 6))
    network("dinov2_s14", lambda: vit.DINOv2(*dino), dino[2], "output", opset=14)
    network("dinov2_s14-dynamic", lambda: vit.DINOv2(98, 14, 64, 2, 4, registers=4), 64, "output", opset=17, dynamic=SIDES)
    network("dinov2_hf", lambda: vit.DINOv2(98, 14, 64, 2, 4, tokens=True), 64, "pooler_output", opset=12, dynamic=BATCH,
            outputs=("last_hidden_state", "pooler_output"), input_name="pixel_values")
    siglip = wide((224, 16, 128, 2, 2), (224, 16, 768, 12, 12))
    network("siglip_b16", lambda: vit.SigLIP(*siglip), siglip[2], "embedding", opset=17, outputs=("embedding",), dynamic=BATCH,
            forms=("fp16", "opset18"))
    network("siglip_b16-hf", lambda: vit.SigLIP(*siglip, timm=False), siglip[2], "pooler_output", opset=14, dynamic=BATCH,
            outputs=("last_hidden_state", "pooler_output"), input_name="pixel_values")
    s0 = wide(((16, 32, 64, 64), (1, 1, 2, 1), 48), ((64, 128, 256, 512), (2, 6, 10, 2), 512))
    network("mobileclip_s0", lambda: cn.MobileCLIP(*s0), s0[2], "output", side=256, opset=17, dynamic=SIDES)
    network("mobileclip_s0-fixed", lambda: cn.MobileCLIP((16, 32, 64, 64), (1, 1, 1, 1), 48), 48, "image_embeds", side=256, opset=13,
            outputs=("image_embeds",))
    newest()


def newest():
    """Compares opsets 20 to 23 with the decomposition of their operators in opset 17."""
    for opset in (20, 21, 23):
        name = "newest%d" % opset
        if not wanted(name):
            continue
        x = image(112)
        network(name + "-plain", lambda: vit.Newest(False, opset), 96, "output", side=112, opset=17, forms=(), always=True)
        m = export(settle(vit.Newest(True, opset), x), (x,), 17, ("image",), ("output",))
        entry = dict(input="image", side=112, type="float", layout="NCHW", embedding="output", size=96,
                     reference=name + "-plain.onnx", full=False, refused="")
        m = convert.lift(m, opset)
        write(name, m, "", **entry)
        write(name, convert.half(m), "fp16", **dict(entry, type="float16"))


def borders():
    """Networks that take rows of pixels or bytes, and pads and heads of other frameworks."""
    network("timm_efficientnet-headless", lambda: cn.TimmEfficientNet(), 320, "output", opset=17, dynamic=BATCH)
    network("timm_efficientnet-same", lambda: cn.TimmEfficientNet(head=1000, same=True), 320, opset=13, forms=("fp16", "opset18"))
    network("timm_efficientnet-same-dynamic", lambda: cn.TimmEfficientNet(same=True), 320, "output", opset=17, dynamic=SIDES)
    network("caffe2", lambda: cn.Caffe2(torch.nn.Sequential(cn.TimmEfficientNet().stem, cn.conv(16, 320, 3, 8))), 320, opset=11)
    base = "timm_efficientnet-headless"
    for name, nhwc, kind in (("nhwc", True, "float"), ("uint8", False, "uint8"), ("uint8-nhwc", True, "uint8")):
        if not wanted(base):
            continue
        model = cn.Pixels(settle(cn.TimmEfficientNet(), image(224)), nhwc, kind == "uint8").eval()
        x = torch.zeros((1, 224, 224, 3) if nhwc else (1, 3, 224, 224), dtype=torch.uint8 if kind == "uint8" else torch.float32)
        m = export(model, (x,), 17, ("image",), ("output",), {"image": BATCH, "output": BATCH})
        write(base, m, name, input="image", side=224, type=kind, layout="NHWC" if nhwc else "NCHW", embedding="output", size=320,
              reference=base + ".onnx", full=False, refused="")


def rest():
    network("gem", variants.GeM, 48, "embedding", opset=13, outputs=("embedding",), dynamic=BATCH)
    hidden = dict(outputs=("last_hidden_state", "pooler_output"), input_name="pixel_values")
    network("hf_convnextv2", variants.ConvNeXtV2, 64, "pooler_output", opset=14, dynamic=SIDES, forms=("fp16", "opset18"), **hidden)
    network("hf_resnet", variants.HFResNet, 64, "pooler_output", opset=14, dynamic=BATCH, **hidden)
    network("hf_swin", variants.HFSwin, 64, "pooler_output", opset=17, dynamic=BATCH, **hidden)
    network("rotary", variants.Rotary, 64, "output", side=112, opset=17, dynamic=BATCH, forms=("fp16", "opset18", "dynamo20"))
    for name, m, layout, embedding, size in (("keras", variants.keras(), "NHWC", "global_average_pooling2d", 64),
                                             ("caffe", variants.caffe(), "NCHW", "", 48)):
        if wanted(name):
            entry = dict(input="data", side=224, type="float", layout=layout, embedding=embedding, size=size, reference=name + ".onnx",
                         full=False, refused="")
            write(name, m, "", **entry)
            if name == "keras":
                write(name, convert.half(m), "fp16", **dict(entry, type="float16", changes=convert.changes(m)))


def people():
    rows = ["| file | opset | takes | embedding | values | held against |", "|---|---|---|---|---|---|"]
    for e in index:
        takes = "%s %s %s %s" % (e["input"], e["type"], e["layout"], e["side"] or "")
        rows.append("| %s | %s | %s | %s | %s | %s |" % (e["file"], e["opset"], takes, e["refused"] and "refused" or e["embedding"],
                                                        e["size"], e["reference"]))
    return "\n".join(rows) + "\n"


def main():
    os.makedirs(FOLDER, exist_ok=True)
    torch.set_num_threads(1)  # more threads block each other
    if PATTERN == "*" and SHARD is None:
        index[:] = shards()
    else:
        for part in (torchvision, clips, transformers, borders, rest):
            part()
    if SHARD is not None:
        return put("index.%d.json" % SHARD, json.dumps(index))
    if PATTERN != "*":  # keep the other entries
        with open(os.path.join(FOLDER, "index.json")) as f:
            new = {e["file"] for e in index}
            index[:0] = [e for e in json.load(f) if e["file"] not in new]
    put("INDEX.md", people())
    put("index.json", json.dumps(index, indent=1))


def put(file, text):
    path = os.path.join(FOLDER, file)
    with open(path + ".part", "w") as f:
        f.write(text)
    os.replace(path + ".part", path)


def shards():
    """Divides the work among processes and merges their lists."""
    processes = [subprocess.Popen([sys.executable] + sys.argv + ["--shard=%d" % i]) for i in range(SHARDS)]
    if any([p.wait() for p in processes]):
        sys.exit("a network could not be exported")
    entries = []
    for i in range(SHARDS):
        with open(os.path.join(FOLDER, "index.%d.json" % i)) as f:
            entries += json.load(f)
        os.remove(os.path.join(FOLDER, "index.%d.json" % i))
    return sorted(entries, key=lambda e: e["network"])


main()
