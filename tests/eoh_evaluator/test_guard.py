# ruff: noqa: E501
"""Ways out of the handed-in names, against the check of the text and the allow-lists alone (no process, no kernel)."""

from __future__ import annotations

import ast
import types
from typing import Any

import numpy as np
import pytest

from logician_graph.eoh.evaluator.types import OFFERED
from logician_graph.eoh.evaluator.worker import guard, namespaces

ALL = tuple(sorted(OFFERED))


def objection(code: str) -> str | None:
    return guard.objection(ast.parse(code), namespaces.IMPORTABLE, ALL)


def run(code: str) -> dict[str, Any]:
    """Run what the guard lets through."""
    refused = objection(code)
    assert refused is None, refused
    names = namespaces.globals_for(ALL, lambda _: None)
    exec(compile(code, "<candidate>", "exec"), names)
    return names


REFUSED = [
    "f.__globals__", "f.__code__", "().__class__", "x.__dict__", "np.mean.__wrapped__", "np.sum._implementation",
    "g.gi_frame", "g.gi_code", "g.gi_yieldfrom", "c.cr_frame", "a.ag_frame", "t.tb_frame", "t.tb_next", "fr.f_back",
    "fr.f_globals", "fr.f_builtins", "co.co_consts", "f.func_globals", "type.mro", "e.with_traceback", "e.obj",
    "'{0.__class__}'.format(1)", "'{a.b}'.format_map({})", "str.format", "f'{x.__class__}'", "f'{x:{y.__dict__}}'",
    "a.tofile('x')", "a.dump('x')", "a.dumps()", "a.ctypes", "a.data", "a.base", "a.setflags(write=True)",
    "a.flags.writeable", "a.strides", "a.resize((2,), refcheck=False)", "a.getfield('O')", "a.setfield(1, 'O')",
    "__import__('os')", "__builtins__", "__build_class__", "__loader__", "__spec__", "__debug__ = 1",
    "global __builtins__", "def __getattr__(n): pass", "def f(__x): pass", "lambda __x: 1", "f(__x=1)",
    "import os", "import numpy.ctypeslib", "from numpy import ctypeslib", "from numpy import lib", "import numpy.lib",
    "from numpy import *", "from numpy import load", "from . import x", "from .. import os", "import numpy as __np",
    "from operator import attrgetter", "from operator import methodcaller", "from functools import update_wrapper",
    "from functools import singledispatch", "from collections import abc", "from typing import get_type_hints",
    "from random import _os", "from statistics import sys", "import importlib", "import builtins", "import ctypes",
    "import sys as numpy", "from numpy.random import _pickle", "import numpy.testing as t",
    "class A: pass", "class A(type): pass", "async def f(): pass", "[x async for x in y]",
    "async def f(): await g", "match x:\n case int(__class__=c): pass", "match x:\n case float(gi_frame=c): pass",
    "match x:\n case {**__r}: pass", "match x:\n case [*__r]: pass", "match x:\n case __x: pass",
    "try: pass\nexcept Exception as __e: pass", "@f.__call__\ndef g(): pass", "def g(x=f.__defaults__): pass",
    "def g(x: f.__globals__): pass", "[y.__class__ for y in z]", "(y := x.__class__)", "del x.__dict__",
    "x.__class__ = y", "x.__a += 1", "with a.__b as c: pass", "for x.__y in z: pass", "print(x.\\\n__class__)",
    "x. __class__", "x.__clasſ__",
]  # fmt: skip


@pytest.mark.parametrize("code", REFUSED)
def test_refused(code: str) -> None:
    try:
        refused = objection(code)
    except SyntaxError:
        return
    assert refused is not None


HARMLESS = [
    "import numpy as np\ndef f(item, bins):\n    s = np.exp(-(bins - item)) / np.sqrt(bins)\n    return np.where(s > 1, s, 0)",
    "from math import *" if False else "from math import sqrt, pi",
    "import numpy as np\nfrom numpy.linalg import norm\nimport numpy.random as rnd\nnorm(np.ones(3)); rnd.rand(3)",
    "from __future__ import annotations\nfrom typing import List, Optional\ndef f(x: List[int]) -> Optional[int]: return None",
    "for _ in range(3): pass\n_, __ = 1, 2",
    "if __name__ == '__main__': print('never')",
    "import numpy as np\n@np.vectorize\ndef f(x): return x + 1\nassert f(np.arange(3))[2] == 3",
    "import collections, heapq, itertools, bisect, functools\nd = collections.defaultdict(int); d[1] += 1",
    "f = lambda x: f'{x:.3f} {x!r}' % ()\n",
    "def f(x):\n    try:\n        return 1 / x\n    except ZeroDivisionError as e:\n        return str(e.args)\nassert f(0)",
    "def f(n):\n    match n:\n        case {'a': [x, *rest]}: return x\n        case int(): return 1\n        case _: return 0\nassert f(3) == 1",
    "import numpy as np\nassert np.r_[1, 2].sum() == 3 and np.c_[[1], [2]].shape == (1, 2)",
    "import numpy as np\nassert isinstance(np.zeros(2), np.ndarray) and np.float64(1).dtype == np.float64 and np.int32(3) == 3",
    "from typing import Dict, List, Optional, Union\nVector = Union[List[float], None]\nx: Dict[str, Vector] = {}\nOptional[int] | Vector",
    "import copy, operator, statistics, random, time\ncopy.deepcopy([1]); operator.itemgetter(1)([1, 2]); random.random()",
    "import numpy as np\nrng = np.random.default_rng(3); rng.integers(5); np.random.RandomState().rand(2)",
]  # fmt: skip


