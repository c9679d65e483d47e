"""The shoe's side of who is speaking: proofs, and a MAC on every frame.

In: frames of a host, keys. Out: what may be heeded; answers to challenges; sealed frames.
Must not know: event numbers, what is kept, the time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from firmware_proto.events import Challenge, ChallengeAnswered, Hello, RotateKey

from .codec import read, read_sealed, unwrapped
from .derived import FrameError
from .framing import framed
from .keys import ShoeKeys
from .layouts import PROOF_BYTES, SEALED
from .seal import NO_SESSION, Agreed, Transcript


class ShoeGuard:
    """What was agreed holds until a host proves itself anew: a challenge alone changes nothing."""

    def __init__(self, keys: ShoeKeys) -> None:
        self._keys = keys
        self._agreed: Agreed | None = None
        self._offered: Agreed | None = None  # answered, and the host has not proved itself yet
        self._answer: tuple[Challenge, ChallengeAnswered] | None = None

    @property
    def proven(self) -> bool:
        """The host proved that it has the key."""
        return self._agreed is not None

    def read(self, stuffed: bytes) -> tuple[int, Any, bool]:
        """Kind, what it says, and whether a MAC holds for it.

        Raises:
            FrameError: it is not to be heard.
        """
        frame = unwrapped(stuffed)
        if frame[0] != SEALED:
            kind, said, _, _, _ = read(stuffed)
            return kind, said, False
        why = self._refuses(frame)
        if why is not None:
            raise FrameError(why)
        kind, said, _, _, _ = read_sealed(frame)
        if isinstance(said, RotateKey) and self._agreed is not None:
            key = self._agreed.masked(said.key, said.command_id, said.key_id)
            said = replace(said, key=key)
        return kind, said, True

    def answer(self, challenge: Challenge, hello: Hello) -> ChallengeAnswered:
        """The proof that is asked for; with another key's id and no proof where that is missing.

        The same challenge again gets the same answer: it may have crossed the first on the line.
        """
        if self._answer is not None and self._answer[0] == challenge:
            return self._answer[1]
        key = self._keys.keys.get(challenge.key_id)
        if key is None:
            newest = max(self._keys.keys)
            return ChallengeAnswered(
                key_id=newest, nonce=challenge.nonce, proof=bytes(PROOF_BYTES).hex()
            )
        nonce = self._keys.nonce()
        transcript = Transcript(
            key_id=challenge.key_id,
            host_nonce=bytes.fromhex(challenge.nonce),
            shoe_nonce=nonce,
            boot_id=hello.boot_id,
            device_id=hello.device_id,
        )
        proof = transcript.proof(key).hex()
        answer = ChallengeAnswered(key_id=challenge.key_id, nonce=nonce.hex(), proof=proof)
        self._offered = Agreed.by_shoe(transcript, key)
        self._answer = (challenge, answer)
        return answer

    def seal(self, body: bytes) -> bytes:
        """The frame, with a MAC; nothing where none can be made."""
        sealed = None if self._agreed is None else self._agreed.sealer.seal(body)
        return b"" if sealed is None else framed(sealed)

    def _refuses(self, frame: bytes) -> str | None:
        if self._offered is not None and self._offered.opener.refuses(frame) is None:
            self._agreed, self._offered = self._offered, None
            self._forget_before(self._agreed.transcript.key_id)
            return None
        return NO_SESSION if self._agreed is None else self._agreed.opener.refuses(frame)

    def _forget_before(self, key_id: int) -> None:
        for older in [known for known in self._keys.keys if known < key_id]:
            del self._keys.keys[older]
