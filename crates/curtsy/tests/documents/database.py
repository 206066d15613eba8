"""One DuckDB for a document: reads orders as JSON lines, answers each with a line of JSON.

    {"sql": "…"}     -> {"table": [[names], [cells], …]}
    {"python": "…"}  -> {"printed": "…"}
"""

import contextlib
import io
import json
import pathlib
import sys
import traceback

import duckdb

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "curtsy-duckdb/tests/docs"))
from run import cell  # noqa: E402


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


main()
