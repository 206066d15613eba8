#!/usr/bin/env python3
"""CRAWL in DuckDB beside `curtsy crawl`: the same pages of the same sites, in turns, CPU of the whole process and peak memory.

./bench sql [--rounds 5] [--hosts 100] [--pages 200] [--bytes 10240] [--with ", threads 1"]
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile

CRAWL = """
import duckdb, sys
extension, database, ledger, seeds, options = sys.argv[1:6]
con = duckdb.connect(database, config={"allow_unsigned_extensions": "true"})
con.execute(f"LOAD '{extension}'")
con.execute("SET enable_progress_bar = false")
con.execute("SET curtsy_allow_net = '127.0.0.0/8'")
con.execute(f"SET curtsy_ledger = '{ledger}'")
con.execute(f"CREATE TABLE seeds AS FROM read_csv('{seeds}', header=false, columns={{'url': 'VARCHAR'}})")
con.execute(f"CRAWL (SELECT url FROM seeds) INTO pages WITH (follow_links true, delay '0s', max_crawl_pages 1000000{options})")
print(con.execute("SELECT count(*) FROM pages WHERE http_status = 200").fetchone()[0])
con.close()
"""


def main():
    say = argparse.ArgumentParser(description=__doc__)
    say.add_argument("--curtsy", required=True)
    say.add_argument("--extension", required=True)
    say.add_argument("--python", required=True)
    say.add_argument("--rounds", type=int, default=5)
    say.add_argument("--hosts", type=int, default=100)
    say.add_argument("--pages", type=int, default=200)
    say.add_argument("--bytes", type=int, default=10240)
    say.add_argument("--with", dest="options", default="")
    args = say.parse_args()
    site = subprocess.Popen(
        [args.curtsy, "site", "--json", "--until-stdin-closes", f"--hosts={args.hosts}", f"--pages={args.pages}",
         "--links=25", f"--bytes={args.bytes}"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    hosts = json.loads(site.stdout.readline())["hosts"]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="curtsy-bench-"))
    seeds = folder / "seeds.txt"
    seeds.write_text("".join(host["url_by_address"] + "\n" for host in hosts))
    pages = args.hosts * args.pages
    taken = {"curtsy crawl": [], "CRAWL": []}
    for turn in range(args.rounds):
        names = list(taken) if turn % 2 == 0 else list(taken)[::-1]
        for name in names:
            out = folder / "out"
            out.mkdir()
            if name == "CRAWL":
                command = [args.python, "-c", CRAWL, args.extension, str(out / "pages.duckdb"), str(out / "hosts.db"),
                           str(seeds), args.options]
            else:
                command = [args.curtsy, "crawl", "--from", str(seeds), "--into", str(out / "crawl.db"), "--ledger",
                           str(out / "hosts.db"), "--delay", "0s", "--allow-net", "127.0.0.0/8", "--pages", "1000000",
                           "--json"]
            crawl = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            told = crawl.stdout.read()
            _, status, used = os.wait4(crawl.pid, 0)
            fetched = int(told) if name == "CRAWL" else json.loads(told)["fetched"]
            if status != 0 or fetched != pages:
                raise SystemExit(f"{name}: {fetched} of {pages} pages, status {status}")
            micros = (used.ru_utime + used.ru_stime) / pages * 1e6
            taken[name].append((micros, used.ru_maxrss / 1024))
            shutil.rmtree(out)
    site.stdin.close()
    site.wait()
    shutil.rmtree(folder)
    print(f"\n{pages} pages of {args.bytes} bytes on {args.hosts} hosts, no delay, {args.rounds} rounds in turns\n")
    print("| | CPU a page, µs (median, least) | peak memory, MB |\n|---|---:|---:|")
    middle = {}
    for name, rounds in taken.items():
        cpu, memory = zip(*rounds)
        middle[name] = statistics.median(cpu)
        print(f"| {name} | {middle[name]:.1f}, {min(cpu):.1f} | {statistics.median(memory):.0f} |")
    print(f"\nCRAWL takes {middle['CRAWL'] / middle['curtsy crawl']:.2f} of what the command line takes")


main()
