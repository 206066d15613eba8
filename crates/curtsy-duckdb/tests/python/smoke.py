"""Loads the extension into whatever DuckDB this Python has, and tries what the C API and the shim give.

    cargo xtask duckdb
    CURTSY_EXTENSION=target/debug/curtsy.duckdb_extension python crates/curtsy-duckdb/tests/python/smoke.py

In DuckDB 2.0.0 all of it is tried; in others the functions and settings, and that there is no statement. If a `duckdb` program lies beside
python, it loads the extension too.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time

import duckdb

EXTENSION = os.path.abspath(os.environ["CURTSY_EXTENSION"])
CONFIG = {
    "allow_unsigned_extensions": "true",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
}
HAS_STATEMENT = duckdb.__version__ == "2.0.0"
FORM = "the whole form: CRAWL (SELECT url FROM …) INTO pages [WITH (option value, …)]"


def connect(path=":memory:"):
    con = duckdb.connect(path, config=CONFIG)
    con.execute(f"LOAD '{EXTENSION}'")
    return con


def one(con, sql):
    return con.execute(sql).fetchone()[0]


def same(got, wanted):
    assert got == wanted, f"got    {got!r}\nwanted {wanted!r}"


def refused(con, sql, *words):
    try:
        con.execute(sql).fetchall()
    except duckdb.Error as error:
        for word in words:
            assert word in str(error), f"{sql}\nsays   {error}\nwanted {word}"
        return str(error)
    raise AssertionError(f"{sql}\nran, and should not have")


def scalars():
    con = connect()
    same(one(con, "SELECT surt('http://www.example.org:80/b/../A?z&y')"), "org,example)/a?y&z")
    same(one(con, "SELECT surt('  ')"), None)
    same(one(con, "SELECT surt(NULL)"), None)
    same(one(con, "SELECT url_host('HTTPS://Example.ORG:8443/x')"), "example.org")
    same(one(con, "SELECT url_host('no URL')"), None)
    robots = "'User-agent: *' || chr(10) || 'Disallow: /private'"
    asked = f"""SELECT list(robots_allowed({robots}, 'curtsy', url) ORDER BY url) FROM (VALUES
        ('https://a.org/'), ('https://b.org/private/x'), ('no URL'), (NULL)) t(url)"""
    # NULL comes last.
    same(one(con, asked), [True, False, None, None])
    # More than one batch of rows, with texts that are longer than what lies in an entry itself.
    many = """SELECT count(*), count(DISTINCT k), min(length(k)) FROM
        (SELECT surt('https://example.org/a/long/path/that/is/kept/' || range) AS k FROM range(100000))"""
    same(con.execute(many).fetchone(), (100000, 100000, 39))
    con.close()


def settings():
    con = connect()
    same(one(con, "SELECT current_setting('http_timeout')"), 30)
    same(one(con, "SELECT current_setting('http_keep_alive')"), True)
    con.execute("SET http_timeout = 7")
    same(one(con, "SELECT current_setting('http_timeout')"), 7)
    names = "contact policy allow_net resolve ca_file ledger".split()
    for name in names:
        same(one(con, f"SELECT current_setting('curtsy_{name}')"), "")
    con.execute("SET curtsy_contact = 'ops@example.org'")
    same(one(con, "SELECT current_setting('curtsy_contact')"), "ops@example.org")
    # Another session of the same database has its own.
    same(one(con.cursor(), "SELECT current_setting('curtsy_contact')"), "")
    told = con.execute("SELECT count(*) FROM duckdb_settings() WHERE name LIKE 'curtsy%' AND description <> ''")
    same(told.fetchone()[0], len(names))
    refused(con, "SET http_timeout = 'soon'")
    con.close()


def no_statement():
    con = connect()
    refused(con, "CRAWL (SELECT 1) INTO t", "syntax error")
    refused(con, "FROM curtsy_statement('SELECT 1', 't', ['a'], ['b'])", "it is made for DuckDB v2.0.0, and this is v1")
    con.close()


def statement():
    con = connect()

    def crawl(sql):
        """What reached the table function: query, target, options, rows."""
        query, target, keys, values, rows = con.execute(sql).fetchone()
        return query, target, dict(zip(keys, values, strict=True)), rows

    got = crawl("CRAWL (SELECT 'https://example.org/' || range FROM range(3)) INTO pages")
    same(got, ("SELECT 'https://example.org/' || range FROM range ( 3 )", '"memory"."main"."pages"', {}, 3))
    same(con.execute("FROM pages").fetchall(), [(f"https://example.org/{i}", i) for i in range(3)])
    # More than one batch, and it is appended.
    same(crawl("crawl (SELECT 'u' || range FROM range(10000)) into pages;")[3], 10000)
    same(con.execute("SELECT count(*), count(DISTINCT url) FROM pages").fetchone(), (10003, 10003))

    # Values of every kind, and all three ways to write one.
    options = crawl("""CRAWL (SELECT NULL::VARCHAR) INTO pages WITH (
        Text 'it''s, (so)', number = 8, minus -2.5, truth := true, word polite, "odd key" 'x', none NULL,
        list ['a', 'b''c'], nested [[1], [2]], arrow => 1e3, -- a comment, with 'quotes'
        empty '', dollars 'a' /* another ) */ )""")[2]
    same(
        options,
        {
            "text": "it's, (so)", "number": "8", "minus": "-2.5", "truth": "true", "word": "polite", "odd key": "x",
            "none": "NULL", "list": "['a','b''c']", "nested": "[[1],[2]]", "arrow": "1e3", "empty": "", "dollars": "a",
        },
    )  # fmt: skip

    # Queries of every kind.
    for query, rows in {
        "WITH s(u) AS (SELECT 'x' UNION ALL SELECT 'y') SELECT u FROM s": 2,
        "SELECT u FROM (VALUES ('(')), (VALUES (')')) t(u)": 1,
        "SELECT ';' -- ) INTO nowhere ; \n": 1,
        "SELECT 'a' /* ) */ || \"x\"\".\"  FROM (SELECT 'b' AS \"x\"\".\")": 1,
        "FROM (SELECT 'https://example.org/' AS url)": 1,
        "SELECT 'two'\n'lines'": 1,
        "SELECT $$dollar 'quoted' )$$": 1,
        "SELECT e'line\\n'": 1,
        "SELECT {'a': ['x']}['a'][1]": 1,
        "SELECT x::VARCHAR FROM range(-1, 2, 1) t(x) WHERE x >= -1 AND x != 0": 2,
        "SELECT list_transform(['u'], lambda x: x || '-')[1]": 1,
        "SELECT unnest(['p', 'q'])": 2,
    }.items():
        same(crawl(f"CRAWL ({query}) INTO pages")[3], rows)
    same(one(con, "SELECT count(*) FROM pages WHERE url IN ('twolines', 'dollar ''quoted'' )', 'ab')"), 3)

    # Several statements in one string.
    con.execute("CREATE TABLE a (u VARCHAR); CRAWL (SELECT 'm') INTO many; INSERT INTO a FROM (SELECT url FROM many);;")
    same(one(con, "CRAWL (SELECT 'n') INTO many; SELECT count(*) FROM many;"), 2)

    # Temporary tables and variables of the caller are seen.
    con.execute("CREATE TEMP TABLE seeds AS SELECT 't' || range AS url FROM range(5)")
    same(crawl("CRAWL (SELECT url FROM seeds) INTO pages")[3], 5)
    con.execute("SET VARIABLE urls = ['v', 'w']")
    same(crawl("CRAWL (SELECT unnest(getvariable('urls'))) INTO pages")[3], 2)
    con.execute("CREATE TEMP TABLE mine (url VARCHAR, number BIGINT, note VARCHAR DEFAULT 'none')")
    same(crawl("CRAWL (SELECT 'z') INTO mine")[1], '"temp"."main"."mine"')
    same(con.execute("FROM mine").fetchall(), [("z", 0, "none")])
    con.close()


def statement_errors():
    con = connect()

    def wrong(sql, words):
        refused(con, sql, words, FORM)

    wrong("CRAWL", "expected a query in parentheses after CRAWL, found the end")
    wrong("CRAWL pages", "expected a query in parentheses after CRAWL, found `pages`")
    wrong("CRAWL; SELECT 1", "expected a query in parentheses after CRAWL, found the end")
    wrong("CRAWL ()", "expected a query between the parentheses")
    wrong("CRAWL (SELECT (1) INTO t", "expected `)` that closes the query, found the end")
    wrong("CRAWL (SELECT 1; SELECT 2) INTO t", "expected `)` that closes the query, found the end")
    wrong("CRAWL (SELECT 1)", "expected INTO after the query, found the end")
    wrong("CRAWL (SELECT 1) TO t", "expected INTO after the query, found `TO`")
    wrong("CRAWL (SELECT 1) INTO", "expected the name of a table after INTO, found the end")
    wrong("CRAWL (SELECT 1) INTO WITH (a 1)", "expected the name of a table after INTO, found `WITH`")
    wrong("CRAWL (SELECT 1) INTO 't'", "expected the name of a table after INTO, found `'t'`")
    wrong("CRAWL (SELECT 1) INTO s.", "expected a name after `.`, found the end")
    wrong("CRAWL (SELECT 1) INTO t LIMIT 1", "expected WITH or the end of the statement after the table's name, found `LIMIT`")
    wrong("CRAWL (SELECT 1) INTO t WITH a 1", "expected `(` after WITH, found `a`")
    wrong("CRAWL (SELECT 1) INTO t WITH ()", "expected the name of an option, found `)`")
    wrong("CRAWL (SELECT 1) INTO t WITH (a 1,)", "expected the name of an option, found `)`")
    wrong("CRAWL (SELECT 1) INTO t WITH (a)", "a string, a number, true, false, a word or a list for `a`, found `)`")
    wrong("CRAWL (SELECT 1) INTO t WITH (a -'x')", "for `a`, found `'x'`")
    wrong("CRAWL (SELECT 1) INTO t WITH (a 1 b 2)", "expected `,` or `)` after the value of `a`")
    wrong("CRAWL (SELECT 1) INTO t WITH (a example.org)", "goes in quotes), found `.`")
    wrong("CRAWL (SELECT 1) INTO t WITH (a [1)", "expected `]` that closes the list for `a`")
    wrong("CRAWL (SELECT 1) INTO t WITH (a 1, A 2)", "the option `a` is given twice")
    wrong("CRAWL (SELECT 1) INTO t WITH (a 1) LIMIT 1", "expected the end of the statement after WITH (…), found `LIMIT`")

    # What is not ours stays DuckDB's.
    for sql in ["CRAWLING x", "SELECT 1 crawl (", "SELEC 1", '"crawl" (SELECT 1) INTO t', "SELECT * FROM crawl crawl crawl"]:
        said = refused(con, sql, "syntax error")
        assert "CRAWL (" not in said, said
    # The query is DuckDB's to judge.
    refused(con, "CRAWL (SELECT nothing FROM nowhere) INTO t", "in the query of CRAWL", "nowhere")
    refused(con, "CRAWL (SELEC 1) INTO t", "in the query of CRAWL", "syntax error")
    refused(con, "CRAWL (CREATE TABLE x (i INT)) INTO t", "one column of URLs")
    same(one(con, "SELECT count(*) FROM duckdb_tables()"), 0)
    con.close()


def targets():
    with tempfile.TemporaryDirectory() as folder:
        con = connect(f"{folder}/one.db")
        con.execute(f"CREATE SCHEMA archive; CREATE SCHEMA \"my.own\"; ATTACH '{folder}/two.db' AS two; CREATE SCHEMA two.s")
        con.execute(f"ATTACH '{folder}/three.db' AS three; CREATE TABLE three.t (url VARCHAR); DETACH three")
        con.execute(f"ATTACH '{folder}/three.db' AS three (READ_ONLY)")

        def target(name):
            return con.execute(f"CRAWL (SELECT 'u') INTO {name}").fetchone()[1]

        same(target("pages"), '"one"."main"."pages"')
        same(target("PAGES"), '"one"."main"."pages"')
        same(target("archive.pages"), '"one"."archive"."pages"')
        same(target('"my.own"."a ""b"" c.d"'), '"one"."my.own"."a ""b"" c.d"')
        same(target("two.pages"), '"two"."main"."pages"')
        same(target("two.s.pages"), '"two"."s"."pages"')
        con.execute("USE archive")
        same(target("pages"), '"one"."archive"."pages"')
        same(target("main.pages"), '"one"."main"."pages"')
        same(target("fresh"), '"one"."archive"."fresh"')
        same(con.execute("SELECT count(*) FROM fresh").fetchone()[0], 1)
        con.execute("USE two.s")
        same(target("pages"), '"two"."s"."pages"')
        same(target("fresh"), '"two"."s"."fresh"')
        con.execute("SET search_path = 'one.archive,two.s'")
        same(target("fresh"), '"one"."archive"."fresh"')
        con.execute("USE one")
        con.execute("CREATE VIEW v AS SELECT 1")
        refused(con, "CRAWL (SELECT 'u') INTO v", "is a view")
        refused(con, "CRAWL (SELECT 'u') INTO nowhere.t", "nowhere")
        refused(con, "CRAWL (SELECT 'u') INTO a.b.c.d", "expected table, schema.table or database.schema.table")
        refused(con, "CRAWL (SELECT 'u') INTO three.t", "read-only")
        refused(con, 'CRAWL (SELECT \'u\') INTO ""', "identifier")
        # A table with other columns says which is missing; one whose types can be cast takes the rows.
        con.execute("CREATE TABLE narrow (address VARCHAR); CREATE TABLE wide (number VARCHAR, url VARCHAR, seen INT DEFAULT 7)")
        refused(con, "CRAWL (SELECT 'u') INTO narrow", "url")
        target("wide")
        same(con.execute("FROM wide").fetchall(), [("0", "u", 7)])
        con.close()


def transactions():
    con = connect()
    con.execute("CREATE TABLE pages (url VARCHAR, number BIGINT)")
    con.execute("BEGIN")
    refused(con, "CRAWL (SELECT 'u') INTO pages", "COMMIT first")
    con.execute("ROLLBACK")
    con.execute("CRAWL (SELECT 'u') INTO pages")
    same(one(con, "SELECT count(*) FROM pages"), 1)
    con.close()


def closes():
    """A database that was crawled into closes: its log is merged, and it can be opened again in the same process."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/pages.db"
        for turn in range(50):
            con = connect(path)
            if HAS_STATEMENT:
                con.execute("CRAWL (SELECT 'u' || range FROM range(100)) INTO pages").fetchall()
                same(one(con, "SELECT count(*) FROM pages"), 100 * (turn + 1))
            else:
                con.execute("CREATE TABLE IF NOT EXISTS pages (url VARCHAR); INSERT INTO pages VALUES (surt('http://a/'))")
            if turn % 3 == 1 and HAS_STATEMENT:
                refused(con, "CRAWL (SELECT nothing) INTO pages")
            if turn % 3 == 2 and HAS_STATEMENT:
                # Rows that nobody fetches.
                con.execute("CRAWL (SELECT 'u' WHERE false) INTO pages")
            con.close()
            same(os.listdir(folder), ["pages.db"])


