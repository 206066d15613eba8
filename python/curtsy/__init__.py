"""Crawl web sites politely from Python.

`crawl` yields one dict for each URL that the crawl considered, fetched or not. `crawl_into` writes
a crawl into a file, and goes on with that crawl when it is called again. `why` explains what
happened to a URL. The module `curtsy.duckdb` loads the DuckDB extension.

A site on another machine needs a contact, which is sent with every request:

>>> import curtsy
>>> for row in curtsy.crawl("https://example.org/", contact="me@example.org"):  # doctest: +SKIP
...     print(row["url"], row.get("http_status"), row.get("title"))

The work is done by the program `curtsy`, which is part of this package. Everything that its manual
says about `curtsy crawl` is true here too: robots.txt, the delay between two requests and a site's
waits are always obeyed, and crawls share one pace for each host.
"""

from __future__ import annotations

from ._crawl import Crawl, crawl, crawl_into, why
from ._errors import CrawlError
from ._options import Option, Span
from ._program import program
from ._version import version

__all__ = [
    "Crawl",
    "CrawlError",
    "Option",
    "Span",
    "__version__",
    "crawl",
    "crawl_into",
    "program",
    "why",
]

__version__: str = version()
