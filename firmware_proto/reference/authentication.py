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
"""Reports kept to recognise repeats: a sender that changes its identity cannot fill memory."""


VerdictOf = Callable[[int], ShoeEvent | None]
"""Returns the recorded event of the frame that begins at this byte, or None."""


class HostAuthenticator(Protocol):
    """Checks the frames of a shoe for a session that accepts only authenticated messages."""

    wants_hello: bool
    """The shoe was authenticated just now: ask for hello, with a MAC."""
    verifier: MacVerifier | None
    """Checks the MACs of the only accepted sender; None while ``read`` has to judge each frame."""

    def read(self, stuffed: bytes, first: int) -> DecodedFrame:
        """Decode the bytes between two delimiters, the first of them at ``first``.

        Raises:
            FrameError: the frame is refused.
        """

    def sign(self, message: Message) -> bytes:
        """Return the frame with a MAC; nothing where none can be made."""

    def outgoing(self) -> bytes:
        """Take the challenge to send now, if any."""


class KeyAuthenticator:
    """A ``HostAuthenticator`` with keys. An agreement holds until the next one is proved."""

    def __init__(self, keys: HostKeys) -> None:
        self.wants_hello = False
        self.verifier: MacVerifier | None = None
        self._keys = keys
        self._challenged: Challenged | None = None
        self._challenged_boot = 0
        self._tried_key_ids: set[int] = set()
        self._challenge_due = False
        self._reported: set[ShoeEvent] = set()  # since the last authentication
        self._session_keys: SessionKeys | None = None
        self._previous_session: SessionKeys | None = None  # until a frame with the new keys arrives

    def read(self, stuffed: bytes, first: int) -> DecodedFrame:  # noqa: ARG002
        """See ``HostAuthenticator``."""
        frame = unwrap(stuffed)
        if frame[0] == VERSION_WITH_MAC:
            why = self._check(frame)
            if why is not None:
                raise FrameError(why)
            return READERS_WITH_MAC[frame[1]](frame)
        kind, content, _, boot_id, _ = read(stuffed)
        if isinstance(content, Hello):
            return 0, self._report_once(self._on_hello(content)), 0, 0, 0
        if isinstance(content, ChallengeAnswered):
            return 0, self._report_once(self._on_answer(content, boot_id)), 0, 0, 0
        raise FrameError("no_mac", Kind(kind).name.lower())

    def sign(self, message: Message) -> bytes:
        """See ``HostAuthenticator``."""
        if self._session_keys is None:
            return b""
        content = message.content
        if isinstance(content, RotateKey):
            masked = self._session_keys.masked(content.key, content.command_id, content.key_id)
            message = replace(message, content=replace(content, key=masked))
        signed = self._session_keys.signer.sign(body_of(message))
        return b"" if signed is None else frame_body(signed)

    def outgoing(self) -> bytes:
        """See ``HostAuthenticator``."""
        if not self._challenge_due or self._challenged is None:
            return b""
        self._challenge_due = False
        return encode(Message(content=Challenge(self._challenged.key_id, self._challenged.nonce)))

    def _check(self, frame: bytes) -> str | None:
        if self._session_keys is None:
            return NO_SESSION
        why = self._session_keys.verifier.check(frame)
        if self._previous_session is not None:
            if why is None:
                self._previous_session = None
            else:
                why = self._previous_session.verifier.check(frame)
        if self._previous_session is None:
            self.verifier = self._session_keys.verifier
        return why

    def _report_once(self, event: ShoeEvent) -> ShoeEvent:
        """Report an event once; a shoe that fails is challenged again every second."""
        if event in self._reported:
            return Repeated(of=event.type)
        if isinstance(event, Authenticated) or len(self._reported) >= MAX_REMEMBERED:
            self._reported.clear()
        self._reported.add(event)
        return event

    def _on_hello(self, hello: Hello) -> ShoeEvent:
        device_id = hello.device_id
        if not hello.authenticates:
            return AuthenticationFailed(reason=CANNOT_AUTHENTICATE, device_id=device_id)
        keys = self._keys.keys.get(device_id)
        if not keys:
            return AuthenticationFailed(reason=NO_KEY, device_id=device_id)
        challenged = self._challenged
        if challenged is None or (challenged.device_id, self._challenged_boot) != (
            device_id,
            hello.boot_id,
        ):
            self._challenged_boot = hello.boot_id
            self._tried_key_ids.clear()
            challenged = self._challenge(device_id, max(keys))
        self._challenge_due = True
        return challenged

    def _challenge(self, device_id: str, key_id: int) -> Challenged:
        self._tried_key_ids.add(key_id)
        self._challenge_due = True
        nonce = self._keys.nonce().hex()
        self._challenged = Challenged(device_id=device_id, key_id=key_id, nonce=nonce)
        return self._challenged

    def _on_answer(self, answer: ChallengeAnswered, boot_id: int) -> ShoeEvent:
        challenged = self._challenged
        if challenged is None:
            raise FrameError("no_challenge", "challenge_answered")
        keys = self._keys.keys.get(challenged.device_id, {})
        if answer.key_id != challenged.key_id:
            if answer.key_id in keys and answer.key_id not in self._tried_key_ids:
                return self._challenge(challenged.device_id, answer.key_id)
            reason = f"the shoe has no key {challenged.key_id}"
            return _failed(challenged, reason)
        transcript = Transcript(
            key_id=challenged.key_id,
            host_nonce=bytes.fromhex(challenged.nonce),
            shoe_nonce=bytes.fromhex(answer.nonce),
            boot_id=boot_id,
            device_id=challenged.device_id,
        )
        key = keys.get(challenged.key_id)  # it may have been retired since
        if key is None:
            return _failed(challenged, NO_KEY)
        if not transcript.is_proof(key, bytes.fromhex(answer.proof)):
            return _failed(challenged, WRONG_PROOF)
        self._previous_session, self._session_keys = (
            self._session_keys,
            SessionKeys.by_host(transcript, key),
        )
        self.verifier = None
        self._challenged = None
        self.wants_hello = True
        return Authenticated(
            device_id=challenged.device_id,
            boot_id=boot_id,
            key_id=challenged.key_id,
            host_nonce=challenged.nonce,
            shoe_nonce=answer.nonce,
        )


