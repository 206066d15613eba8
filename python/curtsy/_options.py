"""Keyword arguments as flags of the program."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Optional, Union

#: A length of time: a number of seconds, a `timedelta`, or a text such as `"500ms"` or `"2h"`.
Span = Union[str, float, timedelta]

_Value = Union[str, float, timedelta, "os.PathLike[str]"]

#: The value of an option: `True` gives a flag without a value, a list repeats the option, a dict
#: repeats it as `NAME=VALUE`, and `None` and `False` leave it out.
Option = Union[_Value, Iterable[_Value], Mapping[str, _Value], None]

#: Options that are lengths of time: a number means seconds.
_SPANS = frozenset({"delay", "patience", "time"})


def flags(options: Mapping[str, Option]) -> list[str]:
    """Returns the flags of the program for keyword arguments.

    >>> flags({"no_body": True, "force": False, "pages": 5, "depth": None})
    ['--no-body', '--pages=5']
    >>> flags({"include": ["/a/*", "/b/*"], "set": {"robots.ttl": "2h"}})
    ['--include=/a/*', '--include=/b/*', '--set=robots.ttl=2h']
    >>> flags({"delay": 0.5, "time": timedelta(minutes=2), "patience": "1h"})
    ['--delay=500ms', '--time=120000ms', '--patience=1h']
    >>> flags({"from_": "seeds.txt"})
    ['--from=seeds.txt']
    """
    found: list[str] = []
    for name, value in options.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            found.append(flag)
            continue
        found.extend(f"{flag}={text}" for text in _texts(name, value))
    return found


def arguments(seeds: Iterable[str]) -> list[str]:
    """Returns seeds as the program's arguments, after the end of its flags.

    >>> arguments(["example.org", "-x"])
    ['--', 'example.org', '-x']
    """
    found = list(seeds)
    for seed in found:
        if not isinstance(seed, str):
            raise TypeError(
                f"a seed is a text, not {type(seed).__name__}; "
                "write `*` before a list of seeds, as in `crawl(*seeds)`"
            )
    return ["--", *found] if found else []


def refuse(options: Mapping[str, Option], reserved: Mapping[str, str]) -> None:
    """Raises `TypeError` for options that this package sets itself."""
    for name in options:
        reason = reserved.get(name.rstrip("_"))
        if reason is not None:
            raise TypeError(f"the option `{name}` cannot be given here: {reason}")


def _texts(name: str, value: Option) -> list[str]:
    if isinstance(value, Mapping):
        return [f"{key}={_text(name, item)}" for key, item in value.items()]
    if isinstance(value, (str, os.PathLike, int, float, timedelta)):
        return [_text(name, value)]
    if isinstance(value, Iterable):
        return [_text(name, item) for item in value]
    raise TypeError(f"the option `{name}` cannot be a {type(value).__name__}")


def _text(name: str, value: Optional[_Value]) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, timedelta):
        return _milliseconds(value.total_seconds())
    if isinstance(value, (int, float)):
        return _milliseconds(value) if name in _SPANS else str(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"the option `{name}` cannot hold a {type(value).__name__}")


def _milliseconds(seconds: float) -> str:
    # Rounded up: never a shorter wait than the caller asked for. The inner rounding undoes what
    # binary fractions add (0.0011 * 1e6 is a little more than 1100).
    return f"{math.ceil(round(seconds * 1e6) / 1000)}ms"
