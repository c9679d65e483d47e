"""The host's side of who is speaking: challenges, proofs, and a MAC on every frame.

In: frames, keys or what was recorded of them. Out: what may be heard; challenges; sealed frames.
Must not know: event numbers, what is stored, the time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol

from firmware_proto.events import (
    Authenticated,
    AuthenticationFailed,
    Challenge,
    ChallengeAnswered,
    Challenged,
    Discarded,
    Hello,
    Repeated,
    RotateKey,
    ShoeEvent,
)
from firmware_proto.link_events import NO_KEY, NO_PROOF, WRONG_PROOF

from .codec import SEALED_READERS, Checked, Message, body_of, encode, read, read_sealed, unwrapped
from .derived import FrameError
from .framing import framed
from .keys import HostKeys
from .layouts import NONCE_BYTES, SEALED, Kind
from .seal import NO_SESSION, VERDICTS, Agreed, Opener, Transcript

LINK_EVENTS = (Authenticated, AuthenticationFailed, Challenged)
"""What a guard makes of an introduction or an answer; of no kind (0) and without a number."""

MOST_TOLD = 32
"""Kept to know a repeat: whoever names himself anew each time is not remembered for ever."""


VerdictOf = Callable[[int], ShoeEvent | None]
"""What was recorded of the frame whose first byte stands here; None where nothing was."""


class Guard(Protocol):
    """Stands between the bytes of a shoe and a session that believes only what is proved."""

    greets: bool
    """The shoe proved who it is just now: hello is to be asked for, sealed."""
    opener: Opener | None
    """Whose frames alone may be heard; None where each frame is for ``read`` to judge."""

    def read(self, stuffed: bytes, first: int) -> Checked:
        """What stands between two delimiters, the first of its bytes at ``first``.

        Raises:
            FrameError: it is not to be heard.
        """

    def seal(self, message: Message) -> bytes:
        """The frame, with a MAC; nothing where none can be made."""

    def outgoing(self) -> bytes:
        """The challenge to be sent now, if any."""


class KeyGuard:
    """A ``Guard`` with keys. What was agreed holds until the next proof; others change nothing."""

    def __init__(self, keys: HostKeys) -> None:
        self.greets = False
        self.opener: Opener | None = None
        self._keys = keys
        self._asked: Challenged | None = None
        self._asked_boot = 0
        self._tried: set[int] = set()
        self._due = False
        self._told: set[ShoeEvent] = set()  # since the last proof
        self._agreed: Agreed | None = None
        self._before: Agreed | None = None  # until the shoe is heard under the new agreement

    def read(self, stuffed: bytes, first: int) -> Checked:  # noqa: ARG002
        """See ``Guard``."""
        frame = unwrapped(stuffed)
        if frame[0] == SEALED:
            why = self._refuses(frame)
            if why is not None:
                raise FrameError(why)
            return SEALED_READERS[frame[1]](frame)
        kind, said, _, boot_id, _ = read(stuffed)
        if isinstance(said, Hello):
            return 0, self._once(self._introduced(said)), 0, 0, 0
        if isinstance(said, ChallengeAnswered):
            return 0, self._once(self._answered(said, boot_id)), 0, 0, 0
        raise FrameError(f"{Kind(kind).name.lower()} without a MAC")

    def seal(self, message: Message) -> bytes:
        """See ``Guard``."""
        if self._agreed is None:
            return b""
        said = message.said
        if isinstance(said, RotateKey):
            masked = self._agreed.masked(said.key, said.command_id, said.key_id)
            message = replace(message, said=replace(said, key=masked))
        sealed = self._agreed.sealer.seal(body_of(message))
        return b"" if sealed is None else framed(sealed)

    def outgoing(self) -> bytes:
        """See ``Guard``."""
        if not self._due or self._asked is None:
            return b""
        self._due = False
        return encode(Message(said=Challenge(self._asked.key_id, self._asked.nonce)))

    def _refuses(self, frame: bytes) -> str | None:
        if self._agreed is None:
            return NO_SESSION
        why = self._agreed.opener.refuses(frame)
        if self._before is not None:
            if why is None:
                self._before = None
            else:
                why = self._before.opener.refuses(frame)
        if self._before is None:
            self.opener = self._agreed.opener
        return why

    def _once(self, event: ShoeEvent) -> ShoeEvent:
        """A shoe that fails is asked again every second: the same is told once."""
        if event in self._told:
            return Repeated(of=event.type)
        if isinstance(event, Authenticated) or len(self._told) >= MOST_TOLD:
            self._told.clear()
        self._told.add(event)
        return event

    def _introduced(self, hello: Hello) -> ShoeEvent:
        device_id = hello.device_id
        if not hello.authenticates:
            return AuthenticationFailed(reason=NO_PROOF, device_id=device_id)
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
        self._before, self._agreed = self._agreed, Agreed.by_host(transcript, key)
        self.opener = None
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


class RecordedGuard:
    """A ``Guard`` without keys, for replay: it goes by the verdicts that were recorded.

    ``verdict_of`` gives what was recorded of the frame at this place; only what a guard decides is
    taken from it.
    """

    def __init__(self, verdict_of: VerdictOf) -> None:
        self.greets = False
        self.opener: Opener | None = None
        self._verdict_of = verdict_of

    def read(self, stuffed: bytes, first: int) -> Checked:
        """See ``Guard``."""
        frame = unwrapped(stuffed)
        verdict = self._verdict_of(first)
        if frame[0] == SEALED:
            if isinstance(verdict, Discarded) and verdict.reason in VERDICTS:
                raise FrameError(verdict.reason)
            return read_sealed(frame)
        kind, said, _, _, _ = read(stuffed)
        if isinstance(said, Hello | ChallengeAnswered):
            if isinstance(verdict, Discarded) or verdict is None:
                raise FrameError("not recorded" if verdict is None else verdict.reason)
            return 0, verdict, 0, 0, 0
        raise FrameError(f"{Kind(kind).name.lower()} without a MAC")

    def seal(self, message: Message) -> bytes:  # noqa: ARG002
        """Nothing is said in a replay."""
        return b""

    def outgoing(self) -> bytes:
        """Nothing is said in a replay."""
        return b""


class CheckingGuard:
    """A ``Guard`` for replay that checks every proof and MAC again, with the nonces recorded.

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
        self.opener: Opener | None = None
        self._keys = keys
        self._verdict_of = verdict_of
        self._missing = missing
        self._recorded = RecordedGuard(verdict_of)
        self._checks = True
        self._asked_for: dict[str, dict[int, bytes]] = {}
        self._nonce = bytes(NONCE_BYTES)
        self._guard = KeyGuard(HostKeys(self._asked_for, lambda: self._nonce))

    def read(self, stuffed: bytes, first: int) -> Checked:
        """See ``Guard``."""
        verdict = self._verdict_of(first)
        if self._checks and isinstance(verdict, Challenged):
            self._ask_for(verdict)
        elif isinstance(verdict, AuthenticationFailed) and verdict.reason == NO_KEY:
            self._asked_for.clear()  # it was retired before the answer came
        return (self._guard if self._checks else self._recorded).read(stuffed, first)

    def _ask_for(self, asked: Challenged) -> None:
        key = self._keys.get(asked.device_id, {}).get(asked.key_id)
        if key is None:
            self._checks = False
            self._missing(asked.device_id, asked.key_id)
            return
        self._asked_for[asked.device_id] = {asked.key_id: key}
        self._nonce = bytes.fromhex(asked.nonce)

    def seal(self, message: Message) -> bytes:  # noqa: ARG002
        """Nothing is said in a replay."""
        return b""

    def outgoing(self) -> bytes:
        """Nothing is said in a replay."""
        return b""
