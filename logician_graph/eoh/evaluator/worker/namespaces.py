"""The names a candidate can reach: built-ins, ``numpy`` and a few modules, each as an allow-list.

A namespace is not the module: nothing can be stored in it, and what is not listed is not there. Randomness is seeded by
default wherever the original would ask the operating system, and ``empty`` arrays are zeros, so that the same candidate
gives the same solution on every worker; otherwise everything is numpy's own object with numpy's own semantics.
"""

from __future__ import annotations

import bisect
import builtins
import collections
import copy
import functools
import heapq
import importlib
import itertools
import math
import operator
import random
import statistics
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

# numpy loads it late, and a confined process can load nothing.
importlib.import_module("numpy.ma")

SEED = 2024
"""Start of every random stream that the candidate does not seed itself."""
MAX_PRINTED = 4096
"""Characters that ``print`` writes; the rest is dropped without a word, at no cost."""


class Namespace(ModuleType):
    """Listed names of a module, read-only."""

    def __init__(self, module: str, names: Mapping[str, Any]) -> None:
        # Not the module's name: an import statement falls back to ``sys.modules`` with the name it finds here.
        super().__init__(f"{module} for candidates")
        self.__dict__.update(names)
        self.__dict__["__module_name__"] = module

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a candidate cannot use {self.__dict__['__module_name__']}.{name}")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a candidate cannot change {self.__dict__['__module_name__']}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a candidate cannot change {self.__dict__['__module_name__']}")


