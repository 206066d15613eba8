"""What schemathesis can't know: a site that is there, and that the service limits how often one address may call."""

import itertools
import os

import requests
import schemathesis

SITE = os.environ["CURTSY_SITE"]

# Each address may make 600 changes and 20 wrong guesses a minute.
CALLS_PER_ADDRESS = 15
calls = itertools.count()


class From(requests.adapters.HTTPAdapter):
    """Calls from one of this machine's own addresses."""

    def __init__(self, address):
        self.address = address
        super().__init__()

    def init_poolmanager(self, *args, **kwargs):
        super().init_poolmanager(*args, source_address=(self.address, 0), **kwargs)


@schemathesis.hook
def before_call(context, case, kwargs):
    number, at_its_end = divmod(next(calls), CALLS_PER_ADDRESS)
    if kwargs.get("session") is not None and at_its_end == 0:
        kwargs["session"].mount("http://", From(f"127.1.{number // 250 % 250}.{number % 250 + 1}"))


@schemathesis.hook
def map_body(context, body):
    """Every other order is for a site that is there."""
    if isinstance(body, dict) and isinstance(body.get("url"), str) and len(body["url"]) in range(0, 1000, 2):
        body["url"] = SITE
    return body
