#!/usr/bin/env python3
"""A whole crawl beside its peers: CPU a page and peak memory of the crawling process.

50 hosts on loopback, 200 pages of 10 KB each with 25 links, no delay, bodies and links stored. Every crawler obeys robots.txt and has
the hosts to itself; they take turns, round by round, and the table has the medians. `./bench crawl` calls this.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
AGENT = "peer/1.0 (+mailto:bench@example.org)"
SCRAPY = "2.18.0"


def main():
    args = arguments()
    tools = ROOT / "target" / "peers"
    tools.mkdir(parents=True, exist_ok=True)
    curtsy = args.curtsy or built("curtsy", ROOT / "Cargo.toml", ROOT / "target", "dist", ["-p", "curtsy"])
    crawlers = {"curtsy": lambda seeds, out: with_curtsy(curtsy, seeds, out)}
    for name in args.peers:
        crawlers[name] = PEERS[name](tools)
    with tempfile.TemporaryDirectory(prefix="curtsy-bench-") as folder:
        cost = measure(args, curtsy, crawlers, Path(folder))
    if not args.no_parts:
        parts(cost)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--hosts", type=int, default=50)
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--bytes", type=int, default=10_240)
    parser.add_argument("--links", type=int, default=25)
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=list(PEERS), metavar="PEER")
    parser.add_argument("--no-parts", action="store_true", help="without the table of what a page's parts cost by themselves")
    parser.add_argument("--curtsy", help="a program that is built already")
    return parser.parse_args()


def measure(args, curtsy, crawlers, folder):
    site = subprocess.Popen(
        [curtsy, "site", "--json", "--until-stdin-closes"]
        + [f"--hosts={args.hosts}", f"--pages={args.pages}", f"--links={args.links}", f"--bytes={args.bytes}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        hosts = json.loads(site.stdout.readline())["hosts"]
        seeds = folder / "seeds.txt"
        seeds.write_text("".join(host["url_by_address"] + "\n" for host in hosts))
        rounds = {name: [] for name in crawlers}
        for number in range(args.rounds):
            # Whoever comes first in one round comes last in the next.
            names = list(crawlers) if number % 2 == 0 else list(crawlers)[::-1]
            for name in names:
                out = folder / "out"
                out.mkdir()
                command, environment, count = crawlers[name](seeds, out)
                used = run(command, environment, out)
                pages = count(used["stdout"], out)
                wanted = args.hosts * args.pages
                if not wanted <= pages <= wanted * 1.02:
                    sys.exit(f"{name} fetched {pages} pages, not {wanted}:\n{used['stdout'][-2000:]}")
                rounds[name].append((used["cpu"] / pages * 1e6, used["memory"], used["wall"]))
                shutil.rmtree(out)
                print(f"  round {number + 1}: {name:8} {rounds[name][-1][0]:8.1f} µs a page", file=sys.stderr)
    finally:
        site.stdin.close()
        site.wait()
    return table(rounds)


def run(command, environment, folder):
    """Runs a crawler to its end: its CPU seconds, its peak memory, what it said."""
    with open(folder / "stdout", "w+") as said:
        before = os.times().elapsed
        child = subprocess.Popen(command, stdout=said, env={**os.environ, **environment}, cwd=folder)
        _, status, usage = os.wait4(child.pid, 0)
        wall = os.times().elapsed - before
        said.seek(0)
        text = said.read()
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{command[0]} failed:\n{text[-2000:]}")
    return {"cpu": usage.ru_utime + usage.ru_stime, "memory": usage.ru_maxrss / 1024, "wall": wall, "stdout": text}


def table(rounds):
    middle = {name: [statistics.median(column) for column in zip(*rows)] for name, rows in rounds.items()}
    print(f"{'':10}{'CPU µs a page':>16}{'least':>10}{'most':>10}{'peak MB':>10}{'wall s':>10}")
    for name, (cpu, memory, wall) in middle.items():
        all_of = [row[0] for row in rounds[name]]
        print(f"{name:10}{cpu:16.1f}{min(all_of):10.1f}{max(all_of):10.1f}{memory:10.1f}{wall:10.1f}")
    peers = {name: row[0] for name, row in middle.items() if name != "curtsy"}
    if peers:
        best = min(peers, key=peers.get)
        ratio = middle["curtsy"][0] / peers[best]
        print(f"curtsy takes {ratio:.2f} of {best}, the best peer of this run (goal: at most 0.35)")
    return middle["curtsy"][0]


# What a page's parts cost by themselves: the benchmark, how its line begins (the cost is the last number of it), and the aim.
PARTS = [
    ("HTML", "documents_time", "page: tags, tree, facts", 30),
    ("HTML and links", "documents_time", "page: everything, and what", 44),
    ("HTTP", "exchange", "curtsy-fetch, with permit", 15),
    ("store", "store", "SQLite, 1 worker ", 25),
    ("row", "rows", "SQLite, 10 KB and 25 links", 15),
]


def parts(whole):
    """The parts by themselves, each with warm caches: what is missing to the whole is the engine, the runtime and the waking of threads."""
    said = {}
    for bench in dict.fromkeys(part[1] for part in PARTS):
        command = ["cargo", "bench", "--quiet", "--locked", "-p", "curtsy-bench", "--bench", bench]
        said[bench] = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    found = {}
    print(f"\n{'CPU µs a page':18}{'aim':>6}{'alone':>8}")
    for name, bench, beginning, aim in PARTS:
        line = next(line for line in said[bench] if line.startswith(beginning))
        found[name] = float(line.split()[-1])
        if name == "HTML and links":
            name, aim, cost = "links", 14, found[name] - found["HTML"]
        else:
            cost = found[name]
        print(f"{name:18}{aim:6}{cost:8.1f}")
    alone = sum(cost for name, cost in found.items() if name != "HTML")
    print(f"{'together':18}{100:6}{alone:8.1f}\n{'the whole crawl':18}{'':6}{whole:8.1f}")


def with_curtsy(program, seeds, out):
    command = [program, "crawl", "--from", str(seeds), "--into", str(out / "crawl.db"), "--ledger", str(out / "ledger.db")]
    command += ["--delay", "0s", "--allow-net", "127.0.0.0/8", "--pages", "1000000", "--json"]
    environment = {"XDG_STATE_HOME": str(out)}
    return command, environment, lambda said, _: json.loads(said)["fetched"]


def spider_program(tools, more=()):
    return built("peer-spider", HERE / "spider" / "Cargo.toml", tools / "spider", "release", more, {"LIBSQLITE3_FLAGS": ""})


def spider(tools):
    program = spider_program(tools)
    return lambda seeds, out: ([program, str(seeds), str(out / "pages")], {}, last_number)


def scrapy_python(tools):
    venv = tools / "venv"
    python = venv / "bin" / "python"
    found = subprocess.run([python, "-c", "import scrapy; print(scrapy.__version__)"], capture_output=True, text=True) if python.exists() else None
    if not found or found.stdout.strip() != SCRAPY:
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run([python, "-m", "pip", "-q", "install", f"scrapy=={SCRAPY}"], check=True)
    return str(python)


def scrapy(tools):
    python = scrapy_python(tools)
    return lambda seeds, out: ([python, str(HERE / "scrapy_peer.py"), str(seeds), str(out / "pages.jsonl")], {}, last_number)


def wget2(_):
    program = shutil.which("wget2") or sys.exit("wget2 is missing: apt-get install wget2")
    command = [program, "--recursive", "--level=inf", "--quiet", f"--user-agent={AGENT}", "--no-parent"]
    return lambda seeds, out: (command + [f"--input-file={seeds}", f"--directory-prefix={out / 'pages'}"], {}, files)


def last_number(said, _):
    return int(said.split()[-1])


def files(_, out):
    found = (name for _, _, names in os.walk(out / "pages") for name in names)
    return sum(1 for name in found if name != "robots.txt")


def built(name, manifest, target, profile, more, environment=()):
    command = ["cargo", "build", f"--profile={profile}", "--quiet", "--locked", f"--manifest-path={manifest}", *more]
    subprocess.run(command, env={**os.environ, **dict(environment), "CARGO_TARGET_DIR": str(target)}, check=True)
    return str(target / profile / name)


PEERS = {"spider": spider, "scrapy": scrapy, "wget2": wget2}

if __name__ == "__main__":
    main()
