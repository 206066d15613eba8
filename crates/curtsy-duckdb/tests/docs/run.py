"""Runs docs/reference/sql.md: its queries, one after the other, against the site of examples/sql.toml, and compares what they give with the tables
that follow them. Also compares the tables of options, settings, functions and columns with what the extension says.

    python run.py DOCUMENT EXTENSION PORT [--write]

`--write` puts what the queries gave into the document, for somebody to read before it is kept."""

import sys

import duckdb

PORT_IN_TEXT = "8080"
FILE_IN_TEXT = "target/release/curtsy.duckdb_extension"
QUERIES = "<!-- begin queries -->"

# How each table function is called to learn its columns. Nothing is asked for that.
CALLS = {
    "crawl": "crawl('http://town.test')",
    "crawl_into": "crawl_into('town', 'SELECT ''http://town.test''')",
    "sitemap": "sitemap('http://town.test')",
    "robots_check": "robots_check('http://town.test')",
    "crawl_plan": "crawl_plan('http://town.test')",
    "crawl_why": "crawl_why('http://town.test')",
    "crawl_options": "crawl_options()",
}


def main():
    path, extension, port, *more = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    con = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    con.execute(f"LOAD '{extension}'")

    def real(text):
        return text.replace(FILE_IN_TEXT, extension).replace(f":{PORT_IN_TEXT}", f":{port}")

    def shown(value):
        return cell(value).replace(f":{port}", f":{PORT_IN_TEXT}")

    wrong, written, at, ran = [], [], 0, 0
    for number, sql, end in blocks(lines):
        if number < lines.index(QUERIES):
            # What is shown before cannot be run here: it is read.
            con.extract_statements(sql)
            continue
        try:
            result = con.execute(real(sql))
            names = [column[0] for column in result.description or []]
            found = [names] + [[shown(value) for value in row] for row in result.fetchall()]
        except duckdb.Error as error:
            wrong.append(f"line {number}:\n{sql}\n{error}")
            continue
        ran += 1
        begin, after, expected = table_after(lines, end)
        if expected and expected != found:
            wrong.append(f"line {number}:\n{sql}\nexpected\n{drawn(expected)}\nfound\n{drawn(found)}")
            written += lines[at:begin] + drawn(found).split("\n")
            at = after
    if "--write" in more:
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(written + lines[at:]))
    if ran < 20:
        wrong.append(f"only {ran} queries ran")
    wrong += told(con, lines)
    for words in wrong:
        print(f"{words}\n")
    print(f"{ran} queries ran, {len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


def told(con, lines):
    """What the reference says and the extension does not, or the other way round."""

    def compare(name, expected, found):
        if expected != found:
            yield f"the table of {name}:\nexpected {expected}\nfound    {found}"

    options = [(plain(row[0]), row[1]) for row in part(lines, "options")]
    yield from compare("options", options, con.execute("FROM crawl_options()").fetchall())

    settings = {plain(row[0]) for row in part(lines, "settings")}
    ours = {row[0] for row in con.execute("SELECT name FROM duckdb_settings() WHERE name LIKE 'curtsy_%'").fetchall()}
    yield from compare("settings", {name for name in settings if name.startswith("curtsy_")}, ours)
    for name in settings:
        con.execute(f"SELECT current_setting('{name}')")

    columns = [(plain(row[0]), plain(row[1])) for row in part(lines, "columns")]
    yield from compare("columns", columns, described(con, "town"))

    functions = {plain(row[0]).split("(")[0]: plain(row[2]) for row in part(lines, "functions")}
    yield from compare("functions", set(functions), set(CALLS))
    for name, call in CALLS.items():
        found = described(con, call)
        found = "all columns of the table" if found == columns else ", ".join(" ".join(column) for column in found)
        yield from compare(f"columns of {name}", functions.get(name), found)


def described(con, what):
    return [row[:2] for row in con.execute(f"DESCRIBE FROM {what}").fetchall()]


def blocks(lines):
    """Each ```sql block: the number of its first line, its text, the number of the line after it."""
    begin = None
    for number, line in enumerate(lines):
        if line == "```sql":
            begin = number + 1
        elif line == "```" and begin is not None:
            yield begin, "\n".join(lines[begin:number]), number + 1
            begin = None


def table_after(lines, number):
    """The table that follows, after blank lines at most: where it begins and ends, and its cells."""
    while number < len(lines) and not lines[number]:
        number += 1
    end = number
    while end < len(lines) and lines[end].startswith("|"):
        end += 1
    return number, end, [cells(line) for at, line in enumerate(lines[number:end]) if at != 1]


def part(lines, name):
    """The cells of the table between two marks, without its heading."""
    begin, end = lines.index(f"<!-- begin {name} -->"), lines.index(f"<!-- end {name} -->")
    return [cells(line) for line in lines[begin + 1 : end] if line.startswith("|")][2:]


def cells(line):
    return [text.strip() for text in line.strip().strip("|").split("|")]


def drawn(table):
    rows = [f"| {' | '.join(row)} |" for row in table]
    return "\n".join([rows[0], "|" + "---|" * len(table[0])] + rows[1:])


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


def plain(text):
    return text.replace("`", "")


if __name__ == "__main__":
    main()
