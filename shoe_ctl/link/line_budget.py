"""Limit what garbage on a line may cost: it is read in large portions, within a budget.

In: what each portion brought, the time spent decoding it, the clock. Out: how long the line is not
read, and whether its budget is spent.
Must not know: ports, sessions, what happens to a line over its budget.
"""

from __future__ import annotations

KEPT_A_MINUTE = 128 * 1024
"""Bytes of garbage. A line at 4800 or 9600 baud that brings nothing else stays under it; one at
115200 baud, 11.5 kB/s, is over it in 13 s. No shoe that works comes near it."""

LARGE_PORTION = 1536
"""Bytes. A record of garbage costs some 800 bytes beside the garbage itself, so that portions of
this size keep the journal's growth under twice the wire's."""

SHORTEST_S, LONGEST_S = 0.1, 4.0
"""The time that bytes gather on a noisy line. A tty holds 4096 bytes: more than 4 s at 9600
baud."""

NOISY = 1024
"""Bytes of garbage, less ``FORGIVEN_A_SECOND``: from here on a line is noisy. A shoe that is
plugged in, or speaks at the wrong rate for a moment, brings less."""

FORGIVEN_A_SECOND = 64
"""A cable that brings a stray byte now and then is not noisy."""

PER_PIECE = 100
"""Bytes that a record counts for besides, however short: single bytes cost the most."""

SHARE = 10
"""Garbage gets one tenth of the processor's time: 6 s a minute."""

PER_SECOND = KEPT_A_MINUTE * SHARE / 60
"""Bytes that a second of processor time counts for: either budget ends the connection."""

BURST_S = 3.0
"""A line may bring whole portions for so long before it must pause, by the clock: a portion may
have waited for those of other tables."""

BUSY_S = 5.0
"""From then on such a line has one third of the time, and after ``BUSY_S`` in all one tenth."""

PORTION_S, PIECE_S = 0.002, 0.0004
"""A portion costs so much, and each message in it: to decode and to handle, to pack, to commit and
to sync. It is counted, because what it costs others is not what the line waits for."""

COUNTED_BURST_S, COUNTED_BUSY_S = 0.1, 1.0
"""The same as ``BURST_S`` and ``BUSY_S``, of the counted cost: a flood costs others nothing that
they notice, from its first second on. What a table at work brings at once costs less."""

KEPT_EVENTS = 8192
"""Events that a shoe kept while its host was away: more than a memory holds. While they come, the
line has one third of the time; then it is like any other."""

EVENTS_A_SECOND = 10
"""``KEPT_EVENTS`` come back at this pace, more than any table deals."""

FRAMES_A_MINUTE = 64 * 1024
"""Bytes of frames that make sense and bring no event: states that a shoe sends again and again.
Beyond these the line is read no faster: 32 states a second."""

NOTICES_A_MINUTE = 60
"""Events that are no card, such as a lid or an error, beyond ``KEPT_EVENTS``: each is stored and
published, about 1 kB. A shoe that sends more is read no faster: at most 90 MB a day."""

PER_CARD = 8
"""Such events that come with each card: locked, armed, a result now and then."""

SMALL_PORTION = 128
"""Bytes that are read at once of a line that brought too many of these: a few frames."""

PER_EVENT = 512
"""Bytes of such frames that come with each event: a card brings some three states, each of which
counts for ``PER_PIECE`` more where it comes alone."""


