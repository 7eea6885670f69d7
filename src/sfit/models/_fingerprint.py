"""Model fingerprints: a digest of everything that can change a prediction.

A later run recognises the model by it. The walk visits all attributes of an object, as pickle does,
but copies nothing. Data enter the digest by value; code enters by its name and the distribution
that installed it. The user's code, and objects that hide their content, cannot be verified: the
answer is then `Unseen`, with the reason.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from copyreg import dispatch_table
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from sys import modules
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from sfit._array import Array
from sfit.models._installed import found_by_name, patched_method, source_of

PLAIN = (type(None), type(Ellipsis), bool, int, float, complex, str)
"""Types whose repr determines the value."""

FUNCTIONS = (FunctionType, MethodType, BuiltinFunctionType, partial)

UFUNCS = ("numpy", "scipy.special")
"""Modules searched for a ufunc, which does not record its module."""


@dataclass(frozen=True)
class Unseen:
    """Why a model has no fingerprint: code or data that cannot be inspected."""

    what: str


class UnseenError(Exception):
    """Ends the walk at something that cannot be verified."""


def fingerprint_of(*parts: Any) -> str | Unseen:
    """A digest of the parts of a model, the same in every process; or an `Unseen`."""
    try:
        walk = _Walk()
        return _hash(*(walk.digest(part) for part in parts)).hex()
    except UnseenError as error:
        return Unseen(str(error))
    except Exception as error:  # models may refuse inspection with any error
        return Unseen(f"its content ({type(error).__name__}: {error})")


def functions_in(model: Any) -> dict[str, Any]:
    """Functions among the attributes of a model, which may replace its methods."""
    return {name: one for name, one in vars(model).items() if isinstance(one, FUNCTIONS)}


class _Walk:
    """Digests of objects, each visited once."""

    def __init__(self) -> None:
        self.digests: dict[int, bytes] = {}
        """Digests by the id of the object."""
        self.held: list[Any] = []
        """The visited objects, kept alive: Python reuses the id of a deleted object."""
        self.above: dict[int, int] = {}
        """Depths of the objects that hold the present one, by id."""
        self.path: list[str] = []

    def digest(self, value: Any) -> bytes:
        kind = type(value)
        if kind in PLAIN:
            return _hash(f"{kind.__name__} {value!r}".encode())
        if kind in (bytes, bytearray):
            return _hash(b"bytes", value)
        key = id(value)
        if key in self.digests:
            return self.digests[key]
        if key in self.above:
            return _hash(f"{len(self.above) - self.above[key]} levels above".encode())
        self.above[key] = len(self.above)
        self.held.append(value)
        head, parts = self._parts(value)
        if kind in (set, frozenset):
            digest = _hash(head, *sorted(self._each(parts)))
        else:
            digest = _hash(head, *self._each(parts))
        del self.above[key]
        self.digests[key] = digest
        return digest

    def _each(self, parts: Iterable[tuple[str, Any]]) -> Iterator[bytes]:
        for step, part in parts:
            self.path.append(step)
            yield self.digest(part)
            self.path.pop()

    def _parts(self, value: Any) -> tuple[bytes, Iterable[tuple[str, Any]]]:
        """A description of an object, and its parts with the path to each."""
        kind = type(value)
        if isinstance(value, type | FunctionType):
            return self._code(value, value.__module__, value.__qualname__), ()
        if kind in (list, tuple, set, frozenset):
            return f"{kind.__name__} {len(value)}".encode(), (
                (f"[{i}]", item) for i, item in enumerate(value)
            )
        if kind in (dict, OrderedDict):
            return kind.__name__.encode(), _items(value)
        if isinstance(value, np.ndarray) and kind in (np.ndarray, np.memmap):
            return _array(value)
        if isinstance(value, np.dtype):
            return f"dtype {value.descr if value.names else value.str}".encode(), ()
        if isinstance(value, np.ufunc):
            return self._ufunc(value), ()
        torch = modules.get("torch")
        if torch is not None and isinstance(value, (torch.Tensor, torch.dtype)):
            return _torch_parts(torch, value)
        neighbors = modules.get("sklearn.neighbors")
        if neighbors is not None and kind in (neighbors.KDTree, neighbors.BallTree):
            # It also counts its calls.
            return b"search tree", (("", kind), ("", value.get_arrays()))
        return self._reduced(value)

    def _reduced(self, value: Any) -> tuple[bytes, Iterable[tuple[str, Any]]]:
        """An object in pickle's form: a function, and the arguments and state to restore it."""
        kind = type(value)
        reduce = dispatch_table.get(kind)
        try:
            reduced = value.__reduce_ex__(4) if reduce is None else reduce(value)
        except Exception as error:
            raise UnseenError(f"the content of a {kind.__qualname__}{self._at()}") from error
        if isinstance(reduced, str):
            return self._code(value, str(getattr(value, "__module__", None)), reduced), ()
        if kind.__module__ != "builtins":
            self._code(kind, kind.__module__, kind.__qualname__)
        make, arguments, state, *more = (*reduced, None, None, None)[:5]
        parts = [("", make), *((f"[{i}]", one) for i, one in enumerate(arguments))]
        if isinstance(state, dict):
            parts += [(f".{name}", one) for name, one in _sorted(state)]
            parts.append(("", [str(name) for name, _ in _sorted(state)]))
        else:
            parts.append(("", state))
        parts += [("", None if items is None else list(items)) for items in more]
        return b"object", parts

    def _code(self, value: Any, module: str, name: str) -> bytes:
        """A class or a function by name, provided that a later run finds the same under it."""
        what = f"the code of {'class' if isinstance(value, type) else 'function'} {name}"
        source = source_of(module)
        if source is None:
            raise UnseenError(
                f"{what} in module {module}, which is not part of an installed package{self._at()}"
            )
        if found_by_name(module, name) is not value:
            raise UnseenError(f"{what}, which module {module} does not hold{self._at()}")
        patched = patched_method(value) if isinstance(value, type) else None
        if patched is None and isinstance(value, FunctionType):
            home = str(value.__globals__.get("__name__"))
            patched = None if source_of(home) else f"the code of function {name}, wrapped in {home}"
        if patched is not None:
            raise UnseenError(f"{patched}{self._at()}")
        return f"{source} {module}.{name}".encode()

    def _ufunc(self, value: np.ufunc) -> bytes:
        for module in UFUNCS:
            if found_by_name(module, value.__name__) is value:
                return f"{source_of(module)} {module}.{value.__name__}".encode()
        raise UnseenError(f"the code of ufunc {value.__name__}{self._at()}")

    def _at(self) -> str:
        """The present path, as a suffix for a message."""
        # torch keeps the layers of a module in this dictionary.
        path = "".join(self.path).replace("._modules", "").removeprefix(".")
        return f" (at {path})" if path else ""


