"""Whether a shoe hears: a half-dead line is known in time, and a busy one is no half-dead line.

In: what a session counts, as a shoe would bring it about, at times by hand. Out: when it is lost.
"""

from __future__ import annotations

from shoe_ctl.link.hearing import Hearing

IN_TIME_S = 5.0


class Line:
    """A connection that looks at ``hearing`` when a frame comes, and when it asks to be called."""

    def __init__(self) -> None:
        self.hearing = Hearing()
        self.heeded = self.unheeded = 0
        self.now = 100.0
        self.asked: list[float] = []
        self.lost_at: float | None = None

    def look(self, *, empty: bool) -> None:
        if self.hearing.observe(self.heeded, self.unheeded, self.now, empty=empty):
            self.asked.append(self.now)
        if self.lost_at is None and self.hearing.is_lost:
            self.lost_at = self.now

    def wait(self, until: float, *, empty: bool = True) -> None:
        """Let time pass, with a look at each deadline."""
        while (due := self.hearing.next_deadline) is not None and due <= until:
            self.now = due
            self.look(empty=empty)
        self.now = until

    def shows_nothing(self, at: float, *, empty: bool = True) -> None:
        """A frame that shows that nothing sent had an effect."""
        self.wait(100.0 + at, empty=empty)
        self.unheeded += 1
        self.look(empty=empty)

    def shows_an_effect(self, at: float) -> None:
        self.wait(100.0 + at)
        self.heeded, self.unheeded = self.heeded + 1, 0
        self.look(empty=False)

    def is_at_rest(self, at: float) -> None:
        """A status that shows that nothing is outstanding."""
        self.wait(100.0 + at)
        self.unheeded = 0
        self.look(empty=False)


def test_statuses_alone_show_it_in_time_whenever_the_wire_broke() -> None:
    for tenth in range(21):
        line = Line()
        for number in range(4):
            line.shows_nothing(tenth / 10 + 2.0 * number)
        assert line.lost_at is not None
        assert line.lost_at <= 100.0 + IN_TIME_S


def test_a_card_that_is_repeated_shows_it_within_three_seconds() -> None:
    line = Line()
    for quarter in range(1, 16):
        line.shows_nothing(quarter * 0.25)
    assert line.lost_at is not None
    assert 102.5 <= line.lost_at <= 103.0


def test_repeats_that_cross_their_acknowledgement_show_nothing() -> None:
    line = Line()
    for card in range(100):
        line.shows_nothing(card * 0.5 + 0.25)
        line.shows_nothing(card * 0.5 + 0.30)
        line.shows_an_effect(card * 0.5 + 0.4)
    assert line.lost_at is None


def test_a_stray_repeat_is_forgotten_once_nothing_is_outstanding() -> None:
    line = Line()
    for minute in range(20):
        line.shows_nothing(minute * 60.0)
        line.is_at_rest(minute * 60.0 + 1.9)
    assert line.lost_at is None


def test_what_waited_in_a_line_that_is_never_read_empty_shows_nothing() -> None:
    line = Line()
    for number in range(200):
        line.shows_nothing(number * 0.1, empty=False)
    assert line.lost_at is None


def test_a_host_that_stood_still_reads_what_the_shoe_sent_before_it_judges() -> None:
    line = Line()
    line.shows_nothing(0.0)
    line.wait(101.0)
    line.now = 160.0  # nothing was looked at for nearly a minute
    line.unheeded += 1
    line.look(empty=False)
    line.look(empty=True)
    assert line.lost_at is None
    line.shows_an_effect(60.1)
    assert not line.hearing.is_lost


def test_one_that_does_not_hear_is_asked_every_second_until_it_shows_an_effect() -> None:
    line = Line()
    for quarter in range(1, 40):
        line.shows_nothing(quarter * 0.25)
    assert 6 <= len(line.asked) <= 8
    line.shows_an_effect(10.0)
    assert not line.hearing.is_lost
    assert line.hearing.next_deadline is None


def test_a_shoe_at_rest_is_not_taken_to_hear_before_it_shows_an_effect() -> None:
    line = Line()
    for quarter in range(1, 16):
        line.shows_nothing(quarter * 0.25)
    line.is_at_rest(4.0)
    assert line.hearing.is_lost
    line.wait(106.0)
    assert line.asked[-1] >= 105.0


def test_a_shoe_that_shows_an_effect_and_then_none_is_judged_from_that_on() -> None:
    line = Line()
    line.shows_an_effect(0.0)
    for quarter in range(1, 16):
        line.shows_nothing(quarter * 0.25)
    assert line.lost_at is not None
    assert line.lost_at <= 103.0
