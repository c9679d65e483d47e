"""Both halves of authentication (SPEC 7): challenge, response, and a MAC on every frame after it.

In: frames; keys, or what was recorded of them. Out: messages to believe; challenges and responses.
Must not know: event numbers, what is stored, the time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from firmware_proto.commands import Challenge, RotateKey
from firmware_proto.events import (
    CANNOT_AUTHENTICATE,
    NO_KEY,
    WRONG_PROOF,
    Authenticated,
    AuthenticationFailed,
    ChallengeAnswered,
    Challenged,
    Discarded,
    Hello,
    Repeated,
    ShoeEvent,
)
from firmware_proto.reference.codec import (
    READERS_WITH_MAC,
    DecodedFrame,
    Message,
    body_of,
    encode,
    read,
    read_with_mac,
    unwrap,
)
from firmware_proto.reference.framing import FrameError, frame_body
from firmware_proto.reference.mac import (
    NO_SESSION,
    NONCE_BYTES,
    PROOF_BYTES,
    VERDICTS,
    HostKeys,
    MacVerifier,
    SessionKeys,
    ShoeKeys,
    Transcript,
)
from firmware_proto.reference.packing import VERSION_WITH_MAC, Kind

LINK_EVENTS = (Authenticated, AuthenticationFailed, Challenged)
"""Events about authentication itself: of no kind (0) and without a number."""

MAX_REMEMBERED = 32
"""Kept to know a repeat: whoever names himself anew each time is not remembered for ever."""


VerdictOf = Callable[[int], ShoeEvent | None]
"""What was recorded of the frame whose first byte stands here; None where nothing was."""


class HostAuthenticator(Protocol):
    """Stands between the bytes of a shoe and a session that believes only what is proved."""

    greets: bool
    """The shoe proved who it is just now: hello is to be asked for, sealed."""
    verifier: MacVerifier | None
    """Whose frames alone may be heard; None where each frame is for ``read`` to judge."""

    def read(self, stuffed: bytes, first: int) -> DecodedFrame:
        """What stands between two delimiters, the first of its bytes at ``first``.

        Raises:
            FrameError: it is not to be heard.
        """

    def sign(self, message: Message) -> bytes:
        """The frame, with a MAC; nothing where none can be made."""

    def outgoing(self) -> bytes:
        """The challenge to be sent now, if any."""


class KeyAuthenticator:
    """A ``HostAuthenticator`` with keys. An agreement holds until the next one is proved."""

    def __init__(self, keys: HostKeys) -> None:
        self.greets = False
        self.verifier: MacVerifier | None = None
        self._keys = keys
        self._asked: Challenged | None = None
        self._asked_boot = 0
        self._tried: set[int] = set()
        self._due = False
        self._told: set[ShoeEvent] = set()  # since the last proof
        self._session_keys: SessionKeys | None = None
        self._before: SessionKeys | None = None  # until the shoe is heard under the new agreement

    def read(self, stuffed: bytes, first: int) -> DecodedFrame:  # noqa: ARG002
        """See ``HostAuthenticator``."""
        frame = unwrap(stuffed)
        if frame[0] == VERSION_WITH_MAC:
            why = self._refuses(frame)
            if why is not None:
                raise FrameError(why)
            return READERS_WITH_MAC[frame[1]](frame)
        kind, said, _, boot_id, _ = read(stuffed)
        if isinstance(said, Hello):
            return 0, self._once(self._introduced(said)), 0, 0, 0
        if isinstance(said, ChallengeAnswered):
            return 0, self._once(self._answered(said, boot_id)), 0, 0, 0
        raise FrameError(f"{Kind(kind).name.lower()} without a MAC")

    def sign(self, message: Message) -> bytes:
        """See ``HostAuthenticator``."""
        if self._session_keys is None:
            return b""
        said = message.content
        if isinstance(said, RotateKey):
            masked = self._session_keys.masked(said.key, said.command_id, said.key_id)
            message = replace(message, content=replace(said, key=masked))
        sealed = self._session_keys.signer.sign(body_of(message))
        return b"" if sealed is None else frame_body(sealed)

    def outgoing(self) -> bytes:
        """See ``HostAuthenticator``."""
        if not self._due or self._asked is None:
            return b""
        self._due = False
        return encode(Message(content=Challenge(self._asked.key_id, self._asked.nonce)))

    def _refuses(self, frame: bytes) -> str | None:
        if self._session_keys is None:
            return NO_SESSION
        why = self._session_keys.verifier.check(frame)
        if self._before is not None:
            if why is None:
                self._before = None
            else:
                why = self._before.verifier.check(frame)
        if self._before is None:
            self.verifier = self._session_keys.verifier
        return why

    def _once(self, event: ShoeEvent) -> ShoeEvent:
        """A shoe that fails is asked again every second: the same is told once."""
        if event in self._told:
            return Repeated(of=event.type)
        if isinstance(event, Authenticated) or len(self._told) >= MAX_REMEMBERED:
            self._told.clear()
        self._told.add(event)
        return event

    def _introduced(self, hello: Hello) -> ShoeEvent:
        device_id = hello.device_id
        if not hello.authenticates:
            return AuthenticationFailed(reason=CANNOT_AUTHENTICATE, device_id=device_id)
        keys = self._keys.keys.get(device_id)
        if not keys:
            return AuthenticationFailed(reason=NO_KEY, device_id=device_id)
        asked = self._asked
        if asked is None or (asked.device_id, self._asked_boot) != (device_id, hello.boot_id):
            self._asked_boot = hello.boot_id
            self._tried.clear()
            asked = self._ask(device_id, max(keys))
        self._due = True
        return asked

    def _ask(self, device_id: str, key_id: int) -> Challenged:
        self._tried.add(key_id)
        self._due = True
        nonce = self._keys.nonce().hex()
        self._asked = Challenged(device_id=device_id, key_id=key_id, nonce=nonce)
        return self._asked

    def _answered(self, answer: ChallengeAnswered, boot_id: int) -> ShoeEvent:
        asked = self._asked
        if asked is None:
            raise FrameError("challenge_answered to no challenge")
        keys = self._keys.keys.get(asked.device_id, {})
        if answer.key_id != asked.key_id:
            if answer.key_id in keys and answer.key_id not in self._tried:
                return self._ask(asked.device_id, answer.key_id)
            reason = f"the shoe has no key {asked.key_id}"
            return _failed(asked, reason)
        transcript = Transcript(
            key_id=asked.key_id,
            host_nonce=bytes.fromhex(asked.nonce),
            shoe_nonce=bytes.fromhex(answer.nonce),
            boot_id=boot_id,
            device_id=asked.device_id,
        )
        key = keys.get(asked.key_id)  # it may have been retired since
        if key is None:
            return _failed(asked, NO_KEY)
        if not transcript.proves(key, bytes.fromhex(answer.proof)):
            return _failed(asked, WRONG_PROOF)
        self._before, self._session_keys = self._session_keys, SessionKeys.by_host(transcript, key)
        self.verifier = None
        self._asked = None
        self.greets = True
        return Authenticated(
            device_id=asked.device_id,
            boot_id=boot_id,
            key_id=asked.key_id,
            host_nonce=asked.nonce,
            shoe_nonce=answer.nonce,
        )


def _failed(asked: Challenged, reason: str) -> AuthenticationFailed:
    return AuthenticationFailed(reason=reason, device_id=asked.device_id, key_id=asked.key_id)


class RecordedAuthenticator:
    """A ``HostAuthenticator`` without keys, for replay: it goes by the verdicts that were recorded.

    ``verdict_of`` gives what was recorded of the frame at this place; only what an authenticator
    decides is taken from it.
    """

    def __init__(self, verdict_of: VerdictOf) -> None:
        self.greets = False
        self.verifier: MacVerifier | None = None
        self._verdict_of = verdict_of

    def read(self, stuffed: bytes, first: int) -> DecodedFrame:
        """See ``HostAuthenticator``."""
        frame = unwrap(stuffed)
        verdict = self._verdict_of(first)
        if frame[0] == VERSION_WITH_MAC:
            if isinstance(verdict, Discarded) and verdict.reason in VERDICTS:
                raise FrameError(verdict.reason)
            return read_with_mac(frame)
        kind, said, _, _, _ = read(stuffed)
        if isinstance(said, Hello | ChallengeAnswered):
            if isinstance(verdict, Discarded) or verdict is None:
                raise FrameError("not recorded" if verdict is None else verdict.reason)
            return 0, verdict, 0, 0, 0
        raise FrameError(f"{Kind(kind).name.lower()} without a MAC")

    def sign(self, message: Message) -> bytes:  # noqa: ARG002
        """Nothing is said in a replay."""
        return b""

    def outgoing(self) -> bytes:
        """Nothing is said in a replay."""
        return b""


class CheckingAuthenticator:
    """A ``HostAuthenticator`` for replay that checks every MAC again, with the recorded nonces.

    Of ``keys``, which may have come and gone since, that one is used which the shoe was asked for
    last. Where it is not among them ``missing`` is told, and from there on the recorded verdicts
    count.
    """

    def __init__(
        self,
        keys: Mapping[str, Mapping[int, bytes]],
        verdict_of: VerdictOf,
        missing: Callable[[str, int], None],
    ) -> None:
        self.greets = False
        self.verifier: MacVerifier | None = None
        self._keys = keys
        self._verdict_of = verdict_of
        self._missing = missing
        self._recorded = RecordedAuthenticator(verdict_of)
        self._checks = True
        self._asked_for: dict[str, dict[int, bytes]] = {}
        self._nonce = bytes(NONCE_BYTES)
        self._auth = KeyAuthenticator(HostKeys(self._asked_for, lambda: self._nonce))

    def read(self, stuffed: bytes, first: int) -> DecodedFrame:
        """See ``HostAuthenticator``."""
        verdict = self._verdict_of(first)
        if self._checks and isinstance(verdict, Challenged):
            self._ask_for(verdict)
        elif isinstance(verdict, AuthenticationFailed) and verdict.reason == NO_KEY:
            self._asked_for.clear()  # it was retired before the answer came
        return (self._auth if self._checks else self._recorded).read(stuffed, first)

    def _ask_for(self, asked: Challenged) -> None:
        key = self._keys.get(asked.device_id, {}).get(asked.key_id)
        if key is None:
            self._checks = False
            self._missing(asked.device_id, asked.key_id)
            return
        self._asked_for[asked.device_id] = {asked.key_id: key}
        self._nonce = bytes.fromhex(asked.nonce)

    def sign(self, message: Message) -> bytes:  # noqa: ARG002
        """Nothing is said in a replay."""
        return b""

    def outgoing(self) -> bytes:
        """Nothing is said in a replay."""
        return b""


class ShoeAuthenticator:
    """What was agreed holds until a host proves itself anew: a challenge alone changes nothing."""

    def __init__(self, keys: ShoeKeys) -> None:
        self._keys = keys
        self._session_keys: SessionKeys | None = None
        self._offered: SessionKeys | None = None  # answered, and the host has not proved itself yet
        self._answer: tuple[Challenge, ChallengeAnswered] | None = None

    @property
    def proven(self) -> bool:
        """The host proved that it has the key."""
        return self._session_keys is not None

    def read(self, stuffed: bytes) -> tuple[int, Any, bool]:
        """Kind, what it says, and whether a MAC holds for it.

        Raises:
            FrameError: it is not to be heard.
        """
        frame = unwrap(stuffed)
        if frame[0] != VERSION_WITH_MAC:
            kind, said, _, _, _ = read(stuffed)
            return kind, said, False
        why = self._refuses(frame)
        if why is not None:
            raise FrameError(why)
        kind, said, _, _, _ = read_with_mac(frame)
        if isinstance(said, RotateKey) and self._session_keys is not None:
            key = self._session_keys.masked(said.key, said.command_id, said.key_id)
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
        self._offered = SessionKeys.by_shoe(transcript, key)
        self._answer = (challenge, answer)
        return answer

    def sign(self, body: bytes) -> bytes:
        """The frame, with a MAC; nothing where none can be made."""
        sealed = None if self._session_keys is None else self._session_keys.signer.sign(body)
        return b"" if sealed is None else frame_body(sealed)

    def _refuses(self, frame: bytes) -> str | None:
        if self._offered is not None and self._offered.verifier.check(frame) is None:
            self._session_keys, self._offered = self._offered, None
            self._forget_before(self._session_keys.transcript.key_id)
            return None
        return (
            NO_SESSION if self._session_keys is None else self._session_keys.verifier.check(frame)
        )

    def _forget_before(self, key_id: int) -> None:
        for older in [known for known in self._keys.keys if known < key_id]:
            del self._keys.keys[older]