def _items(value: dict[Any, Any]) -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        yield "", key
        yield f"[{key!r}]", item


def _sorted(state: dict[Any, Any]) -> list[tuple[Any, Any]]:
    """Attributes sorted by name: the order of assignment does not matter."""
    return sorted(state.items(), key=lambda pair: str(pair[0]))


def _array(value: Array) -> tuple[bytes, Iterable[tuple[str, Any]]]:
    head = f"array {value.dtype.descr if value.dtype.names else value.dtype.str} {value.shape}"
    if value.dtype.hasobject:
        return head.encode(), (("", value.tolist()),)
    if value.dtype.names is not None:
        # The nodes of scikit-learn's trees have padding bytes, which are arbitrary after loading.
        return head.encode(), (
            (f"[{name!r}]", np.ascontiguousarray(value[name])) for name in value.dtype.names
        )
    return head.encode() + np.ascontiguousarray(value).tobytes(), ()


def _torch_parts(torch: Any, value: Any) -> tuple[bytes, Iterable[tuple[str, Any]]]:
    if isinstance(value, torch.dtype):
        return str(value).encode(), ()
    return f"tensor {value.dtype}".encode(), (("", type(value)), ("", _values(torch, value)))


def _values(torch: Any, tensor: Any) -> Array:
    """The values of a tensor; short float types that NumPy lacks become float32."""
    dense = tensor.detach().cpu()
    dense = dense.dequantize() if dense.is_quantized else dense
    dense = dense.to_dense() if dense.layout is not torch.strided else dense
    in_numpy = dense.dtype in (torch.float32, torch.float64) or not dense.is_floating_point()
    values: Array = (dense if in_numpy else dense.float()).resolve_conj().resolve_neg().numpy()
    return values


def _hash(*parts: bytes) -> bytes:
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()
