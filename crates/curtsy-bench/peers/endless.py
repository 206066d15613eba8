#!/usr/bin/env python3
"""How a crawler tells endless URLs from pages that deserve to be read.

Each world of `curtsy site --worlds` is crawled by itself, without a delay, until the crawl ends or reaches its bounds of pages and time.
Requests and pages are counted in the server's log, so the crawler has no say in them. `./bench endless` calls this.
"""

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from run import ROOT

# A crawl that asks an endless world for no more requests than these has found its end.
TIGHT, LOOSE = 1_500, 5_000
# What a crawl may take beyond its own bound of time, before it is killed.
GRACE_S = 60


def main():
    args = arguments()
    program = args.curtsy or built()
    rows = []
    with tempfile.TemporaryDirectory(prefix="curtsy-endless-") as folder:
        names = chosen(program, args.only, Path(folder))
        print(f"{'world':22} {'nature':8} {'purpose':12} {'requests':>8} {'read':>13} {'trap':>7} {'s':>6}  verdict", flush=True)
        for name in names:
            row = measured(program, name, args, Path(folder) / name)
            rows.append(row)
            print(line(row), flush=True)
            if args.json:
                Path(args.json).write_text(json.dumps({"crawler": args.peer or "curtsy", "worlds": rows}, indent=1) + "\n")
    summary(rows)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=["all"], metavar="NAME", help="worlds by name, or `development`, or `measured`")
    parser.add_argument("--json", metavar="FILE", help="writes the table to this file too")
    parser.add_argument("--peer", choices=["wget2"], help="this crawler instead of curtsy")
    parser.add_argument("--pages", type=int, default=60_000, help="pages of a crawl at most")
    parser.add_argument("--time", type=int, default=240, metavar="SECONDS", help="time of a crawl at most")
    parser.add_argument("--curtsy", help="a program that is built already")
    return parser.parse_args()


def built():
    command = ["cargo", "build", "--release", "--locked", "--package", "curtsy"]
    subprocess.run(command, cwd=ROOT, check=True)
    return str(ROOT / "target" / "release" / "curtsy")


def serve(program, names, folder, *more):
    """A server of these worlds, and what it says when it is ready."""
    command = [program, "site", "--worlds", ",".join(names), "--json", "--until-stdin-closes", *more]
    with open(folder / "site.err", "w") as err:
        site = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err, text=True)
    ready = site.stdout.readline()
    if not ready:
        site.wait()
        sys.exit((folder / "site.err").read_text())
    return site, json.loads(ready)


def stop(site):
    site.stdin.close()
    site.wait(timeout=60)
    if site.returncode != 0:
        sys.exit(f"the server ended with {site.returncode}")


def chosen(program, only, folder):
    site, ready = serve(program, only, folder)
    stop(site)
    return [host["name"].removesuffix(".localhost") for host in ready["hosts"]]


def measured(program, name, args, folder):
    """One crawl of one world, with a server of its own."""
    folder.mkdir()
    log, pages = folder / "log.jsonl", folder / "pages.json"
    site, ready = serve(program, [name], folder, "--log", str(log), "--pages-out", str(pages))
    start = time.monotonic()
    try:
        crawl = with_wget2 if args.peer == "wget2" else with_curtsy
        trapped = crawl(program, name, ready["port"], args, folder)
    finally:
        seconds = time.monotonic() - start
        stop(site)
    [world] = json.loads(pages.read_text())
    row = {"world": name, "nature": world["nature"], "purpose": world["purpose"], "honest": len(world["honest"])}
    requests, read = counted(log)
    row |= {"requests": requests, "read": len(read & set(world["honest"])), "trap": trapped, "seconds": round(seconds, 1)}
    # A crawl that its bound of time or pages ended has not found an end by itself.
    row["cut"] = seconds >= args.time or requests >= args.pages
    row["verdict"] = verdict(row)
    # Databases of long crawls are large.
    for file in folder.iterdir():
        if file.is_file():
            file.unlink()
    return row


