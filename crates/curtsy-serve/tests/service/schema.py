"""Validates JSON values against the schemas of an OpenAPI 3.1 document.

The first line of standard input is the document. Each later line is a pair [pointer, value]: where
the schema is in the document, and a value. For each pair one line is written: why the value is
invalid, or nothing.
"""

import json
import re
import sys
from datetime import datetime

from jsonschema import Draft202012Validator, FormatChecker

# Without this, jsonschema ignores a format if a package for it is missing.
formats = FormatChecker(formats=())


@formats.checks("date-time", raises=ValueError)
def is_date_time(value):
    pattern = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"
    if isinstance(value, str):
        return re.fullmatch(pattern, value) and datetime.fromisoformat(value[:19])
    return True


def inner(schema):
    """The schema and all schemas inside it."""
    yield schema
    children = [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]
    children += [schema[key] for key in ("items", "additionalProperties") if key in schema]
    for child in children:
        if isinstance(child, dict):
            yield from inner(child)


def schemas(value):
    """The schemas of a document."""
    if isinstance(value, dict):
        yield from value["schemas"].values() if "schemas" in value else []
        yield from [value["schema"]] if "schema" in value else []
        for name, child in value.items():
            yield from schemas(child) if name not in ("schema", "schemas") else []


document = json.loads(sys.stdin.readline())
known = {*Draft202012Validator.VALIDATORS, "description", "default", "example"}
for schema in [one for outer in schemas(document) for one in inner(outer)]:
    Draft202012Validator.check_schema(schema)
    unknown = schema.keys() - known
    assert not unknown, f"no keyword of JSON Schema: {unknown}"
    assert schema.get("format", "date-time") == "date-time", "this script does not know the format"

for line in sys.stdin:
    pointer, value = json.loads(line)
    validator = Draft202012Validator({**document, "$ref": pointer}, format_checker=formats)
    errors = validator.iter_errors(value)
    print("; ".join(f"{error.json_path}: {error.message}" for error in errors), flush=True)
