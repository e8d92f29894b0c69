"""Runs the benchmarks that need nothing but this machine, one after the other, and prints what they print.

``file_tasks`` needs a home folder with a model and takes long: run it by itself.
"""

from __future__ import annotations

import subprocess
import sys

ALL = ("startup", "turn_overhead", "concurrent_runs", "provider_overhead", "chat_page")


def main() -> int:
    """Exit code 1 when one of them failed."""
    failed = 0
    for name in ALL:
        print(f"== benchmarks.{name}", flush=True)
        failed += subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode != 0
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
