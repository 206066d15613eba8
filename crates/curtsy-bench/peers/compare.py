#!/usr/bin/env python3
"""The zoo and the judge, with curtsy, Scrapy and spider in turn, each with its polite settings. `./bench compare` calls this.

Each case of the zoo is served and crawled by itself: what a crawler does with it is nobody else's. The sites of mixed moods are crawled in one go, and the
judge reads the server's log. What was found is kept in target/peers/compare.json; the tables go to stdout, and with --write into docs/internals/comparison.md.
"""

import argparse
import concurrent.futures
import datetime
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from dataclasses import replace
from pathlib import Path

# Nothing is left beside the sources.
sys.dont_write_bytecode = True

import polite
from run import ROOT, SCRAPY, built, scrapy_python, spider_program

DOCUMENT = ROOT / "docs" / "internals" / "comparison.md"
# A case that has not ended by then is ended, and not survived.
DEADLINE_S = 60
SITES_DEADLINE_S = 120
# What a case may take beyond the most of the three hosts that behave; and where a crawler is ended for the sake of the machine.
ROOM_MIB = 96
MEMORY_MAX_MIB = 1024
# A run on the sites in which the server itself read more of a hundred requests late than this tells too little, and is run again.
LATE_MAX_PERCENT = 2
TRIES = 4
# Whoever never makes more requests than this in such a case has not met it: no HTTP/2, no sitemaps.
UNMET = {"http2": 0, "sitemap": 2}
# What a case says of a body that is no page.
SPOILT = ("over_limit", "truncated", "coding")


def main():
    args = arguments()
    tools = ROOT / "target" / "peers"
    tools.mkdir(parents=True, exist_ok=True)
    kept = tools / "compare.json"
    if args.told:
        found = json.loads(kept.read_text())
    else:
        program = os.path.abspath(args.curtsy) if args.curtsy else built("curtsy", ROOT / "Cargo.toml", ROOT / "target", "dist", ["-p", "curtsy"])
        ready = {
            "curtsy": lambda: polite.Curtsy(program),
            "Scrapy": lambda: polite.Scrapy(scrapy_python(tools)),
            "spider": lambda: polite.Spider(spider_program(tools, ["--features=polite"])),
        }
        found = {"zoo": {}, "judge": {}}
        if kept.exists() and (args.only or args.crawler) and not args.case:
            found = json.loads(kept.read_text())
        found |= {"date": datetime.date.today().isoformat(), "versions": versions(program)}
        crawlers = [ready[name]() for name in args.crawler or ready]
        with tempfile.TemporaryDirectory(prefix="curtsy-compare-") as folder:
            for crawler in crawlers:
                if args.only != "judge":
                    found["zoo"][crawler.name] = zoo(args, program, crawler, Path(folder))
                if args.only != "zoo":
                    found["judge"][crawler.name] = judged(args, program, crawler, Path(folder))
                if not args.case:
                    kept.write_text(json.dumps(found, indent=1))
    tables = {"run": what_was_run(found), "settings": settings()}
    tables |= {"zoo": zoo_tables(found["zoo"])} if found["zoo"] else {}
    tables |= {"manners": judge_table(found["judge"])} if found["judge"] else {}
    for text in tables.values():
        print(text + "\n")
    if args.write:
        write(tables)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="writes the tables into docs/internals/comparison.md")
    parser.add_argument("--told", action="store_true", help="runs nothing: tables of what the last run found")
    parser.add_argument("--only", choices=["zoo", "judge"], help="runs this half; the other stays what the last run found")
    parser.add_argument("--crawler", nargs="*", choices=["curtsy", "Scrapy", "spider"], help="runs these; the others stay what the last run found")
    parser.add_argument("--case", nargs="*", help="only these cases of the zoo")
    parser.add_argument("--jobs", type=int, default=3, help="cases at once")
    parser.add_argument("--keep", type=Path, help="keeps what each crawler and its server wrote in this folder")
    parser.add_argument("--curtsy", help="a program that is built already")
    return parser.parse_args()


def versions(program):
    def said(*command):
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()

    spider = re.search(r'spider = "=(.*)"', (polite.HERE / "spider" / "Cargo.toml").read_text())[1]
    return {"curtsy": said(program, "--version").split()[-1], "Scrapy": SCRAPY, "spider": spider}


# The zoo.


def zoo(args, program, crawler, folder):
    listed = subprocess.run([program, "zoo", "--list", "--json"], capture_output=True, text=True, check=True).stdout
    cases = [json.loads(line) for line in listed.splitlines()]
    if args.case:
        cases = [case for case in cases if case["case"] in args.case or case["group"] == "control"]
    names = [case["case"] for case in cases]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        facts = dict(zip(names, pool.map(lambda name: visit(args, program, crawler, name, folder), names)))
    # A busy machine is no crawler's fault: what was not over in time is tried again, with nothing beside it.
    for name in names:
        if facts[name]["ended"] == "time":
            facts[name] = visit(args, program, crawler, name, folder)
    return facts