def _failed(challenged: Challenged, reason: str) -> AuthenticationFailed:
    return AuthenticationFailed(
        reason=reason, device_id=challenged.device_id, key_id=challenged.key_id
    )


class RecordedAuthenticator:
    """A ``HostAuthenticator`` without keys, for replay: it goes by the verdicts that were recorded.

    ``verdict_of`` returns the event recorded of the frame at this place; only an authenticator's
    decisions are taken from it.
    """

    def __init__(self, verdict_of: VerdictOf) -> None:
        self.wants_hello = False
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
        kind, content, _, _, _ = read(stuffed)
        if isinstance(content, Hello | ChallengeAnswered):
            if isinstance(verdict, Discarded) or verdict is None:
                if verdict is None:
                    raise FrameError("not_recorded")
                raise FrameError(verdict.reason, verdict.of, verdict.field)
            return 0, verdict, 0, 0, 0
        raise FrameError("no_mac", Kind(kind).name.lower())

    def sign(self, message: Message) -> bytes:  # noqa: ARG002
        """Return nothing: a replay sends nothing."""
        return b""

    def outgoing(self) -> bytes:
        """Return nothing: a replay sends nothing."""
        return b""


class CheckingAuthenticator:
    """A ``HostAuthenticator`` for replay that checks every MAC again, with the recorded nonces.

    Uses, of ``keys``, the one that the shoe was last challenged for. If it is missing, ``missing``
    is called, and from there on the recorded verdicts count.
    """

    def __init__(
        self,
        keys: Mapping[str, Mapping[int, bytes]],
        verdict_of: VerdictOf,
        missing: Callable[[str, int], None],
    ) -> None:
        self.wants_hello = False
        self.verifier: MacVerifier | None = None
        self._keys = keys
        self._verdict_of = verdict_of
        self._missing = missing
        self._recorded = RecordedAuthenticator(verdict_of)
        self._checks = True
        self._usable_keys: dict[str, dict[int, bytes]] = {}
        self._nonce = bytes(NONCE_BYTES)
        self._auth = KeyAuthenticator(HostKeys(self._usable_keys, lambda: self._nonce))

    def read(self, stuffed: bytes, first: int) -> DecodedFrame:
        """See ``HostAuthenticator``."""
        verdict = self._verdict_of(first)
        if self._checks and isinstance(verdict, Challenged):
            self._use_key(verdict)
        elif isinstance(verdict, AuthenticationFailed) and verdict.reason == NO_KEY:
            self._usable_keys.clear()  # it was retired before the answer came
        return (self._auth if self._checks else self._recorded).read(stuffed, first)

    def _use_key(self, challenged: Challenged) -> None:
        key = self._keys.get(challenged.device_id, {}).get(challenged.key_id)
        if key is None:
            self._checks = False
            self._missing(challenged.device_id, challenged.key_id)
            return
        self._usable_keys[challenged.device_id] = {challenged.key_id: key}
        self._nonce = bytes.fromhex(challenged.nonce)

    def sign(self, message: Message) -> bytes:  # noqa: ARG002
        """Return nothing: a replay sends nothing."""
        return b""

    def outgoing(self) -> bytes:
        """Return nothing: a replay sends nothing."""
        return b""


class ShoeAuthenticator:
    """Session keys hold until a host is authenticated anew: a challenge alone changes nothing."""

    def __init__(self, keys: ShoeKeys) -> None:
        self._keys = keys
        self._session_keys: SessionKeys | None = None
        self._offered: SessionKeys | None = None  # answered, and the host has not proved itself yet
        self._answer: tuple[Challenge, ChallengeAnswered] | None = None

    @property
    def is_authenticated(self) -> bool:
        """True if the host has proved that it has the key."""
        return self._session_keys is not None

    def read(self, stuffed: bytes) -> tuple[int, Any, bool]:
        """Return kind, content, and whether it has a right MAC.

        Raises:
            FrameError: the frame is refused.
        """
        frame = unwrap(stuffed)
        if frame[0] != VERSION_WITH_MAC:
            kind, content, _, _, _ = read(stuffed)
            return kind, content, False
        why = self._check(frame)
        if why is not None:
            raise FrameError(why)
        kind, content, _, _, _ = read_with_mac(frame)
        if isinstance(content, RotateKey) and self._session_keys is not None:
            key = self._session_keys.masked(content.key, content.command_id, content.key_id)
            content = replace(content, key=key)
        return kind, content, True

    def answer(self, challenge: Challenge, hello: Hello) -> ChallengeAnswered:
        """Return the response; with another key's id and no proof where that key is missing.

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
        """Return the frame with a MAC; nothing where none can be made."""
        signed = None if self._session_keys is None else self._session_keys.signer.sign(body)
        return b"" if signed is None else frame_body(signed)

    def _check(self, frame: bytes) -> str | None:
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
