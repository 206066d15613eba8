"""One DuckDB for a document: reads orders as JSON lines, answers each with a line of JSON.

    {"sql": "…"}     -> {"table": [[names], [cells], …]}
    {"python": "…"}  -> {"printed": "…"}
"""

import contextlib
import io
import json
import sys
import traceback

import duckdb


def main():
    con = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    con.execute(f"LOAD '{sys.argv[1]}'")
    names = {"con": con}
    for line in sys.stdin:
        order = json.loads(line)
        try:
            if "sql" in order:
                answer = {"table": table(con, order["sql"])}
            else:
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(order["python"], names)
                answer = {"printed": printed.getvalue()}
        except Exception:
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), flush=True)


def table(con, sql):
    result = con.execute(sql)
    names = [column[0] for column in result.description or []]
    return [names] + [[cell(value) for value in row] for row in result.fetchall()]


def cell(value):
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case float():
            return f"{value:g}"
        case list():
            return ", ".join(map(cell, value))
        case _:
            return str(value)


main()
