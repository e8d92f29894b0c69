# ruff: noqa: E501
"""numpy loads parts of itself late. A confined process can load nothing, so it must all be there."""

from __future__ import annotations

from logician_graph.eoh.evaluator.worker import namespaces
from tests.eoh_evaluator.conftest import MakeEvaluator

TRY = """
import numpy as np
{names}
def f(x):
    late = []
    for call in calls:
        for arguments in ((), (a,), (m,), (a, a), (m, m), (a, 1), (1, a), (m, a), ([a, a],), ('ij,jk', m, m), (3,)):
            try:
                call(*arguments)
            except ImportError as e:
                late.append(str(e))
            except Exception:
                pass
    print(sorted(set(late)))
    return x * x
"""


async def test_no_function_of_numpy_needs_an_import_or_a_file(evaluator: MakeEvaluator) -> None:
    one = evaluator(seconds=60.0, memory_mb=2048, data={"instances": [{"xs": [1], "answers": [1]}]})
    for module in ("numpy", "numpy.linalg", "numpy.fft", "numpy.random"):
        names = [
            name
            for name, value in vars(namespaces.MODULES[module]).items()
            if callable(value) and not name.startswith("_") and name not in {"indices", "ndindex", "resize"}
        ]
        path = module.replace("numpy", "np", 1)
        setup = f"a = np.arange(4.0)\nm = np.eye(4)\ncalls = [{', '.join(f'{path}.{name}' for name in names)}]"
        seen = await one.evaluate(TRY.format(names=setup))
        assert (seen.status, seen.output) == ("valid", "[]\n"), (module, seen)


async def test_methods_of_arrays_need_nothing_either(evaluator: MakeEvaluator) -> None:
    code = (
        "import numpy as np\n"
        "def f(x):\n"
        "    a = np.arange(6.0).reshape(2, 3)\n"
        "    a.sum(); a.mean(axis=0); a.std(); a.var(); a.max(); a.min(); a.prod(); a.any(); a.all(); a.clip(0, 1)\n"
        "    a.argmax(); a.argsort(); a.cumsum(); a.round(1); a.T @ a; a.astype('f4'); a.tolist(); a.ptp if False else 0\n"
        "    str(a); repr(a); f'{a[0, 0]:.2f}'; a == a; a[a > 2]; np.datetime64('2020-01-01') + np.timedelta64(1, 'D')\n"
        "    np.dtype([('x', 'f4'), ('y', 'i8')]); np.dtype('f8,i4'); np.zeros(2, dtype='f4,i4')['f0']; str(np.dtype('f8'))\n"
        "    with np.errstate(all='raise'):\n"
        "        try: np.ones(1) / np.zeros(1)\n"
        "        except FloatingPointError: pass\n"
        "    return x * x\n"
    )
    seen = await evaluator().evaluate(code)
    assert seen.status == "valid", seen