class LineBudget:
    """The budget of one line, over all its connections. Times are monotonic seconds.

    Attributes:
        is_noisy: True if it brings so much garbage that its bytes are left to gather.
        is_spent: True if the garbage exceeded the budget, in bytes or in processor time.
        is_full: True if nothing of the budget is spent, and no noise is left to forgive: ``spend``
            then changes nothing for a portion without garbage and without repeats.
        is_throttled: True if it brought more frames without an event than are read at once: large
            portions then cost less.
        is_slowed: True if it brought more events that are no card than it may: it is read in small
            portions, ``LONGEST_S`` apart, and the rest waits at the shoe.
    """

    def __init__(self) -> None:
        self.is_noisy, self.is_spent, self.is_full = False, False, True
        self.is_throttled = self.is_slowed = False
        self._measured = Busy(BURST_S, BUSY_S)
        self._counted = Busy(COUNTED_BURST_S, COUNTED_BUSY_S)
        self._kept, self._kept_at = float(KEPT_EVENTS), 0.0
        self._frames, self._frames_at = float(FRAMES_A_MINUTE), 0.0
        self._notices, self._notices_at = float(KEPT_EVENTS), 0.0
        self._left = float(KEPT_A_MINUTE)
        self._noise = 0.0
        self._repeats = 0.0
        self._gathers_s = SHORTEST_S
        self._gathered = 0
        self._at: float | None = None

    def begin_connection(self) -> None:
        """Forget most of the line's noise: another shoe may be connected now.

        What is left of the budget stays.
        """
        self._noise = min(self._noise, NOISY)
        self._repeats = min(self._repeats, NOISY)
        self._gathers_s = SHORTEST_S
        self._gathered = 0
        self._judge()

    def _judge(self) -> None:
        """Work out what each portion asks: they are attributes, so that a card costs no call."""
        self.is_noisy = self._noise > NOISY or self._repeats > NOISY
        self.is_spent = self._left <= 0
        self.is_full = self._left == KEPT_A_MINUTE and not self._noise and not self._repeats

    def spend(  # noqa: PLR0913 - one argument for each figure
        self,
        received: int,
        useful: int,
        pieces: int,
        cost_s: float,
        now: float,
        *,
        repeated: int = 0,
        unread: bool = False,
    ) -> float:
        """Return the seconds for which the line is not to be read after this portion.

        ``useful`` of the bytes ``received`` belong to frames, ``repeated`` to frames that were sent
        again; either may be more than came now, where a frame began earlier. ``pieces`` of garbage
        are recorded. Decoding took ``cost_s`` of the processor's time. ``unread``: more that came
        with this portion is still to be decoded, so that nothing is to gather.

        A shoe sends again what is not acknowledged in time. Repeats therefore never make the line
        wait for longer than ``SHORTEST_S``: a longer wait would bring the next ones.
        """
        self._pass_time(now)
        garbage = received - useful
        cost_s *= min(max(0.0, garbage / received), 1.0)
        self._left = min(self._left - garbage - cost_s * PER_SECOND, KEPT_A_MINUTE)
        noise = garbage - repeated + PER_PIECE * pieces
        self._noise = min(max(0.0, self._noise + noise), 2 * NOISY)
        repeats = repeated + (PER_PIECE if repeated else 0)
        self._repeats = min(self._repeats + repeats, 2 * NOISY)
        self._judge()
        gathered = self._gathered + received
        self._gathered = gathered if unread else 0
        rests_s = (SHARE - 1) * cost_s
        if self._noise <= NOISY:
            self._gathers_s = SHORTEST_S
            return SHORTEST_S if self._repeats > NOISY and not unread else 0.0
        if unread:
            return rests_s
        if gathered < LARGE_PORTION:
            self._gathers_s = min(2 * self._gathers_s, LONGEST_S)
        elif gathered > 2 * LARGE_PORTION:
            self._gathers_s = max(self._gathers_s / 2, SHORTEST_S)
        return max(self._gathers_s, rests_s)

    def read_frames(self, size: int, events: int, now: float) -> float:
        """Return the seconds for which the line is not to be read after frames without an event.

        They are ``size`` bytes of one portion; ``events`` came with them.
        """
        passed_s, self._frames_at = now - self._frames_at, now
        left = self._frames + passed_s * FRAMES_A_MINUTE / 60 + events * PER_EVENT
        left = min(left, float(FRAMES_A_MINUTE)) - size - PER_PIECE
        self._frames, self.is_throttled = left, left < 0
        return 0.0 if left >= 0 else min(-left * 60 / FRAMES_A_MINUTE, LONGEST_S)

    def read_notices(self, notices: int, cards: int, now: float) -> float:
        """Return the seconds for which the line is not to be read after events that are no card.

        ``cards`` came since the last call.
        """
        passed_s, self._notices_at = now - self._notices_at, now
        left = self._notices + passed_s * NOTICES_A_MINUTE / 60 + cards * PER_CARD
        self._notices = left = min(left, float(KEPT_EVENTS)) - notices
        self.is_slowed = left < 0
        return 0.0 if left >= 0 else min(-left * 60 / NOTICES_A_MINUTE, LONGEST_S)

    def share(self, took_s: float, pieces: int, events: int, now: float) -> float:
        """Return the seconds for which a line that brought a whole portion is not to be read.

        ``took_s`` is the time that the portion took, until it was stored. Of the ``pieces`` in it,
        ``events`` bring something new. A line that is busy has one third of the time, and later
        one tenth, by the clock and by what its messages cost. What a shoe kept while its host was
        away, ``KEPT_EVENTS`` of its events, has one third for as long as it comes.
        """
        cost_s = PORTION_S + pieces * PIECE_S
        passed_s, self._kept_at = max(0.0, now - self._kept_at), now
        kept = min(self._kept + passed_s * EVENTS_A_SECOND, float(KEPT_EVENTS)) - events
        self._kept = max(kept, 0.0)
        is_kept = events > 0 and kept > 0
        counted_s = 2 * cost_s if is_kept else self._counted.rests_s(cost_s, now)
        return max(counted_s, self._measured.rests_s(took_s, now))

    def _pass_time(self, now: float) -> None:
        passed_s = 0.0 if self._at is None else max(0.0, now - self._at)
        self._at = now
        self._left = min(self._left + passed_s * KEPT_A_MINUTE / 60, KEPT_A_MINUTE)
        self._noise = max(0.0, self._noise - passed_s * FORGIVEN_A_SECOND)
        self._repeats = max(0.0, self._repeats - passed_s * FORGIVEN_A_SECOND)


class Busy:
    """The time that a line was at work, less a tenth of the time that passed.

    It pauses from ``burst_s`` on, and for longer from ``busy_s`` on.
    """

    def __init__(self, burst_s: float, busy_s: float) -> None:
        self._burst_s, self._busy_s = burst_s, busy_s
        self._worked_s, self._at = 0.0, 0.0

    def rests_s(self, cost_s: float, now: float) -> float:
        """Return the seconds to rest after work of ``cost_s`` that ended at ``now``."""
        passed_s, self._at = max(0.0, now - self._at), now
        worked_s = max(0.0, self._worked_s - passed_s / SHARE) + cost_s
        self._worked_s = min(worked_s, self._busy_s + LONGEST_S)
        if self._worked_s < self._burst_s:
            return 0.0
        times = 2 if self._worked_s < self._busy_s else SHARE - 1
        return min(times * cost_s, LONGEST_S)


class Suspensions:
    """The time that a line over its budget is left alone: longer each time, up to a minute."""

    # After a minute the line has its whole budget again: a longer pause would keep no less.
    FIRST_S, LAST_S = 5.0, 60.0

    def __init__(self) -> None:
        self._next_s = self.FIRST_S
        self._until = float("-inf")

    def next(self, now: float) -> float:
        """Return the seconds of a suspension at ``now``; after a quiet minute ``FIRST_S`` again."""
        if now > self._until + self.LAST_S:
            self._next_s = self.FIRST_S
        wait_s, self._next_s = self._next_s, min(2 * self._next_s, self.LAST_S)
        self._until = now + wait_s
        return wait_s
