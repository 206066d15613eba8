"""Tests of the installed package, against the real program and its own sites on this machine.

    python -m unittest discover -s python/tests -v

The package must be installed (a wheel, or by hand in a venv). Tests of DuckDB are skipped if the
package `duckdb` is missing; with `CI=true` they fail instead.
"""

from __future__ import annotations

import contextlib
import doctest
import gc
import importlib.util
import json
import logging
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
from pathlib import Path
from typing import Any, Optional, cast
from unittest import mock

import curtsy
import curtsy._options
import curtsy.duckdb

CI = os.environ.get("CI") == "true"
HAS_DUCKDB = importlib.util.find_spec("duckdb") is not None

#: How long anything may take that takes no time.
SOON = 20.0


class Site:
    """Sites that the program serves on this machine, until this is closed."""

    def __init__(self, *flags: str) -> None:
        self.process = subprocess.Popen(
            [curtsy.program(), "site", "--port=0", "--json", "--until-stdin-closes", *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self.process.stdout is not None
        ready = json.loads(self.process.stdout.readline())
        self.port: int = ready["port"]
        self.address: str = ready["hosts"][0]["url_by_address"]

    def close(self) -> None:
        self.process.communicate(timeout=SOON)


class Case(unittest.TestCase):
    """A test with a folder and a ledger of its own, and the demonstration site."""

    site: Site
    demo: str

    @classmethod
    def setUpClass(cls) -> None:
        cls.site = Site("--moods=demo")
        cls.addClassCleanup(cls.site.close)
        cls.demo = f"http://demo.localhost:{cls.site.port}"

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("CURTSY_") or name in ("CURTSY_PROGRAM", curtsy.duckdb.VARIABLE)
        }
        clean["XDG_STATE_HOME"] = str(self.folder / "state")
        clean["HOME"] = str(self.folder)
        patch = mock.patch.dict(os.environ, clean, clear=True)
        patch.start()
        self.addCleanup(patch.stop)
        here = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, here)

    def town(self, **options: curtsy.Option) -> curtsy.Crawl:
        """The demonstration site without its endless calendar and its long waits."""
        given: dict[str, Any] = {
            "delay": 0,
            "exclude": "/calendar/*",
            "set": {"backoff.curve.base": "1s"},
            **options,
        }
        return curtsy.crawl(f"{self.demo}/", **given)

    def assert_ended(self, pid: int) -> None:
        with self.assertRaises(ProcessLookupError):
            os.kill(pid, 0)


class Rows(Case):
    def test_each_url_is_a_row(self) -> None:
        with self.town() as crawl:
            rows = {row["url"].removeprefix(self.demo): row for row in crawl}
        self.assertEqual(rows["/"]["http_status"], 200)
        self.assertEqual(rows["/"]["title"], "Page 0 of demo.localhost")
        self.assertIn("<h1>", rows["/"]["body"])
        self.assertIn(f"{self.demo}/news", rows["/"]["links"])
        self.assertEqual(rows["/missing"]["reason"], "not found (404)")
        self.assertEqual(rows["/private/diary"]["decision"], "refused")
        self.assertEqual(rows["/private/diary"]["robots_line"], 4)
        self.assertNotIn("http_status", rows["/private/diary"])
        self.assertEqual(crawl.report["ended"], "complete")
        self.assertEqual(crawl.report["exit_code"], 0)
        pages = [row for row in rows.values() if row["kind"] == "page"]
        self.assertEqual(crawl.report["rows"], len(pages))
        self.assertEqual(list(crawl), [], "a crawl has its rows once")
        self.assert_ended(crawl.pid)

    def test_rows_arrive_while_the_crawl_runs(self) -> None:
        with self.town(delay="500ms", pages=50) as crawl:
            next(crawl)
            os.kill(crawl.pid, 0)
            with self.assertRaisesRegex(RuntimeError, "still running"):
                _ = crawl.report

    def test_options_reach_the_program(self) -> None:
        with self.town(pages=2, no_sitemaps=True, no_body=True, include=["/", "/news"]) as crawl:
            rows = list(crawl)
        self.assertEqual({row["url"] for row in rows}, {f"{self.demo}/", f"{self.demo}/news"})
        self.assertFalse([row for row in rows if "body" in row])
        self.assertEqual(crawl.report["looked_for"]["include"], ["/", "/news"])

    def test_a_page_limit_is_no_error(self) -> None:
        crawl = self.town(pages=1)
        self.assertTrue(list(crawl))
        self.assertEqual(crawl.report["ended"], "budget")

    def test_seeds_come_from_a_file(self) -> None:
        Path("seeds.txt").write_text(f"{self.demo}/news\n")
        nets = ["127.0.0.0/8", "::1/128"]
        with curtsy.crawl(from_=Path("seeds.txt"), allow_net=nets, no_links=True, pages=1) as crawl:
            rows = list(crawl)
        self.assertIn((f"{self.demo}/news", 200), [(r["url"], r.get("http_status")) for r in rows])

    def test_a_slow_reader_holds_the_crawl_back(self) -> None:
        site = Site("--hosts=1", "--pages=2000", "--bytes=50000")
        self.addCleanup(site.close)
        with curtsy.crawl(site.address, delay=0, no_cache=True) as crawl:
            next(crawl)
            time.sleep(1)
            first = memory(crawl.pid)
            time.sleep(2)
            self.assertLess(memory(crawl.pid), first + 20_000_000)
            self.assertLess(first, 300_000_000)


