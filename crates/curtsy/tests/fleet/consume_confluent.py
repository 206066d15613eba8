#!/usr/bin/env python3
"""The same as consume.py by confluent-kafka, for brokers that Debian's kcat is too old for."""

import sys

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from consume import main

TOPIC = "webpage_log"
# How long the broker may be silent, in seconds.
SILENT = 30


def by_confluent(brokers):
    consumer = Consumer(
        {"bootstrap.servers": brokers, "group.id": "nobody", "enable.auto.commit": False, "enable.partition.eof": True}
    )
    partitions = set(consumer.list_topics(TOPIC, timeout=SILENT).topics[TOPIC].partitions)
    consumer.assign([TopicPartition(TOPIC, partition, OFFSET_BEGINNING) for partition in partitions])
    while partitions:
        message = consumer.poll(SILENT)
        if message is None:
            sys.exit(f"the broker says nothing of {partitions}")
        elif message.error() is None:
            yield message.key(), message.value()
        elif message.error().code() == KafkaError._PARTITION_EOF:
            partitions.discard(message.partition())
        elif not message.error().retriable():
            sys.exit(f"the broker says: {message.error()}")
    consumer.close()


main(by_confluent)
