"""Other forms of an exported graph: half precision, later opsets, integers, data beside it."""

import os

import numpy
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from onnxio import SMALL, tensors, to_half

FLOAT, HALF = TensorProto.FLOAT, TensorProto.FLOAT16
REDUCTIONS = ("ReduceMean", "ReduceL1", "ReduceL2", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare", "ReduceLogSumExp")


def copy(m):
    c = onnx.ModelProto()
    c.CopyFrom(m)
    return c


def half(m, io=True, norms=False):
    """Weights in half precision; io: inputs and outputs, too. norms: normalisations stay in
    single precision between casts, as in OpenAI's files."""
    m = copy(m)
    g = m.graph
    keep = set()
    for n in g.node:
        if n.op_type == "Resize":  # its scales stay as they are
            keep.update(n.input[1:])
        elif norms and n.op_type == "LayerNormalization":
            keep.update(n.input[1:])
    made = {}
    for n in g.node:
        for o in n.output:
            made[o] = n
    for t in g.initializer:
        halve(t, keep)
    for n in g.node:
        for a in n.attribute:
            if a.type == AttributeProto.TENSOR and not (n.op_type == "Constant" and n.output[0] in keep):
                halve(a.t, keep)
            if n.op_type == "Cast" and a.name == "to" and a.i == FLOAT:
                a.i = HALF
    del g.value_info[:]
    if norms:
        around_norms(g)
    borders(g, io)
    return m


def halve(t, keep):
    if t.data_type == FLOAT and t.name not in keep:
        t.CopyFrom(numpy_helper.from_array(to_half(numpy_helper.to_array(t)), t.name))


def around_norms(g):
    nodes = []
    for n in g.node:
        if n.op_type != "LayerNormalization":
            nodes.append(n)
            continue
        x, y = n.input[0], n.output[0]
        n.input[0], n.output[0] = y + "_in32", y + "_out32"
        nodes += [helper.make_node("Cast", [x], [y + "_in32"], to=FLOAT), n, helper.make_node("Cast", [y + "_out32"], [y], to=HALF)]
    del g.node[:]
    g.node.extend(nodes)


def borders(g, io):
    nodes = list(map(onnx.NodeProto.FromString, [n.SerializeToString() for n in g.node]))
    for v, is_input in [(v, True) for v in g.input] + [(v, False) for v in g.output]:
        t = v.type.tensor_type
        if t.elem_type != FLOAT:
            continue
        if io:
            t.elem_type = HALF
            continue
        inner = v.name + "_half"
        for n in nodes:
            for names in (n.input, n.output):
                for i, name in enumerate(names):
                    if name == v.name:
                        names[i] = inner
        if is_input:
            nodes.insert(0, helper.make_node("Cast", [v.name], [inner], to=HALF))
        else:
            nodes.append(helper.make_node("Cast", [inner], [v.name], to=FLOAT))
    del g.node[:]
    g.node.extend(nodes)


def changes(m):
    """Returns offsets and new values of the numbers, besides weights, that half precision
    changes. The reference for half precision is a file with these changes."""
    m = copy(m)
    new = []
    for t in tensors(m.graph):
        if t.data_type != FLOAT or not t.raw_data:
            continue
        x = numpy_helper.to_array(t)
        if x.size > SMALL:
            t.raw_data = bytes(4 * x.size)  # in which no mark is found
            continue
        h = to_half(x).astype(numpy.float32)
        if (h != x).any():
            marks = 0x7FBE0000 + len(new) + numpy.arange(x.size, dtype=numpy.uint32)  # no number
            new += h.reshape(-1).tolist()
            t.raw_data = marks.astype("<u4").tobytes()
    data = m.SerializeToString()
    return [[data.index((0x7FBE0000 + i).to_bytes(4, "little")), v] for i, v in enumerate(new)]


def lift(m, opset):
    """The same graph in a later opset, up to 23."""
    m = copy(m)
    g = m.graph
    constants = {t.name: numpy_helper.to_array(t) for t in g.initializer if t.data_type == TensorProto.INT64}
    for n in g.node:
        if n.op_type == "Constant":
            for a in n.attribute:
                if a.type == AttributeProto.TENSOR and a.t.data_type == TensorProto.INT64:
                    constants[n.output[0]] = numpy_helper.to_array(a.t)
    for n in g.node:
        if n.op_type in REDUCTIONS and opset >= 18:
            axes = [a for a in n.attribute if a.name == "axes"]
            if axes:
                name = n.output[0] + "_axes"
                g.initializer.append(numpy_helper.from_array(numpy.array(axes[0].ints, dtype=numpy.int64), name))
                n.input.append(name)
                n.attribute.remove(axes[0])
        elif n.op_type == "Split" and opset >= 18 and len(n.input) == 2 and len(set(constants.get(n.input[1], [0, 1]).tolist())) == 1:
            del n.input[1:]
            n.attribute.append(helper.make_attribute("num_outputs", len(n.output)))
    m.opset_import[0].version = opset
    m.ir_version = 8 if opset < 19 else 9 if opset < 21 else 10
    return m


def dynamo(m, opset=18):
    """As torch 2's other exporter writes: names of its own, constants of integers as lists,
    metadata of every node (onnx 1.16), sizes of every tensor, no-ops of axes."""
    m = lift(m, opset)
    g = m.graph
    for i, n in enumerate(g.node):
        n.name = "node_%s_%d" % (n.op_type.lower(), i)
        entry = b"\x0a\x09namespace\x12\x12: torch.nn.Module/"
        n.MergeFromString(b"\x4a" + bytes([len(entry)]) + entry)  # NodeProto.metadata_props
        if n.op_type == "Reshape" and not n.attribute:
            n.attribute.append(helper.make_attribute("allowzero", 1))
        if n.op_type in REDUCTIONS:
            n.attribute.append(helper.make_attribute("noop_with_empty_axes", 0))
        if n.op_type == "Constant":
            for a in list(n.attribute):
                if a.name != "value" or a.t.data_type not in (FLOAT, TensorProto.INT64) or len(a.t.dims) > 1:
                    continue
                x, one = numpy_helper.to_array(a.t), len(a.t.dims) == 0
                kind = "float" if a.t.data_type == FLOAT else "int"
                n.attribute.remove(a)
                n.attribute.append(helper.make_attribute("value_" + kind + ("" if one else "s"), x.item() if one else x.tolist()))
    m.producer_name, m.producer_version = "pytorch", "2.6.0"
    return m


def functions(m):
    """As in torch 2.1 to 2.4: torch's operators become functions of the file."""
    m = lift(m, 18)
    for n in m.graph.node:
        if n.op_type == "Sigmoid":
            n.domain, n.op_type = "pkg.onnxscript.torch_lib", "aten_sigmoid"
    f = helper.make_function("pkg.onnxscript.torch_lib", "aten_sigmoid", ["self"], ["return_val"],
                             [helper.make_node("Sigmoid", ["self"], ["return_val"])], [helper.make_opsetid("", 18)])
    m.functions.append(f)
    m.opset_import.append(helper.make_opsetid("pkg.onnxscript.torch_lib", 1))
    return m


def floats_in(m):
    """A text half as a network of one tensor of floats, rows of numbers: what tests can hold
    it against."""
    m = copy(m)
    g, nodes = m.graph, []
    rows, (length,) = len(g.input), {i.type.tensor_type.shape.dim[1].dim_value or 77 for i in g.input}
    for k, v in enumerate(g.input):
        kind = v.type.tensor_type.elem_type
        g.initializer.append(numpy_helper.from_array(numpy.array([k], dtype=numpy.int64), "row_%d" % k))
        nodes += [helper.make_node("Gather", ["rows", "row_%d" % k], [v.name + "_row"], axis=0),
                  helper.make_node("Cast", [v.name + "_row"], [v.name], to=kind)]
    nodes += list(map(onnx.NodeProto.FromString, [n.SerializeToString() for n in g.node]))
    del g.node[:], g.input[:]
    g.node.extend(nodes)
    g.input.append(helper.make_tensor_value_info("rows", FLOAT, [rows, length]))
    return m


def integers(m):
    """Products with constants in eight bits, as ONNX Runtime's dynamic quantisation writes them."""
    m = copy(m)
    g, nodes = m.graph, []
    weights = {t.name: t for t in g.initializer}
    for n in g.node:
        if n.op_type != "MatMul" or n.input[1] not in weights:
            nodes.append(n)
            continue
        w, y = weights[n.input[1]], n.output[0]
        x = numpy_helper.to_array(w)
        scale = numpy.float32(abs(x).max() / 127)
        w.CopyFrom(numpy_helper.from_array(numpy.round(x / scale).astype(numpy.int8), w.name))
        g.initializer.append(numpy_helper.from_array(scale, y + "_ws"))
        g.initializer.append(numpy_helper.from_array(numpy.int8(0), y + "_wz"))
        nodes += [
            helper.make_node("DynamicQuantizeLinear", [n.input[0]], [y + "_q", y + "_s", y + "_z"]),
            helper.make_node("MatMulInteger", [y + "_q", w.name, y + "_z", y + "_wz"], [y + "_i"]),
            helper.make_node("Cast", [y + "_i"], [y + "_f"], to=FLOAT),
            helper.make_node("Mul", [y + "_s", y + "_ws"], [y + "_m"]),
            helper.make_node("Mul", [y + "_f", y + "_m"], [y]),
        ]
    del g.node[:]
    g.node.extend(nodes)
    del g.value_info[:]
    return m


def save(m, path, external=False):
    if external:
        onnx.save_model(copy(m), path, save_as_external_data=True, all_tensors_to_one_file=True,
                        location=path.rsplit("/", 1)[-1] + ".data", size_threshold=1024)
    else:
        with open(path + ".part", "wb") as f:
            f.write(m.SerializeToString())
        os.replace(path + ".part", path)
