"""curtsy, Scrapy and spider with the polite settings that each offers: how they are started, and what each says that it took for a page."""

import json
import sqlite3
from dataclasses import dataclass

from run import AGENT, HERE

CONTACT = "bench@example.org"
SIZE_MAX = 10 * 1024 * 1024


@dataclass(frozen=True)
class Asked:
    """What is asked of a crawler, whichever it is. Zero pages are no budget."""

    hosts: int
    delay_ms: int
    timeout_s: int
    span_s: int
    pages: int
    retries: int
    # Of curtsy alone: how long it waits for hosts that must wait, and for a robots.txt that could not be had.
    patience_s: int
    robots_again_s: int


# One host, a budget of pages and nothing twice, as the zoo's table counts requests.
ZOO = Asked(hosts=1, delay_ms=500, timeout_s=15, span_s=40, pages=50, retries=0, patience_s=12, robots_again_s=300)
# Sites whose waits are seconds, so the delay is short too.
SITES = Asked(hosts=36, delay_ms=250, timeout_s=15, span_s=60, pages=0, retries=2, patience_s=30, robots_again_s=5)


def curtsy_policy(asked):
    """The policy that curtsy crawls with, and the one that the judge holds all three to: waits that no site asked for are as short as the delay."""
    pages = f"pages = {asked.pages}\n" if asked.pages else ""
    return f"""preset = "careful"
patience = "{asked.patience_s}s"

[robots]
deny_ttl = "{asked.robots_again_s}s"

[pace]
delay = "{asked.delay_ms}ms"

[slots]
per_host = 1

[timeout]
whole = "{asked.timeout_s}s"

[body]
decoded_max = "10MiB"
redirects_max = 5

[retry]
max = {asked.retries}
curve = {{ base = "{asked.delay_ms}ms", growth = "x1", cap = "{asked.delay_ms}ms" }}

[backoff]
forbidden = "permanent"
curve = {{ base = "{asked.delay_ms}ms", growth = "x1", cap = "{asked.delay_ms}ms", jitter = "none" }}

[budget]
{pages}time = "{asked.span_s}s"
"""


def scrapy_settings(asked):
    settings = {
        "ROBOTSTXT_OBEY": True,
        "USER_AGENT": AGENT,
        "DOWNLOAD_DELAY": asked.delay_ms / 1000,
        "RANDOMIZE_DOWNLOAD_DELAY": False,
        "CONCURRENT_REQUESTS": asked.hosts,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "AUTOTHROTTLE_ENABLED": True,
        "AUTOTHROTTLE_START_DELAY": asked.delay_ms / 1000,
        "AUTOTHROTTLE_TARGET_CONCURRENCY": 1.0,
        "COOKIES_ENABLED": False,
        "DOWNLOAD_MAXSIZE": SIZE_MAX,
        "DOWNLOAD_TIMEOUT": asked.timeout_s,
        "DOWNLOAD_VERIFY_CERTIFICATES": True,
        "REDIRECT_MAX_TIMES": 5,
        "RETRY_TIMES": asked.retries,
        "CLOSESPIDER_TIMEOUT": asked.span_s,
    }
    return settings | ({"CLOSESPIDER_PAGECOUNT": asked.pages} if asked.pages else {})


def spider_arguments(asked):
    return [str(number) for number in (asked.delay_ms, asked.timeout_s, asked.span_s, asked.pages, asked.retries)]


def spider_environment():
    return {"SPIDER_MAX_SIZE_BYTES": str(SIZE_MAX), "SPIDER_RESPECT_CONCURRENCY_UNDER_LOAD": "1"}


def spider_code():
    """The settings as `peer-spider` has them."""
    source = (HERE / "spider" / "src" / "main.rs").read_text()
    return source[source.index("fn be_polite") :].rstrip()


class Curtsy:
    name = "curtsy"
    # 0 nothing is left, 3 what is left must wait longer than its patience, 4 nothing could be fetched.
    good_codes = (0, 3, 4)

    def __init__(self, program):
        self.program = program

    def start(self, asked, seeds, out, net, ca):
        (out / "policy.toml").write_text(curtsy_policy(asked))
        command = [self.program, "crawl", "--from", str(seeds), "--policy", str(out / "policy.toml"), "--contact", CONTACT]
        command += ["--allow-net", net, "--into", str(out / "crawl.db"), "--ledger", str(out / "hosts.db"), "--quiet"]
        return command + (["--ca-file", str(ca)] if ca else []), {"XDG_STATE_HOME": str(out)}

    def took(self, url, out):
        """Whether it took what came from this address for a page."""
        with sqlite3.connect(out / "crawl.db") as pages:
            query = "SELECT count(*) FROM pages WHERE url = ? AND decision = 'fetched' AND error IS NULL AND http_status = 200"
            return pages.execute(query, [url]).fetchone()[0] > 0


class Scrapy:
    name = "Scrapy"
    good_codes = (0,)

    def __init__(self, python):
        self.python = python

    def start(self, asked, seeds, out, _, ca):
        (out / "settings.json").write_text(json.dumps(scrapy_settings(asked)))
        command = [self.python, str(HERE / "scrapy_peer.py"), str(seeds), str(out / "pages.jsonl"), str(out / "settings.json")]
        return command, ({"SSL_CERT_FILE": str(ca)} if ca else {})

    def took(self, url, out):
        with open(out / "pages.jsonl", encoding="utf-8") as lines:
            pages = (json.loads(line) for line in lines if line.endswith("\n"))
            return any(page["url"] == url and page["status"] == 200 for page in pages)


class Spider:
    name = "spider"
    good_codes = (0,)

    def __init__(self, program):
        self.program = program

    def start(self, asked, seeds, out, _, ca):
        command = [self.program, str(seeds), str(out / "pages"), *spider_arguments(asked)]
        return command, spider_environment() | ({"SSL_CERT_FILE": str(ca)} if ca else {})

    def took(self, url, out):
        # The home page comes first; a page that spider itself calls cut is none.
        with open(out / "pages", "rb") as pages:
            said = pages.readline().decode("utf-8", "replace").split()
        return bool(said) and said[0].rstrip("/") == url.rstrip("/") and said[1] == "200" and said[-1] == "whole"
