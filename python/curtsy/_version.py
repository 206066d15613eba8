"""The version of the installed package."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version

_NOT_INSTALLED = "0+not.installed"


def version() -> str:
    """Returns the version of the installed package `curtsy`."""
    try:
        return installed_version("curtsy")
    except PackageNotFoundError:
        # The folder of the source is on the path, and nothing was installed.
        return _NOT_INSTALLED