@pytest.mark.parametrize("code", HARMLESS)
def test_what_models_write_runs(code: str) -> None:
    run(code)


CANNOT = [
    "import numpy as np\nnp.load", "import numpy as np\nnp.lib", "import numpy as np\nnp.fromfile",
    "import numpy as np\nnp.memmap", "import numpy as np\nnp.save", "import numpy as np\nnp.savetxt",
    "import numpy as np\nnp.ctypeslib", "import numpy as np\nnp.core", "import numpy as np\nnp.f2py",
    "import numpy as np\nnp.bmat", "import numpy as np\nnp.matrix", "import numpy as np\nnp.rec",
    "import numpy as np\nnp.frombuffer", "import numpy as np\nnp.frompyfunc", "import numpy as np\nnp.seterrcall",
    "import numpy as np\nnp.testing", "import numpy as np\nnp.sys", "import numpy as np\nnp.warnings",
    "import numpy as np\nnp.genfromtxt", "import numpy as np\nnp.info", "import numpy as np\nnp.show_config",
    "import numpy as np\nnp.exec = 1", "import numpy as np\ndel np.sum", "import numpy as np\nnp.linalg.inv = 1",
    "import numpy as np\nnp.r_['np']", "import numpy as np\nnp.c_['x']", "import random\nrandom.SystemRandom",
    "import functools\nfunctools.wraps", "import collections\ncollections.namedtuple", "import operator\noperator.attrgetter",
    "import typing\ntyping.get_type_hints", "import copy\ncopy.copyreg", "import time\ntime.sleep(1)",
    "getattr", "setattr", "hasattr", "vars", "globals", "locals", "dir", "type", "object", "super", "memoryview", "open",
    "eval", "exec", "compile", "input", "breakpoint", "id", "hash", "format", "property", "staticmethod", "classmethod",
    "BaseException", "SystemExit", "KeyboardInterrupt", "exit", "quit", "help", "license", "delattr", "aiter",
]  # fmt: skip


@pytest.mark.parametrize("code", CANNOT)
def test_not_to_be_had(code: str) -> None:
    with pytest.raises((NameError, AttributeError, TypeError)):
        run(code)


def test_no_namespace_hands_out_a_module_or_the_keys_of_the_house() -> None:
    forbidden = (
        eval,
        exec,
        compile,
        open,
        getattr,
        setattr,
        vars,
        globals,
        locals,
        dir,
        type,
        __import__,
        object,
        super,
    )
    for name, space in namespaces.MODULES.items():
        for key, value in vars(space).items():
            if key.startswith("__"):
                continue
            assert not isinstance(value, types.ModuleType) or isinstance(value, namespaces.Namespace), f"{name}.{key}"
            assert not any(value is one for one in forbidden), f"{name}.{key}"
    built_in = namespaces.globals_for(ALL, lambda _: None)["__builtins__"]
    assert not any(value is one for one in forbidden for value in built_in.values())


def test_an_import_statement_cannot_fall_back_to_a_real_module() -> None:
    """``from a import b`` looks for ``sys.modules["a.b"]`` by the name that it finds in ``a``."""
    import numpy.lib

    names = namespaces.globals_for(ALL, lambda _: None)
    for module in ("lib", "ctypeslib", "testing"):
        with pytest.raises(ImportError):
            exec(f"from numpy import {module}", dict(names))
    with pytest.raises(ImportError):
        exec("import os", dict(names))
    exec("import numpy.lib", names)
    assert names["numpy"] is None
    assert numpy.lib is not None


def test_every_offered_module_is_there() -> None:
    assert {name.partition(".")[0] for name in namespaces.MODULES} == OFFERED


def test_numpy_keeps_its_own_semantics() -> None:
    code = (
        "import numpy as np\n"
        "first = np.argmax(np.array([1.0, 3.0, 3.0]))\n"
        "nan = np.argmax(np.array([1.0, np.nan, 9.0]))\n"
        "blank = np.empty((2, 3))\n"
    )
    names = run(code)
    assert (names["first"], names["nan"]) == (1, 1)
    assert np.array_equal(names["blank"], np.zeros((2, 3)))


def test_raw_memory_cannot_become_objects() -> None:
    for code in (
        "np.ndarray((2,), dtype='O', buffer=b'x' * 16)",
        "np.arange(3).view('O')",
        "np.array([None]).view(np.int64)",
        "np.ndarray((9,), buffer=b'x' * 8, offset=-8)",
        "np.zeros(3, dtype=[('a', 'O')]).view(np.int64)",
    ):
        with pytest.raises((TypeError, ValueError)):
            run(f"import numpy as np\n{code}")


def test_no_array_type_is_handed_out() -> None:
    """Its constructor takes bytes for pointers to objects."""
    for space in namespaces.MODULES.values():
        assert not any(value is np.ndarray or value is np.void for value in vars(space).values())
    run("import numpy as np\nassert isinstance(np.ones(2), np.ndarray) and not isinstance([1], np.ndarray)")
    with pytest.raises(TypeError):
        run("import numpy as np\nnp.ndarray((2,), dtype='O', buffer=b'x' * 16)")
