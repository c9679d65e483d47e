"""Make the displays' copy of the public stream, once.

Run it with ``python mirror.py tls://hall-1:4222 ca.crt``. The environment holds the password of
displays-setup, DISPLAYS_SETUP_PASSWORD, and for three servers REPLICAS=3.
"""

import asyncio
import os
import ssl
import sys

import nats
from nats.js.api import ExternalStream, StreamSource

REPLICAS = int(os.environ.get("REPLICAS", "1"))  # 3 in a cluster of three


async def main(address: str, ca: str | None = None) -> None:
    user = "displays-setup"
    client = await nats.connect(
        address,
        user=user,
        password=os.environ["DISPLAYS_SETUP_PASSWORD"],
        inbox_prefix=f"_INBOX_{user}",
        tls=None if ca is None else ssl.create_default_context(cafile=ca),
    )
    hall = ExternalStream(api="hall.API", deliver="mirror.displays")
    source = StreamSource(name="SHOE", external=hall)
    await client.jetstream().add_stream(name="SHOE", mirror=source, num_replicas=REPLICAS)
    await client.close()
    print("the copy is there; it follows the stream SHOE of the account HALL")


asyncio.run(main(*sys.argv[1:]))
