"""One baseline on one set, as a program: ``python -m logician_graph.eoh.baseline FOLDER NAME SET`` prints JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path


def main() -> None:
    """Measure and print."""
    from logician_graph.eoh.problem import evaluate_baseline, load_problem

    folder, name, set_name = sys.argv[1:]
    os.nice(5)
    began = time.monotonic()
    objective, values = evaluate_baseline(load_problem(Path(folder)), name, set_name)
    seconds = round(time.monotonic() - began, 3)
    print(
        json.dumps(
            {"status": "valid", "objective": objective, "per_instance": list(values), "seconds": seconds, "error": None}
        )
    )


if __name__ == "__main__":
    main()
