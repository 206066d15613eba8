"""The error that this package raises when the program fails."""

from __future__ import annotations

from typing import Any, Optional


class CrawlError(Exception):
    """The program could not do its part: a wrong setting, a file that cannot be used, a dead proxy.

    What a site did is never an error: such a URL has a row with the reason.
    """

    #: What is wrong.
    message: str
    #: The next step, if the program knows one.
    hint: Optional[str]
    #: The kind of failure, as `no_contact` or `settings`: the codes of `docs/reference/crawl.md`.
    code: str
    #: The exit code of the program; negative if a signal ended the program.
    exit_code: int
    #: The last lines that the program wrote to standard error and that are not JSON.
    stderr: str
    #: The report of the crawl, if the program wrote one.
    report: Optional[dict[str, Any]]

    def __init__(
        self,
        message: str,
        *,
        hint: Optional[str] = None,
        code: str = "failed",
        exit_code: int = 2,
        stderr: str = "",
        report: Optional[dict[str, Any]] = None,
    ) -> None:
        super().__init__(message if hint is None else f"{message}\nhint: {hint}")
        self.message = message
        self.hint = hint
        self.code = code
        self.exit_code = exit_code
        self.stderr = stderr
        self.report = report
