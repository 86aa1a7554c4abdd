"""What a result depends on beside the code: the machine, and the versions of what was measured."""

import importlib.metadata
import os
import platform
import subprocess

GIB = 1 << 30


def machine():
    """One line without a date or a name."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB
    return f"{os.cpu_count()} cores, {memory:.0f} GiB of memory, {platform.system()} {platform.machine()}"


def busy():
    """Why times of now are worth little, or nothing."""
    load = os.getloadavg()[0]
    if load > os.cpu_count() / 2:
        return f"the machine is busy (load {load:.1f} on {os.cpu_count()} cores): times will be too long"
    return None


def fulmar_version(binary):
    """What the binary says of itself, such as `0.1.0`."""
    return said(binary, "--version").split()[-1]


def package_version(name):
    """The version of an installed package."""
    return importlib.metadata.version(name)


def said(binary, *words):
    """What a short command prints on its standard output."""
    return subprocess.run([binary, *words], capture_output=True, text=True, timeout=30, check=True).stdout