def interrupt():
    for threads in [1, 2, 8]:
        interrupt_with(threads)


def interrupt_with(threads):
    con = connect()
    con.execute(f"SET threads = {threads}")
    started = time.monotonic()
    threading.Timer(0.3, con.interrupt).start()
    refused(con, "CRAWL (SELECT 'u') INTO pages WITH (slowly 1000)", "INTERRUPT")
    waited = time.monotonic() - started
    assert waited < 3, f"noticed after {waited:.1f} s"
    # The connection goes on, also after waits, and inside another statement.
    con.execute("CRAWL (SELECT 'u') INTO pages WITH (slowly 3)")
    slow = "curtsy_statement('SELECT ''w''', 'pages', ['slowly'], ['20'])"
    con.execute(f"CREATE TABLE told AS SELECT a.rows + b.rows AS rows FROM {slow} a, {slow} b")
    same(one(con, "SELECT rows FROM told"), 2)
    con.close()


def progress():
    con = connect()
    con.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false; SET progress_bar_time = 0")
    seen = []
    over = threading.Event()

    def look():
        while not over.wait(0.02):
            seen.append(con.query_progress())

    looking = threading.Thread(target=look)
    looking.start()
    con.execute("CRAWL (SELECT 'u') INTO pages WITH (slowly 100)")
    over.set()
    looking.join()
    between = [percent for percent in seen if 0 < percent < 100]
    assert len(between) > 5 and between == sorted(between), seen
    con.close()


def program():
    path = os.path.join(os.path.dirname(sys.executable), "duckdb")
    if not os.path.exists(path):
        return False
    script = f"LOAD '{EXTENSION}'; SELECT surt('http://example.org/x'), current_setting('http_timeout');"
    done = subprocess.run([path, "-unsigned", "-csv", "-noheader", "-c", script], capture_output=True, text=True, timeout=60)
    same((done.stdout.strip().strip('"').replace('",', ","), done.stderr), ("org,example)/x,30", ""))
    return True


def main():
    tried = [scalars, settings, closes]
    if HAS_STATEMENT:
        tried += [statement, statement_errors, targets, transactions, interrupt, progress]
    else:
        tried += [no_statement]
    if program():
        print("ok  the duckdb program")
    for trial in tried:
        trial()
        print(f"ok  {trial.__name__}")
    print(f"all well in DuckDB {duckdb.__version__}")


main()
