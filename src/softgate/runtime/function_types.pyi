# Written by tools/write_stubs.py: edit that or the sources, then run `make stubs`.
from collections.abc import Sequence
from numpy.typing import NDArray
from softgate.runtime.activation import Activation as ActivationSource
from softgate.runtime.gated import Curvature
from softgate.runtime.gated import Gated as GatedSource
from typing import Any
from typing import Protocol
from typing import Self
from typing import SupportsFloat
from typing import TypeAlias
from typing import TypeVar
from typing import overload
import numpy as np

# A function takes only its own parameters, and `Activation` any; the overload for one type of
# arrays precedes a more general one.
# mypy: disable-error-code="override,overload-overlap"
# pyright: reportIncompatibleMethodOverride=false, reportOverlappingOverload=false

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

class TorchTensor(Protocol[T_co]):
    """torch.Tensor and its subclasses; results are of the type that its operators return."""

    @property
    def requires_grad(self) -> bool: ...
    def neg(self) -> T_co: ...

class JaxArray(Protocol[T_co]):
    """jax.Array, also while it is traced."""

    @property
    def at(self) -> Any: ...
    def block_until_ready(self) -> Any: ...
    def __neg__(self) -> T_co: ...

class Shaped(Protocol):
    """Tensors of TensorFlow and Keras, Series of polars."""

    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...

class OverridesUfuncs(Protocol):
    """Arrays of pandas, xarray and dask."""

    def __array_ufunc__(self, ufunc: Any, method: Any, /, *inputs: Any, **kwargs: Any) -> Any: ...

Number: TypeAlias = float | SupportsFloat
Scalar: TypeAlias = float | np.integer | np.bool
NumberSequence: TypeAlias = (
    Sequence[float] | Sequence[Sequence[float]] | Sequence[Sequence[Sequence[float]]]
)
Integers: TypeAlias = NDArray[np.integer | np.bool]
ArraySequence: TypeAlias = (
    Sequence[np.number] | Sequence[NDArray[Any]] | Sequence[Sequence[np.number | NDArray[Any]]]
)
Operand: TypeAlias = Scalar | np.floating | NumberSequence | ArraySequence | NDArray[Any]
Anything: TypeAlias = Operand | TorchTensor[Any] | JaxArray[Any] | Shaped | OverridesUfuncs
Floats = TypeVar("Floats", bound=np.ndarray[Any, np.dtype[np.floating]] | np.floating)
Array = TypeVar("Array", bound=Shaped | OverridesUfuncs)
Out = TypeVar("Out", bound=np.ndarray[Any, Any] | TorchTensor[Any] | tuple[Any, ...])


class Activation(ActivationSource):
    """A function of the catalogue, applied to each element.

    Calling it returns the value; `slope`, `curvature` and `backward` return derivatives. Parameters
    are keywords. Python numbers, lists and NumPy arrays of float16, bfloat16, float32, float64
    and of ml_dtypes' formats of 4 to 8 bits are accepted, with any shape and strides; integers and
    booleans become float64.

    Examples
    --------
    >>> import softgate as sg
    >>> sg.relu([-1.0, 0.0, 2.0])
    array([0., 0., 2.])
    """
    @overload
    def __call__(self, x: Scalar, /, *, out: None = None, arithmetic: str | None = None, **parameters: Number) -> float:
        """Return the value at each element of `x`.

        Parameters
        ----------
        x : number, list or array
            Where to evaluate. Lists are converted by `numpy.asarray`.
        out : numpy.ndarray, optional
            Array for the results; may be `x` or overlap it. It must have the result's dtype, and
            `x` broadcasts to its shape.
        arithmetic : {"float64"}, optional
            Compute float32 arrays in float64 and round once: within 0.51 ulp.
        **parameters : float or numpy.ndarray
            The parameters of the formula. Arrays broadcast with `x` and take its dtype.

        Returns
        -------
        numpy.ndarray or scalar
            As a NumPy ufunc would return it: the input's array type and dtype.
        """
    @overload
    def __call__(self, x: Floats, /, *, out: None = None, arithmetic: str | None = None, **parameters: Number) -> Floats:
        ...
    @overload
    def __call__(self, x: NumberSequence | Integers, /, *, out: None = None, arithmetic: str | None = None, **parameters: Number) -> NDArray[np.float64]:
        ...
    @overload
    def __call__(self, x: TorchTensor[T] | JaxArray[T], /, *, out: None = None, arithmetic: str | None = None, **parameters: Number) -> T:
        ...
    @overload
    def __call__(self, x: ArraySequence, /, *, out: None = None, arithmetic: str | None = None, **parameters: Number) -> NDArray[Any]:
        ...
    @overload
    def __call__(self, x: Array, /, *, out: None = None, arithmetic: str | None = None, **parameters: Number) -> Array:
        ...
    @overload
    def __call__(self, x: Anything, /, *, out: Out, arithmetic: str | None = None, **parameters: Number) -> Out:
        ...
    @overload
    def slope(self, x: Scalar, /, *, out: None = None, arithmetic: str | None = None, **parameters: Number) -> float:
        """Return the first derivative at each element of `x`; arguments as for the value.

        Examples
        --------
        >>> import softgate as sg
        >>> sg.relu.slope([-1.0, 0.0, 2.0])
        array([0., 0., 1.])
        """
    @overload
    def slope(self, x: Floats, /, *, out: None = None, arithmetic: str | None = None, **parameters: Number) -> Floats:
        ...
    @overload
    def slope(self, x: NumberSequence | Integers, /, *, out: None = None, arithmetic: str | None = None, **parameters: Number) -> NDArray[np.float64]:
        ...
    @overload
    def slope(self, x: TorchTensor[T] | JaxArray[T], /, *, out: None = None, arithmetic: str | None = None, **parameters: Number) -> T:
        ...
    @overload
    def slope(self, x: ArraySequence, /, *, out: None = None, arithmetic: str | None = None, **parameters: Number) -> NDArray[Any]:
        ...
    @overload
    def slope(self, x: Array, /, *, out: None = None, arithmetic: str | None = None, **parameters: Number) -> Array:
        ...
    @overload
    def slope(self, x: Anything, /, *, out: Out, arithmetic: str | None = None, **parameters: Number) -> Out:
        ...
    @overload
    def curvature(self, x: Scalar, /, *, out: None = None, arithmetic: str | None = None, **parameters: Number) -> float:
        """Return the second derivative at each element of `x`, always computed in float64.

        Examples
        --------
        >>> import softgate as sg
        >>> float(sg.gelu.curvature(0.0)) == 2 * float(sg.phi(0.0))
        True
        """
    @overload
    def curvature(self, x: Floats, /, *, out: None = None, arithmetic: str | None = None, **parameters: Number) -> Floats:
        ...
    @overload
    def curvature(self, x: NumberSequence | Integers, /, *, out: None = None, arithmetic: str | None = None, **parameters: Number) -> NDArray[np.float64]:
        ...
    @overload
    def curvature(self, x: TorchTensor[T] | JaxArray[T], /, *, out: None = None, arithmetic: str | None = None, **parameters: Number) -> T:
        ...
    @overload
    def curvature(self, x: ArraySequence, /, *, out: None = None, arithmetic: str | None = None, **parameters: Number) -> NDArray[Any]:
        ...
    @overload
    def curvature(self, x: Array, /, *, out: None = None, arithmetic: str | None = None, **parameters: Number) -> Array:
        ...
    @overload
    def curvature(self, x: Anything, /, *, out: Out, arithmetic: str | None = None, **parameters: Number) -> Out:
        ...
    @overload
    def backward(self, x: Scalar, grad: Scalar, /, *, out: None = None, arithmetic: str | None = None, **parameters: Number) -> float:
        """Return slope(x)·grad, computed in one pass; `grad` and `x` broadcast.

        Where relu's slope is 0 the result is 0 whatever `grad` is, as in the frameworks. A result
        that underflows to 0 has the sign +.

        Examples
        --------
        >>> import softgate as sg
        >>> sg.leaky_relu.backward([-1.0, 2.0], [3.0, 3.0], slope=0.5)
        array([1.5, 3. ])
        """
    @overload
    def backward(self, x: Floats, grad: Floats | Scalar | NumberSequence, /, *, out: None = None, arithmetic: str | None = None, **parameters: Number) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence, grad: Floats, /, *, out: None = None, arithmetic: str | None = None, **parameters: Number) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence | Integers, grad: Scalar | NumberSequence | Integers, /, *, out: None = None, arithmetic: str | None = None, **parameters: Number) -> NDArray[np.float64]:
        ...
    @overload
    def backward(self, x: TorchTensor[T] | JaxArray[T], grad: TorchTensor[T] | JaxArray[T] | float, /, *, out: None = None, arithmetic: str | None = None, **parameters: Number) -> T:
        ...
    @overload
    def backward(self, x: float, grad: TorchTensor[T] | JaxArray[T], /, *, out: None = None, arithmetic: str | None = None, **parameters: Number) -> T:
        ...
    @overload
    def backward(self, x: Operand, grad: Operand, /, *, out: None = None, arithmetic: str | None = None, **parameters: Number) -> NDArray[Any]:
        ...
    @overload
    def backward(self, x: Array, grad: Array | Operand, /, *, out: None = None, arithmetic: str | None = None, **parameters: Number) -> Array:
        ...
    @overload
    def backward(self, x: Anything, grad: Anything, /, *, out: Out, arithmetic: str | None = None, **parameters: Number) -> Out:
        ...

