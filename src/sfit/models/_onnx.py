"""ONNX models: a path, bytes, a ModelProto, or a bare session of onnxruntime.

Neither library is imported at the top: the user may have installed only one of them.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from sfit._array import Array
from sfit.exceptions import MissingDependencyError, ModelError
from sfit.models._fingerprint import Unseen, fingerprint_of
from sfit.models._network import in_batches, task_of
from sfit.models._view import Dense, ModelView

REMEDY = (
    "Turn the output into probabilities in a function rows -> probabilities, and pass "
    'sfit.models.function_model(f, task="classification").'
)


@dataclass(frozen=True, kw_only=True)
class OnnxView(ModelView):
    """An ONNX graph with one output, as bytes; every process creates its own session."""

    content: bytes

    @cached_property
    def session(self) -> Any:
        """The session, created on first use."""
        runtime = import_module("onnxruntime")
        options = runtime.SessionOptions()
        # One thread sums in the same order on every machine. Errors are raised, not logged.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        return runtime.InferenceSession(self.content, options, providers=["CPUExecutionProvider"])

    @property
    def structure(self) -> Dense | None:
        """The layers, if the graph is a chain of supported nodes."""
        from sfit.models._onnx_graph import structure_of

        output = "values" if self.task == "regression" else "probabilities"
        return structure_of(self._proto().graph, output)  # type: ignore[arg-type]

    def predict(self, Z: Any) -> Array:
        """Run the graph on the CPU."""
        return _run(self.session, None, Z, self.task)

    def fingerprint(self) -> str | Unseen:
        """A digest of the graph, and of the runtime."""
        from sfit.models._onnx_graph import has_weights_elsewhere

        if has_weights_elsewhere(self._proto().graph):
            return Unseen("the weights, which are in a separate file beside the ONNX model")
        return fingerprint_of(self, import_module("onnxruntime").InferenceSession)

    def randomize(self, rng: np.random.Generator) -> ModelView:
        """Glorot-normal weights, zero biases; refused if the graph has no weights to draw."""
        from sfit.models._onnx_graph import redraw

        proto = self._proto()
        if not redraw(proto.graph, rng):
            raise ModelError(
                "the ONNX model has no weights that could be drawn at random (trees, for example, "
                "have none): pass random_model=callable(rng) -> model, for instance the conversion "
                "of a refit on shuffled y."
            )
        return replace(self, content=proto.SerializeToString())

    def _proto(self) -> Any:
        return import_module("onnx").load_model_from_string(self.content)

    def __getstate__(self) -> dict[str, Any]:
        """All attributes except the session, which cannot leave its process."""
        return {name: value for name, value in vars(self).items() if name != "session"}


@dataclass(frozen=True, kw_only=True)
class SessionView(ModelView):
    """A session. It hides its graph and cannot be pickled, so it only predicts, in threads."""

    session: Any
    output: str

    def predict(self, Z: Any) -> Array:
        """Run the session."""
        return _run(self.session, self.output, Z, self.task)

    def fingerprint(self) -> Unseen:
        """Unseen: the graph is not accessible."""
        return Unseen("the graph of an onnxruntime session")

    def randomize(self, rng: np.random.Generator) -> ModelView:
        """Refused: the weights are not accessible."""
        raise ModelError(
            "an onnxruntime session hides its weights, so no random copy can be drawn: pass the "
            "path, the bytes or the ModelProto instead, or random_model=callable(rng) -> model."
        )


def view(model: Any, loss: Any) -> ModelView | None:
    """View an ONNX model in any of its forms; None if it is not one."""
    onnx, runtime = sys.modules.get("onnx"), sys.modules.get("onnxruntime")
    if runtime is not None and isinstance(model, runtime.InferenceSession):
        return _view_session(model, loss)
    if isinstance(model, str | os.PathLike):
        return _view_proto(_load(Path(model)), loss)
    if isinstance(model, bytes | bytearray):
        return _view_proto(_parse(bytes(model)), loss)
    if onnx is not None and isinstance(model, onnx.ModelProto):
        copied = onnx.ModelProto()
        copied.CopyFrom(model)
        return _view_proto(copied, loss)
    return None


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingDependencyError(
            f'an ONNX model needs {name}: pip install "sfit[onnx]".'
        ) from error


def _load(path: Path) -> Any:
    if path.suffix.lower() != ".onnx":
        raise ModelError(
            f"model is the text {str(path)[:80]!r}, which is not the path of an ONNX model: such a "
            "path ends in .onnx. Load models of other formats with their library first."
        )
    onnx = _library("onnx")
    if not path.is_file():
        raise ModelError(f"there is no file {str(path)!r}.")
    try:
        return onnx.load(path)
    except Exception as error:
        raise ModelError(f"{str(path)!r} is not an ONNX model ({error}).") from error


def _parse(content: bytes) -> Any:
    onnx = _library("onnx")
    try:
        return onnx.load_model_from_string(content)
    except Exception as error:
        raise ModelError(f"these {len(content)} bytes are not an ONNX model ({error}).") from error


def _view_proto(proto: Any, loss: Any) -> ModelView:
    """View a graph, which is reduced to one output in place."""
    _library("onnxruntime")
    from sfit.models import _onnx_graph

    if not proto.graph.node:
        raise ModelError("the ONNX model is empty: it has no nodes.")
    _onnx_graph.input_of(proto.graph)
    labelled, classes = _onnx_graph.keep_prediction(proto.graph)
    certain = labelled or _onnx_graph.gives_probabilities(proto.graph)
    view = OnnxView(
        task="classification" if certain else task_of(loss) or "regression",
        classes=classes,
        remedy=REMEDY,
        content=proto.SerializeToString(),
    )
    try:
        _ = view.session
    except Exception as error:
        raise ModelError(f"onnxruntime cannot run the ONNX model: {error}") from error
    return view


def _view_session(session: Any, loss: Any) -> SessionView:
    inputs, outputs = session.get_inputs(), session.get_outputs()
    values = [value for value in outputs if "float" in value.type or "double" in value.type]
    table = len(inputs) == 1 and inputs[0].type in ("tensor(float)", "tensor(double)")
    if not table or len(values) != 1 or len(outputs) > 2:
        raise ModelError(
            "the session must have one input, a table of floats or doubles, and one output of "
            f"floats, optionally with the label; got inputs {_names(inputs)} and outputs "
            f"{_names(outputs)}. Pass a function rows -> predictions instead, see "
            "sfit.models.function_model."
        )
    classes = None
    rows, columns = inputs[0].shape if len(inputs[0].shape) == 2 else (None, None)
    if isinstance(rows, int):
        raise ModelError(
            f"the session accepts exactly {rows} row(s) at a time: export the model again with a "
            "dynamic first dimension."
        )
    if values[0].type.startswith("seq(map") and isinstance(columns, int):
        dtype = np.float64 if "double" in inputs[0].type else np.float32
        (row,) = session.run([values[0].name], {inputs[0].name: np.zeros((1, columns), dtype)})[0]
        classes = np.array(list(row))
    labelled = len(outputs) == 2
    return SessionView(
        task="classification" if labelled else task_of(loss) or "regression",
        classes=classes,
        threads_only=True,
        remedy=REMEDY,
        session=session,
        output=values[0].name,
    )


def _names(values: Any) -> list[str]:
    return [value.name for value in values]


def _run(session: Any, output: str | None, Z: Any, task: Any) -> Array:
    """Predictions of the output named `output`; None means the only output."""
    (given,) = session.get_inputs()
    names = None if output is None else [output]

    def forward(rows: Array) -> Array:
        values = session.run(names, {given.name: rows})[0]
        if isinstance(values, list):
            # One dictionary per row, with the classes in the same order.
            return np.array([list(row.values()) for row in values])
        return np.asarray(values)

    dtype = np.float64 if "double" in given.type else np.float32
    return in_batches(forward, Z, dtype, task)
