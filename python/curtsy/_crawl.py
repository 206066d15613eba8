"""Crawls, and what became of their URLs."""

from __future__ import annotations

import json
import os
import weakref
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Optional, Union

from ._options import Option, Span, arguments, flags, refuse
from ._process import LOG, Process
from ._program import program as packaged_program

#: Exit codes of a crawl that did its part: nothing is left, what is left must wait, nothing could
#: be fetched. The report says which.
_CRAWLED = (0, 3, 4)

#: The waits and reasons that are logged, at most.
_LOGGED_MAX = 5

_FIXED = {
    "json": "curtsy reads the program's JSON itself",
    "quiet": "no progress is shown",
    "help": "`python -m curtsy help crawl` prints the help",
}
_STREAM = {
    **_FIXED,
    "into": "`crawl` yields rows; `curtsy.crawl_into(file, …)` writes a file and can be resumed",
    "resume": "only `curtsy.crawl_into` can resume a crawl",
    "again": "only `curtsy.crawl_into` can crawl again",
    "force": "only `curtsy.crawl_into` can crawl again",
    "add": "only `curtsy.crawl_into` can add seeds to a crawl",
}


class Crawl(Iterator[dict[str, Any]]):
    """A running crawl: an iterator of rows, and a context manager that ends the crawl.

    `crawl` returns it. The program waits whenever nobody takes a row, so a crawl of any size needs
    little memory. `close`, the end of a `with` block, an exception in the iterator and garbage
    collection all end the program: it finishes the requests that it has sent, for at most 5 s.
    """

    def __init__(self, path: str, options: list[str]) -> None:
        self._process = Process(path, ["crawl", "--into=-", "--json", "--quiet", *options])
        self._ended = False
        # Runs when this object is collected, and at the latest when Python ends.
        self._finalizer = weakref.finalize(self, self._process.stop)

    @property
    def report(self) -> dict[str, Any]:
        """The report of the crawl, as `curtsy crawl --json` prints it.

        `report["ended"]` is `complete`, `budget` (a limit of pages or time was reached), `waits`
        (hosts must wait longer than `patience`; `report["waits"]` says why and until when) or
        `stopped` (the crawl was closed early). `report["reasons"]` counts the URLs without a page.

        Raises `RuntimeError` while the crawl is running.
        """
        report = self._process.said.report
        if not self._ended:
            raise RuntimeError("the crawl is still running: read all rows, or close it, first")
        if report is None:
            raise RuntimeError("the crawl ended before it could write a report")
        return report

    @property
    def pid(self) -> int:
        """The id of the program's process."""
        return self._process.pid

    def close(self) -> None:
        """Ends the crawl. A closed crawl has no more rows."""
        if not self._ended:
            self._ended = True
            self._finalizer()

    def __iter__(self) -> Crawl:
        return self

    def __next__(self) -> dict[str, Any]:
        if self._ended:
            raise StopIteration
        try:
            line = self._process.output.readline()
            # A line without an end was cut off together with the program.
            if line.endswith(b"\n"):
                row: dict[str, Any] = json.loads(line)
                return row
            code = self._process.finish()
        except BaseException:
            self.close()
            raise
        self._ended = True
        self._finalizer.detach()
        self._process.check(code, _CRAWLED)
        _warn(self._process.said.report)
        raise StopIteration

    def __enter__(self) -> Crawl:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()


def crawl(
    *seeds: str,
    contact: Optional[str] = None,
    pages: Union[int, str, None] = None,
    depth: Union[int, str, None] = None,
    delay: Optional[Span] = None,
    time: Optional[Span] = None,
    patience: Optional[Span] = None,
    include: Union[str, Iterable[str], None] = None,
    exclude: Union[str, Iterable[str], None] = None,
    program: Optional[str] = None,
    **options: Option,
) -> Crawl:
    """Crawls sites and yields a dict for each URL that the crawl considered, fetched or not.

    The keys of a row are the columns of `docs/reference/columns.md`; a column without a value is
    left out, so read optional columns with `row.get("title")`. Rows arrive while the crawl runs.

    - `contact`: a mail address or page where a site owner reaches you. Needed for every site that
      is not on your own machine. `CURTSY_CONTACT` sets it too.
    - `pages`, `time`: limits of the crawl. `depth`: how many links to follow from a seed.
    - `delay`: the least time between two requests to a host. A number means seconds.
    - `patience`: how long to wait for hosts that must wait, before the crawl ends.
    - `include`, `exclude`: patterns of URLs, as `"/blog/*"`.
    - `program`: the program to run instead of the one that `program()` returns.
    - `options`: any other option of `curtsy crawl`, with `_` for `-`: `no_body=True`,
      `only="html,pdf"`, `set={"robots.ttl": "2h"}`, `from_="seeds.txt"`.

    Raises `CrawlError` before the first row if a setting is wrong, and later if the program fails.
    What a site did is not an error. If nothing could be fetched, or what is left must wait, the
    rows end without an error, a warning is logged (logger `curtsy`), and `Crawl.report` has the
    details.

    >>> with curtsy.crawl("localhost:8000", delay=0, pages=10) as crawl:  # doctest: +SKIP
    ...     titles = {row["url"]: row.get("title") for row in crawl}
    ...     print(crawl.report["requests"])
    """
    refuse(options, _STREAM)
    named: Mapping[str, Option] = {
        "contact": contact,
        "pages": pages,
        "depth": depth,
        "delay": delay,
        "time": time,
        "patience": patience,
        "include": include,
        "exclude": exclude,
    }
    words = [*flags(named), *flags(options), *arguments(seeds)]
    return Crawl(program or packaged_program(), words)


