"""Runs SQL for the tests in whatever DuckDB this Python has: one JSON object a line comes in, one goes out.

Every seat is a connection with a thread of its own, so that several work at once:

    {"n": 1, "seat": "a", "open": "pages.db"}     opens a database
    {"n": 2, "seat": "b", "beside": "a"}          opens another connection of the same database, in this process
    {"n": 3, "seat": "a", "sql": "SELECT 1"}      runs a statement and fetches all of its rows
    {"n": 4, "seat": "a", "sql": "…", "rows": 1}  fetches so many rows and lets the rest go
    {"n": 5, "seat": "a", "close": true}          closes it
    {"n": 6, "progress": "a"}                     tells how much of its statement is done, in percent
    {"interrupt": "a"}                            interrupts what the seat does now; it has no answer of its own

An answer has the `n` of what was asked and either `columns`, `types` and `rows`, or an `error`.
"""

import json
import os
import queue
import sys
import threading

import duckdb

EXTENSION = os.environ["CURTSY_EXTENSION"]
CONFIG = {
    "allow_unsigned_extensions": "true",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
}
seats = {}
saying = threading.Lock()


def say(answer):
    with saying:
        print(json.dumps(answer, default=str), flush=True)


class Seat(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.orders = queue.Queue()
        self.con = None
        self.start()

    def run(self):
        while True:
            order = self.orders.get()
            try:
                answer = self.obey(order)
            except Exception as error:  # what DuckDB says is the answer
                answer = {"error": f"{error}"}
            say({"n": order["n"]} | answer)

    def obey(self, order):
        if "open" in order:
            self.con = duckdb.connect(order["open"], config=CONFIG)
            self.con.execute(f"LOAD '{EXTENSION}'")
        elif "beside" in order:
            self.con = seats[order["beside"]].con.cursor()
        elif "close" in order:
            self.con.close()
            self.con = None
        else:
            return self.query(order)
        return {}

    def query(self, order):
        done = self.con.execute(order["sql"])
        columns = [column[0] for column in done.description or []]
        types = [str(column[1]) for column in done.description or []]
        rows = done.fetchmany(order["rows"]) if "rows" in order else done.fetchall()
        if "rows" in order:
            # What is not fetched is let go with the next statement.
            self.con.execute("SELECT 1")
        return {"columns": columns, "types": types, "rows": rows}


for line in sys.stdin:
    order = json.loads(line)
    if "interrupt" in order:
        seats[order["interrupt"]].con.interrupt()
    elif "progress" in order:
        say({"n": order["n"], "rows": [[seats[order["progress"]].con.query_progress()]]})
    else:
        if order["seat"] not in seats:
            seats[order["seat"]] = Seat()
        seats[order["seat"]].orders.put(order)
