"""What every confined command may read and write besides its policy: the system's programs, libraries and devices.

An allow-list. Of ``/etc`` only named entries are granted: where the app runs as root the whole folder would include
``shadow`` and private keys. ``/dev/shm`` is writable because the semaphores of Python's multiprocessing live there.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/proc")
_HARDWARE = ("/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/fs/cgroup")
_ETC = (
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "crypto-policies",
    "debian_version",
    "fonts",
    "gai.conf",
    "gitconfig",
    "group",
    "host.conf",
    "hostname",
    "hosts",
    "inputrc",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "localtime",
    "magic",
    "magic.mime",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "perl",
    "pki/ca-trust",
    "pki/tls/certs",
    "profile",
    "protocols",
    "python3",
    "resolv.conf",
    "services",
    "shells",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
)
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/shm", "/dev/tty")  # noqa: S108


def system_readable() -> tuple[Path, ...]:
    """Existing system paths and this interpreter's prefixes."""
    paths = [*_SYSTEM, *_HARDWARE, *(f"/etc/{name}" for name in _ETC), *_optional_software()]
    home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111 -- Path.home() raises where there is none
    prefixes = (os.path.realpath(prefix) for prefix in (sys.prefix, sys.base_prefix))
    paths += [prefix for prefix in prefixes if prefix != "/" and not (home + "/").startswith(prefix + "/")]
    return tuple(Path(path) for path in dict.fromkeys(paths) if Path(path).exists())


def system_writable() -> tuple[Path, ...]:
    """Devices that programs expect."""
    return tuple(Path(path) for path in _DEVICES if Path(path).exists())


def _optional_software() -> list[str]:
    """Packages below ``/opt`` whose programs are on the PATH, whole: their libraries lie beside their ``bin``."""
    found: list[str] = []
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        parts = Path(os.path.realpath(folder)).parts
        if len(parts) > 3 and parts[:2] == ("/", "opt"):
            found.append(str(Path(*parts[:3])))
    return found
