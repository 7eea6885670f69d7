"""The type of an array of any kind of numbers or objects."""

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]
