#!/usr/bin/env python3
"""Real documentation from Debian, crawled whole by curtsy and by wget2 or Scrapy. `./bench sites` calls this.

The pages that each crawler reached are read from the server's log. A page that a peer reached and curtsy did not is named with the reason of curtsy's row,
unless curtsy read the same bytes at another URL. With --beside, a second curtsy crawls the same sites in turn, and the table has the ratio of their CPU.
"""

import argparse
import collections
import contextlib
import datetime
import hashlib
import http.client
import json
import os
import re
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote_from_bytes, unquote_to_bytes

# Nothing is left beside the sources.
sys.dont_write_bytecode = True

from documentation import SITES, Served, unpacked
from run import AGENT, HERE, ROOT, built, scrapy_python

DOCUMENT = ROOT / "docs" / "internals" / "real-sites.md"
# A crawl that has not ended by then is stopped, and its row says so.
DEADLINE_S = 600
# What the deadline leaves a crawler to end by itself, before it is killed.
GRACE_S = 30
PAGES_MAX = 200_000
# URLs of a site that are requested once more, to see whether curtsy knows their text by another URL.
PROBES_MAX = 20_000
EXAMPLES = 3
# The links in the head of a column of Apache's folder listings.
SORT_ORDER = re.compile(r"\?C=[NMSD][;&]O=[AD]$")

# Runs a crawler and prints its cost. A process of its own: the peak memory of a child begins with that of the process that started it.
MEASURE = """
import json, os, resource, signal, subprocess, sys, time
deadline, grace, *command = sys.argv[1:]
began = time.monotonic()
with open("stdout.txt", "w") as out, open("stderr.txt", "w") as err:
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
stopped = False
def stop(*_):
    global stopped
    child.send_signal(signal.SIGKILL if stopped else signal.SIGTERM)
    stopped = True
    signal.alarm(int(grace))
signal.signal(signal.SIGALRM, stop)
signal.alarm(int(deadline))
_, status, used = os.wait4(child.pid, 0)
signal.alarm(0)
print(json.dumps({
    "cpu_s": used.ru_utime + used.ru_stime, "peak_mib": used.ru_maxrss / 1024, "wall_s": time.monotonic() - began,
    "code": os.waitstatus_to_exitcode(status), "stopped": stopped,
}))
"""


def main():
    args = arguments()
    if args.told:
        found = {}
        for file in args.told:
            more = json.loads(file.read_text())
            found = more if not found else found | {"sites": found["sites"] | more["sites"]}
    else:
        found = crawls(args)
    tables = {"sites": summary(found), "lost": losses(found)}
    if "beside" in found["versions"]:
        tables["beside"] = ratios(found)
    print("\n\n".join(tables.values()))
    if args.write:
        write(tables)


def crawls(args):
    """Every site, with every crawler."""
    sites = [site for site in SITES if not args.only or site.name in args.only]
    home = ROOT / "target" / "sites"
    usr = unpacked(home, sites)
    (ROOT / "target" / "peers").mkdir(parents=True, exist_ok=True)
    curtsies = {"curtsy": args.curtsy or built("curtsy", ROOT / "Cargo.toml", ROOT / "target", "release", ["-p", "curtsy"])}
    if args.beside:
        curtsies["beside"] = args.beside
    curtsies = {name: os.path.abspath(program) for name, program in curtsies.items()}
    peers = {name: PEERS[name]() for name in args.peers}
    found = {"date": datetime.date.today().isoformat(), "rounds": args.rounds, "versions": versions(curtsies, args.peers), "sites": {}}
    # Whoever ends this ends the servers too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    with Served(home, usr, sites) as served:
        for site in sites:
            found["sites"][site.name] = visit(args, served, site, curtsies, peers, home)
            if args.json:
                args.json.write_text(json.dumps(found, indent=1))
    return found


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=[site.name for site in SITES], metavar="NAME", help="only these sites")
    parser.add_argument("--peers", nargs="*", default=["wget2", "scrapy"], choices=list(PEERS), metavar="PEER", help="wget2, scrapy, both or none")
    parser.add_argument("--scrapy-max", type=int, default=500, metavar="PAGES", help="Scrapy crawls no larger site (it takes 10 ms of CPU a page)")
    parser.add_argument("--kept", action="store_true", help="a peer's crawl of an earlier run is used again, if there is one")
    parser.add_argument("--curtsy", help="a program that is built already")
    parser.add_argument("--beside", metavar="PATH", help="a second curtsy, which takes turns with the first")
    parser.add_argument("--rounds", type=int, help="crawls of each site by each curtsy (3 with --beside, else 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes everything that was found into this file")
    parser.add_argument("--told", nargs="+", type=Path, metavar="FILE", help="runs nothing: tables of what --json wrote; a later file's sites replace an earlier one's")
    parser.add_argument("--write", action="store_true", help="writes the tables into docs/internals/real-sites.md")
    args = parser.parse_args()
    args.rounds = args.rounds or (3 if args.beside else 1)
    return args