def counted(log):
    """The requests of a log, and the targets that were answered with a page."""
    requests, read = 0, set()
    with open(log) as lines:
        for text in lines:
            exchange = json.loads(text)
            requests += 1
            if exchange.get("status") == 200 and exchange["method"] == "GET":
                target = exchange["target"]
                # A request to a proxy names the whole URL.
                if "://" in target.split("?")[0] and not target.startswith("/"):
                    target = "/" + target.split("://", 1)[1].partition("/")[2]
                read.add(target)
    return requests, read


def with_curtsy(program, name, port, args, folder):
    rows = folder / "crawl.db"
    command = [program, "crawl", f"http://{name}.localhost:{port}/", "--delay", "0", "--pages", str(args.pages), "--time", f"{args.time}s"]
    command += ["--into", str(rows), "--ledger", str(folder / "hosts.db"), "--no-cache", "--no-sitemaps", "--no-body", "--quiet"]
    out = run(command, args.time, folder, {"XDG_STATE_HOME": str(folder)})
    # 3: what is left must wait.
    if out.returncode not in (0, 3):
        sys.exit(f"curtsy ended with {out.returncode} on {name}\n{(folder / 'crawl.err').read_text()}")
    with sqlite3.connect(rows) as database:
        [[trapped]] = database.execute("SELECT count(*) FROM pages WHERE gate = 'trap'")
    return trapped


def with_wget2(_, name, port, args, folder):
    """wget2 does not resolve names below `localhost`, so the server is its proxy."""
    command = ["wget2", "--recursive", "--level=inf", "--delete-after", f"--http-proxy=http://127.0.0.1:{port}", "--robots=on"]
    command += ["--no-verbose", f"--directory-prefix={folder / 'pages'}", "--no-hsts", "--tries=1", f"http://{name}.localhost:{port}/"]
    run(["timeout", "--signal=KILL", str(args.time), *command], args.time, folder, {"HOME": str(folder)})
    return None


def run(command, seconds, folder, environment):
    with open(folder / "crawl.err", "w") as err:
        out = subprocess.DEVNULL
        return subprocess.run(command, stdout=out, stderr=err, env=os.environ | environment, timeout=seconds + GRACE_S, check=False)


def bounded(row, bound):
    return not row["cut"] and row["requests"] <= bound


def verdict(row):
    missing = row["honest"] - row["read"]
    cut = ["cut"] if row["cut"] else []
    if row["nature"] == "endless":
        bound = next((f"bounded <= {bound:,}" for bound in (TIGHT, LOOSE) if bounded(row, bound)), "not bounded")
        return ", ".join([bound, *cut] + ([f"{missing} honest missing"] if missing else []))
    return ", ".join([f"{missing:,} missing" if missing else "complete", *cut])


def line(row):
    read = f"{row['read']}/{row['honest']}"
    trapped = "-" if row["trap"] is None else row["trap"]
    return f"{row['world']:22} {row['nature']:8} {row['purpose']:12} {row['requests']:8} {read:>13} {trapped:>7} {row['seconds']:6}  {row['verdict']}"


def summary(rows):
    print()
    for purpose in ("development", "measured"):
        here = [row for row in rows if row["purpose"] == purpose]
        endless = [row for row in here if row["nature"] == "endless"]
        honest = [row for row in here if row["nature"] == "honest"]
        if endless:
            tight = sum(bounded(row, TIGHT) for row in endless)
            loose = sum(bounded(row, LOOSE) for row in endless)
            whole = sum(row["read"] == row["honest"] for row in endless)
            print(f"{purpose}: {tight} of {len(endless)} endless worlds bounded by {TIGHT:,} requests ({tight / len(endless):.0%}), {loose} by {LOOSE:,}; ", end="")
            print(f"honest pages complete in {whole}")
        if honest:
            whole = sum(row["read"] == row["honest"] for row in honest)
            print(f"{purpose}: {whole} of {len(honest)} honest worlds complete")


if __name__ == "__main__":
    main()
