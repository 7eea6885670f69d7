"""Checks of a `.keras` file before Keras reads it.

Keras looks up every name in the configuration of a model and calls the object. Some of its public
objects fetch files, write, or switch off its safeguards, so only names on the lists below pass. The
weights are HDF5, which may point at other files, or declare arrays that it does not hold.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from sfit.exceptions import ModelError

WEIGHTS = "model.weights.h5"


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Layers of networks. Layers that augment images or sound are left out: their inputs are not rows.
# Never add a layer that runs or loads what its configuration names, as those of `PROGRAMS` do.
LAYERS = _names(
    """
    Activation ActivityRegularization AdaptiveAveragePooling1D AdaptiveAveragePooling2D
    AdaptiveAveragePooling3D AdaptiveMaxPooling1D AdaptiveMaxPooling2D AdaptiveMaxPooling3D Add
    AdditiveAttention AlphaDropout Attention Average AveragePooling1D AveragePooling2D
    AveragePooling3D BatchNormalization Bidirectional CategoryEncoding Concatenate Conv1D
    Conv1DTranspose Conv2D Conv2DTranspose Conv3D Conv3DTranspose ConvLSTM1D ConvLSTM2D ConvLSTM3D
    Cropping1D Cropping2D Cropping3D Dense DepthwiseConv1D DepthwiseConv2D Discretization Dot
    Dropout ELU EinsumDense Embedding Flatten GRU GRUCell GaussianDropout GaussianNoise
    GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D GlobalMaxPooling1D
    GlobalMaxPooling2D GlobalMaxPooling3D GroupNormalization GroupQueryAttention HashedCrossing
    Hashing Identity InputLayer IntegerLookup LSTM LSTMCell LayerNormalization LeakyReLU Masking
    MaxPooling1D MaxPooling2D MaxPooling3D Maximum Minimum MultiHeadAttention Multiply
    Normalization PReLU Permute RMSNormalization RNN ReLU RepeatVector Rescaling Reshape
    ReversibleEmbedding SeparableConv1D SeparableConv2D SimpleRNN SimpleRNNCell Softmax
    SpatialDropout1D SpatialDropout2D SpatialDropout3D SpectralNormalization StackedRNNCells
    StringLookup Subtract TextVectorization TimeDistributed UnitNormalization UpSampling1D
    UpSampling2D UpSampling3D ZeroPadding1D ZeroPadding2D ZeroPadding3D
    """
)
FUNCTIONS = _names(
    """
    celu elu exponential gelu glu hard_shrink hard_sigmoid hard_silu hard_swish hard_tanh
    leaky_relu linear log_sigmoid log_softmax mish relu relu6 selu sigmoid silu soft_shrink softmax
    softplus softsign sparse_plus sparse_sigmoid sparsemax squareplus swish tanh tanh_shrink
    threshold
    """
)
FUNCTION_MODULES = ("builtins", "keras.activations")
POLICIES = frozenset({"DTypePolicy", "DTypePolicyMap", "FloatDTypePolicy"})
MODELS = frozenset({"Functional", "Model", "Sequential"})
CLASSES = {
    "keras": MODELS | POLICIES,
    "keras.constraints": frozenset({"MaxNorm", "MinMaxNorm", "NonNeg", "UnitNorm"}),
    "keras.dtype_policies": POLICIES
    | {"Int4DTypePolicy", "QuantizedDTypePolicy", "QuantizedFloat8DTypePolicy"},
    "keras.initializers": _names(
        """
        Constant GlorotNormal GlorotUniform HeNormal HeUniform Identity IdentityInitializer
        LecunNormal LecunUniform Ones Orthogonal OrthogonalInitializer RandomNormal RandomUniform
        TruncatedNormal VarianceScaling Zeros
        """
    ),
    "keras.layers": LAYERS,
    "keras.models": MODELS,
    "keras.random": frozenset({"SeedGenerator"}),
    "keras.regularizers": frozenset({"L1", "L1L2", "L2", "OrthogonalRegularizer"}),
    "keras.src.models.functional": frozenset({"Functional"}),
    "keras.src.models.model": frozenset({"Model"}),
    "keras.src.models.sequential": frozenset({"Sequential"}),
    "keras.src.random.seed_generator": frozenset({"SeedGenerator"}),
}
# Operations between tensors, such as `a + b` in a functional model: each is a class of these
# modules, which hold nothing else that can be built (Keras requires that).
OPERATIONS = re.compile(r"keras\.src\.ops\.(core|einops|image|linalg|math|nn|numpy)")
# Values without a module.
VALUES = ("__bytes__", "__ellipsis__", "__keras_tensor__", "__numpy__", "__slice__", "__tensor__")
PROGRAMS = (
    "Lambda",
    "__lambda__",
    "FlaxLayer",
    "JaxLayer",
    "TFSMLayer",
    "TorchModuleWrapper",
)


def check_archive(path: Path, most: int) -> None:
    """Refuse a file that names or points at anything but parts of a model.

    Parameters
    ----------
    path : Path
        An archive whose unpacked size has been checked.
    most : int
        Largest size of its weights, in bytes.
    """
    with zipfile.ZipFile(path) as archive:
        config = json.loads(archive.read("config.json"))
        if WEIGHTS not in archive.namelist():
            raise ModelError(f"{str(path)!r} has no {WEIGHTS}: save the model again.")
        config.pop("compile_config", None)  # for training; not loaded
        for part in _parts(config):
            _check_part(path, part)
        with import_module("h5py").File(io.BytesIO(archive.read(WEIGHTS)), "r") as weights:
            _check_weights(path, weights, most)


def _parts(config: Any) -> Iterator[dict[str, Any]]:
    """Everything that a configuration builds."""
    if isinstance(config, dict):
        if "class_name" in config:
            yield config
        for value in config.values():
            yield from _parts(value)
    elif isinstance(config, list):
        for value in config:
            yield from _parts(value)


def _check_part(path: Path, part: dict[str, Any]) -> None:
    name, module, inner = str(part["class_name"]), part.get("module"), part.get("config")
    # Looked up before the other two, for classes of the user.
    registered = part.get("registered_name") or name
    if name.rpartition(".")[2] in PROGRAMS:
        raise ModelError(
            f"{str(path)!r} has a layer {name.strip('_')!r}, which runs a program from the "
            "file: build the model without it, or export it to ONNX."
        )
    if name == "function":
        allowed = module in FUNCTION_MODULES and inner in FUNCTIONS
        allowed = allowed and registered in (name, inner)
        name = str(inner)
    elif name in VALUES:
        allowed = module is None
    else:
        inside = OPERATIONS.fullmatch(str(module)) is not None and name.isidentifier()
        allowed = (inside or name in CLASSES.get(str(module), ())) and registered == name
    if not allowed:
        named = name if registered in (name, "function") else f"{name} ({registered})"
        raise ModelError(
            f"{str(path)!r} needs {module}.{named}, which is not on sfit's list of the parts of "
            "Keras models: export the model to ONNX, or test it from Python."
        )
    if isinstance(inner, dict) and isinstance(inner.get("vocabulary"), str):
        raise ModelError(
            f"{str(path)!r} has a layer {name!r} that reads a file, {inner['vocabulary']!r}: save "
            "the model with the vocabulary itself."
        )


def _check_weights(path: Path, weights: Any, most: int) -> None:
    """Check every array of the HDF5 file, without reading any or following a link."""
    h5py = import_module("h5py")
    total, seen, groups = 0, {_address(weights)}, [weights]
    while groups:
        group = groups.pop()
        for name in group:
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise _external_weights(path, name)
            item = group[name]
            # Seen before, perhaps inside itself: Keras writes every array once.
            if _address(item) in seen:
                raise _external_weights(path, name)
            seen.add(_address(item))
            if isinstance(item, h5py.Group):
                groups.append(item)
                continue
            if not isinstance(item, h5py.Dataset) or item.dtype.hasobject:
                raise ModelError(
                    f"{str(path)!r} holds weights {name!r} that are not numbers: save the model "
                    "again."
                )
            if item.external or item.is_virtual:
                raise _external_weights(path, name)
            total += item.size * item.dtype.itemsize
    if total > most:
        raise ModelError(
            f"{str(path)!r} holds weights that would unpack to {total / 2**30:,.1f} GB: no model "
            "is saved like that."
        )


def _address(item: Any) -> int:
    return int(import_module("h5py").h5o.get_info(item.id).addr)


def _external_weights(path: Path, name: str) -> ModelError:
    return ModelError(
        f"{str(path)!r} holds weights {name!r} that are stored elsewhere (a link or another file): "
        "do not trust this file."
    )