def crawl_into(
    into: Union[str, os.PathLike[str]],
    *seeds: str,
    contact: Optional[str] = None,
    pages: Union[int, str, None] = None,
    depth: Union[int, str, None] = None,
    delay: Optional[Span] = None,
    time: Optional[Span] = None,
    patience: Optional[Span] = None,
    include: Union[str, Iterable[str], None] = None,
    exclude: Union[str, Iterable[str], None] = None,
    program: Optional[str] = None,
    **options: Option,
) -> dict[str, Any]:
    """Crawls sites into a file and returns the report of the crawl.

    `into` is a `.db` file (SQLite), a `.jsonl` file or a `.csv` file. The same call again goes on
    with the crawl in the file, also after Ctrl-C or a crash; `again=True` crawls again what has
    changed. All other arguments are those of `crawl`.

    The report is that of `curtsy crawl --json`. Its `exit_code` is 0 if nothing is left or a limit
    was reached, 3 if what is left must wait, and 4 if nothing could be fetched.

    >>> report = curtsy.crawl_into(  # doctest: +SKIP
    ...     "example.org.db", "https://example.org/", contact="me@example.org", pages=100
    ... )
    >>> report["ended"]  # doctest: +SKIP
    'budget'
    """
    refuse(options, _FIXED)
    if os.fspath(into) == "-":
        raise ValueError("`crawl_into` needs a file; `curtsy.crawl` yields rows")
    named: Mapping[str, Option] = {
        "into": into,
        "contact": contact,
        "pages": pages,
        "depth": depth,
        "delay": delay,
        "time": time,
        "patience": patience,
        "include": include,
        "exclude": exclude,
    }
    words = ["crawl", "--json", "--quiet", *flags(named), *flags(options), *arguments(seeds)]
    report = _ask(program, words, _CRAWLED)
    _warn(report)
    return report


def why(
    url: str,
    *,
    in_: Union[str, os.PathLike[str], None] = None,
    now: bool = False,
    program: Optional[str] = None,
    **options: Option,
) -> dict[str, Any]:
    """Returns why a URL was fetched or not, as `curtsy why --json` prints it.

    `in_` is the file of the crawl; without it the program looks for the file in this folder. With
    `now=True` the answer is what a crawl would do with the URL now; nothing is sent to the site,
    and `options` are those of `curtsy why`.

    Raises `CrawlError`, with the code `not_taken`, if the crawl never considered the URL.

    >>> curtsy.why("https://example.org/private/", in_="example.org.db")["reason"]  # doctest: +SKIP
    'refused by robots.txt: line 2'
    """
    refuse(options, {"json": _FIXED["json"], "help": "`python -m curtsy help why` prints the help"})
    words = ["why", "--json", *flags({"in": in_, "now": now}), *flags(options), *arguments([url])]
    # With `now`, the code is the one that the crawl would end with: an answer too.
    return _ask(program, words, _CRAWLED if now else (0,))


def _ask(path: Optional[str], words: list[str], allowed: tuple[int, ...]) -> dict[str, Any]:
    """Runs a command that prints one JSON object; returns the object."""
    process = Process(path or packaged_program(), words)
    try:
        text = process.output.read()
        code = process.finish()
    except BaseException:
        process.stop()
        raise
    try:
        answer: dict[str, Any] = json.loads(text) if text else {}
    except ValueError:
        # Cut off together with the program, whose exit code says more.
        answer = {}
    if answer and process.said.report is None:
        process.said.report = answer
    process.check(code, allowed)
    return answer


def _warn(report: Optional[dict[str, Any]]) -> None:
    """Logs why a crawl has fewer pages than its caller may expect."""
    if report is None:
        return
    if report.get("exit_code") == 3:
        for wait in report.get("waits", [])[:_LOGGED_MAX]:
            LOG.warning("the crawl ended early: %s", wait.get("why"))
    if report.get("exit_code") == 4:
        for reason in report.get("reasons", [])[:_LOGGED_MAX]:
            hint = f" ({reason['hint']})" if reason.get("hint") else ""
            LOG.warning("nothing could be fetched: %s%s", reason.get("reason"), hint)