def visit(args, program, crawler, name, folder):
    """One crawler at one case, in a zoo of its own; one that behaves is where others redirect to."""
    out = Path(tempfile.mkdtemp(prefix=f"{crawler.name}-{name}-", dir=folder))
    log, ca, seeds = out / "access.jsonl", out / "ca.pem", out / "seeds.txt"
    command = [program, "zoo", "--case", name, "--case", "good", "--json", "--ca-out", str(ca), "--log", str(log)]
    with server(command, out) as served:
        cases = []
        while "ready" not in (case := json.loads(served.stdout.readline())):
            cases.append(case)
        case = next(case for case in cases if case["case"] == name)
        seeds.write_text(case["url"] + "\n")
        asked = crawler.start(polite.ZOO, seeds, out, "127.66.0.0/16", ca)
        fact = watched(*asked, out, DEADLINE_S, crawler.good_codes)
    address = re.search(r"//([\d.]+)", case["url"])[1]
    # Line by line: a log may hold a robots.txt of many megabytes.
    with open(log, encoding="utf-8") as lines:
        fact["requests"] = sum(f'"local":"{address}"' in line for line in lines)
    fact |= {key: case[key] for key in ("group", "expected", "requests_max")}
    try:
        fact["took"] = crawler.took(case["url"], out)
    except Exception as error:  # No output is no page.
        fact["took"] = False
        fact["no_output"] = repr(error)
    print(f"  {crawler.name:8} {name:26} {fact['ended']:10} {fact['peak_mib']:6.0f} MiB {fact['wall_s']:5.1f} s", file=sys.stderr)
    put_away(args, out)
    return fact


class server:
    """A server of curtsy's that lives as long as this, and whose log is whole afterwards."""

    def __init__(self, command, out):
        # A server that reads late can't tell who was early: it goes first, where that is allowed.
        self.command, self.out = ["nice", "-n", "-10", *command, "--until-stdin-closes"], out

    def __enter__(self):
        with open(self.out / "server.txt", "w") as said:
            self.child = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True)
        return self.child

    def __exit__(self, *_):
        self.child.stdin.close()
        try:
            self.child.wait(30)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.child.stdout.close()


def watched(command, environment, out, deadline, good_codes):
    """Runs a crawler until it ends or is ended: how it ended, its peak memory, its time."""
    with open(out / "stdout.txt", "w") as said, open(out / "stderr.txt", "w") as told:
        began = time.monotonic()
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=said, stderr=told, env={**os.environ, **environment}, cwd=out, start_new_session=True
        )
        ended, peak = None, 0
        while child.poll() is None:
            # The kernel keeps the most there ever was; what `wait4` tells would begin with this process's own.
            peak = max(peak, most_mib(child.pid))
            if time.monotonic() - began > deadline:
                ended = "time"
            elif peak > MEMORY_MAX_MIB:
                ended = "memory"
            if ended:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
            time.sleep(0.01)
    wall = time.monotonic() - began
    text = (out / "stderr.txt").read_text(errors="replace")
    if ended is None:
        crash = child.returncode not in good_codes or "panicked at" in text
        ended = f"code {child.returncode}" if crash else "by itself"
        ended = f"signal {-child.returncode}" if child.returncode < 0 else ended
        ended = "panic" if "panicked at" in text else ended
    return {"ended": ended, "peak_mib": peak, "wall_s": wall, "stderr": text[-600:]}


def most_mib(pid):
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"VmHWM:\s+(\d+)", status)
    return int(found[1]) / 1024 if found else 0


def put_away(args, out):
    if args.keep:
        args.keep.mkdir(parents=True, exist_ok=True)
        for large in ("pages", "pages.jsonl"):
            (out / large).unlink(missing_ok=True)
        shutil.copytree(out, args.keep / out.name, dirs_exist_ok=True)
    shutil.rmtree(out)


def baseline(facts):
    return max(fact["peak_mib"] for fact in facts.values() if fact["group"] == "control")


def faults(fact, base):
    """Why a case was not survived; nothing if it was."""
    found = []
    if fact["ended"] == "time":
        found.append("time")
    elif fact["ended"] not in ("by itself", "memory"):
        found.append(fact["ended"])
    if fact["peak_mib"] > base + ROOM_MIB:
        found.append(f"{fact['peak_mib']:,.0f} MiB" + (", ended" if fact["ended"] == "memory" else ""))
    if fact["requests"] > fact["requests_max"]:
        found.append(f"{fact['requests']} requests of {fact['requests_max']}")
    return found


