"""By what a later run knows a model again: a digest of everything that can change a prediction.

The walk follows an object as pickle does, through all of its attributes, but copies nothing. Data
goes into the digest by value, code by its name and by the distribution that installed it. Code of
the user, and objects that hide their content, cannot be vouched for: there is no fingerprint then,
only the reason.
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
import numpy.typing as npt

from sfit.models._installed import found_by_name, patched_method, source_of

Array = npt.NDArray[Any]

PLAIN = (type(None), type(Ellipsis), bool, int, float, complex, str)
"""What is known by what it prints."""

FUNCTIONS = (FunctionType, MethodType, BuiltinFunctionType, partial)

UFUNCS = ("numpy", "scipy.special")
"""Where a ufunc, which does not know its own module, is looked for."""


@dataclass(frozen=True)
class Unseen:
    """Why a model has no fingerprint: what may change its predictions and cannot be seen."""

    what: str


class UnseenError(Exception):
    """Ends the walk at something that cannot be vouched for."""


def fingerprint_of(*parts: Any) -> str | Unseen:
    """One text for the parts of a model, the same in every process; or what could not be seen."""
    try:
        walk = _Walk()
        return _hash(*(walk.digest(part) for part in parts)).hex()
    except UnseenError as error:
        return Unseen(str(error))
    except Exception as error:  # a model may refuse to be looked into in any way it likes
        return Unseen(f"its inside ({type(error).__name__}: {error})")


def functions_in(model: Any) -> dict[str, Any]:
    """Functions among the attributes of a model, which may replace its methods."""
    return {name: one for name, one in vars(model).items() if isinstance(one, FUNCTIONS)}


class _Walk:
    """Digests of objects, each looked at once."""

    def __init__(self) -> None:
        self.known: dict[int, bytes] = {}
        self.held: list[Any] = []
        """What was looked at, alive: the number of an object serves another after its death."""
        self.above: dict[int, int] = {}
        """The objects that hold the present one, by their depth."""
        self.path: list[str] = []

    def digest(self, value: Any) -> bytes:
        kind = type(value)
        if kind in PLAIN:
            return _hash(f"{kind.__name__} {value!r}".encode())
        if kind in (bytes, bytearray):
            return _hash(b"bytes", value)
        number = id(value)
        if number in self.known:
            return self.known[number]
        if number in self.above:
            return _hash(f"{len(self.above) - self.above[number]} levels above".encode())
        self.above[number] = len(self.above)
        self.held.append(value)
        head, parts = self._parts(value)
        if kind in (set, frozenset):
            own = _hash(head, *sorted(self._each(parts)))
        else:
            own = _hash(head, *self._each(parts))
        del self.above[number]
        self.known[number] = own
        return own

    def _each(self, parts: Iterable[tuple[str, Any]]) -> Iterator[bytes]:
        for step, part in parts:
            self.path.append(step)
            yield self.digest(part)
            self.path.pop()

    def _parts(self, value: Any) -> tuple[bytes, Iterable[tuple[str, Any]]]:
        """What an object is by itself, and what it holds, with the way there."""
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
        if torch is not None and isinstance(value, torch.Tensor):
            return f"tensor {value.dtype}".encode(), (("", kind), ("", _values(torch, value)))
        if torch is not None and isinstance(value, torch.dtype):
            return str(value).encode(), ()
        neighbors = modules.get("sklearn.neighbors")
        if neighbors is not None and kind in (neighbors.KDTree, neighbors.BallTree):
            # It also counts how often it was asked.
            return b"search tree", (("", kind), ("", value.get_arrays()))
        return self._reduced(value)

    def _reduced(self, value: Any) -> tuple[bytes, Iterable[tuple[str, Any]]]:
        """An object as pickle takes it apart: a function and what makes the object from it."""
        kind = type(value)
        reduce = dispatch_table.get(kind)
        try:
            found = value.__reduce_ex__(4) if reduce is None else reduce(value)
        except Exception as error:
            raise UnseenError(f"the inside of a {kind.__qualname__}{self._at()}") from error
        if isinstance(found, str):
            return self._code(value, str(getattr(value, "__module__", None)), found), ()
        if kind.__module__ != "builtins":
            self._code(kind, kind.__module__, kind.__qualname__)
        make, arguments, state, *more = (*found, None, None, None)[:5]
        parts = [("", make), *((f"[{i}]", one) for i, one in enumerate(arguments))]
        if isinstance(state, dict):
            parts += [(f".{name}", one) for name, one in _sorted(state)]
            parts.append(("", [str(name) for name, _ in _sorted(state)]))
        else:
            parts.append(("", state))
        parts += [("", None if items is None else list(items)) for items in more]
        return b"object", parts

    def _code(self, value: Any, module: str, name: str) -> bytes:
        """A class or a function by its name, if a later run finds the same one there."""
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
        """Where the walk is, as an addition to a message."""
        # torch keeps the layers of a module in this dictionary.
        path = "".join(self.path).replace("._modules", "").removeprefix(".")
        return f" (at {path})" if path else ""


def _items(value: dict[Any, Any]) -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        yield "", key
        yield f"[{key!r}]", item


def _sorted(state: dict[Any, Any]) -> list[tuple[Any, Any]]:
    """Attributes by name: the order in which they were set is not the model."""
    return sorted(state.items(), key=lambda pair: str(pair[0]))


def _array(value: Array) -> tuple[bytes, Iterable[tuple[str, Any]]]:
    head = f"array {value.dtype.descr if value.dtype.names else value.dtype.str} {value.shape}"
    if value.dtype.hasobject:
        return head.encode(), (("", value.tolist()),)
    if value.dtype.names is not None:
        # The nodes of scikit-learn's trees have gaps, in which anything may lie after loading.
        return head.encode(), (
            (f"[{name!r}]", np.ascontiguousarray(value[name])) for name in value.dtype.names
        )
    return head.encode() + np.ascontiguousarray(value).tobytes(), ()


def _values(torch: Any, tensor: Any) -> Array:
    """All digits of a tensor; of some short floats NumPy does not know the kind."""
    dense = tensor.detach().cpu()
    dense = dense.dequantize() if dense.is_quantized else dense
    dense = dense.to_dense() if dense.layout is not torch.strided else dense
    known = dense.dtype in (torch.float32, torch.float64) or not dense.is_floating_point()
    values: Array = (dense if known else dense.float()).resolve_conj().resolve_neg().numpy()
    return values


def _hash(*parts: bytes) -> bytes:
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()