class Ends(Case):
    """The program ends with its crawl, however that ends."""

    def test_close_stops_and_still_has_a_report(self) -> None:
        crawl = self.town()
        next(crawl)
        crawl.close()
        self.assert_ended(crawl.pid)
        self.assertEqual(crawl.report["ended"], "stopped")
        self.assertEqual(list(crawl), [])
        crawl.close()

    def test_break_leaves_no_process(self) -> None:
        pid = 0
        crawl: Optional[curtsy.Crawl] = self.town()
        assert crawl is not None
        for _ in crawl:
            pid = crawl.pid
            break
        crawl = None
        gc.collect()
        self.assert_ended(pid)

    def test_an_exception_in_a_with_block_ends_the_crawl(self) -> None:
        crawl = self.town()
        with contextlib.suppress(KeyError), crawl:
            next(crawl)
            raise KeyError
        self.assert_ended(crawl.pid)

    def test_a_crawl_that_is_closed_does_not_delay_the_next_one(self) -> None:
        site = Site("--hosts=1", "--pages=500", "--bytes=50000")
        self.addCleanup(site.close)
        for _ in range(2):
            begin = time.monotonic()
            with curtsy.crawl(site.address, delay=0, no_cache=True) as crawl:
                next(crawl)
                # Until the program is blocked by a full pipe.
                time.sleep(0.5)
            self.assertLess(time.monotonic() - begin, SOON)

    def test_ctrl_c_ends_the_crawl(self) -> None:
        crawl = self.town(delay="1h", patience="2h")
        main = threading.main_thread().ident
        assert main is not None
        timer = threading.Timer(1.0, signal.pthread_kill, (main, signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            list(crawl)
        self.assert_ended(crawl.pid)

    def test_the_end_of_python_ends_the_crawl(self) -> None:
        script = f"""
            import curtsy
            crawl = curtsy.crawl({self.demo + "/"!r}, delay=1)
            next(crawl)
            print(crawl.pid)
            """
        command = [sys.executable, "-c", textwrap.dedent(script)]
        ran = subprocess.run(command, stdout=subprocess.PIPE, timeout=SOON, check=True)
        self.assert_ended(int(ran.stdout))

    def test_a_program_that_does_not_listen_is_killed(self) -> None:
        deaf = script_program(self.folder, "trap '' TERM\necho '{\"url\": \"x\"}'\nexec sleep 60\n")
        with mock.patch("curtsy._process._FINISH_SECONDS", 0.2):
            with mock.patch("curtsy._process._END_SECONDS", 0.2):
                with curtsy.crawl("x", program=deaf) as crawl:
                    self.assertEqual(next(crawl), {"url": "x"})
        self.assert_ended(crawl.pid)
        with self.assertRaisesRegex(RuntimeError, "before it could write a report"):
            _ = crawl.report


class Errors(Case):
    def raises(self, *seeds: str, **options: curtsy.Option) -> curtsy.CrawlError:
        with self.assertRaises(curtsy.CrawlError) as caught:
            list(curtsy.crawl(*seeds, **cast(Any, options)))
        return caught.exception

    def test_a_crawl_without_a_contact(self) -> None:
        error = self.raises("https://example.org/")
        self.assertEqual((error.code, error.exit_code), ("no_contact", 2))
        self.assertIn("--contact", error.hint or "")
        self.assertIn("hint: ", str(error))

    def test_a_wrong_value(self) -> None:
        error = self.raises(self.demo, pages="many")
        self.assertEqual((error.code, error.exit_code), ("settings", 2))
        self.assertIn("`many`", error.message)

    def test_an_option_that_does_not_exist(self) -> None:
        error = self.raises(self.demo, page_limit=5)
        self.assertEqual((error.code, error.exit_code), ("usage", 2))
        self.assertIn("--page-limit", error.message)

    def test_no_seeds(self) -> None:
        self.assertIn("nothing to crawl", self.raises().message)

    def test_a_seed_that_looks_like_a_flag_is_none(self) -> None:
        self.assertNotEqual(self.raises("--help").exit_code, 0)

    def test_what_python_can_tell(self) -> None:
        with self.assertRaisesRegex(TypeError, "before a list"):
            curtsy.crawl(cast(str, ["https://example.org/"]))
        with self.assertRaisesRegex(TypeError, "crawl_into"):
            curtsy.crawl("https://example.org/", into="x.db")
        with self.assertRaisesRegex(ValueError, "from_="):
            curtsy.crawl(*(f"https://example.org/{n:0100}" for n in range(50_000)))

    def test_a_program_that_is_killed(self) -> None:
        crawl = self.town(delay=1)
        next(crawl)
        os.kill(crawl.pid, signal.SIGKILL)
        with self.assertRaises(curtsy.CrawlError) as caught:
            list(crawl)
        self.assertEqual(caught.exception.exit_code, -signal.SIGKILL)

    def test_a_program_that_is_stopped_by_someone_else(self) -> None:
        crawl = self.town(delay=1)
        next(crawl)
        os.kill(crawl.pid, signal.SIGTERM)
        with self.assertRaises(curtsy.CrawlError) as caught:
            list(crawl)
        self.assertEqual((caught.exception.code, caught.exception.exit_code), ("stopped", 130))
        assert caught.exception.report is not None
        self.assertEqual(caught.exception.report["ended"], "stopped")

    def test_nothing_fetched_is_an_outcome(self) -> None:
        with self.assertLogs("curtsy", logging.WARNING) as logs:
            crawl = curtsy.crawl(f"{self.demo}/nothing", no_sitemaps=True, delay=0)
            rows = list(crawl)
        self.assertEqual([row["http_status"] for row in rows], [404])
        self.assertEqual(crawl.report["exit_code"], 4)
        self.assertIn("not found (404)", logs.output[0])

    def test_a_wait_is_an_outcome(self) -> None:
        with self.assertLogs("curtsy", logging.WARNING) as logs:
            crawl = self.town(set=None, patience=1, include=["/", "/busy"], no_sitemaps=True)
            list(crawl)
        self.assertEqual((crawl.report["exit_code"], crawl.report["ended"]), (3, "waits"))
        self.assertIn("/busy answered 429", logs.output[0])

    def test_much_on_standard_error_blocks_nothing(self) -> None:
        noise = 'i=0; while [ $i -lt 3000 ]; do echo "note $i: $PATH $PATH" >&2; i=$((i+1)); done'
        program = script_program(self.folder, f'{noise}\necho \'{{"url": "x"}}\'\nexit 7\n')
        crawl = curtsy.crawl("x", program=program)
        self.assertEqual(next(crawl), {"url": "x"})
        with self.assertRaises(curtsy.CrawlError) as caught:
            next(crawl)
        self.assertEqual(caught.exception.exit_code, 7)
        self.assertEqual(len(caught.exception.stderr.splitlines()), 100)


class Files(Case):
    def test_the_same_call_goes_on(self) -> None:
        given: dict[str, Any] = {"delay": 0, "exclude": "/calendar/*", "no_cache": True}
        given["set"] = {"backoff.curve.base": "1s"}
        first = curtsy.crawl_into("town.db", f"{self.demo}/", pages=3, **given)
        self.assertEqual((first["ended"], first["fetched"]), ("budget", 3))
        second = curtsy.crawl_into(Path("town.db"), f"{self.demo}/", **given)
        self.assertEqual(second["ended"], "complete")
        with contextlib.closing(sqlite3.connect("town.db")) as con:
            count = con.execute("SELECT count(*) FROM pages WHERE kind = 'page'").fetchone()[0]
        self.assertEqual(count, first["rows"] + second["rows"])

        answer = curtsy.why(f"{self.demo}/private/diary", in_="town.db")
        self.assertEqual(answer["reason"], "refused by robots.txt: line 4")
        with self.assertRaises(curtsy.CrawlError) as caught:
            curtsy.why(f"{self.demo}/never", in_="town.db")
        self.assertEqual((caught.exception.code, caught.exception.exit_code), ("not_taken", 1))
        now = curtsy.why(f"{self.demo}/private/diary", now=True)
        self.assertIn("would not be fetched", now["action"])

    def test_a_file_that_cannot_be_used(self) -> None:
        Path("text.db").write_text("not a database")
        with self.assertRaises(curtsy.CrawlError) as caught:
            curtsy.crawl_into("text.db", f"{self.demo}/")
        self.assertEqual(caught.exception.code, "wrong_file")
        with self.assertRaises(ValueError):
            curtsy.crawl_into("-", f"{self.demo}/")
        with self.assertRaises(curtsy.CrawlError) as caught:
            curtsy.why(f"{self.demo}/", in_="none.db")
        self.assertEqual(caught.exception.code, "missing_file")


class Package(Case):
    def test_the_installed_package_is_the_one_tested(self) -> None:
        source = Path(__file__).resolve().parents[1]
        self.assertFalse(Path(curtsy.__file__).resolve().is_relative_to(source), curtsy.__file__)

    def test_the_program_is_found(self) -> None:
        ran = subprocess.run([curtsy.program(), "--version"], stdout=subprocess.PIPE, check=True)
        self.assertRegex(ran.stdout.decode(), r"^curtsy \d")
        with mock.patch.dict(os.environ, {"CURTSY_PROGRAM": "/nowhere/curtsy"}):
            with self.assertRaisesRegex(FileNotFoundError, "/nowhere/curtsy"):
                curtsy.program()

    def test_a_missing_program_is_named(self) -> None:
        with mock.patch("curtsy._program._folders", return_value=iter(())):
            with mock.patch.dict(os.environ, {"PATH": "/nowhere"}):
                os.environ.pop("CURTSY_PROGRAM", None)
                with self.assertRaisesRegex(FileNotFoundError, "hint: "):
                    curtsy.program()

    def test_the_version_is_the_programs(self) -> None:
        ran = subprocess.run([curtsy.program(), "--version"], stdout=subprocess.PIPE, check=True)
        if curtsy.__version__.endswith("not.installed"):
            self.skipTest("the package was copied, not installed")
        self.assertEqual(ran.stdout.decode().split()[1], curtsy.__version__)

    def test_python_m_curtsy_is_the_program(self) -> None:
        command = [sys.executable, "-m", "curtsy", "crawl", "--json", "--bogus"]
        ran = subprocess.run(command, stderr=subprocess.PIPE)
        self.assertEqual(ran.returncode, 2)
        self.assertEqual(json.loads(ran.stderr)["error"]["code"], "usage")

    def test_examples_of_the_documentation_run(self) -> None:
        self.assertEqual(doctest.testmod(curtsy._options).failed, 0)

    def test_importing_needs_no_duckdb(self) -> None:
        script = "import sys, curtsy, curtsy.duckdb; sys.exit('duckdb' in sys.modules)"
        subprocess.run([sys.executable, "-c", script], check=True)


@unittest.skipUnless(HAS_DUCKDB or CI, "the package `duckdb` is not installed")
class DuckDB(Case):
    def test_a_crawl_is_a_query(self) -> None:
        with curtsy.duckdb.connect(self.folder / "web.db") as con:
            con.execute("SET curtsy_allow_net = '127.0.0.0/8, ::1/128'")
            query = "SELECT url, http_status FROM crawl(?, delay := '0s', sitemaps := false)"
            rows = con.execute(query, [f"{self.demo}/news"]).fetchall()
            self.assertEqual(rows, [(f"{self.demo}/news", 200)])

    def test_the_statement(self) -> None:
        import duckdb

        if duckdb.__version__ != "2.0.0":
            self.skipTest("only DuckDB 2.0.0 has the statement CRAWL")
        with curtsy.duckdb.connect(config={"threads": 2}) as con:
            con.execute("SET curtsy_allow_net = '127.0.0.0/8, ::1/128'")
            con.execute(f"CRAWL (SELECT '{self.demo}/') INTO pages WITH (sitemaps false)")
            counted = con.execute("SELECT count(*) FROM pages WHERE http_status = 200").fetchone()
            self.assertEqual(counted, (1,))

    def test_loading_twice_does_no_harm(self) -> None:
        with curtsy.duckdb.connect() as con:
            curtsy.duckdb.load(con)

    def test_a_connection_that_is_not_open_to_it(self) -> None:
        import duckdb

        with duckdb.connect() as con:
            with self.assertRaisesRegex(ValueError, "hint: open it with"):
                curtsy.duckdb.load(con)

    def test_a_missing_extension_is_named(self) -> None:
        with mock.patch.dict(os.environ, {curtsy.duckdb.VARIABLE: "/nowhere/it"}):
            with self.assertRaisesRegex(FileNotFoundError, "/nowhere/it"):
                curtsy.duckdb.connect()


class WithoutDuckDB(unittest.TestCase):
    def test_the_next_step_is_named(self) -> None:
        with mock.patch.dict(sys.modules, {"duckdb": None}):
            with self.assertRaisesRegex(ModuleNotFoundError, r"curtsy\[duckdb\]"):
                curtsy.duckdb.connect()


def memory(pid: int) -> int:
    """The memory that a process holds, in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise LookupError(pid)


def script_program(folder: Path, text: str) -> str:
    """A program that stands for curtsy, and does what curtsy would not."""
    path = folder / "stand-in"
    path.write_text(f"#!/bin/sh\n{text}")
    path.chmod(0o755)
    return str(path)


if __name__ == "__main__":
    unittest.main()
