"""Finds the program `curtsy`."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

_NAME = "curtsy.exe" if os.name == "nt" else "curtsy"

#: The variable of the environment that names the program.
VARIABLE = "CURTSY_PROGRAM"


def program() -> str:
    """Returns the path of the program `curtsy`.

    The environment variable `CURTSY_PROGRAM` wins if it is set. Otherwise this is the program that
    was installed with this package, or else the one on the `PATH`.

    Raises `FileNotFoundError` if there is no such program.
    """
    named = os.environ.get(VARIABLE)
    if named:
        if not _is_program(named):
            raise FileNotFoundError(f"`{VARIABLE}` is `{named}`, which is not a program")
        return named
    for folder in _folders():
        path = os.path.join(folder, _NAME)
        if _is_program(path):
            return path
    on_path = shutil.which(_NAME)
    if on_path is not None:
        return on_path
    raise FileNotFoundError(
        "the program `curtsy` is not installed\n"
        "hint: `pip install --force-reinstall curtsy` installs it; "
        f"the variable `{VARIABLE}` names another one"
    )


def _folders() -> Iterator[str]:
    """The folders into which pip may have installed the program, the likeliest first."""
    yield sysconfig.get_path("scripts")
    # `pip install --user`.
    user = f"{os.name}_user"
    if user in sysconfig.get_scheme_names():
        yield sysconfig.get_path("scripts", user)
    if sys.executable:
        yield os.path.dirname(sys.executable)
    # `pip install --target`.
    yield str(Path(__file__).resolve().parent.parent / "bin")


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