def versions(curtsies, peers):
    commands = {name: [program, "--version"] for name, program in curtsies.items()}
    commands |= {"wget2": ["wget2", "--version"]} if "wget2" in peers else {}
    commands |= {"scrapy": [scrapy_python(ROOT / "target" / "peers"), "-m", "scrapy", "version"]} if "scrapy" in peers else {}
    return {name: subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0] for name, command in commands.items()}


# One site.


def visit(args, served, site, curtsies, peers, home):
    """Every crawler at one site, and how what they reached differs."""
    facts = {}
    rounds = {name: [] for name in curtsies}
    for number in range(args.rounds):
        # Whoever comes first in one round comes last in the next.
        for name in list(curtsies)[:: 1 if number % 2 == 0 else -1]:
            last = number == args.rounds - 1
            with crawled(served, site, name, curtsy(curtsies[name]), home) as (fact, out):
                rounds[name].append(fact["cpu_s"] / max(1, fact["html"]) * 1e6)
                if last:
                    facts[name] = fact | {"cpu_us_page": statistics.median(rounds[name]), "cpu_us_pages": rounds[name]}
                    facts[name] |= decisions(out / "crawl.db")
    for name, start in peers.items():
        if name != "scrapy" or facts["curtsy"]["html"] <= args.scrapy_max:
            facts[name] = kept_or_crawled(args, served, site, name, start, home)
    everything = {page for fact in facts.values() for page in fact["pages"]}
    for name in curtsies:
        facts[name] |= compared(served, site, facts[name], everything)
    for name, fact in facts.items():
        fact.setdefault("cpu_us_page", fact["cpu_s"] / max(1, fact["html"]) * 1e6)
        for bulk in ("pages", "rows", "hashes", "linked", "nofollow"):
            fact.pop(bulk, None)
    return {"server": site.server, "crawlers": facts}


def kept_or_crawled(args, served, site, name, start, home):
    kept = home / "kept" / f"{site.name}-{name}.json"
    if args.kept and kept.exists():
        return json.loads(kept.read_text())
    with crawled(served, site, name, start, home) as (fact, _):
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(json.dumps(fact))
        return fact


@contextlib.contextmanager
def crawled(served, site, name, start, home):
    """One crawl: its cost, what it requested, and the folder with what it wrote, which is removed afterwards."""
    out = home / "run" / f"{os.getpid()}-{site.name}-{name}"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    try:
        command, environment = start(served, site, out)
        mark = served.mark(site)
        measured = [sys.executable, "-c", MEASURE, str(DEADLINE_S), str(GRACE_S), *command]
        fact = measure(measured, environment, out) | requests(served.since(site, mark))
        if fact["html"] == 0:
            told = (out / "stderr.txt").read_text(errors="replace") + (out / "stdout.txt").read_text(errors="replace")
            sys.exit(f"{name} reached no page of {served.origin(site)}{site.start}:\n{told[-2000:]}")
        cost = f"{fact['cpu_s'] / fact['html'] * 1e6:8.1f} µs a page {fact['peak_mib']:7.1f} MiB {fact['wall_s']:6.1f} s"
        print(f"  {site.name:15} {name:8} {fact['html']:6} pages {fact['requests']:7} requests {cost}", file=sys.stderr)
        yield fact, out
    finally:
        shutil.rmtree(out, ignore_errors=True)