class WithAlpha(Activation):
    @overload
    def __call__(self, x: Scalar, /, *, alpha: Number = 1.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return the value at each element of `x`."""
    @overload
    def __call__(self, x: Floats, /, *, alpha: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def __call__(self, x: NumberSequence | Integers, /, *, alpha: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def __call__(self, x: TorchTensor[T] | JaxArray[T], /, *, alpha: Number = 1.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def __call__(self, x: ArraySequence, /, *, alpha: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def __call__(self, x: Array, /, *, alpha: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def __call__(self, x: Anything, /, *, alpha: Number = 1.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def slope(self, x: Scalar, /, *, alpha: Number = 1.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return the first derivative at each element of `x`; arguments as for the value."""
    @overload
    def slope(self, x: Floats, /, *, alpha: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def slope(self, x: NumberSequence | Integers, /, *, alpha: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def slope(self, x: TorchTensor[T] | JaxArray[T], /, *, alpha: Number = 1.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def slope(self, x: ArraySequence, /, *, alpha: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def slope(self, x: Array, /, *, alpha: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def slope(self, x: Anything, /, *, alpha: Number = 1.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def curvature(self, x: Scalar, /, *, alpha: Number = 1.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return the second derivative at each element of `x`, always computed in float64."""
    @overload
    def curvature(self, x: Floats, /, *, alpha: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def curvature(self, x: NumberSequence | Integers, /, *, alpha: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def curvature(self, x: TorchTensor[T] | JaxArray[T], /, *, alpha: Number = 1.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def curvature(self, x: ArraySequence, /, *, alpha: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def curvature(self, x: Array, /, *, alpha: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def curvature(self, x: Anything, /, *, alpha: Number = 1.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def backward(self, x: Scalar, grad: Scalar, /, *, alpha: Number = 1.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return slope(x)·grad, computed in one pass; `grad` and `x` broadcast."""
    @overload
    def backward(self, x: Floats, grad: Floats | Scalar | NumberSequence, /, *, alpha: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence, grad: Floats, /, *, alpha: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence | Integers, grad: Scalar | NumberSequence | Integers, /, *, alpha: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def backward(self, x: TorchTensor[T] | JaxArray[T], grad: TorchTensor[T] | JaxArray[T] | float, /, *, alpha: Number = 1.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def backward(self, x: float, grad: TorchTensor[T] | JaxArray[T], /, *, alpha: Number = 1.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def backward(self, x: Operand, grad: Operand, /, *, alpha: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def backward(self, x: Array, grad: Array | Operand, /, *, alpha: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def backward(self, x: Anything, grad: Anything, /, *, alpha: Number = 1.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    def bind(self, *, alpha: Number = 1.0) -> Self: ...

class WithAlphaPAlphaNBetaEps(Activation):
    @overload
    def __call__(self, x: Scalar, /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return the value at each element of `x`."""
    @overload
    def __call__(self, x: Floats, /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def __call__(self, x: NumberSequence | Integers, /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def __call__(self, x: TorchTensor[T] | JaxArray[T], /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def __call__(self, x: ArraySequence, /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def __call__(self, x: Array, /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def __call__(self, x: Anything, /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def slope(self, x: Scalar, /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return the first derivative at each element of `x`; arguments as for the value."""
    @overload
    def slope(self, x: Floats, /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def slope(self, x: NumberSequence | Integers, /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def slope(self, x: TorchTensor[T] | JaxArray[T], /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def slope(self, x: ArraySequence, /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def slope(self, x: Array, /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def slope(self, x: Anything, /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def curvature(self, x: Scalar, /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return the second derivative at each element of `x`, always computed in float64."""
    @overload
    def curvature(self, x: Floats, /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def curvature(self, x: NumberSequence | Integers, /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def curvature(self, x: TorchTensor[T] | JaxArray[T], /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def curvature(self, x: ArraySequence, /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def curvature(self, x: Array, /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def curvature(self, x: Anything, /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def backward(self, x: Scalar, grad: Scalar, /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return slope(x)·grad, computed in one pass; `grad` and `x` broadcast."""
    @overload
    def backward(self, x: Floats, grad: Floats | Scalar | NumberSequence, /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence, grad: Floats, /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence | Integers, grad: Scalar | NumberSequence | Integers, /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def backward(self, x: TorchTensor[T] | JaxArray[T], grad: TorchTensor[T] | JaxArray[T] | float, /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def backward(self, x: float, grad: TorchTensor[T] | JaxArray[T], /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def backward(self, x: Operand, grad: Operand, /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def backward(self, x: Array, grad: Array | Operand, /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def backward(self, x: Anything, grad: Anything, /, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    def bind(self, *, alpha_p: Number = 0.8, alpha_n: Number = 0.8, beta: Number = 0.5, eps: Number = 0.0) -> Self: ...

class WithB(Activation):
    @overload
    def __call__(self, x: Scalar, /, *, b: Number = 4.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return the value at each element of `x`."""
    @overload
    def __call__(self, x: Floats, /, *, b: Number = 4.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def __call__(self, x: NumberSequence | Integers, /, *, b: Number = 4.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def __call__(self, x: TorchTensor[T] | JaxArray[T], /, *, b: Number = 4.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def __call__(self, x: ArraySequence, /, *, b: Number = 4.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def __call__(self, x: Array, /, *, b: Number = 4.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def __call__(self, x: Anything, /, *, b: Number = 4.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def slope(self, x: Scalar, /, *, b: Number = 4.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return the first derivative at each element of `x`; arguments as for the value."""
    @overload
    def slope(self, x: Floats, /, *, b: Number = 4.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def slope(self, x: NumberSequence | Integers, /, *, b: Number = 4.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def slope(self, x: TorchTensor[T] | JaxArray[T], /, *, b: Number = 4.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def slope(self, x: ArraySequence, /, *, b: Number = 4.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def slope(self, x: Array, /, *, b: Number = 4.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def slope(self, x: Anything, /, *, b: Number = 4.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def curvature(self, x: Scalar, /, *, b: Number = 4.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return the second derivative at each element of `x`, always computed in float64."""
    @overload
    def curvature(self, x: Floats, /, *, b: Number = 4.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def curvature(self, x: NumberSequence | Integers, /, *, b: Number = 4.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def curvature(self, x: TorchTensor[T] | JaxArray[T], /, *, b: Number = 4.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def curvature(self, x: ArraySequence, /, *, b: Number = 4.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def curvature(self, x: Array, /, *, b: Number = 4.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def curvature(self, x: Anything, /, *, b: Number = 4.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def backward(self, x: Scalar, grad: Scalar, /, *, b: Number = 4.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return slope(x)·grad, computed in one pass; `grad` and `x` broadcast."""
    @overload
    def backward(self, x: Floats, grad: Floats | Scalar | NumberSequence, /, *, b: Number = 4.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence, grad: Floats, /, *, b: Number = 4.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence | Integers, grad: Scalar | NumberSequence | Integers, /, *, b: Number = 4.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def backward(self, x: TorchTensor[T] | JaxArray[T], grad: TorchTensor[T] | JaxArray[T] | float, /, *, b: Number = 4.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def backward(self, x: float, grad: TorchTensor[T] | JaxArray[T], /, *, b: Number = 4.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def backward(self, x: Operand, grad: Operand, /, *, b: Number = 4.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def backward(self, x: Array, grad: Array | Operand, /, *, b: Number = 4.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def backward(self, x: Anything, grad: Anything, /, *, b: Number = 4.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    def bind(self, *, b: Number = 4.0) -> Self: ...

class WithBeta(Activation):
    @overload
    def __call__(self, x: Scalar, /, *, beta: Number = 1.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return the value at each element of `x`."""
    @overload
    def __call__(self, x: Floats, /, *, beta: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def __call__(self, x: NumberSequence | Integers, /, *, beta: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def __call__(self, x: TorchTensor[T] | JaxArray[T], /, *, beta: Number = 1.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def __call__(self, x: ArraySequence, /, *, beta: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def __call__(self, x: Array, /, *, beta: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def __call__(self, x: Anything, /, *, beta: Number = 1.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def slope(self, x: Scalar, /, *, beta: Number = 1.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return the first derivative at each element of `x`; arguments as for the value."""
    @overload
    def slope(self, x: Floats, /, *, beta: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def slope(self, x: NumberSequence | Integers, /, *, beta: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def slope(self, x: TorchTensor[T] | JaxArray[T], /, *, beta: Number = 1.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def slope(self, x: ArraySequence, /, *, beta: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def slope(self, x: Array, /, *, beta: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def slope(self, x: Anything, /, *, beta: Number = 1.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def curvature(self, x: Scalar, /, *, beta: Number = 1.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return the second derivative at each element of `x`, always computed in float64."""
    @overload
    def curvature(self, x: Floats, /, *, beta: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def curvature(self, x: NumberSequence | Integers, /, *, beta: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def curvature(self, x: TorchTensor[T] | JaxArray[T], /, *, beta: Number = 1.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def curvature(self, x: ArraySequence, /, *, beta: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def curvature(self, x: Array, /, *, beta: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def curvature(self, x: Anything, /, *, beta: Number = 1.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def backward(self, x: Scalar, grad: Scalar, /, *, beta: Number = 1.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return slope(x)·grad, computed in one pass; `grad` and `x` broadcast."""
    @overload
    def backward(self, x: Floats, grad: Floats | Scalar | NumberSequence, /, *, beta: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence, grad: Floats, /, *, beta: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence | Integers, grad: Scalar | NumberSequence | Integers, /, *, beta: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def backward(self, x: TorchTensor[T] | JaxArray[T], grad: TorchTensor[T] | JaxArray[T] | float, /, *, beta: Number = 1.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def backward(self, x: float, grad: TorchTensor[T] | JaxArray[T], /, *, beta: Number = 1.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def backward(self, x: Operand, grad: Operand, /, *, beta: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def backward(self, x: Array, grad: Array | Operand, /, *, beta: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def backward(self, x: Anything, grad: Anything, /, *, beta: Number = 1.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    def bind(self, *, beta: Number = 1.0) -> Self: ...

class WithLowHigh(Activation):
    @overload
    def __call__(self, x: Scalar, /, *, low: Number = 0.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return the value at each element of `x`."""
    @overload
    def __call__(self, x: Floats, /, *, low: Number = 0.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def __call__(self, x: NumberSequence | Integers, /, *, low: Number = 0.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def __call__(self, x: TorchTensor[T] | JaxArray[T], /, *, low: Number = 0.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def __call__(self, x: ArraySequence, /, *, low: Number = 0.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def __call__(self, x: Array, /, *, low: Number = 0.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def __call__(self, x: Anything, /, *, low: Number = 0.0, high: Number = 1.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def slope(self, x: Scalar, /, *, low: Number = 0.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return the first derivative at each element of `x`; arguments as for the value."""
    @overload
    def slope(self, x: Floats, /, *, low: Number = 0.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def slope(self, x: NumberSequence | Integers, /, *, low: Number = 0.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def slope(self, x: TorchTensor[T] | JaxArray[T], /, *, low: Number = 0.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def slope(self, x: ArraySequence, /, *, low: Number = 0.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def slope(self, x: Array, /, *, low: Number = 0.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def slope(self, x: Anything, /, *, low: Number = 0.0, high: Number = 1.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def curvature(self, x: Scalar, /, *, low: Number = 0.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return the second derivative at each element of `x`, always computed in float64."""
    @overload
    def curvature(self, x: Floats, /, *, low: Number = 0.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def curvature(self, x: NumberSequence | Integers, /, *, low: Number = 0.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def curvature(self, x: TorchTensor[T] | JaxArray[T], /, *, low: Number = 0.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def curvature(self, x: ArraySequence, /, *, low: Number = 0.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def curvature(self, x: Array, /, *, low: Number = 0.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def curvature(self, x: Anything, /, *, low: Number = 0.0, high: Number = 1.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def backward(self, x: Scalar, grad: Scalar, /, *, low: Number = 0.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return slope(x)·grad, computed in one pass; `grad` and `x` broadcast."""
    @overload
    def backward(self, x: Floats, grad: Floats | Scalar | NumberSequence, /, *, low: Number = 0.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence, grad: Floats, /, *, low: Number = 0.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence | Integers, grad: Scalar | NumberSequence | Integers, /, *, low: Number = 0.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def backward(self, x: TorchTensor[T] | JaxArray[T], grad: TorchTensor[T] | JaxArray[T] | float, /, *, low: Number = 0.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def backward(self, x: float, grad: TorchTensor[T] | JaxArray[T], /, *, low: Number = 0.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def backward(self, x: Operand, grad: Operand, /, *, low: Number = 0.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def backward(self, x: Array, grad: Array | Operand, /, *, low: Number = 0.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def backward(self, x: Anything, grad: Anything, /, *, low: Number = 0.0, high: Number = 1.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    def bind(self, *, low: Number = 0.0, high: Number = 1.0) -> Self: ...

class WithLowHighOfHardTanh(Activation):
    @overload
    def __call__(self, x: Scalar, /, *, low: Number = -1.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return the value at each element of `x`."""
    @overload
    def __call__(self, x: Floats, /, *, low: Number = -1.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def __call__(self, x: NumberSequence | Integers, /, *, low: Number = -1.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def __call__(self, x: TorchTensor[T] | JaxArray[T], /, *, low: Number = -1.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def __call__(self, x: ArraySequence, /, *, low: Number = -1.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def __call__(self, x: Array, /, *, low: Number = -1.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def __call__(self, x: Anything, /, *, low: Number = -1.0, high: Number = 1.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def slope(self, x: Scalar, /, *, low: Number = -1.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return the first derivative at each element of `x`; arguments as for the value."""
    @overload
    def slope(self, x: Floats, /, *, low: Number = -1.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def slope(self, x: NumberSequence | Integers, /, *, low: Number = -1.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def slope(self, x: TorchTensor[T] | JaxArray[T], /, *, low: Number = -1.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def slope(self, x: ArraySequence, /, *, low: Number = -1.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def slope(self, x: Array, /, *, low: Number = -1.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def slope(self, x: Anything, /, *, low: Number = -1.0, high: Number = 1.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def curvature(self, x: Scalar, /, *, low: Number = -1.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return the second derivative at each element of `x`, always computed in float64."""
    @overload
    def curvature(self, x: Floats, /, *, low: Number = -1.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def curvature(self, x: NumberSequence | Integers, /, *, low: Number = -1.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def curvature(self, x: TorchTensor[T] | JaxArray[T], /, *, low: Number = -1.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def curvature(self, x: ArraySequence, /, *, low: Number = -1.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def curvature(self, x: Array, /, *, low: Number = -1.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def curvature(self, x: Anything, /, *, low: Number = -1.0, high: Number = 1.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def backward(self, x: Scalar, grad: Scalar, /, *, low: Number = -1.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return slope(x)·grad, computed in one pass; `grad` and `x` broadcast."""
    @overload
    def backward(self, x: Floats, grad: Floats | Scalar | NumberSequence, /, *, low: Number = -1.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence, grad: Floats, /, *, low: Number = -1.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence | Integers, grad: Scalar | NumberSequence | Integers, /, *, low: Number = -1.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def backward(self, x: TorchTensor[T] | JaxArray[T], grad: TorchTensor[T] | JaxArray[T] | float, /, *, low: Number = -1.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def backward(self, x: float, grad: TorchTensor[T] | JaxArray[T], /, *, low: Number = -1.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def backward(self, x: Operand, grad: Operand, /, *, low: Number = -1.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def backward(self, x: Array, grad: Array | Operand, /, *, low: Number = -1.0, high: Number = 1.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def backward(self, x: Anything, grad: Anything, /, *, low: Number = -1.0, high: Number = 1.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    def bind(self, *, low: Number = -1.0, high: Number = 1.0) -> Self: ...

class WithLowerUpper(Activation):
    @overload
    def __call__(self, x: Scalar, /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: None = None, arithmetic: str | None = None) -> float:
        """Return the value at each element of `x`."""
    @overload
    def __call__(self, x: Floats, /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def __call__(self, x: NumberSequence | Integers, /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def __call__(self, x: TorchTensor[T] | JaxArray[T], /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def __call__(self, x: ArraySequence, /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def __call__(self, x: Array, /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def __call__(self, x: Anything, /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def slope(self, x: Scalar, /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: None = None, arithmetic: str | None = None) -> float:
        """Return the first derivative at each element of `x`; arguments as for the value."""
    @overload
    def slope(self, x: Floats, /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def slope(self, x: NumberSequence | Integers, /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def slope(self, x: TorchTensor[T] | JaxArray[T], /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def slope(self, x: ArraySequence, /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def slope(self, x: Array, /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def slope(self, x: Anything, /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def curvature(self, x: Scalar, /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: None = None, arithmetic: str | None = None) -> float:
        """Return the second derivative at each element of `x`, always computed in float64."""
    @overload
    def curvature(self, x: Floats, /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def curvature(self, x: NumberSequence | Integers, /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def curvature(self, x: TorchTensor[T] | JaxArray[T], /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def curvature(self, x: ArraySequence, /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def curvature(self, x: Array, /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def curvature(self, x: Anything, /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def backward(self, x: Scalar, grad: Scalar, /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: None = None, arithmetic: str | None = None) -> float:
        """Return slope(x)·grad, computed in one pass; `grad` and `x` broadcast."""
    @overload
    def backward(self, x: Floats, grad: Floats | Scalar | NumberSequence, /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence, grad: Floats, /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence | Integers, grad: Scalar | NumberSequence | Integers, /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def backward(self, x: TorchTensor[T] | JaxArray[T], grad: TorchTensor[T] | JaxArray[T] | float, /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def backward(self, x: float, grad: TorchTensor[T] | JaxArray[T], /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def backward(self, x: Operand, grad: Operand, /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def backward(self, x: Array, grad: Array | Operand, /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def backward(self, x: Anything, grad: Anything, /, *, lower: Number = 0.125, upper: Number = 0.3333333333333333, out: Out, arithmetic: str | None = None) -> Out:
        ...
    def bind(self, *, lower: Number = 0.125, upper: Number = 0.3333333333333333) -> Self: ...

class WithMuSigma(Activation):
    @overload
    def __call__(self, x: Scalar, /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: None = None, arithmetic: str | None = None) -> float:
        """Return the value at each element of `x`."""
    @overload
    def __call__(self, x: Floats, /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def __call__(self, x: NumberSequence | Integers, /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def __call__(self, x: TorchTensor[T] | JaxArray[T], /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def __call__(self, x: ArraySequence, /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def __call__(self, x: Array, /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def __call__(self, x: Anything, /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def slope(self, x: Scalar, /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: None = None, arithmetic: str | None = None) -> float:
        """Return the first derivative at each element of `x`; arguments as for the value."""
    @overload
    def slope(self, x: Floats, /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def slope(self, x: NumberSequence | Integers, /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def slope(self, x: TorchTensor[T] | JaxArray[T], /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def slope(self, x: ArraySequence, /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def slope(self, x: Array, /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def slope(self, x: Anything, /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def curvature(self, x: Scalar, /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: None = None, arithmetic: str | None = None) -> float:
        """Return the second derivative at each element of `x`, always computed in float64."""
    @overload
    def curvature(self, x: Floats, /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def curvature(self, x: NumberSequence | Integers, /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def curvature(self, x: TorchTensor[T] | JaxArray[T], /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def curvature(self, x: ArraySequence, /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def curvature(self, x: Array, /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def curvature(self, x: Anything, /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def backward(self, x: Scalar, grad: Scalar, /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: None = None, arithmetic: str | None = None) -> float:
        """Return slope(x)·grad, computed in one pass; `grad` and `x` broadcast."""
    @overload
    def backward(self, x: Floats, grad: Floats | Scalar | NumberSequence, /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence, grad: Floats, /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence | Integers, grad: Scalar | NumberSequence | Integers, /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def backward(self, x: TorchTensor[T] | JaxArray[T], grad: TorchTensor[T] | JaxArray[T] | float, /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def backward(self, x: float, grad: TorchTensor[T] | JaxArray[T], /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def backward(self, x: Operand, grad: Operand, /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def backward(self, x: Array, grad: Array | Operand, /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def backward(self, x: Anything, grad: Anything, /, *, mu: Number = 0.707107, sigma: Number = 0.282095, out: Out, arithmetic: str | None = None) -> Out:
        ...
    def bind(self, *, mu: Number = 0.707107, sigma: Number = 0.282095) -> Self: ...

class WithSlope(Activation):
    @overload
    def __call__(self, x: Scalar, /, *, slope: Number = 0.01, out: None = None, arithmetic: str | None = None) -> float:
        """Return the value at each element of `x`."""
    @overload
    def __call__(self, x: Floats, /, *, slope: Number = 0.01, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def __call__(self, x: NumberSequence | Integers, /, *, slope: Number = 0.01, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def __call__(self, x: TorchTensor[T] | JaxArray[T], /, *, slope: Number = 0.01, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def __call__(self, x: ArraySequence, /, *, slope: Number = 0.01, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def __call__(self, x: Array, /, *, slope: Number = 0.01, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def __call__(self, x: Anything, /, *, slope: Number = 0.01, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def slope(self, x: Scalar, /, *, slope: Number = 0.01, out: None = None, arithmetic: str | None = None) -> float:
        """Return the first derivative at each element of `x`; arguments as for the value."""
    @overload
    def slope(self, x: Floats, /, *, slope: Number = 0.01, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def slope(self, x: NumberSequence | Integers, /, *, slope: Number = 0.01, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def slope(self, x: TorchTensor[T] | JaxArray[T], /, *, slope: Number = 0.01, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def slope(self, x: ArraySequence, /, *, slope: Number = 0.01, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def slope(self, x: Array, /, *, slope: Number = 0.01, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def slope(self, x: Anything, /, *, slope: Number = 0.01, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def curvature(self, x: Scalar, /, *, slope: Number = 0.01, out: None = None, arithmetic: str | None = None) -> float:
        """Return the second derivative at each element of `x`, always computed in float64."""
    @overload
    def curvature(self, x: Floats, /, *, slope: Number = 0.01, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def curvature(self, x: NumberSequence | Integers, /, *, slope: Number = 0.01, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def curvature(self, x: TorchTensor[T] | JaxArray[T], /, *, slope: Number = 0.01, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def curvature(self, x: ArraySequence, /, *, slope: Number = 0.01, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def curvature(self, x: Array, /, *, slope: Number = 0.01, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def curvature(self, x: Anything, /, *, slope: Number = 0.01, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def backward(self, x: Scalar, grad: Scalar, /, *, slope: Number = 0.01, out: None = None, arithmetic: str | None = None) -> float:
        """Return slope(x)·grad, computed in one pass; `grad` and `x` broadcast."""
    @overload
    def backward(self, x: Floats, grad: Floats | Scalar | NumberSequence, /, *, slope: Number = 0.01, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence, grad: Floats, /, *, slope: Number = 0.01, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence | Integers, grad: Scalar | NumberSequence | Integers, /, *, slope: Number = 0.01, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def backward(self, x: TorchTensor[T] | JaxArray[T], grad: TorchTensor[T] | JaxArray[T] | float, /, *, slope: Number = 0.01, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def backward(self, x: float, grad: TorchTensor[T] | JaxArray[T], /, *, slope: Number = 0.01, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def backward(self, x: Operand, grad: Operand, /, *, slope: Number = 0.01, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def backward(self, x: Array, grad: Array | Operand, /, *, slope: Number = 0.01, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def backward(self, x: Anything, grad: Anything, /, *, slope: Number = 0.01, out: Out, arithmetic: str | None = None) -> Out:
        ...
    def bind(self, *, slope: Number = 0.01) -> Self: ...

class WithSlopeOfPrelu(Activation):
    @overload
    def __call__(self, x: Scalar, /, *, slope: Number = 0.25, out: None = None, arithmetic: str | None = None) -> float:
        """Return the value at each element of `x`."""
    @overload
    def __call__(self, x: Floats, /, *, slope: Number = 0.25, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def __call__(self, x: NumberSequence | Integers, /, *, slope: Number = 0.25, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def __call__(self, x: TorchTensor[T] | JaxArray[T], /, *, slope: Number = 0.25, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def __call__(self, x: ArraySequence, /, *, slope: Number = 0.25, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def __call__(self, x: Array, /, *, slope: Number = 0.25, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def __call__(self, x: Anything, /, *, slope: Number = 0.25, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def slope(self, x: Scalar, /, *, slope: Number = 0.25, out: None = None, arithmetic: str | None = None) -> float:
        """Return the first derivative at each element of `x`; arguments as for the value."""
    @overload
    def slope(self, x: Floats, /, *, slope: Number = 0.25, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def slope(self, x: NumberSequence | Integers, /, *, slope: Number = 0.25, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def slope(self, x: TorchTensor[T] | JaxArray[T], /, *, slope: Number = 0.25, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def slope(self, x: ArraySequence, /, *, slope: Number = 0.25, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def slope(self, x: Array, /, *, slope: Number = 0.25, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def slope(self, x: Anything, /, *, slope: Number = 0.25, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def curvature(self, x: Scalar, /, *, slope: Number = 0.25, out: None = None, arithmetic: str | None = None) -> float:
        """Return the second derivative at each element of `x`, always computed in float64."""
    @overload
    def curvature(self, x: Floats, /, *, slope: Number = 0.25, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def curvature(self, x: NumberSequence | Integers, /, *, slope: Number = 0.25, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def curvature(self, x: TorchTensor[T] | JaxArray[T], /, *, slope: Number = 0.25, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def curvature(self, x: ArraySequence, /, *, slope: Number = 0.25, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def curvature(self, x: Array, /, *, slope: Number = 0.25, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def curvature(self, x: Anything, /, *, slope: Number = 0.25, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def backward(self, x: Scalar, grad: Scalar, /, *, slope: Number = 0.25, out: None = None, arithmetic: str | None = None) -> float:
        """Return slope(x)·grad, computed in one pass; `grad` and `x` broadcast."""
    @overload
    def backward(self, x: Floats, grad: Floats | Scalar | NumberSequence, /, *, slope: Number = 0.25, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence, grad: Floats, /, *, slope: Number = 0.25, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence | Integers, grad: Scalar | NumberSequence | Integers, /, *, slope: Number = 0.25, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def backward(self, x: TorchTensor[T] | JaxArray[T], grad: TorchTensor[T] | JaxArray[T] | float, /, *, slope: Number = 0.25, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def backward(self, x: float, grad: TorchTensor[T] | JaxArray[T], /, *, slope: Number = 0.25, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def backward(self, x: Operand, grad: Operand, /, *, slope: Number = 0.25, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def backward(self, x: Array, grad: Array | Operand, /, *, slope: Number = 0.25, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def backward(self, x: Anything, grad: Anything, /, *, slope: Number = 0.25, out: Out, arithmetic: str | None = None) -> Out:
        ...
    def bind(self, *, slope: Number = 0.25) -> Self: ...

class WithThreshold(Activation):
    @overload
    def __call__(self, x: Scalar, /, *, threshold: Number = 0.5, out: None = None, arithmetic: str | None = None) -> float:
        """Return the value at each element of `x`."""
    @overload
    def __call__(self, x: Floats, /, *, threshold: Number = 0.5, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def __call__(self, x: NumberSequence | Integers, /, *, threshold: Number = 0.5, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def __call__(self, x: TorchTensor[T] | JaxArray[T], /, *, threshold: Number = 0.5, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def __call__(self, x: ArraySequence, /, *, threshold: Number = 0.5, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def __call__(self, x: Array, /, *, threshold: Number = 0.5, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def __call__(self, x: Anything, /, *, threshold: Number = 0.5, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def slope(self, x: Scalar, /, *, threshold: Number = 0.5, out: None = None, arithmetic: str | None = None) -> float:
        """Return the first derivative at each element of `x`; arguments as for the value."""
    @overload
    def slope(self, x: Floats, /, *, threshold: Number = 0.5, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def slope(self, x: NumberSequence | Integers, /, *, threshold: Number = 0.5, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def slope(self, x: TorchTensor[T] | JaxArray[T], /, *, threshold: Number = 0.5, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def slope(self, x: ArraySequence, /, *, threshold: Number = 0.5, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def slope(self, x: Array, /, *, threshold: Number = 0.5, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def slope(self, x: Anything, /, *, threshold: Number = 0.5, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def curvature(self, x: Scalar, /, *, threshold: Number = 0.5, out: None = None, arithmetic: str | None = None) -> float:
        """Return the second derivative at each element of `x`, always computed in float64."""
    @overload
    def curvature(self, x: Floats, /, *, threshold: Number = 0.5, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def curvature(self, x: NumberSequence | Integers, /, *, threshold: Number = 0.5, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def curvature(self, x: TorchTensor[T] | JaxArray[T], /, *, threshold: Number = 0.5, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def curvature(self, x: ArraySequence, /, *, threshold: Number = 0.5, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def curvature(self, x: Array, /, *, threshold: Number = 0.5, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def curvature(self, x: Anything, /, *, threshold: Number = 0.5, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def backward(self, x: Scalar, grad: Scalar, /, *, threshold: Number = 0.5, out: None = None, arithmetic: str | None = None) -> float:
        """Return slope(x)·grad, computed in one pass; `grad` and `x` broadcast."""
    @overload
    def backward(self, x: Floats, grad: Floats | Scalar | NumberSequence, /, *, threshold: Number = 0.5, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence, grad: Floats, /, *, threshold: Number = 0.5, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence | Integers, grad: Scalar | NumberSequence | Integers, /, *, threshold: Number = 0.5, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def backward(self, x: TorchTensor[T] | JaxArray[T], grad: TorchTensor[T] | JaxArray[T] | float, /, *, threshold: Number = 0.5, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def backward(self, x: float, grad: TorchTensor[T] | JaxArray[T], /, *, threshold: Number = 0.5, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def backward(self, x: Operand, grad: Operand, /, *, threshold: Number = 0.5, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def backward(self, x: Array, grad: Array | Operand, /, *, threshold: Number = 0.5, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def backward(self, x: Anything, grad: Anything, /, *, threshold: Number = 0.5, out: Out, arithmetic: str | None = None) -> Out:
        ...
    def bind(self, *, threshold: Number = 0.5) -> Self: ...

class WithThresholdValue(Activation):
    @overload
    def __call__(self, x: Scalar, /, *, threshold: Number = 1.0, value: Number = 0.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return the value at each element of `x`."""
    @overload
    def __call__(self, x: Floats, /, *, threshold: Number = 1.0, value: Number = 0.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def __call__(self, x: NumberSequence | Integers, /, *, threshold: Number = 1.0, value: Number = 0.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def __call__(self, x: TorchTensor[T] | JaxArray[T], /, *, threshold: Number = 1.0, value: Number = 0.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def __call__(self, x: ArraySequence, /, *, threshold: Number = 1.0, value: Number = 0.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def __call__(self, x: Array, /, *, threshold: Number = 1.0, value: Number = 0.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def __call__(self, x: Anything, /, *, threshold: Number = 1.0, value: Number = 0.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def slope(self, x: Scalar, /, *, threshold: Number = 1.0, value: Number = 0.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return the first derivative at each element of `x`; arguments as for the value."""
    @overload
    def slope(self, x: Floats, /, *, threshold: Number = 1.0, value: Number = 0.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def slope(self, x: NumberSequence | Integers, /, *, threshold: Number = 1.0, value: Number = 0.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def slope(self, x: TorchTensor[T] | JaxArray[T], /, *, threshold: Number = 1.0, value: Number = 0.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def slope(self, x: ArraySequence, /, *, threshold: Number = 1.0, value: Number = 0.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def slope(self, x: Array, /, *, threshold: Number = 1.0, value: Number = 0.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def slope(self, x: Anything, /, *, threshold: Number = 1.0, value: Number = 0.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def curvature(self, x: Scalar, /, *, threshold: Number = 1.0, value: Number = 0.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return the second derivative at each element of `x`, always computed in float64."""
    @overload
    def curvature(self, x: Floats, /, *, threshold: Number = 1.0, value: Number = 0.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def curvature(self, x: NumberSequence | Integers, /, *, threshold: Number = 1.0, value: Number = 0.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def curvature(self, x: TorchTensor[T] | JaxArray[T], /, *, threshold: Number = 1.0, value: Number = 0.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def curvature(self, x: ArraySequence, /, *, threshold: Number = 1.0, value: Number = 0.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def curvature(self, x: Array, /, *, threshold: Number = 1.0, value: Number = 0.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def curvature(self, x: Anything, /, *, threshold: Number = 1.0, value: Number = 0.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def backward(self, x: Scalar, grad: Scalar, /, *, threshold: Number = 1.0, value: Number = 0.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return slope(x)·grad, computed in one pass; `grad` and `x` broadcast."""
    @overload
    def backward(self, x: Floats, grad: Floats | Scalar | NumberSequence, /, *, threshold: Number = 1.0, value: Number = 0.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence, grad: Floats, /, *, threshold: Number = 1.0, value: Number = 0.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence | Integers, grad: Scalar | NumberSequence | Integers, /, *, threshold: Number = 1.0, value: Number = 0.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def backward(self, x: TorchTensor[T] | JaxArray[T], grad: TorchTensor[T] | JaxArray[T] | float, /, *, threshold: Number = 1.0, value: Number = 0.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def backward(self, x: float, grad: TorchTensor[T] | JaxArray[T], /, *, threshold: Number = 1.0, value: Number = 0.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def backward(self, x: Operand, grad: Operand, /, *, threshold: Number = 1.0, value: Number = 0.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def backward(self, x: Array, grad: Array | Operand, /, *, threshold: Number = 1.0, value: Number = 0.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def backward(self, x: Anything, grad: Anything, /, *, threshold: Number = 1.0, value: Number = 0.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    def bind(self, *, threshold: Number = 1.0, value: Number = 0.0) -> Self: ...

class WithWidth(Activation):
    @overload
    def __call__(self, x: Scalar, /, *, width: Number = 6.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return the value at each element of `x`."""
    @overload
    def __call__(self, x: Floats, /, *, width: Number = 6.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def __call__(self, x: NumberSequence | Integers, /, *, width: Number = 6.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def __call__(self, x: TorchTensor[T] | JaxArray[T], /, *, width: Number = 6.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def __call__(self, x: ArraySequence, /, *, width: Number = 6.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def __call__(self, x: Array, /, *, width: Number = 6.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def __call__(self, x: Anything, /, *, width: Number = 6.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def slope(self, x: Scalar, /, *, width: Number = 6.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return the first derivative at each element of `x`; arguments as for the value."""
    @overload
    def slope(self, x: Floats, /, *, width: Number = 6.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def slope(self, x: NumberSequence | Integers, /, *, width: Number = 6.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def slope(self, x: TorchTensor[T] | JaxArray[T], /, *, width: Number = 6.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def slope(self, x: ArraySequence, /, *, width: Number = 6.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def slope(self, x: Array, /, *, width: Number = 6.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def slope(self, x: Anything, /, *, width: Number = 6.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def curvature(self, x: Scalar, /, *, width: Number = 6.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return the second derivative at each element of `x`, always computed in float64."""
    @overload
    def curvature(self, x: Floats, /, *, width: Number = 6.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def curvature(self, x: NumberSequence | Integers, /, *, width: Number = 6.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def curvature(self, x: TorchTensor[T] | JaxArray[T], /, *, width: Number = 6.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def curvature(self, x: ArraySequence, /, *, width: Number = 6.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def curvature(self, x: Array, /, *, width: Number = 6.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def curvature(self, x: Anything, /, *, width: Number = 6.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def backward(self, x: Scalar, grad: Scalar, /, *, width: Number = 6.0, out: None = None, arithmetic: str | None = None) -> float:
        """Return slope(x)·grad, computed in one pass; `grad` and `x` broadcast."""
    @overload
    def backward(self, x: Floats, grad: Floats | Scalar | NumberSequence, /, *, width: Number = 6.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence, grad: Floats, /, *, width: Number = 6.0, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence | Integers, grad: Scalar | NumberSequence | Integers, /, *, width: Number = 6.0, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def backward(self, x: TorchTensor[T] | JaxArray[T], grad: TorchTensor[T] | JaxArray[T] | float, /, *, width: Number = 6.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def backward(self, x: float, grad: TorchTensor[T] | JaxArray[T], /, *, width: Number = 6.0, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def backward(self, x: Operand, grad: Operand, /, *, width: Number = 6.0, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def backward(self, x: Array, grad: Array | Operand, /, *, width: Number = 6.0, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def backward(self, x: Anything, grad: Anything, /, *, width: Number = 6.0, out: Out, arithmetic: str | None = None) -> Out:
        ...
    def bind(self, *, width: Number = 6.0) -> Self: ...

class WithoutParameters(Activation):
    @overload
    def __call__(self, x: Scalar, /, *, out: None = None, arithmetic: str | None = None) -> float:
        """Return the value at each element of `x`."""
    @overload
    def __call__(self, x: Floats, /, *, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def __call__(self, x: NumberSequence | Integers, /, *, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def __call__(self, x: TorchTensor[T] | JaxArray[T], /, *, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def __call__(self, x: ArraySequence, /, *, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def __call__(self, x: Array, /, *, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def __call__(self, x: Anything, /, *, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def slope(self, x: Scalar, /, *, out: None = None, arithmetic: str | None = None) -> float:
        """Return the first derivative at each element of `x`; arguments as for the value."""
    @overload
    def slope(self, x: Floats, /, *, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def slope(self, x: NumberSequence | Integers, /, *, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def slope(self, x: TorchTensor[T] | JaxArray[T], /, *, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def slope(self, x: ArraySequence, /, *, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def slope(self, x: Array, /, *, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def slope(self, x: Anything, /, *, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def curvature(self, x: Scalar, /, *, out: None = None, arithmetic: str | None = None) -> float:
        """Return the second derivative at each element of `x`, always computed in float64."""
    @overload
    def curvature(self, x: Floats, /, *, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def curvature(self, x: NumberSequence | Integers, /, *, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def curvature(self, x: TorchTensor[T] | JaxArray[T], /, *, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def curvature(self, x: ArraySequence, /, *, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def curvature(self, x: Array, /, *, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def curvature(self, x: Anything, /, *, out: Out, arithmetic: str | None = None) -> Out:
        ...
    @overload
    def backward(self, x: Scalar, grad: Scalar, /, *, out: None = None, arithmetic: str | None = None) -> float:
        """Return slope(x)·grad, computed in one pass; `grad` and `x` broadcast."""
    @overload
    def backward(self, x: Floats, grad: Floats | Scalar | NumberSequence, /, *, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence, grad: Floats, /, *, out: None = None, arithmetic: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, x: Scalar | NumberSequence | Integers, grad: Scalar | NumberSequence | Integers, /, *, out: None = None, arithmetic: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def backward(self, x: TorchTensor[T] | JaxArray[T], grad: TorchTensor[T] | JaxArray[T] | float, /, *, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def backward(self, x: float, grad: TorchTensor[T] | JaxArray[T], /, *, out: None = None, arithmetic: str | None = None) -> T:
        ...
    @overload
    def backward(self, x: Operand, grad: Operand, /, *, out: None = None, arithmetic: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def backward(self, x: Array, grad: Array | Operand, /, *, out: None = None, arithmetic: str | None = None) -> Array:
        ...
    @overload
    def backward(self, x: Anything, grad: Anything, /, *, out: Out, arithmetic: str | None = None) -> Out:
        ...
    def bind(self, ) -> Self: ...

class Gated(GatedSource):
    """A gated activation of the catalogue, applied to each pair of elements.

    Called with two arrays that broadcast, or with one that is split into two halves along an axis.
    In `glu` the second operand is the gate (Dauphin 2017; torch, JAX and Keras), in all others the
    first (Shazeer 2020; LLaMA's silu(gate)·up); `gate="first"` or `gate="second"` changes that.
    Parameters of the gate's activation are keywords. Operands are those of an `Activation`.

    Examples
    --------
    >>> import softgate as sg
    >>> sg.reglu([-1.0, 2.0], [3.0, 3.0])
    array([0., 6.])
    >>> sg.reglu([-1.0, 2.0, 3.0, 3.0])
    array([0., 6.])
    """
    @overload
    def __call__(self, a: Floats, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> Floats:
        """Return the value at each pair of elements.

        Parameters
        ----------
        a, b : number, list or array
            The operands, broadcast against each other. Without `b`, `a` is split in two.
        axis : int, default -1
            Where to split; only without `b`.
        out : numpy.ndarray, optional
            Array for the results; may be `a` or `b`, or overlap them. It must have the result's
            dtype, and the operands broadcast to its shape.
        arithmetic : {"float64"}, optional
            Compute float32 arrays in float64 and round once: within 0.51 ulp.
        gate : {"first", "second"}, optional
            Which operand, or half, is the gate.
        **parameters : float
            Parameters of the gate's activation.

        Returns
        -------
        numpy.ndarray or scalar
            As a NumPy ufunc would return it.
        """
    @overload
    def __call__(self, a: NumberSequence | Integers, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> NDArray[np.float64]:
        ...
    @overload
    def __call__(self, a: TorchTensor[T] | JaxArray[T], /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> T:
        ...
    @overload
    def __call__(self, a: ArraySequence, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> NDArray[Any]:
        ...
    @overload
    def __call__(self, a: Array, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> Array:
        ...
    @overload
    def __call__(self, a: Anything, /, *, axis: int | None = None, out: Out, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> Out:
        ...
    @overload
    def __call__(self, a: Scalar, b: Scalar, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> float:
        ...
    @overload
    def __call__(self, a: Floats, b: Floats | Scalar | NumberSequence, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> Floats:
        ...
    @overload
    def __call__(self, a: Scalar | NumberSequence, b: Floats, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> Floats:
        ...
    @overload
    def __call__(self, a: Scalar | NumberSequence | Integers, b: Scalar | NumberSequence | Integers, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> NDArray[np.float64]:
        ...
    @overload
    def __call__(self, a: TorchTensor[T] | JaxArray[T], b: TorchTensor[T] | JaxArray[T] | float, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> T:
        ...
    @overload
    def __call__(self, a: float, b: TorchTensor[T] | JaxArray[T], /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> T:
        ...
    @overload
    def __call__(self, a: Operand, b: Operand, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> NDArray[Any]:
        ...
    @overload
    def __call__(self, a: Array, b: Array | Operand, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> Array:
        ...
    @overload
    def __call__(self, a: Anything, b: Anything, /, *, axis: int | None = None, out: Out, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> Out:
        ...
    @overload
    def slope(self, a: Floats, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> Floats:
        """Return both partial derivatives: a pair for two arrays, an array like `a` for one.

        Arguments as for the value; `out` is a pair of arrays, or one of the shape of `a`.

        Examples
        --------
        >>> import softgate as sg
        >>> sg.reglu.slope([-1.0, 2.0], [3.0, 3.0])
        (array([0., 3.]), array([0., 2.]))
        >>> sg.reglu.slope([-1.0, 2.0, 3.0, 3.0])
        array([0., 3., 0., 2.])
        """
    @overload
    def slope(self, a: NumberSequence | Integers, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> NDArray[np.float64]:
        ...
    @overload
    def slope(self, a: TorchTensor[T] | JaxArray[T], /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> T:
        ...
    @overload
    def slope(self, a: ArraySequence, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> NDArray[Any]:
        ...
    @overload
    def slope(self, a: Array, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> Array:
        ...
    @overload
    def slope(self, a: Anything, /, *, axis: int | None = None, out: Out, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> Out:
        ...
    @overload
    def slope(self, a: Scalar, b: Scalar, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> tuple[float, float]:
        ...
    @overload
    def slope(self, a: Floats, b: Floats | Scalar | NumberSequence, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> tuple[Floats, Floats]:
        ...
    @overload
    def slope(self, a: Scalar | NumberSequence, b: Floats, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> tuple[Floats, Floats]:
        ...
    @overload
    def slope(self, a: Scalar | NumberSequence | Integers, b: Scalar | NumberSequence | Integers, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        ...
    @overload
    def slope(self, a: TorchTensor[T] | JaxArray[T], b: TorchTensor[T] | JaxArray[T] | float, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> tuple[T, T]:
        ...
    @overload
    def slope(self, a: float, b: TorchTensor[T] | JaxArray[T], /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> tuple[T, T]:
        ...
    @overload
    def slope(self, a: Operand, b: Operand, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> tuple[NDArray[Any], NDArray[Any]]:
        ...
    @overload
    def slope(self, a: Array, b: Array | Operand, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> tuple[Array, Array]:
        ...
    @overload
    def slope(self, a: Anything, b: Anything, /, *, axis: int | None = None, out: Out, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> Out:
        ...
    @overload
    def curvature(self, a: Anything, /, *, axis: int | None = None, gate: str | None = None, **parameters: Number) -> Curvature:
        """Return the second partial derivatives, always computed in float64; arrays of half size.

        Examples
        --------
        >>> import softgate as sg
        >>> bend = sg.swiglu.curvature(0.0, 3.0)
        >>> float(bend.first), float(bend.mixed), float(bend.second)
        (1.5, 0.5, 0.0)
        """
    @overload
    def curvature(self, a: Anything, b: Anything, /, *, axis: int | None = None, gate: str | None = None, **parameters: Number) -> Curvature:
        ...
    @overload
    def backward(self, a: Floats, b: Floats | Scalar | NumberSequence, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> Floats:
        """Return both partial derivatives times `grad`, computed in one pass.

        `backward(a, b, grad)` returns a pair, each broadcast as the value is; `backward(x, grad)`,
        with `x` split in two along `axis`, an array of the shape of `x`. `out` is a pair of arrays,
        or one. Where relu's slope is 0 the result is 0, whatever `b` and `grad` are.

        Examples
        --------
        >>> import softgate as sg
        >>> sg.reglu.backward([-1.0, 2.0], [3.0, 3.0], [1.0, 10.0])
        (array([ 0., 30.]), array([ 0., 20.]))
        >>> sg.reglu.backward([-1.0, 2.0, 3.0, 3.0], [1.0, 10.0])
        array([ 0., 30.,  0., 20.])
        """
    @overload
    def backward(self, a: Scalar | NumberSequence, b: Floats, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> Floats:
        ...
    @overload
    def backward(self, a: Scalar | NumberSequence | Integers, b: Scalar | NumberSequence | Integers, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> NDArray[np.float64]:
        ...
    @overload
    def backward(self, a: TorchTensor[T] | JaxArray[T], b: TorchTensor[T] | JaxArray[T] | float, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> T:
        ...
    @overload
    def backward(self, a: float, b: TorchTensor[T] | JaxArray[T], /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> T:
        ...
    @overload
    def backward(self, a: Operand, b: Operand, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> NDArray[Any]:
        ...
    @overload
    def backward(self, a: Array, b: Array | Operand, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> Array:
        ...
    @overload
    def backward(self, a: Anything, b: Anything, /, *, axis: int | None = None, out: Out, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> Out:
        ...
    @overload
    def backward(self, a: Scalar, b: Scalar, grad: Scalar, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> tuple[float, float]:
        ...
    @overload
    def backward(self, a: Floats, b: Floats | Scalar | NumberSequence, grad: Floats | Scalar | NumberSequence, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> tuple[Floats, Floats]:
        ...
    @overload
    def backward(self, a: Scalar | NumberSequence, b: Floats, grad: Floats, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> tuple[Floats, Floats]:
        ...
    @overload
    def backward(self, a: Scalar | NumberSequence | Integers, b: Scalar | NumberSequence | Integers, grad: Scalar | NumberSequence | Integers, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        ...
    @overload
    def backward(self, a: TorchTensor[T] | JaxArray[T], b: TorchTensor[T] | JaxArray[T] | float, grad: TorchTensor[T] | JaxArray[T] | float, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> tuple[T, T]:
        ...
    @overload
    def backward(self, a: float, b: TorchTensor[T] | JaxArray[T], grad: TorchTensor[T] | JaxArray[T], /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> tuple[T, T]:
        ...
    @overload
    def backward(self, a: Operand, b: Operand, grad: Operand, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> tuple[NDArray[Any], NDArray[Any]]:
        ...
    @overload
    def backward(self, a: Array, b: Array | Operand, grad: Array | Operand, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> tuple[Array, Array]:
        ...
    @overload
    def backward(self, a: Anything, b: Anything, grad: Anything, /, *, axis: int | None = None, out: Out, arithmetic: str | None = None, gate: str | None = None, **parameters: Number) -> Out:
        ...

class GatedWithAlphaLimit(Gated):
    @overload
    def __call__(self, a: Floats, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Floats:
        """Return the value at each pair of elements."""
    @overload
    def __call__(self, a: NumberSequence | Integers, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def __call__(self, a: TorchTensor[T] | JaxArray[T], /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> T:
        ...
    @overload
    def __call__(self, a: ArraySequence, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def __call__(self, a: Array, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Array:
        ...
    @overload
    def __call__(self, a: Anything, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: Out, arithmetic: str | None = None, gate: str | None = None) -> Out:
        ...
    @overload
    def __call__(self, a: Scalar, b: Scalar, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> float:
        ...
    @overload
    def __call__(self, a: Floats, b: Floats | Scalar | NumberSequence, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Floats:
        ...
    @overload
    def __call__(self, a: Scalar | NumberSequence, b: Floats, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Floats:
        ...
    @overload
    def __call__(self, a: Scalar | NumberSequence | Integers, b: Scalar | NumberSequence | Integers, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def __call__(self, a: TorchTensor[T] | JaxArray[T], b: TorchTensor[T] | JaxArray[T] | float, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> T:
        ...
    @overload
    def __call__(self, a: float, b: TorchTensor[T] | JaxArray[T], /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> T:
        ...
    @overload
    def __call__(self, a: Operand, b: Operand, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def __call__(self, a: Array, b: Array | Operand, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Array:
        ...
    @overload
    def __call__(self, a: Anything, b: Anything, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: Out, arithmetic: str | None = None, gate: str | None = None) -> Out:
        ...
    @overload
    def slope(self, a: Floats, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Floats:
        """Return both partial derivatives: a pair for two arrays, an array like `a` for one."""
    @overload
    def slope(self, a: NumberSequence | Integers, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def slope(self, a: TorchTensor[T] | JaxArray[T], /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> T:
        ...
    @overload
    def slope(self, a: ArraySequence, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def slope(self, a: Array, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Array:
        ...
    @overload
    def slope(self, a: Anything, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: Out, arithmetic: str | None = None, gate: str | None = None) -> Out:
        ...
    @overload
    def slope(self, a: Scalar, b: Scalar, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[float, float]:
        ...
    @overload
    def slope(self, a: Floats, b: Floats | Scalar | NumberSequence, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[Floats, Floats]:
        ...
    @overload
    def slope(self, a: Scalar | NumberSequence, b: Floats, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[Floats, Floats]:
        ...
    @overload
    def slope(self, a: Scalar | NumberSequence | Integers, b: Scalar | NumberSequence | Integers, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        ...
    @overload
    def slope(self, a: TorchTensor[T] | JaxArray[T], b: TorchTensor[T] | JaxArray[T] | float, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[T, T]:
        ...
    @overload
    def slope(self, a: float, b: TorchTensor[T] | JaxArray[T], /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[T, T]:
        ...
    @overload
    def slope(self, a: Operand, b: Operand, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[NDArray[Any], NDArray[Any]]:
        ...
    @overload
    def slope(self, a: Array, b: Array | Operand, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[Array, Array]:
        ...
    @overload
    def slope(self, a: Anything, b: Anything, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: Out, arithmetic: str | None = None, gate: str | None = None) -> Out:
        ...
    @overload
    def curvature(self, a: Anything, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, gate: str | None = None) -> Curvature:
        """Return the second partial derivatives, always computed in float64; arrays of half size."""
    @overload
    def curvature(self, a: Anything, b: Anything, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, gate: str | None = None) -> Curvature:
        ...
    @overload
    def backward(self, a: Floats, b: Floats | Scalar | NumberSequence, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Floats:
        """Return both partial derivatives times `grad`, computed in one pass."""
    @overload
    def backward(self, a: Scalar | NumberSequence, b: Floats, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, a: Scalar | NumberSequence | Integers, b: Scalar | NumberSequence | Integers, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def backward(self, a: TorchTensor[T] | JaxArray[T], b: TorchTensor[T] | JaxArray[T] | float, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> T:
        ...
    @overload
    def backward(self, a: float, b: TorchTensor[T] | JaxArray[T], /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> T:
        ...
    @overload
    def backward(self, a: Operand, b: Operand, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def backward(self, a: Array, b: Array | Operand, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Array:
        ...
    @overload
    def backward(self, a: Anything, b: Anything, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: Out, arithmetic: str | None = None, gate: str | None = None) -> Out:
        ...
    @overload
    def backward(self, a: Scalar, b: Scalar, grad: Scalar, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[float, float]:
        ...
    @overload
    def backward(self, a: Floats, b: Floats | Scalar | NumberSequence, grad: Floats | Scalar | NumberSequence, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[Floats, Floats]:
        ...
    @overload
    def backward(self, a: Scalar | NumberSequence, b: Floats, grad: Floats, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[Floats, Floats]:
        ...
    @overload
    def backward(self, a: Scalar | NumberSequence | Integers, b: Scalar | NumberSequence | Integers, grad: Scalar | NumberSequence | Integers, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        ...
    @overload
    def backward(self, a: TorchTensor[T] | JaxArray[T], b: TorchTensor[T] | JaxArray[T] | float, grad: TorchTensor[T] | JaxArray[T] | float, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[T, T]:
        ...
    @overload
    def backward(self, a: float, b: TorchTensor[T] | JaxArray[T], grad: TorchTensor[T] | JaxArray[T], /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[T, T]:
        ...
    @overload
    def backward(self, a: Operand, b: Operand, grad: Operand, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[NDArray[Any], NDArray[Any]]:
        ...
    @overload
    def backward(self, a: Array, b: Array | Operand, grad: Array | Operand, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[Array, Array]:
        ...
    @overload
    def backward(self, a: Anything, b: Anything, grad: Anything, /, *, alpha: Number = 1.702, limit: Number = 7.0, axis: int | None = None, out: Out, arithmetic: str | None = None, gate: str | None = None) -> Out:
        ...
    def bind(self, *, gate: Any = ..., alpha: Number = 1.702, limit: Number = 7.0) -> Self: ...

class GatedWithBeta(Gated):
    @overload
    def __call__(self, a: Floats, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Floats:
        """Return the value at each pair of elements."""
    @overload
    def __call__(self, a: NumberSequence | Integers, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def __call__(self, a: TorchTensor[T] | JaxArray[T], /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> T:
        ...
    @overload
    def __call__(self, a: ArraySequence, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def __call__(self, a: Array, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Array:
        ...
    @overload
    def __call__(self, a: Anything, /, *, beta: Number = 1.0, axis: int | None = None, out: Out, arithmetic: str | None = None, gate: str | None = None) -> Out:
        ...
    @overload
    def __call__(self, a: Scalar, b: Scalar, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> float:
        ...
    @overload
    def __call__(self, a: Floats, b: Floats | Scalar | NumberSequence, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Floats:
        ...
    @overload
    def __call__(self, a: Scalar | NumberSequence, b: Floats, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Floats:
        ...
    @overload
    def __call__(self, a: Scalar | NumberSequence | Integers, b: Scalar | NumberSequence | Integers, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def __call__(self, a: TorchTensor[T] | JaxArray[T], b: TorchTensor[T] | JaxArray[T] | float, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> T:
        ...
    @overload
    def __call__(self, a: float, b: TorchTensor[T] | JaxArray[T], /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> T:
        ...
    @overload
    def __call__(self, a: Operand, b: Operand, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def __call__(self, a: Array, b: Array | Operand, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Array:
        ...
    @overload
    def __call__(self, a: Anything, b: Anything, /, *, beta: Number = 1.0, axis: int | None = None, out: Out, arithmetic: str | None = None, gate: str | None = None) -> Out:
        ...
    @overload
    def slope(self, a: Floats, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Floats:
        """Return both partial derivatives: a pair for two arrays, an array like `a` for one."""
    @overload
    def slope(self, a: NumberSequence | Integers, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def slope(self, a: TorchTensor[T] | JaxArray[T], /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> T:
        ...
    @overload
    def slope(self, a: ArraySequence, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def slope(self, a: Array, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Array:
        ...
    @overload
    def slope(self, a: Anything, /, *, beta: Number = 1.0, axis: int | None = None, out: Out, arithmetic: str | None = None, gate: str | None = None) -> Out:
        ...
    @overload
    def slope(self, a: Scalar, b: Scalar, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[float, float]:
        ...
    @overload
    def slope(self, a: Floats, b: Floats | Scalar | NumberSequence, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[Floats, Floats]:
        ...
    @overload
    def slope(self, a: Scalar | NumberSequence, b: Floats, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[Floats, Floats]:
        ...
    @overload
    def slope(self, a: Scalar | NumberSequence | Integers, b: Scalar | NumberSequence | Integers, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        ...
    @overload
    def slope(self, a: TorchTensor[T] | JaxArray[T], b: TorchTensor[T] | JaxArray[T] | float, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[T, T]:
        ...
    @overload
    def slope(self, a: float, b: TorchTensor[T] | JaxArray[T], /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[T, T]:
        ...
    @overload
    def slope(self, a: Operand, b: Operand, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[NDArray[Any], NDArray[Any]]:
        ...
    @overload
    def slope(self, a: Array, b: Array | Operand, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[Array, Array]:
        ...
    @overload
    def slope(self, a: Anything, b: Anything, /, *, beta: Number = 1.0, axis: int | None = None, out: Out, arithmetic: str | None = None, gate: str | None = None) -> Out:
        ...
    @overload
    def curvature(self, a: Anything, /, *, beta: Number = 1.0, axis: int | None = None, gate: str | None = None) -> Curvature:
        """Return the second partial derivatives, always computed in float64; arrays of half size."""
    @overload
    def curvature(self, a: Anything, b: Anything, /, *, beta: Number = 1.0, axis: int | None = None, gate: str | None = None) -> Curvature:
        ...
    @overload
    def backward(self, a: Floats, b: Floats | Scalar | NumberSequence, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Floats:
        """Return both partial derivatives times `grad`, computed in one pass."""
    @overload
    def backward(self, a: Scalar | NumberSequence, b: Floats, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, a: Scalar | NumberSequence | Integers, b: Scalar | NumberSequence | Integers, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def backward(self, a: TorchTensor[T] | JaxArray[T], b: TorchTensor[T] | JaxArray[T] | float, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> T:
        ...
    @overload
    def backward(self, a: float, b: TorchTensor[T] | JaxArray[T], /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> T:
        ...
    @overload
    def backward(self, a: Operand, b: Operand, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def backward(self, a: Array, b: Array | Operand, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Array:
        ...
    @overload
    def backward(self, a: Anything, b: Anything, /, *, beta: Number = 1.0, axis: int | None = None, out: Out, arithmetic: str | None = None, gate: str | None = None) -> Out:
        ...
    @overload
    def backward(self, a: Scalar, b: Scalar, grad: Scalar, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[float, float]:
        ...
    @overload
    def backward(self, a: Floats, b: Floats | Scalar | NumberSequence, grad: Floats | Scalar | NumberSequence, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[Floats, Floats]:
        ...
    @overload
    def backward(self, a: Scalar | NumberSequence, b: Floats, grad: Floats, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[Floats, Floats]:
        ...
    @overload
    def backward(self, a: Scalar | NumberSequence | Integers, b: Scalar | NumberSequence | Integers, grad: Scalar | NumberSequence | Integers, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        ...
    @overload
    def backward(self, a: TorchTensor[T] | JaxArray[T], b: TorchTensor[T] | JaxArray[T] | float, grad: TorchTensor[T] | JaxArray[T] | float, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[T, T]:
        ...
    @overload
    def backward(self, a: float, b: TorchTensor[T] | JaxArray[T], grad: TorchTensor[T] | JaxArray[T], /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[T, T]:
        ...
    @overload
    def backward(self, a: Operand, b: Operand, grad: Operand, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[NDArray[Any], NDArray[Any]]:
        ...
    @overload
    def backward(self, a: Array, b: Array | Operand, grad: Array | Operand, /, *, beta: Number = 1.0, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[Array, Array]:
        ...
    @overload
    def backward(self, a: Anything, b: Anything, grad: Anything, /, *, beta: Number = 1.0, axis: int | None = None, out: Out, arithmetic: str | None = None, gate: str | None = None) -> Out:
        ...
    def bind(self, *, gate: Any = ..., beta: Number = 1.0) -> Self: ...

class GatedWithoutParameters(Gated):
    @overload
    def __call__(self, a: Floats, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Floats:
        """Return the value at each pair of elements."""
    @overload
    def __call__(self, a: NumberSequence | Integers, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def __call__(self, a: TorchTensor[T] | JaxArray[T], /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> T:
        ...
    @overload
    def __call__(self, a: ArraySequence, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def __call__(self, a: Array, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Array:
        ...
    @overload
    def __call__(self, a: Anything, /, *, axis: int | None = None, out: Out, arithmetic: str | None = None, gate: str | None = None) -> Out:
        ...
    @overload
    def __call__(self, a: Scalar, b: Scalar, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> float:
        ...
    @overload
    def __call__(self, a: Floats, b: Floats | Scalar | NumberSequence, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Floats:
        ...
    @overload
    def __call__(self, a: Scalar | NumberSequence, b: Floats, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Floats:
        ...
    @overload
    def __call__(self, a: Scalar | NumberSequence | Integers, b: Scalar | NumberSequence | Integers, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def __call__(self, a: TorchTensor[T] | JaxArray[T], b: TorchTensor[T] | JaxArray[T] | float, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> T:
        ...
    @overload
    def __call__(self, a: float, b: TorchTensor[T] | JaxArray[T], /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> T:
        ...
    @overload
    def __call__(self, a: Operand, b: Operand, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def __call__(self, a: Array, b: Array | Operand, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Array:
        ...
    @overload
    def __call__(self, a: Anything, b: Anything, /, *, axis: int | None = None, out: Out, arithmetic: str | None = None, gate: str | None = None) -> Out:
        ...
    @overload
    def slope(self, a: Floats, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Floats:
        """Return both partial derivatives: a pair for two arrays, an array like `a` for one."""
    @overload
    def slope(self, a: NumberSequence | Integers, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def slope(self, a: TorchTensor[T] | JaxArray[T], /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> T:
        ...
    @overload
    def slope(self, a: ArraySequence, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def slope(self, a: Array, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Array:
        ...
    @overload
    def slope(self, a: Anything, /, *, axis: int | None = None, out: Out, arithmetic: str | None = None, gate: str | None = None) -> Out:
        ...
    @overload
    def slope(self, a: Scalar, b: Scalar, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[float, float]:
        ...
    @overload
    def slope(self, a: Floats, b: Floats | Scalar | NumberSequence, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[Floats, Floats]:
        ...
    @overload
    def slope(self, a: Scalar | NumberSequence, b: Floats, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[Floats, Floats]:
        ...
    @overload
    def slope(self, a: Scalar | NumberSequence | Integers, b: Scalar | NumberSequence | Integers, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        ...
    @overload
    def slope(self, a: TorchTensor[T] | JaxArray[T], b: TorchTensor[T] | JaxArray[T] | float, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[T, T]:
        ...
    @overload
    def slope(self, a: float, b: TorchTensor[T] | JaxArray[T], /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[T, T]:
        ...
    @overload
    def slope(self, a: Operand, b: Operand, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[NDArray[Any], NDArray[Any]]:
        ...
    @overload
    def slope(self, a: Array, b: Array | Operand, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[Array, Array]:
        ...
    @overload
    def slope(self, a: Anything, b: Anything, /, *, axis: int | None = None, out: Out, arithmetic: str | None = None, gate: str | None = None) -> Out:
        ...
    @overload
    def curvature(self, a: Anything, /, *, axis: int | None = None, gate: str | None = None) -> Curvature:
        """Return the second partial derivatives, always computed in float64; arrays of half size."""
    @overload
    def curvature(self, a: Anything, b: Anything, /, *, axis: int | None = None, gate: str | None = None) -> Curvature:
        ...
    @overload
    def backward(self, a: Floats, b: Floats | Scalar | NumberSequence, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Floats:
        """Return both partial derivatives times `grad`, computed in one pass."""
    @overload
    def backward(self, a: Scalar | NumberSequence, b: Floats, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Floats:
        ...
    @overload
    def backward(self, a: Scalar | NumberSequence | Integers, b: Scalar | NumberSequence | Integers, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> NDArray[np.float64]:
        ...
    @overload
    def backward(self, a: TorchTensor[T] | JaxArray[T], b: TorchTensor[T] | JaxArray[T] | float, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> T:
        ...
    @overload
    def backward(self, a: float, b: TorchTensor[T] | JaxArray[T], /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> T:
        ...
    @overload
    def backward(self, a: Operand, b: Operand, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> NDArray[Any]:
        ...
    @overload
    def backward(self, a: Array, b: Array | Operand, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> Array:
        ...
    @overload
    def backward(self, a: Anything, b: Anything, /, *, axis: int | None = None, out: Out, arithmetic: str | None = None, gate: str | None = None) -> Out:
        ...
    @overload
    def backward(self, a: Scalar, b: Scalar, grad: Scalar, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[float, float]:
        ...
    @overload
    def backward(self, a: Floats, b: Floats | Scalar | NumberSequence, grad: Floats | Scalar | NumberSequence, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[Floats, Floats]:
        ...
    @overload
    def backward(self, a: Scalar | NumberSequence, b: Floats, grad: Floats, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[Floats, Floats]:
        ...
    @overload
    def backward(self, a: Scalar | NumberSequence | Integers, b: Scalar | NumberSequence | Integers, grad: Scalar | NumberSequence | Integers, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        ...
    @overload
    def backward(self, a: TorchTensor[T] | JaxArray[T], b: TorchTensor[T] | JaxArray[T] | float, grad: TorchTensor[T] | JaxArray[T] | float, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[T, T]:
        ...
    @overload
    def backward(self, a: float, b: TorchTensor[T] | JaxArray[T], grad: TorchTensor[T] | JaxArray[T], /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[T, T]:
        ...
    @overload
    def backward(self, a: Operand, b: Operand, grad: Operand, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[NDArray[Any], NDArray[Any]]:
        ...
    @overload
    def backward(self, a: Array, b: Array | Operand, grad: Array | Operand, /, *, axis: int | None = None, out: None = None, arithmetic: str | None = None, gate: str | None = None) -> tuple[Array, Array]:
        ...
    @overload
    def backward(self, a: Anything, b: Anything, grad: Anything, /, *, axis: int | None = None, out: Out, arithmetic: str | None = None, gate: str | None = None) -> Out:
        ...
    def bind(self, *, gate: Any = ...) -> Self: ...