class _ArrayKind(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, np.ndarray)

    def __call__(cls, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a candidate makes arrays with np.array, np.zeros and the like")


class Ndarray(metaclass=_ArrayKind):
    """``np.ndarray`` for annotations and ``isinstance``. The real one makes object arrays of any bytes: pointers."""


class Word:
    """A name of ``typing``: annotations and aliases can be made of it, and nothing can be reached through it."""

    def __getitem__(self, _: Any) -> Word:
        return self

    def __or__(self, _: Any) -> Word:
        return self

    __ror__ = __or__


def _cast(_: object, value: Any) -> Any:
    return value


class _Concatenation:
    """``np.r_`` and ``np.c_`` for arrays. Their form for strings looks names up in the caller's frame."""

    def __init__(self, original: Any) -> None:
        self._original = original

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            raise TypeError("a candidate cannot use text as an index here")
        return self._original[key]


_BUILTINS = """
abs all any ascii bin bool bytearray bytes callable chr complex dict divmod enumerate filter float frozenset hex int
isinstance issubclass iter len list map max min next oct ord pow range repr reversed round set slice sorted str sum
tuple
zip True False None NotImplemented Ellipsis
ArithmeticError AssertionError AttributeError Exception FloatingPointError ImportError IndexError KeyError LookupError
MemoryError
NameError NotImplementedError OverflowError RecursionError RuntimeError StopIteration TypeError ValueError Warning
RuntimeWarning UserWarning ZeroDivisionError
"""
_NUMPY = """
pi e euler_gamma inf nan newaxis array asarray asanyarray ascontiguousarray asfortranarray copy zeros zeros_like
ones ones_like full full_like arange linspace logspace geomspace meshgrid mgrid ogrid eye identity diag diagflat tri
tril
triu vander indices fromfunction fromiter require
shape size ndim reshape ravel moveaxis rollaxis swapaxes transpose permute_dims matrix_transpose broadcast
broadcast_to
broadcast_arrays broadcast_shapes atleast_1d atleast_2d atleast_3d expand_dims squeeze concatenate concat stack block
vstack hstack dstack column_stack split array_split dsplit hsplit vsplit unstack tile repeat delete insert append
trim_zeros flip fliplr flipud roll rot90 pad
sort lexsort argsort partition argpartition sort_complex argmax nanargmax argmin nanargmin argwhere nonzero
flatnonzero
where searchsorted extract count_nonzero unique unique_all unique_counts unique_inverse unique_values intersect1d isin
setdiff1d setxor1d union1d take take_along_axis choose compress diagonal select place put put_along_axis putmask
fill_diagonal unravel_index ravel_multi_index diag_indices diag_indices_from mask_indices tril_indices
tril_indices_from
triu_indices triu_indices_from ix_ ndindex ndenumerate nditer s_ index_exp
sum prod cumsum cumprod cumulative_sum cumulative_prod nansum nanprod nancumsum nancumprod diff ediff1d gradient cross
trapezoid mean average median std var nanmean nanmedian nanstd nanvar amax amin max min nanmax nanmin ptp percentile
nanpercentile quantile nanquantile corrcoef correlate cov histogram histogram2d histogramdd histogram_bin_edges
bincount
digitize convolve interp clip round around fix nan_to_num real real_if_close imag angle i0 sinc unwrap heaviside
dot vdot inner outer tensordot einsum einsum_path kron trace all any allclose isclose array_equal array_equiv isfinite
isinf isnan isneginf isposinf iscomplex iscomplexobj isreal isrealobj isscalar iterable
apply_along_axis apply_over_axes vectorize piecewise
poly polyadd polyder polydiv polyfit polyint polymul polysub polyval roots poly1d
dtype finfo iinfo can_cast promote_types result_type min_scalar_type issubdtype astype errstate seterr geterr
packbits unpackbits binary_repr base_repr array2string array_repr array_str set_printoptions
matmul vecdot matvec vecmat
"""
_LINALG = """
LinAlgError cholesky cond cross det diagonal eig eigh eigvals eigvalsh inv lstsq matmul matrix_norm matrix_power
matrix_rank matrix_transpose multi_dot norm outer pinv qr slogdet solve svd svdvals tensordot tensorinv tensorsolve
trace
vecdot vector_norm
"""
_FFT = """
fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift
"""
_NUMPY_RANDOM = """
beta binomial bytes chisquare choice dirichlet exponential f gamma geometric gumbel hypergeometric laplace logistic
lognormal logseries multinomial multivariate_normal negative_binomial noncentral_chisquare noncentral_f normal pareto
permutation poisson power rand randint randn random random_integers random_sample ranf rayleigh sample shuffle
standard_cauchy standard_exponential standard_gamma standard_normal standard_t triangular uniform vonmises wald
weibull
zipf
"""
_RANDOM = """
betavariate choice choices expovariate gammavariate gauss getrandbits lognormvariate normalvariate paretovariate
randbytes
randint random randrange sample shuffle triangular uniform vonmisesvariate weibullvariate
"""
_OPERATOR = """
abs add and_ concat contains countOf eq floordiv ge getitem gt iadd index indexOf inv invert is_ is_not itemgetter le
lshift lt matmul mod mul ne neg not_ or_ pos pow rshift setitem sub truediv truth xor
"""
_TYPING = """
Any Callable Collection Dict Final FrozenSet Generator Iterable Iterator List Literal Mapping NoReturn Optional Sequence
Set Tuple Type TypeAlias Union
"""
_STATISTICS = """
correlation covariance fmean geometric_mean harmonic_mean linear_regression mean median median_high median_low mode
multimode pstdev pvariance quantiles stdev variance
"""


def _listed(module: Any, names: str) -> dict[str, Any]:
    """The listed names that this release of the module has."""
    return {name: getattr(module, name) for name in names.split() if hasattr(module, name)}


def _public(module: ModuleType) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if not name.startswith("_")}


def _seeded(original: Callable[..., Any]) -> Callable[..., Any]:
    """The same with a fixed seed where none is given."""

    def with_seed(seed: Any = None, *rest: Any, **more: Any) -> Any:
        return original(SEED if seed is None else seed, *rest, **more)

    return with_seed


