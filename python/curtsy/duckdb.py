"""Loads the DuckDB extension of curtsy, with which a crawl is a statement or a table function.

>>> import curtsy.duckdb
>>> con = curtsy.duckdb.connect()  # doctest: +SKIP
>>> con.execute("SET curtsy_contact = 'me@example.org'")  # doctest: +SKIP
>>> con.sql("SELECT url, title FROM crawl('https://example.org/')").show()  # doctest: +SKIP

The package `duckdb` is installed by `pip install 'curtsy[duckdb]'`. One extension works with every
DuckDB from 1.5.6 on; the statement `CRAWL … INTO …` needs DuckDB 2.0.0.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["connect", "extension", "load"]

#: The variable of the environment that names the file of the extension.
VARIABLE = "CURTSY_DUCKDB_EXTENSION"

_FILE = "curtsy.duckdb_extension"
_UNSIGNED = "allow_unsigned_extensions"


def connect(
    database: Union[str, os.PathLike[str]] = ":memory:", **options: Any
) -> DuckDBPyConnection:
    """Opens a DuckDB database with the extension loaded, and returns the connection.

    `options` are those of `duckdb.connect`. The setting `allow_unsigned_extensions` is switched on,
    because the extension is not signed by DuckDB's authors.

    Raises `ModuleNotFoundError` if the package `duckdb` is not installed.
    """
    # The database, not this module: an import never means the module's own package.
    try:
        import duckdb
    except ModuleNotFoundError as error:
        if error.name != "duckdb":
            raise
        raise ModuleNotFoundError(
            "the package `duckdb` is not installed\nhint: `pip install 'curtsy[duckdb]'`",
            name="duckdb",
        ) from error
    config = {**(options.pop("config", None) or {}), _UNSIGNED: True}
    con = duckdb.connect(os.fspath(database), config=config, **options)
    try:
        load(con)
    except BaseException:
        con.close()
        raise
    return con


def load(con: DuckDBPyConnection) -> None:
    """Loads the extension into a connection.

    The connection must allow unsigned extensions, which DuckDB decides when a database is opened:
    `duckdb.connect(config={"allow_unsigned_extensions": True})`. `connect` does so.

    Raises `ValueError` if the connection does not allow unsigned extensions.
    """
    path = extension()
    allowed = con.execute(f"SELECT current_setting('{_UNSIGNED}')").fetchone()
    if allowed is None or allowed[0] not in (True, "true"):
        raise ValueError(
            "this connection does not load unsigned extensions, and DuckDB cannot change that "
            "later\nhint: open it with `curtsy.duckdb.connect(…)`, or with "
            f'`duckdb.connect(…, config={{"{_UNSIGNED}": True}})`'
        )
    quoted = path.replace("'", "''")
    con.execute(f"LOAD '{quoted}'")


def extension() -> str:
    """Returns the path of the extension's file.

    The environment variable `CURTSY_DUCKDB_EXTENSION` names another file than the one in this
    package. Raises `FileNotFoundError` if there is no such file.
    """
    named = os.environ.get(VARIABLE)
    path = Path(named) if named else Path(__file__).with_name(_FILE)
    if not path.is_file():
        raise FileNotFoundError(
            f"the DuckDB extension is not at `{path}`\n"
            f"hint: reinstall the package, or name the file with the variable `{VARIABLE}`"
        )
    return str(path)