def zoo_tables(found):
    names = list(found)
    base = {name: baseline(facts) for name, facts in found.items()}
    why = {name: {case: faults(fact, base[name]) for case, fact in facts.items()} for name, facts in found.items()}
    first = found[names[0]]
    groups = dict.fromkeys(fact["group"] for fact in first.values())
    lines = ["| group | cases | " + " | ".join(names) + " |", "|---|---:|" + "---:|" * len(names)]

    def unmet(name, group):
        return group in UNMET and all(fact["requests"] <= UNMET[group] for fact in found[name].values() if fact["group"] == group)

    def row(title, cases):
        met = {name: [case for case in cases if not unmet(name, first[case]["group"])] for name in names}
        survived = {name: sum(not why[name][case] for case in met[name]) for name in names}
        short = {name: f" of {len(met[name])}" if len(met[name]) < len(cases) else "" for name in names}
        cells = [f"{survived[name]}{short[name]}" if met[name] else "not met" for name in names]
        lines.append(f"| {title} | {len(cases)} | " + " | ".join(cells) + " |")

    for group in groups:
        row(group, [case for case, fact in first.items() if fact["group"] == group])
    row("**all**", list(first))
    lines += ["", "Why not, in how many cases (one case may have several reasons):", ""]
    lines += ["| | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    kinds = {
        f"had to be ended after {DEADLINE_S} s": lambda fault: fault == "time",
        "crashed": lambda fault: re.match("signal|code|panic", fault),
        "took more memory than it may": lambda fault: "MiB" in fault,
        "asked more often than it may": lambda fault: "requests" in fault,
    }
    for kind, fits in kinds.items():
        counts = [sum(any(fits(fault) for fault in faults) for faults in why[name].values()) for name in names]
        lines.append(f"| {kind} | " + " | ".join(map(str, counts)) + " |")
    bounds = [f"{base[name]:.0f} + {ROOM_MIB} MiB" for name in names]
    lines.append("| memory that it may take | " + " | ".join(bounds) + " |")
    lines += ["", "Every case that one of them did not survive:", ""]
    lines += ["| case | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    for case in first:
        if any(why[name][case] for name in names):
            lines.append(f"| `{case}` | " + " | ".join("; ".join(why[name][case]) for name in names) + " |")
    return "\n".join(lines + spoilt(found))


def spoilt(found):
    """Bodies that are no pages, and who took them for one."""
    names = list(found)
    first = found[names[0]]
    lines = ["", "Bodies that are cut, spoilt or over the limit, and who reported one as a page with status 200:", ""]
    lines += ["| expected | cases | " + " | ".join(names) + " |", "|---|---:|" + "---:|" * len(names)]
    cases = {error: [case for case, fact in first.items() if re.match(rf"{error}\b", fact["expected"])] for error in SPOILT}
    for error, of in cases.items():
        counts = [sum(found[name][case]["took"] for case in of) for name in names]
        lines.append(f"| `{error}` | {len(of)} | " + " | ".join(map(str, counts)) + " |")
    for name in names:
        took = [f"`{case}`" for of in cases.values() for case in of if found[name][case]["took"]]
        if took:
            lines += ["", wrapped(f"{name}: {', '.join(took)}.")]
    # A redirect's page is another address, which not all of them report with the first.
    fine = [case for case, fact in first.items() if fact["expected"].startswith("fetched, 200") and fact["group"] != "redirect"]
    reverse = f"The reverse: {len(fine)} cases in which a page is expected (without redirects), and those that the crawler did not report as a page:"
    lines += ["", wrapped(reverse), ""]
    for name in names:
        missed = [f"`{case}`" for case in fine if not found[name][case]["took"]]
        lines.append(wrapped(f"- {name}: {', '.join(missed) or 'nothing'}", "  "))
    return lines


def wrapped(text, indent=""):
    """The text in lines of at most 100 columns, as `cargo xtask prose` wants them."""
    return textwrap.fill(text, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


# The judge.


def judged(args, program, crawler, folder):
    """One crawler at the sites, in a run in which the server was in time."""
    for _ in range(TRIES):
        fact = at_the_sites(args, program, crawler, folder)
        if fact["late"] * 100 <= LATE_MAX_PERCENT * fact["report"]["exchanges"]:
            break
    return fact


def at_the_sites(args, program, crawler, folder):
    """One crawler at the sites of mixed moods, and what the judge makes of the server's log."""
    out = Path(tempfile.mkdtemp(prefix=f"{crawler.name}-sites-", dir=folder))
    log, seeds, policy = out / "access.jsonl", out / "seeds.txt", out / "judge.toml"
    with server([program, "site", "--moods", "mixed", "--json", "--log", str(log)], out) as served:
        hosts = json.loads(served.stdout.readline())["hosts"]
        seeds.write_text("".join(host["url_by_address"] + "\n" for host in hosts))
        asked = crawler.start(polite.SITES, seeds, out, "127.0.0.0/8", None)
        fact = watched(*asked, out, SITES_DEADLINE_S, crawler.good_codes)

    def report(asked):
        policy.write_text(polite.curtsy_policy(asked))
        said = subprocess.run([program, "judge", str(log), "--policy", str(policy), "--json"], capture_output=True, text=True)
        if said.returncode not in (0, 1):
            sys.exit(f"the judge could not read {crawler.name}'s log:\n{said.stderr}")
        return json.loads(said.stdout)

    fact["report"] = report(polite.SITES)
    fact["forgiving"] = report(replace(polite.SITES, delay_ms=polite.SITES.delay_ms * 9 // 10))
    with open(log, encoding="utf-8") as lines:
        fact["late"] = sum('"read_late":true' in line for line in lines)
    said = f"{fact['ended']}, {fact['wall_s']:.1f} s, {fact['report']['exchanges']} exchanges, {fact['late']} read late"
    print(f"  {crawler.name:8} sites: {said}", file=sys.stderr)
    put_away(args, out)
    return fact


def judge_table(found):
    names = list(found)
    lines = ["| | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]

    def row(title, tallies):
        lines.append(f"| {title} | " + " | ".join(map(told, tallies)) + " |")

    for number, rule in enumerate(found[names[0]]["report"]["rules"]):
        strict, forgiving = ([found[name][how]["rules"][number] for name in names] for how in ("report", "forgiving"))
        row(f"{rule['rule']} {rule['what']}", strict)
        if strict != forgiving:
            row(f"{rule['rule']}, a tenth of the delay forgiven", forgiving)
    lines.append("| requests | " + " | ".join(f"{found[name]['report']['exchanges']:,}" for name in names) + " |")
    lines.append("| of these read late by the server | " + " | ".join(f"{found[name]['late']:,}" for name in names) + " |")
    lines.append("| ended | " + " | ".join(f"{found[name]['ended']}, {found[name]['wall_s']:.0f} s" for name in names) + " |")
    lines += ["", "The first breach of each rule, as the judge reported it:", "", "```text"]
    for name in names:
        for first in found[name]["report"]["first"]:
            lines.append(f"{name}, {first['rule']}, {first['host']}: {first['what']}")
    return "\n".join(lines + ["```"])


def told(tally):
    if tally["violations"]:
        often = "once" if tally["violations"] == 1 else f"{tally['violations']} times"
        return f"**broken** {often}, judged {tally['judged']}"
    return f"kept, judged {tally['judged']}" if tally["judged"] else "not judged"


# The document.


def what_was_run(found):
    date = datetime.date.fromisoformat(found["date"])
    named = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    return f"Run on {date.day} {date:%B %Y} with {named}."


def settings():
    def code(kind, text):
        return f"```{kind}\n{text.rstrip()}\n```"

    def scrapy(asked):
        return json.dumps(polite.scrapy_settings(asked), indent=2)

    def spider(asked):
        variables = " ".join(f"{name}={value}" for name, value in polite.spider_environment().items())
        return f"{variables} peer-spider SEEDS OUT {' '.join(polite.spider_arguments(asked))}"

    zoo, sites = polite.ZOO, polite.SITES
    parts = ["curtsy, in the zoo:", code("toml", polite.curtsy_policy(zoo))]
    parts += ["curtsy, on the sites; this is also what the judge holds all three to:", code("toml", polite.curtsy_policy(sites))]
    parts += ["Scrapy, in the zoo, with the zoo's authority in `SSL_CERT_FILE`:", code("json", scrapy(zoo))]
    different = {name: value for name, value in polite.scrapy_settings(sites).items() if polite.scrapy_settings(zoo).get(name) != value}
    parts += ["Scrapy, on the sites, where it differs (and no `CLOSESPIDER_PAGECOUNT`):", code("json", json.dumps(different, indent=2))]
    parts += ["spider, built with its feature `headers` (without it no Retry-After is read).\nThe zoo's authority is in `SSL_CERT_FILE`:"]
    parts += [code("sh", f"{spider(zoo)}     # in the zoo\n{spider(sites)}      # on the sites"), code("rust", polite.spider_code())]
    return "\n\n".join(parts)


def write(tables):
    text = DOCUMENT.read_text()
    for name, table in tables.items():
        begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
        before, rest = text.split(begin)
        text = before + begin + table + "\n" + end + rest.split(end, 1)[1]
    DOCUMENT.write_text(text)


if __name__ == "__main__":
    main()