def _numpy() -> dict[str, Namespace]:
    sources = ("default_rng", "RandomState", "PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64", "SeedSequence", "seed")
    random_names = {
        **_listed(np.random, _NUMPY_RANDOM),
        "Generator": np.random.Generator,
        **{name: _seeded(getattr(np.random, name)) for name in sources},
    }
    below = {
        "linalg": Namespace("numpy.linalg", _listed(np.linalg, _LINALG)),
        "fft": Namespace("numpy.fft", _listed(np.fft, _FFT)),
        "random": Namespace("numpy.random", random_names),
    }
    kinds: dict[str, Any] = {
        name: kind for name, kind in vars(np).items() if isinstance(kind, type) and issubclass(kind, np.generic)
    }
    functions = {name: value for name, value in vars(np).items() if isinstance(value, np.ufunc)}
    own = {
        "empty": np.zeros,
        "empty_like": np.zeros_like,
        "r_": _Concatenation(np.r_),
        "c_": _Concatenation(np.c_),
        "bool": np.bool_,
        "ndarray": Ndarray,
    }
    del kinds["void"]
    top = Namespace("numpy", {**kinds, **functions, **_listed(np, _NUMPY), **own, **below})
    return {"numpy": top, **{f"numpy.{name}": space for name, space in below.items()}}


def _modules() -> dict[str, Namespace]:
    random_names = {**_listed(random, _RANDOM), "seed": _seeded(random.seed), "Random": _seeded(random.Random)}  # noqa: S311
    listed: dict[str, Mapping[str, Any]] = {
        "math": _public(math),
        "random": random_names,
        "itertools": _public(itertools),
        "functools": _listed(functools, "cache cmp_to_key lru_cache partial reduce"),
        "collections": _listed(collections, "Counter OrderedDict defaultdict deque"),
        "heapq": _listed(heapq, "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest"),
        "bisect": _listed(bisect, "bisect bisect_left bisect_right insort insort_left insort_right"),
        "operator": _listed(operator, _OPERATOR),
        "statistics": _listed(statistics, _STATISTICS),
        "copy": _listed(copy, "copy deepcopy"),
        "time": _listed(time, "monotonic perf_counter process_time time"),
        "typing": {**{name: Word() for name in _TYPING.split()}, "cast": _cast},
    }
    return {**_numpy(), **{name: Namespace(name, names) for name, names in listed.items()}}


MODULES: Mapping[str, Namespace] = _modules()
IMPORTABLE: Mapping[str, Collection[str]] = {
    name: frozenset(key for key in vars(space) if not key.startswith("_")) for name, space in MODULES.items()
}
"""What the guard lets a candidate import from each module. A problem's ``imports`` choose among the top-level ones."""


def globals_for(imports: Iterable[str], write: Callable[[bytes], object]) -> dict[str, Any]:
    """The global names that a candidate starts with; ``write`` takes what it prints."""
    allowed = {*imports, "typing"}

    def bring(
        name: str, _globals: object = None, _locals: object = None, fromlist: Collection[str] = (), level: int = 0
    ) -> Any:
        top = name.partition(".")[0]
        if name == "__future__":
            return Namespace(name, {"annotations": None})
        if name not in MODULES and name in sys.modules and top == "numpy":
            # numpy's own C code asks through this door, and takes what it needs from sys.modules afterwards.
            return None
        if level or top not in allowed or name not in MODULES:
            raise ImportError(f"a candidate cannot import {name!r}")
        return MODULES[name if fromlist else top]

    left = MAX_PRINTED

    def show(*values: object, sep: str = " ", end: str = "\n", file: object = None, flush: bool = False) -> None:
        nonlocal left
        if left > 0:
            text = (sep.join(map(str, values)) + end)[:left]
            left -= len(text)
            write(text.encode(errors="replace"))

    names = {name: getattr(builtins, name) for name in _BUILTINS.split()}
    return {"__builtins__": {**names, "print": show, "__import__": bring}, "__name__": "candidate"}


def seed() -> None:
    """Put every shared random stream to its start."""
    random.seed(SEED)
    np.random.seed(SEED)
