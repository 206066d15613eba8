#!/usr/bin/env python3
"""A consumer that shares no code with us: reads events by kcat, checks each against the published schema, and looks for its page in Redis.

consume.py BROKERS REDIS_PORT SCHEMA: prints how many events there were; exits with 1 and a line for each that is wrong.
consume.py BROKERS: prints the events.
"""

import hashlib
import json
import socket
import subprocess
import sys


def main(read):
    """`read` gives the key and the text of each event at some brokers."""
    records = read(sys.argv[1])
    if len(sys.argv) == 2:
        for _, text in records:
            print(text.decode())
        return
    count, wrong = check(records, int(sys.argv[2]), json.load(open(sys.argv[3])))
    print(count)
    print("\n".join(wrong), file=sys.stderr)
    sys.exit(1 if wrong else 0)


def check(records, port, schema):
    import jsonschema

    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    redis = socket.create_connection(("127.0.0.1", port))
    answers = redis.makefile("rb")
    count, wrong = 0, []
    for key, text in records:
        event = json.loads(text)
        count += 1
        wrong += [f"{event.get('url')}: {error.message}" for error in validator.iter_errors(event)]
        if key != hashlib.sha256(event["url"].encode()).digest():
            wrong.append(f"{event['url']}: its key is not the SHA-256 of its URL")
        page = get(redis, answers, event["cache_key"])
        if page is None:
            wrong.append(f"{event['url']}: no page under {event['cache_key']}")
        elif (len(page), hashlib.sha256(page).hexdigest()) != (event["content_length"], event["content_hash"]):
            wrong.append(f"{event['url']}: the page under its key is another one")
    return count, wrong


def get(redis, answers, key):
    redis.sendall(f"*2\r\n$3\r\nGET\r\n${len(key)}\r\n{key}\r\n".encode())
    length = int(answers.readline()[1:])
    if length < 0:
        return None
    page = answers.read(length)
    answers.read(2)
    return page


def by_kcat(brokers):
    command = ["kcat", "-C", "-b", brokers, "-t", "webpage_log", "-o", "beginning", "-e", "-q", "-f", "%K %k%s\\n"]
    said = subprocess.run(command, capture_output=True, check=True).stdout
    while said:
        length, _, rest = said.partition(b" ")
        key, rest = rest[: int(length)], rest[int(length) :]
        text, _, said = rest.partition(b"\n")
        yield key, text


if __name__ == "__main__":
    main(by_kcat)
