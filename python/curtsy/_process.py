"""Runs the program `curtsy`, reads what it says, and ends it."""

from __future__ import annotations

import errno
import json
import logging
import os
import selectors
import subprocess
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import IO, Any, Optional

from ._errors import CrawlError

#: Notes and warnings of the program are logged here.
LOG = logging.getLogger("curtsy")

#: How long a program that is told to end may wait for the requests that it has sent.
_FINISH_SECONDS = 5.0
#: How long a program may take to end after the second signal. Then it is killed.
_END_SECONDS = 2.0
#: The lines of standard error that are kept for an error's text.
_LINES_MAX = 100
#: The size of a report that is written over several lines, at most.
_REPORT_CHARS_MAX = 16 * 1024 * 1024

#: What the exit codes mean that are no success and come without a message.
_MEANINGS = {
    5: "our own side failed, such as a proxy that wants a password",
    130: "the crawl was stopped by a signal",
    141: "the rows could not be written: their reader went away",
}


class Process:
    """A running program, with a thread that reads its standard error.

    The thread holds no reference to this object's owner, so that an owner that nobody uses any more
    can be collected, and its program ended.
    """

    def __init__(self, path: str, arguments: Sequence[str]) -> None:
        try:
            self._popen = subprocess.Popen(
                [path, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # Ctrl-C reaches Python alone, which tells the program once. Two signals would cut
                # off the requests that are in flight.
                start_new_session=True,
            )
        except OSError as error:
            if error.errno == errno.E2BIG:
                raise ValueError(
                    "too many seeds for one command; write them to a file, one a line, "
                    'and give `from_="seeds.txt"`'
                ) from error
            raise
        assert self._popen.stdout is not None and self._popen.stderr is not None
        #: The program's standard output.
        self.output: IO[bytes] = self._popen.stdout
        self.said = Said()
        self._listener = threading.Thread(
            target=_listen, args=(self._popen.stderr, self.said), name="curtsy", daemon=True
        )
        self._listener.start()

    @property
    def pid(self) -> int:
        return self._popen.pid

    def finish(self) -> int:
        """Waits for a program whose output was read to its end; returns its exit code."""
        code = self._popen.wait()
        self._listener.join()
        self.output.close()
        return code

    def stop(self) -> None:
        """Ends the program: it finishes the requests that it has sent, but not for long."""
        if self._popen.poll() is None:
            try:
                for seconds in (_FINISH_SECONDS, _END_SECONDS):
                    self._popen.terminate()
                    if self._drain(seconds):
                        break
            finally:
                # Also after a second Ctrl-C of an impatient user.
                if self._popen.poll() is None:
                    self._popen.kill()
                self._popen.wait()
        self._listener.join(_END_SECONDS)
        self.output.close()

    def _drain(self, seconds: float) -> bool:
        """Reads and drops rows until the program has ended; returns whether it has.

        A program that finds nobody to read its rows ends at once, in the middle of its requests.
        """
        deadline = time.monotonic() + seconds
        fd = self.output.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(fd, selectors.EVENT_READ)
            while True:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                if selector.select(left) and not os.read(fd, 1 << 16):
                    break
        try:
            self._popen.wait(max(deadline - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            return False
        return True

    def check(self, code: int, allowed: Sequence[int]) -> None:
        """Raises `CrawlError` if the program ended with a code that is not allowed."""
        error = self.said.error
        if code in allowed and error is None:
            return
        stderr = self.said.text()
        report = self.said.report
        if error is not None:
            raise CrawlError(
                str(error.get("message") or "the program failed"),
                hint=error.get("hint"),
                code=str(error.get("code") or "failed"),
                exit_code=code,
                stderr=stderr,
                report=report,
            )
        if code < 0:
            meaning = f"the program was ended by signal {-code}"
        else:
            meaning = _MEANINGS.get(code) or stderr or f"the program ended with code {code}"
        kind = {5: "our_side", 130: "stopped"}.get(code, "failed")
        raise CrawlError(meaning, code=kind, exit_code=code, stderr=stderr, report=report)


class Said:
    """What the program has written to standard error."""

    def __init__(self) -> None:
        #: The member `error` of the program's last word.
        self.error: Optional[dict[str, Any]] = None
        #: The report of a crawl whose rows have standard output for themselves.
        self.report: Optional[dict[str, Any]] = None
        self._lines: deque[str] = deque(maxlen=_LINES_MAX)
        #: The lines of a value that is written over several lines, so far.
        self._open: list[str] = []
        self._open_chars = 0

    def text(self) -> str:
        """Returns the last lines that were not JSON."""
        return "\n".join(self._lines)

    def hear(self, line: str) -> None:
        """Takes in a line."""
        line = line.rstrip("\r\n")
        if self._open:
            self._open.append(line)
            self._open_chars += len(line)
            if line == "}":
                value, self._open = "\n".join(self._open), []
                self._value(value)
            elif self._open_chars > _REPORT_CHARS_MAX:
                self._open = []
        elif line == "{":
            self._open, self._open_chars = [line], 0
        elif line.startswith("{"):
            self._value(line)
        elif line:
            self._lines.append(line)
            LOG.info("%s", line)

    def _value(self, text: str) -> None:
        try:
            value = json.loads(text)
        except ValueError:
            self._lines.append(text)
            return
        if isinstance(value.get("error"), dict):
            self.error = value["error"]
        elif "exit_code" in value:
            self.report = value
        elif "warning" in value:
            LOG.warning("%s", value["warning"])
        elif "note" in value:
            LOG.info("%s", value["note"])


def _listen(stream: IO[bytes], said: Said) -> None:
    with stream:
        for line in stream:
            said.hear(line.decode("utf-8", "replace"))
