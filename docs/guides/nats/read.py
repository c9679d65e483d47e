"""Print the public events of all tables as they come, whatever happens to the server.

Run it with ``python read.py tls://hall-1:4222 ca.crt``. The environment holds the password of
table-system, TABLE_SYSTEM_PASSWORD.
"""

import asyncio
import json
import os
import ssl
import sys

import nats

WAIT_S = 3  # for new events, before it is asked for them again


async def main(address: str, ca: str | None = None) -> None:
    user = "table-system"
    client = await nats.connect(
        address.split(","),
        user=user,
        password=os.environ["TABLE_SYSTEM_PASSWORD"],
        inbox_prefix=f"_INBOX_{user}",
        tls=None if ca is None else ssl.create_default_context(cafile=ca),
        max_reconnect_attempts=-1,
        reconnect_time_wait=1,
    )
    stream = client.jetstream()
    consumer = None
    while True:
        try:
            if consumer is None:  # it is made anew if it is gone: with its stream, for example
                consumer = await stream.pull_subscribe("shoe.v1.*.public", "scores", "SHOE")
            messages = await consumer.fetch(100, WAIT_S)
        except nats.errors.TimeoutError:
            continue
        except nats.errors.Error as error:
            print(f"no events: {error}", file=sys.stderr)
            consumer = None
            await asyncio.sleep(1)
            continue
        for message in messages:
            event = json.loads(message.data)
            print(event["id"], event["type"], flush=True)  # store it, then acknowledge
            await message.ack()


asyncio.run(main(*sys.argv[1:]))