def measure(command, environment, out):
    """Runs MEASURE with a crawler; both end with this process."""
    child = subprocess.Popen(command, cwd=out, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        said, _ = child.communicate()
    except BaseException:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        raise
    if child.returncode != 0:
        sys.exit(f"a crawl was not measured: {' '.join(command[5:])}")
    return json.loads(said)


def requests(log):
    """What the server's log says of one crawl."""
    pages = sorted({canonical(target) for method, target, status, kind in log if method == "GET" and status == 200 and is_html(kind)})
    return {
        "requests": len(log),
        "html": len(pages),
        "sort_orders": sum(bool(SORT_ORDER.search(target)) for _, target, _, _ in log),
        "not_found": sum(status == 404 for _, _, status, _ in log),
        "pages": pages,
    }


def is_html(kind):
    return kind.startswith(("text/html", "application/xhtml+xml"))


def canonical(target):
    """One spelling for what crawlers spell differently: escapes that are not needed, and fragments."""
    path, mark, query = target.split("#")[0].partition("?")
    return quote_from_bytes(unquote_to_bytes(path), safe="/:@!$&'()*+,;=~-._") + mark + query


def decisions(database):
    """What curtsy's rows say: why each URL has no page, how many pages are the same text, and what pages link to."""
    rows, hashes, same, decided = {}, set(), 0, collections.Counter()
    linked, nofollow = set(), set()

    def targets(text):
        return (canonical(re.sub(r"^https?://[^/]+", "", url)) for url in json.loads(text or "[]"))

    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as file:
        columns = "url, decision, gate, reason, http_status, content_type, content_hash, links, frames, links_nofollow"
        for url, decision, gate, reason, status, kind, content, links, frames, shy in file.execute(f"select {columns} from pages where kind = 'page'"):
            target = canonical(re.sub(r"^https?://[^/]+", "", url) or "/")
            decided[gate or decision] += 1
            if decision == "fetched":
                same += is_html(kind or "") and content in hashes
                hashes.add(content)
            rows[target] = (decision, gate, reason, status)
            linked.update(targets(links))
            linked.update(targets(frames))
            nofollow.update(targets(shy))
    return {"rows": rows, "hashes": hashes, "twins": same, "decided": dict(decided), "linked": linked, "nofollow": nofollow}


def compared(served, site, fact, everything):
    """The HTML pages that another crawl has and this one has not, and what its trap gate refused, by the reason."""
    mine = set(fact["pages"])
    refused = {target for target, (_, gate, _, _) in fact["rows"].items() if gate == "trap"}
    lost, spared, probed = collections.defaultdict(list), collections.Counter(), 0
    for target in sorted((everything | refused) - mine):
        by = "traps" if target in refused else "otherwise"
        if SORT_ORDER.search(target) and canonical(SORT_ORDER.sub("", target)) in mine:
            spared[f"sort orders, {by}"] += 1
            continue
        probed += 1
        if probed > PROBES_MAX:
            lost[f"not compared: more than {PROBES_MAX} differences"].append(target)
            continue
        status, kind, content = asked(served, site, target)
        # A file that was refused as a trap is a loss as a page is; peers are compared by pages alone.
        if status != 200:
            spared[f"no page, {by}"] += 1
        elif content in fact["hashes"]:
            spared[f"same bytes, {by}"] += 1
        else:
            lost[why(fact, target) + ("" if is_html(kind) else " (files)")].append(target)
    origin = served.origin(site)
    return {
        "refused_by_trap": len(refused),
        "spared": dict(spared),
        "lost": {reason: {"count": len(targets), "first": [origin + target for target in targets[:EXAMPLES]]} for reason, targets in lost.items()},
    }


def asked(served, site, target):
    port = served.ports[site.name]
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as line:
        line.request("GET", target, headers={"Host": f"{site.name}.localhost:{port}", "User-Agent": AGENT})
        answer = line.getresponse()
        return answer.status, answer.headers.get("Content-Type", ""), hashlib.sha256(answer.read()).hexdigest()


def why(fact, target):
    row = fact["rows"].get(target)
    if row is None:
        if target in fact["linked"]:
            return "a link of a page that was read, without a row"
        if target in fact["nofollow"]:
            return "a link with nofollow"
        return "no row: not among the links that curtsy reads"
    decision, gate, reason, status = row
    # One class for all hosts and all counts.
    said = re.sub(r"\d[\d,]*", "N", reason or (f"status {status}" if status else "no reason"))
    return f"{gate or decision}: {said}"


# The crawlers.


def curtsy(program):
    def start(served, site, out):
        command = [program, "crawl", served.origin(site) + site.start, "--into", str(out / "crawl.db"), "--ledger", str(out / "ledger.db")]
        # The folders of a documentation without an index answer 403, for which a host otherwise is left alone for a quarter of an hour.
        command += ["--set", "backoff.forbidden=permanent", "--delay", "0s", "--no-cache", "--pages", str(PAGES_MAX), "--time", f"{DEADLINE_S}s", "--json", "--quiet"]
        return command, {"XDG_STATE_HOME": str(out)}

    return start


def wget2():
    program = shutil.which("wget2") or sys.exit("wget2 is missing: apt-get install wget2")

    def start(served, site, out):
        command = [program, "--recursive", "--level=inf", "--quiet", f"--user-agent={AGENT}", f"--http-proxy={served.proxy(site)}"]
        return command + [f"--directory-prefix={out / 'pages'}", served.origin(site) + site.start], {}

    return start


def scrapy():
    python = scrapy_python(ROOT / "target" / "peers")

    def start(served, site, out):
        seeds, settings = out / "seeds.txt", out / "settings.json"
        seeds.write_text(served.origin(site) + site.start + "\n")
        # Settings of its own keep it on the host of the seed.
        settings.write_text(json.dumps({"CONCURRENT_REQUESTS_PER_DOMAIN": 16, "CLOSESPIDER_TIMEOUT": DEADLINE_S}))
        command = [python, str(HERE / "scrapy_peer.py"), str(seeds), str(out / "pages.jsonl"), str(settings)]
        return command, {"http_proxy": served.proxy(site), "no_proxy": ""}

    return start


PEERS = {"wget2": wget2, "scrapy": scrapy}


# The tables.


def lost_of(fact):
    return sum(entry["count"] for entry in fact["lost"].values())


def lost_to_traps(fact):
    return sum(entry["count"] for reason, entry in fact["lost"].items() if reason.startswith("trap:"))


def spared(fact, kind):
    """URLs that were not read and are no loss, for this reason, whichever gate refused them."""
    return sum(count for reason, count in fact["spared"].items() if reason.startswith(kind))


def curtsies_of(found):
    return [name for name in ("curtsy", "beside") if name in found["versions"]]


def summary(found):
    """One line for each site and curtsy, and their sums."""
    curtsies, peers = curtsies_of(found), [name for name in found["versions"] if name not in ("curtsy", "beside")]
    heads = ["site", *(["crawler"] if len(curtsies) > 1 else []), "pages", *(f"pages, {peer}" for peer in peers)]
    heads += ["lost", "lost to traps", "rows refused as traps", "same bytes, not read", "sort orders, not read"]
    heads += ["requests", "sort orders", "same bytes", "CPU µs a page"]
    heads += [f"CPU µs, {peer}" for peer in peers] + ["peak MiB", *(f"peak MiB, {peer}" for peer in peers)]
    lines = [titles(heads)]
    sums = {name: collections.Counter() for name in curtsies}
    for site, entry in found["sites"].items():
        facts = entry["crawlers"]
        for name in curtsies:
            fact = facts[name]
            counts = [fact["html"], *(facts[peer]["html"] if peer in facts else None for peer in peers), lost_of(fact), lost_to_traps(fact), fact["refused_by_trap"]]
            counts += [spared(fact, "same bytes"), spared(fact, "sort orders"), fact["requests"], fact["sort_orders"], fact["twins"]]
            sums[name].update({at: count or 0 for at, count in enumerate(counts)})
            sums[name]["cpu"] += fact["cpu_us_page"] * fact["html"]
            sums[name]["peak"] = max(sums[name]["peak"], fact["peak_mib"])
            for peer in [peer for peer in peers if peer in facts]:
                sums[name][f"cpu {peer}"] += facts[peer]["cpu_s"] * 1e6
                sums[name][f"peak {peer}"] = max(sums[name][f"peak {peer}"], facts[peer]["peak_mib"])
            costs = [fact["cpu_us_page"], *(facts[peer]["cpu_us_page"] if peer in facts else None for peer in peers)]
            peaks = [fact["peak_mib"], *(facts[peer]["peak_mib"] if peer in facts else None for peer in peers)]
            lines.append(line([site + unfinished(facts, name), *([name] if len(curtsies) > 1 else []), *counts, *costs, *peaks]))
    for name in curtsies:
        total, width = sums[name], 9 + len(peers)
        costs = [total["cpu"] / total[0], *(total[f"cpu {peer}"] / max(1, total[1 + at]) for at, peer in enumerate(peers))]
        peaks = [total["peak"], *(total[f"peak {peer}"] for peer in peers)]
        counts = [total[at] for at in range(width)]
        lines.append(line(["**all**", *([name] if len(curtsies) > 1 else []), *counts, *costs, *peaks]))
    return "\n".join(lines)


def unfinished(facts, name):
    """Which crawls did not end by themselves, behind the name of their site. wget2 ends with a code for every 404, so only curtsy's code tells something."""
    notes = [f"{crawler} stopped after {DEADLINE_S} s" for crawler, fact in facts.items() if fact["stopped"]]
    notes += [f"{name} ended with code {facts[name]['code']}"] if facts[name]["code"] != 0 and not facts[name]["stopped"] else []
    return f" ({', '.join(notes)})" if notes else ""


def losses(found):
    """Every reason for which pages are missing, with its first URLs."""
    heads = ["crawler", "site", "reason", "pages", "first"]
    lines = ["| " + " | ".join(heads) + " |\n|---|---|---|---:|---|"]
    for name in curtsies_of(found):
        for site, entry in found["sites"].items():
            for reason, lost in sorted(entry["crawlers"][name]["lost"].items()):
                first = ", ".join(f"`{re.sub(r'^https?://[^/]+', '', url)}`" for url in lost["first"][:2])
                lines.append(line([name, site, reason, lost["count"], first]))
    return "\n".join(lines) if len(lines) > 1 else "No page is lost."


def ratios(found):
    """CPU a page of the first curtsy, divided by that of the second: the least of the rounds, because other work on the machine only ever adds to it."""
    lines = [titles(["site", "pages", "pages, beside", "CPU µs a page", "CPU µs, beside", "ratio"])]
    sums = collections.Counter()
    for site, entry in found["sites"].items():
        first, second = entry["crawlers"]["curtsy"], entry["crawlers"]["beside"]
        for name, fact in (("first", first), ("second", second)):
            sums[name] += min(fact["cpu_us_pages"]) * fact["html"]
            sums[f"{name} pages"] += fact["html"]
        costs = [min(fact["cpu_us_pages"]) for fact in (first, second)]
        lines.append(line([site, first["html"], second["html"], *costs, f"{costs[0] / costs[1]:.3f}"]))
    each = [sums[name] / sums[f"{name} pages"] for name in ("first", "second")]
    pages = [sums["first pages"], sums["second pages"]]
    lines.append(line(["**all**", *pages, *each, f"**{each[0] / each[1]:.3f}**"]))
    return "\n".join(lines)


def titles(heads):
    return "| " + " | ".join(heads) + " |\n|---|" + "---:|" * (len(heads) - 1)


def line(cells):
    def text(cell):
        if cell is None:
            return "–"
        if isinstance(cell, float):
            return f"{cell:,.1f}" if cell < 100 else f"{cell:,.0f}"
        return f"{cell:,}" if isinstance(cell, int) else cell

    return "| " + " | ".join(map(text, cells)) + " |"


def write(tables):
    text = DOCUMENT.read_text()
    for name, table in tables.items():
        begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
        before, rest = text.split(begin)
        text = before + begin + table + "\n" + end + rest.split(end, 1)[1]
    DOCUMENT.write_text(text)


if __name__ == "__main__":
    main()
