"""The content of an ONNX graph: its prediction, classes, layers and weights.

A graph is read from its output back to its input. Only onnx is needed, not a runtime.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from sfit._array import Array
from sfit.exceptions import ModelError
from sfit.models._network import Layer, Output, Rescale, Step, batch_norm, dense, glorot
from sfit.models._view import Dense

FLOATS = {onnx.TensorProto.FLOAT: np.float32, onnx.TensorProto.DOUBLE: np.float64}
FUNCTION = "Pass a function rows -> predictions instead, see sfit.models.function_model."

# Nodes that pass values through unchanged.
SILENT = ("Cast", "Dropout", "Flatten", "Identity", "Reshape", "Squeeze")

ACTIVATIONS = {"Relu": "relu", "Tanh": "tanh", "Sigmoid": "logistic", "Softmax": "softmax"}

# (node, input) pairs that are weights, and those that are set to zero or one.
WEIGHTS = {("Gemm", 1), ("MatMul", 0), ("MatMul", 1), ("Conv", 1), ("ConvTranspose", 1)}
WEIGHTS |= {(node, place) for node in ("GRU", "LSTM", "RNN") for place in (1, 2)}
ZEROS = {("Gemm", 2), ("Conv", 2), ("ConvTranspose", 2), ("GRU", 3), ("LSTM", 3), ("RNN", 3)}
ZEROS |= {("BatchNormalization", 2), ("BatchNormalization", 3), ("LayerNormalization", 2)}
ONES = {("BatchNormalization", 1), ("BatchNormalization", 4), ("LayerNormalization", 1)}


def input_of(graph: Any) -> tuple[str, Any]:
    """Name and NumPy type of the only input: rows of floats."""
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in constants]
    if len(inputs) != 1:
        raise ModelError(
            f"the ONNX model has {len(inputs)} inputs "
            f"({', '.join(value.name for value in inputs)}), but must have one, a table of rows: "
            f"convert it again with a single input of shape (rows, columns). {FUNCTION}"
        )
    tensor = inputs[0].type.tensor_type
    if tensor.elem_type not in FLOATS or len(tensor.shape.dim) not in (0, 2):
        raise ModelError(
            f"the input {inputs[0].name!r} of the ONNX model must be a table of floats or doubles, "
            f"of shape (rows, columns). {FUNCTION}"
        )
    if tensor.shape.dim and tensor.shape.dim[0].dim_value:
        raise ModelError(
            f"the ONNX model accepts exactly {tensor.shape.dim[0].dim_value} row(s) at a time: "
            "export it again with a dynamic first dimension."
        )
    return inputs[0].name, FLOATS[tensor.elem_type]


def keep_prediction(graph: Any) -> tuple[bool, Array | None]:
    """Reduce a graph to its prediction, a tensor.

    Returns whether the graph also had a label output, which implies probabilities, and the classes.
    """
    values = [value for value in graph.output if _is_prediction(value)]
    if len(values) != 1 or len(graph.output) > 2:
        raise ModelError(
            f"the ONNX model must have one output of floats, optionally with the label; got "
            f"{[value.name for value in graph.output]}. {FUNCTION}"
        )
    labelled = len(graph.output) == 2
    classes = _classes(graph) if labelled else None
    kept = onnx.ValueInfoProto()
    kept.CopyFrom(values[0])
    if kept.type.WhichOneof("value") == "sequence_type":
        # One dictionary per row, made from a table of probabilities: use the table.
        (zipped,) = [node for node in graph.node if kept.name in node.output]
        if zipped.op_type != "ZipMap":
            raise ModelError(
                f"the output {kept.name!r} of the ONNX model is not a tensor. {FUNCTION}"
            )
        kept = onnx.helper.make_tensor_value_info(zipped.input[0], onnx.TensorProto.FLOAT, None)
        graph.node.remove(zipped)
    del graph.output[:]
    graph.output.append(kept)
    return labelled, classes


def gives_probabilities(graph: Any) -> bool:
    """Whether the last node is one sigmoid, or a softmax over the columns."""
    producers = _producers(graph)
    node = producers.get(graph.output[0].name)
    while node is not None and node.op_type in SILENT:
        node = producers.get(node.input[0])
    if node is None or node.op_type not in ("Sigmoid", "Softmax"):
        return False
    if node.op_type == "Softmax":
        return _attributes(node).get("axis", -1) in (1, -1)
    dims = graph.output[0].type.tensor_type.shape.dim
    # Several sigmoids are several binary labels, not one distribution.
    return len(dims) < 2 or dims[1].dim_value in (0, 1)


def structure_of(graph: Any, output: Output) -> Dense | None:
    """The layers, if the graph is a chain of supported nodes from its input to its output."""
    tensors, producers = _tensors(graph), _producers(graph)
    start, dtype = input_of(graph)
    rounded = np.dtype(dtype)
    name = graph.output[0].name
    steps: list[Step] = []
    columns = None
    while name != start:
        node = producers.get(name)
        if node is None:
            return None
        single = _of_both_classes(node, producers, tensors)
        if single is not None:
            name = single
            continue
        constants, data = _inputs(node, tensors)
        if len(data) != 1:
            return None
        if node.op_type == "Reshape":
            rows, columns = constants[1].tolist() if constants[1].shape == (2,) else (0, 0)
            if rows != -1:
                return None
        elif node.op_type == "Cast":
            # Several casts before the first step round the inputs to the shortest type.
            cast = np.dtype(FLOATS.get(_attributes(node)["to"], rounded))
            rounded = min(rounded, cast, key=lambda kind: kind.itemsize)
        elif node.op_type not in ("Identity", "Dropout"):
            step = _step(node, constants)
            if step is None:
                return None
            steps.append(step)
            rounded = np.dtype(dtype)
        name = data[0]
    network = dense(reversed(steps), output, rounded)
    if network is None or columns not in (None, network.layers[-1][1].size):
        return None
    return network


def redraw(graph: Any, rng: np.random.Generator) -> bool:
    """Draw the weights in place: Glorot-normal, zero biases. Return whether there were any."""
    tensors, producers = _tensors(graph), _producers(graph)
    drawn = False
    for node in graph.node:
        for place, name in enumerate(node.input):
            tensor = tensors.get(name)
            if tensor is None or tensor.data_type not in FLOATS:
                continue
            old = numpy_helper.to_array(tensor)
            role = (node.op_type, place)
            if role in WEIGHTS and old.ndim >= 2:
                new = glorot(rng, old.shape)
                drawn = True
            elif role in ZEROS or _is_bias(node, place, producers):
                new = np.zeros(old.shape)
            elif role in ONES:
                new = np.ones(old.shape)
            else:
                # A constant of the computation, like the 1 in 1 - p, is not a parameter.
                continue
            tensor.CopyFrom(numpy_helper.from_array(new.astype(old.dtype), tensor.name))
    return drawn


def has_weights_elsewhere(graph: Any) -> bool:
    """Whether some tensors are stored in other files."""
    attributes = [attribute for node in graph.node for attribute in node.attribute]
    tensors = [*graph.initializer, *(attribute.t for attribute in attributes)]
    return any(tensor.data_location == tensor.EXTERNAL for tensor in tensors) or any(
        has_weights_elsewhere(attribute.g) for attribute in attributes if attribute.HasField("g")
    )


def _is_prediction(value: Any) -> bool:
    kind = value.type.WhichOneof("value")
    return kind == "sequence_type" or value.type.tensor_type.elem_type in FLOATS


def _classes(graph: Any) -> Array | None:
    """The labels in the order of the probabilities, from the nodes that list them."""
    tensors = _tensors(graph)
    for node in reversed(graph.node):
        attributes = _attributes(node)
        for name in ("classlabels_strings", "classlabels_int64s", "classlabels_ints"):
            if len(attributes.get(name, ())):
                return np.array([_text(label) for label in attributes[name]])
        if node.op_type == "ArrayFeatureExtractor" and node.input[0] in tensors:
            labels = numpy_helper.to_array(tensors[node.input[0]]).ravel()
            return np.array([_text(label) for label in labels.tolist()])
    return None


def _text(label: Any) -> Any:
    return label.decode() if isinstance(label, bytes) else label


def _attributes(node: Any) -> dict[str, Any]:
    return {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}


def _producers(graph: Any) -> dict[str, Any]:
    return {name: node for node in graph.node for name in node.output}


def _tensors(graph: Any) -> dict[str, Any]:
    """Constants by name: initialisers, Constant nodes, and their aliases."""
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            tensors[node.output[0]] = node.attribute[0].t
        elif node.op_type == "Identity" and node.input[0] in tensors:
            tensors[node.output[0]] = tensors[node.input[0]]
    return tensors


def _inputs(node: Any, tensors: dict[str, Any]) -> tuple[dict[int, Array], list[str]]:
    """The constant inputs of a node by their place, and the names of the others."""
    constants = {
        place: numpy_helper.to_array(tensors[name])
        for place, name in enumerate(node.input)
        if name in tensors
    }
    return constants, [name for name in node.input if name and name not in tensors]


def _is_bias(node: Any, place: int, producers: dict[str, Any]) -> bool:
    """Whether an input is added to the result of a matrix product."""
    if node.op_type != "Add":
        return False
    other = producers.get(node.input[1 - place])
    return other is not None and other.op_type in ("MatMul", "Gemm", "Conv")


def _of_both_classes(node: Any, producers: dict[str, Any], tensors: dict[str, Any]) -> str | None:
    """The p of a pair of columns (1 - p, p), the form of a binary classifier in skl2onnx."""
    if node.op_type != "Concat" or len(node.input) != 2:
        return None
    first, second = node.input
    minus = producers.get(first)
    if minus is None or minus.op_type != "Sub" or minus.input[1] != second:
        return None
    one = tensors.get(minus.input[0])
    return second if one is not None and numpy_helper.to_array(one).item() == 1 else None


def _step(node: Any, constants: dict[int, Array]) -> Step | None:
    """A node as a step of a chain; None if it is not supported."""
    kind, attributes = node.op_type, _attributes(node)
    if kind == "Gemm" and 0 not in constants and not attributes.get("transA"):
        return _gemm(constants, attributes)
    if kind == "MatMul" and 1 in constants and constants[1].ndim == 2:
        return Layer(constants[1], np.zeros(constants[1].shape[1]))
    if kind == "BatchNormalization":
        gamma, beta, mean, variance = (constants[place] for place in (1, 2, 3, 4))
        epsilon = attributes.get("epsilon", float(np.float32(1e-5)))
        return batch_norm(mean, variance, epsilon, gamma, beta)
    if kind == "Scaler":
        scale = np.array(attributes.get("scale", [1.0]))
        return Rescale(scale, -np.array(attributes.get("offset", [0.0])) * scale)
    if kind == "Add":
        (shift,) = map(np.atleast_1d, constants.values())
        return Rescale(np.ones(1), shift.ravel()) if shift.size == shift.shape[-1] else None
    if kind == "LeakyRelu":
        return f"leaky_relu:{attributes.get('alpha', float(np.float32(0.01)))}"
    if kind == "Softmax" and attributes.get("axis", -1) not in (1, -1):
        return None
    return ACTIVATIONS.get(kind)


def _gemm(constants: dict[int, Array], attributes: dict[str, Any]) -> Layer:
    weights = constants[1].T if attributes.get("transB") else constants[1]
    biases = constants.get(2, np.zeros(1)) * attributes.get("beta", 1.0)
    biases = np.broadcast_to(biases.ravel(), weights.shape[1])
    return Layer((weights * attributes.get("alpha", 1.0)).astype(weights.dtype), biases)
