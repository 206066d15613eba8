"""`python -m curtsy …` runs the program `curtsy` with the same arguments."""

from __future__ import annotations

import os
import sys

from ._program import program


def main() -> None:
    """Replaces this process by the program."""
    try:
        path = program()
    except FileNotFoundError as error:
        sys.exit(f"error: {error}")
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
