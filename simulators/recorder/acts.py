"""The acts of hands, staff, cables and power at a recorded table, as steps of a scenario.

In: a Recording. Out: steps as a file holds them, the cards, and what cannot be done again.
Must not know: how the file is written, what is expected of it.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from firmware_proto.cards import CARDS, Card
from simulators.errors import WrongUsage
from simulators.recorder.cards import BURNED, CardOrder
from simulators.recorder.expected import NOT_OF_PLAY, Expectation
from simulators.recorder.names import Names
from simulators.recorder.recording import Happened, Recording, without_nothing
from simulators.shoe.device import FIRMWARE
from simulators.shoe.judge import Judge
from simulators.table.dealer_view import ORDER
from simulators.table.expectation import Told, flat

Plain = dict[str, Any]

JAMS = ("jam", "draw_time_out")
REVERSE_RUNS = ("reverse_run", "reverse_run_at_exit")

ENTERS_CARDS = ("enter_round", "revise_round")
"""Commands whose ``player`` is a hand."""

FOLLOWS = frozenset(
    {
        "status", "reply", "repeated", "shoe_empty", "self_test", "reset_done", "query_answered",
        "unknown_firmware", "key_rotated",
    }
)  # fmt: skip
"""Messages that a shoe sends by itself when something else has happened: the simulated one says it
too."""

NOT_DONE: Mapping[str, str] = {
    "fault": "an error inside shoe-ctl",
    "hearing_lost": "a shoe that did not hear",
    "storage_restored": "a storage fault",
    "delivery_parked": "an event that a sink rejected",
    "delivery_taken": "an event that a sink took later",
    "delivery_lost": "events that a sink lost",
    "delivery_refilled": "events that a sink has again",
    "commands_refused": "commands of a user that were too many to be recorded",
    "disk_checked": "a disk that was nearly full",
    "outcome_applied": "an outcome that a table system applied",
    "shoe_stated": "a shoe that a table system stated",
    "door_noted": "a login, or a look at what is restricted",
    "notes_refused": "logins that were too many to be recorded",
    "challenged": "a shoe that proves itself with a key",
    "authenticated": "the proof of a shoe with its key",
    "authentication_failed": "a shoe that could not prove itself",
    "command_unanswered": "a command that the shoe did not answer",
    "preset_changed": "a preset changed at the shoe",
}
"""Inputs that are not done again, in words: nothing at the table follows from them, or they cannot
be found in a recording, such as the moment at which a wire was cut. What is told of them is not
expected."""

_ANY_KEY = "5a" * 32
"""For a shoe whose key the table did not know: it is not in a recording, and any other does."""


@dataclass(slots=True)
class Acts:
    """The result: the first set of cards, the steps, and why something is left out."""

    shoe: Plain
    steps: list[Plain] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def find_acts(recording: Recording, names: Names, expectation: Expectation) -> Acts:
    """Return the steps that do again what was done.

    ``expectation`` gives the pattern by which an event is waited for.

    Raises:
        WrongUsage: no shoe was connected in the recording.
    """
    return _Reader(recording, names, expectation).read()


class _Reader:
    """Goes through what happened once, from the first shoe that was connected."""

    _is_reopened = False
    """True if the storage failed before the last start of the table, and nothing else."""

    _is_suspended = False
    """True while the line is left alone, as it brought garbage."""

    _was_unanswered = False
    """True once the shoe did not answer in time: what it answers later comes at once next time."""

    _has_key = False
    """True while the shoe has a key of which the table knows nothing."""

    def __init__(self, recording: Recording, names: Names, expectation: Expectation) -> None:
        self._recording = recording
        self._names = names
        self._expectation = expectation
        self._steps: list[Plain] = []
        self._left_out: Counter[str] = Counter(recording.left_out)
        self._order = CardOrder(recording.deck, recording.decks)
        self._sets = [self._order]
        self._opened = False
        """True once the shoe was connected: what comes before is the player's own beginning."""

        self._public: list[Told] = []
        self._waited = 0
        self._halted = False
        self._locked_by_key = False
        self._plugged = True
        self._restart_at: int | None = None
        self._host_boot: str | None = None
        self._shoe_boot: int | None = None
        self._firmware: tuple[str, str | None] | None = None
        self._first_firmware: Plain = {}
        self._ids: set[str] = set()
        self._judge = Judge()
        self._follows_judge = True
        """False while the cards of this round are not where the rules have them."""

        self._unread: dict[tuple[Any, Any], tuple[CardOrder, int]] = {}
        self._cut_step: Plain | None = None
        """The draw in which the cutting card came out, until its card follows."""

        self._is_free = False
        """True if the shoe said that it may be drawn from since the last command."""

        self._is_of_brown_out = False
        """True if the next card is the one in whose draw the power dipped."""

        self._key_turns_back = False
        """True if the shoe is unlocked with the draw that was made under its key."""

        self._is_opening = True
        self._clears_error = False
        """True if the host told the shoe to clear its error, and it has not answered yet."""

        self._goes_by_time = any(
            each.kind == "tick" and (each.public or each.restricted) for each in recording.happened
        )
        self._timed: dict[int, tuple[Plain, int | None]] = {}
        """The steps in the order in which they were done, and when; by identity."""

        self._shoe_clock: Mapping[str, Any] = {}
        """The input with the last card that was armed for."""

        self._at = 0
        self._unplugged_at: int | None = None
        """Where the step stands that plugged the shoe in again, or started it again."""

        self._tells_kept = False
        """True while the shoe tells what it kept of before that step."""

        self._kept = 0
        self._memory: int | None = None

    def read(self) -> Acts:
        for at, happened in enumerate(self._recording.happened):
            self._at = at
            self._take(happened)
            self._note_time(happened)
        if not self._opened:
            raise WrongUsage(f"{self._recording.source}: no shoe was connected in it")
        for place, cards in zip(self._steps_with_sets(), self._sets[1:], strict=True):
            place["new_shoe"] = cards.plain()
        shoe = self._sets[0].plain()
        if self._first_firmware:
            shoe["firmware"] = self._first_firmware
        if self._memory is not None:
            shoe["memory"] = self._memory
        steps = _joined(list(self._with_time()))
        return Acts(shoe=shoe, steps=steps, left_out=self._left_out)

    def _steps_with_sets(self) -> Iterator[Plain]:
        return (step for step in self._steps if "new_shoe" in step)

    # --- time -------------------------------------------------------------------------------

    def _note_time(self, happened: Happened) -> None:
        """Note when the steps of this input were done; others may be put before them later.

        What stands for the time before a part of a recording has no time.
        """
        t_us = happened.what.get("t_us")
        for step in reversed(self._steps):
            if id(step) in self._timed:
                break
            self._timed[id(step)] = step, t_us

    def _with_time(self) -> Iterator[Plain]:
        """Yield the steps, and before each what has to pass until then.

        Time passes only in a recording in which something came of it: cards that count as seen a
        while after their draw, a result that is missing. There every deadline falls between the
        same two steps again, however quickly they are taken.
        """
        passed_us: int | None = None
        for step in self._steps:
            _, t_us = self._timed.get(id(step), (step, None))
            if passed_us is None:
                passed_us = t_us
            elif self._goes_by_time and t_us is not None and t_us > passed_us:
                yield {"pass_ms": _in_ms(t_us - passed_us)}
                passed_us = t_us
            yield step

    # --- one input --------------------------------------------------------------------------

    def _take(self, happened: Happened) -> None:
        before = len(self._steps)
        match happened.kind:
            case "shoe":
                self._take_shoe(happened)
            case "command":
                self._take_command(happened)
            case "link_lost":
                self._take_link_lost()
            case "link_up":
                self._take_link_up()
            case "restarted":
                self._take_restart(happened)
            case "line_suspended":
                self._take_suspension(happened)
            case "storage_restored" if self._is_reopened:
                pass  # it came with the start before it
            case "tick" | "line_resumed" | "hearing_restored" | "not_told":
                pass
            case kind:
                self._leave_out(NOT_DONE.get(kind, f"an input {kind}"))
        self._note_events(happened)
        is_act = any(verb.startswith("draw") for step in self._steps[before:] for verb in step)
        if self._opened and happened.public and not (is_act and self._tells_by_itself):
            self._wait_for(happened)

    @property
    def _tells_by_itself(self) -> bool:
        """True where the host acknowledges each card, so that nobody has to wait for its event."""
        return self._recording.profile == "reference"

    def _note_events(self, happened: Happened) -> None:
        for told in happened.public:
            self._public.append(told)
            if told.type in ("table.halted", "table.resumed"):
                self._halted = told.type == "table.halted"
                if self._halted and self._cut_step is not None:
                    self._cut_step = None  # the hand stops there
            elif told.type == "shoe.unanswered":
                self._was_unanswered = True
            elif told.type == "shoe.connected":
                self._opened = True
                self._waited = len(self._public)
        for told in happened.restricted:
            card, place = told.data.get("card"), (told.data.get("hand"), told.data.get("index"))
            if isinstance(card, str) and place in self._unread:
                order, at = self._unread.pop(place)
                order.name(at, card)

    def _wait_for(self, happened: Happened) -> None:
        """Wait for the last event of this input, by as many waits as it takes to come to it."""
        if happened.kind == "command" and happened.refusal is None:
            return  # the answer to the command names its events
        told = happened.public[-1]
        if told.type in ("shoe.connected", *NOT_OF_PLAY):
            return
        if told.type == "shoe.answered" and self._was_unanswered:
            return
        wanted = self._expectation.pattern(told)
        last = len(self._public)
        for at in range(self._waited, last):
            if wanted.matches(self._expectation.as_played(self._public[at])):
                self._steps.append({"wait": str(wanted)})
        self._waited = last

    def _leave_out(self, what: str) -> None:
        self._left_out[what] += 1

    def _act(self, step: Plain) -> None:
        """Do this now; or before the shoe is plugged in, where the shoe tells of it behind that."""
        if self._tells_kept:
            self._act_before_link(step)
        else:
            self._steps.append(step)

    def _act_before_link(self, step: Plain) -> None:
        assert self._unplugged_at is not None
        self._steps.insert(self._unplugged_at, step)
        self._unplugged_at += 1

    # --- the shoe ---------------------------------------------------------------------------

    def _take_shoe(self, happened: Happened) -> None:
        event = happened.shoe_event
        kind = str(event["type"])
        self._kept += happened.what.get("seq") is not None and kind != "hello"
        read = getattr(self, f"_on_{kind}", None)
        if read is not None:
            read(event, happened)
        elif kind in NOT_DONE:
            self._leave_out(NOT_DONE[kind])
        elif kind not in FOLLOWS:
            self._leave_out(f"{kind} of the shoe")

    def _shoe_does(self, what: str, /, **arguments: Any) -> None:
        if self._opened:
            self._act({"shoe": what, **without_nothing(arguments)})

    def _on_hello(self, event: Mapping[str, Any], _: Happened) -> None:
        firmware = str(event["firmware"]), event.get("firmware_digest")
        boot = event["boot_id"]
        if not self._opened:
            drawn = int(event.get("drawn", 0))
            self._order.came_before = self._order.drawn = drawn
            if event.get("decks"):
                self._order.decks = int(event["decks"])
            self._order.deck = str(event["deck"])
            if firmware[1] is not None or firmware[0] != FIRMWARE:
                self._first_firmware = without_nothing(
                    {"version": firmware[0], "digest": firmware[1]}
                )
        elif firmware != self._firmware:
            self._before_link("firmware", version=firmware[0], digest=firmware[1])
        elif boot != self._shoe_boot:
            self._started_again()
        self._firmware, self._shoe_boot = firmware, boot

    def _on_authentication_failed(self, _event: Mapping[str, Any], _: Happened) -> None:
        has_keys = any(each.what.get("authenticated") for each in self._recording.happened)
        if not self._opened or has_keys:
            self._leave_out(NOT_DONE["authentication_failed"])
        elif not self._has_key:
            self._has_key = True
            self._shoe_does("key", key=_ANY_KEY)

    def _started_again(self) -> None:
        """The shoe was without power: in the middle of a draw, if what it was saying breaks off."""
        if self._has_key or not self._breaks_off():
            self._before_link("key" if self._has_key else "reboot")
            self._has_key = False
            return
        self._is_of_brown_out = self._next_card_comes_at_once()
        if not self._is_of_brown_out:
            self._order.add_unseen()
        self._before_link("brown_out", card="kept" if self._is_of_brown_out else "lost")

    def _before_link(self, what: str, /, **arguments: Any) -> None:
        """The shoe started again; what it tells right behind that happened before."""
        at = self._unplugged_at if self._tells_kept else None
        at = len(self._steps) if at is None else at
        self._steps.insert(at, {"shoe": what, **without_nothing(arguments)})
        self._link_is_back_at(at)

    def _link_is_back_at(self, at: int) -> None:
        self._unplugged_at, self._tells_kept, self._kept = at, self._tells_by_itself, 0

    def _breaks_off(self) -> bool:
        """Return whether the shoe's last message before now was cut short."""
        for happened in reversed(self._recording.happened[max(0, self._at - 3) : self._at]):
            event = happened.shoe_event
            if event.get("type") == "discarded":
                return event.get("reason") != "history"
            if event.get("type") not in (None, "status", "reply"):
                return False
        return False

    def _next_card_comes_at_once(self) -> bool:
        for happened in self._recording.happened[self._at + 1 : self._at + 4]:
            kind = happened.shoe_event.get("type")
            if kind == "card_drawn":
                return True
            if kind == "status":
                return False
        return False

    def _on_started(self, _event: Mapping[str, Any], _: Happened) -> None:
        """A shoe that judges: new cards, or its power came back."""
        if not self._opened or (self._is_opening and not self._order.drawn):
            return
        self._judge = Judge()
        if self._opens_next():
            self._push_in()
        elif self._breaks_off():
            self._order.add_untold()
            self._shoe_does("brown_out")
        else:
            self._shoe_does("reboot")

    def _opens_next(self) -> bool:
        """Return whether the next card is one that opens a shoe."""
        for happened in self._recording.happened[self._at + 1 :]:
            event = happened.shoe_event
            if event.get("type") == "card_drawn":
                return event.get("hand") in BURNED
            if event.get("type") in ("standby", "started"):
                return False
        return False

    def _on_shoe_loaded(self, event: Mapping[str, Any], _: Happened) -> None:
        if self._opened:
            self._push_in(event.get("decks"))

    def _push_in(self, decks: int | None = None) -> None:
        self._order = CardOrder(self._order.deck, decks or self._order.decks)
        self._sets.append(self._order)
        self._is_opening, self._judge = True, Judge()
        self._act({"new_shoe": {}})

    def _on_card_drawn(self, event: Mapping[str, Any], happened: Happened) -> None:
        opens = event.get("hand") in BURNED
        if opens and not self._is_opening:  # a shoe that does not tell of new cards
            self._push_in()
        if self._is_opening and not opens and not self._tells_by_itself and not self._order.drawn:
            self._order.came_before = self._order.drawn = 1  # it was opened elsewhere
        self._is_opening &= opens
        code = event.get("card")
        if self._is_read_again(event):
            self._order.read_again(code)
            return
        place = self._order.add(code, face_up=bool(event.get("face_up")), opens=opens)
        if code is None:
            for told in happened.restricted:
                if told.type == "round.card_drawn":
                    self._unread[told.data.get("hand"), told.data.get("index")] = self._order, place
        confidence = event.get("confidence", 100)
        if code is not None and confidence < _SURE:
            self._leave_out("a card that was read unsurely")
        if self._is_of_brown_out:
            self._is_of_brown_out = False
        elif not opens and self._opened:
            self._draw(event, happened)

    def _is_read_again(self, event: Mapping[str, Any]) -> bool:
        """Return whether this is the card at which the shoe had stopped."""
        if event.get("armed") is not None or self._at == 0:
            return False
        before = self._recording.happened[self._at - 1].shoe_event
        return before.get("type") == "error_cleared" and before.get("code") == "cannot_read"

    def _steps_since_drawn(self, happened: Happened) -> int:
        """Return how many steps were done while the line held this card's report back, or 0.

        The shoe's clock and the table's are compared at the last card that was armed for.
        """
        is_late = any(flat(told.data).get("seen.code") == _DRAWN_LATE for told in happened.public)
        if not is_late or not self._shoe_clock:
            return 0
        then, now = self._shoe_clock, happened.what
        drawn_us = int(then["t_us"]) + int(now["device_us"]) - int(then["device_us"])
        times = (self._timed.get(id(step), (step, None))[1] for step in reversed(self._steps))
        return sum(1 for _ in itertools.takewhile(lambda t: t is not None and t > drawn_us, times))

    def _draw(self, event: Mapping[str, Any], happened: Happened) -> None:
        if event.get("armed") is None:
            self._judged(event)
            self._draws("draw")
        elif event["armed"]:
            self._shoe_clock = happened.what
            if self._crosses_command():
                self._steps.insert(len(self._steps) - 1, {"draw_under_way": 1})
            else:
                self._draws("draw")
        elif later := self._steps_since_drawn(happened):
            at = len(self._steps) - later
            self._steps.insert(at, {"draw_early": 1, "held_back": later})
        elif self._is_under_key():
            self._steps[-1] = {"draw_under_key": 1}
            self._key_turns_back = True
        elif self._locked_by_key and self._steps and "draw_under_key" in self._steps[-1]:
            self._steps[-1]["draw_under_key"] += 1
        elif self._is_of_one_pull(happened):
            self._pull_one_more()
        else:
            self._draws("draw_early")

    def _draws(self, manner: str) -> None:
        """One card; where the cutting card came with it, they are one draw."""
        step, self._cut_step = self._cut_step, None
        if step is None:
            self._act({manner: 1})
        elif manner not in step:
            step.clear()
            step[manner] = 1

    def _crosses_command(self) -> bool:
        """Return whether this card, still armed, came as a command had just halted the table."""
        if not self._steps or self._tells_kept:
            return False
        return self._halted and not self._is_free and "say" in self._steps[-1]

    def _is_under_key(self) -> bool:
        """Return whether the shoe was locked for this card and is unlocked right after it."""
        if not (self._locked_by_key and self._steps and self._steps[-1] == {"shoe": "lock"}):
            return False
        for happened in self._recording.happened[self._at + 1 :]:
            event = happened.shoe_event
            if event.get("type") == "status" and not event.get("locked_by_key"):
                return True
            if event.get("type") not in ("status", "card_drawn", "reply"):
                return False
        return False

    def _is_of_one_pull(self, happened: Happened) -> bool:
        """Return whether the card before this one came in the same instant."""
        if not self._steps or not self._steps[-1].keys() & {"draw", "draw_together", "draw_early"}:
            return False
        for before in reversed(self._recording.happened[: self._at]):
            event = before.shoe_event
            if event.get("type") == "card_drawn":
                same = before.what.get("connection") == happened.what.get("connection")
                return same and event.get("armed") is not None
            if before.kind != "shoe" or event.get("type") != "status":
                return False
            if event.get("armed") is not None or not event.get("unacknowledged"):
                return False
        return False

    def _pull_one_more(self) -> None:
        last = self._steps[-1]
        if "draw_together" in last:
            last["draw_together"] += 1
            return
        if "draw" in last:
            freed = True
            if last["draw"] > 1:
                last["draw"] -= 1
                self._steps.append({})
        else:
            freed = False
            if last["draw_early"] > 1:
                last["draw_early"] -= 1
                self._steps.append({})
        self._steps[-1] = {"draw_together": 2, **({"when_freed": True} if freed else {})}

    def _on_cards_drawn(self, event: Mapping[str, Any], _: Happened) -> None:
        for code in event["cards"]:
            self._order.add(code)
        manner = "draw_as_one" if event["order_known"] else "draw_unordered"
        freed = {"when_freed": True} if event.get("armed") else {}
        pull = {manner: len(event["cards"]), **freed}
        step, self._cut_step = self._cut_step, None
        if step is None:
            self._act(pull)
        else:
            step.clear()
            step.update(pull)

    def _on_card_outside_game(self, event: Mapping[str, Any], _: Happened) -> None:
        self._order.add(event.get("card"))
        before = self._recording.happened[self._at - 1].shoe_event
        if before.get("type") == "error" and before.get("code") == "overdraw":
            return  # it is that card
        self._act({"draw_early": 1})

    def _on_card_pushed_back(self, _event: Mapping[str, Any], _: Happened) -> None:
        self._order.push_back()
        self._shoe_does("push_back")

    def _on_cutting_card(self, _event: Mapping[str, Any], _: Happened) -> None:
        self._order.cutting_card()
        if self._is_opening and not self._tells_by_itself:
            return  # it comes with the cards that open the shoe
        self._cut_step = {"draw": 1}
        self._act(self._cut_step)

    def _judged(self, event: Mapping[str, Any]) -> None:
        """Look whether a shoe that judges says of the round what its cards say."""
        code = event.get("card")
        if self._recording.profile != "angel_eye" or code is None:
            return
        if self._judge.complete:
            self._judge = Judge()
        place = event.get("hand"), event.get("index")
        if self._follows_judge:
            self._missed_before(place)
        self._follows_judge &= self._judge.next_place() == place
        if not self._follows_judge:
            return
        self._judge.place(CARDS[str(code)])
        if not self._judge.complete:
            return
        said = self._result_said()
        if said != self._judge.verdict().winner:
            self._act({"shoe_judges": said})
        self._judge = Judge()

    def _missed_before(self, place: tuple[Any, Any]) -> None:
        """Cards of this round came out while the shoe was unplugged, and it keeps none."""
        if self._judge.next_place() == place:
            return
        if self._unplugged_at is None or place not in ORDER[len(self._judge.drawn) :]:
            self._leave_out("a card of which the shoe never told")
            return
        missed = ORDER.index(place) - len(self._judge.drawn)
        likely = self._likely(missed)
        if not likely:
            self._leave_out("a card of which the shoe never told")
        for code in likely:
            self._order.add_before_last(code)
            self._judge.place(CARDS[code])
            self._act_before_link({"draw": 1})

    def _likely(self, missed: int) -> Sequence[str]:
        """Return cards with which the round goes on as the shoe said that it went."""
        following, ended = self._rest_of_round()
        spare = [code for code in _RANKS if self._order.holds(code)]
        for codes in product(spare, repeat=missed):
            judge = Judge()
            cards = (*self._judge.drawn, *(CARDS[code] for code in codes))
            is_due = all(_lay(judge, card) for card in cards)
            if is_due and _goes_so(judge, following) and judge.complete == ended:
                return codes
        return ()

    def _rest_of_round(self) -> tuple[list[tuple[tuple[Any, Any], str]], bool]:
        """Return the cards from this one on with their places, and whether the round ended so."""
        following: list[tuple[tuple[Any, Any], str]] = []
        for happened in self._recording.happened[self._at :]:
            event = happened.shoe_event
            if event.get("type") == "card_drawn":
                place = event.get("hand"), event.get("index")
                following.append((place, str(event.get("card"))))
            elif event.get("type") in ("result", "standby"):
                return following, True
        return following, False

    def _result_said(self) -> str:
        for happened in self._recording.happened[self._at + 1 :]:
            event = happened.shoe_event
            if event.get("type") == "result":
                return str(event["winner"])
            if event.get("type") in ("standby", "card_drawn", "started"):
                break
        return "none"

    def _on_standby(self, _event: Mapping[str, Any], _: Happened) -> None:
        self._is_opening &= not self._order.drawn
        self._judge, self._follows_judge = Judge(), True

    def _on_result(self, _event: Mapping[str, Any], _: Happened) -> None:
        self._judge, self._follows_judge = Judge(), True

    def _on_status(self, event: Mapping[str, Any], _: Happened) -> None:
        self._tells_kept = False
        locked = bool(event.get("locked_by_key"))
        if locked != self._locked_by_key:
            self._locked_by_key = locked
            if not self._key_turns_back:
                self._shoe_does("lock" if locked else "unlock")
            self._key_turns_back &= locked
        self._is_free |= event.get("armed") is not None

    def _on_lock(self, event: Mapping[str, Any], _: Happened) -> None:
        self._shoe_does("lock" if event["locked"] else "unlock")

    def _on_error(self, event: Mapping[str, Any], _: Happened) -> None:
        code = str(event["code"])
        if code in JAMS:
            self._shoe_does("jam")
        elif code in REVERSE_RUNS:
            self._shoe_does("reverse_run")
        elif code == "overdraw":
            self._shoe_does("overdraw")
        elif code == "cannot_read":
            self._order.add(None)
            self._act({"draw": 1})
        elif not (code == "E3" and self._recording.profile == "bee_tek"):
            self._shoe_does("error", code=code, stops=event.get("in_error_mode") or None)

    def _on_error_cleared(self, event: Mapping[str, Any], _: Happened) -> None:
        code = str(event["code"])
        if self._clears_error and code not in JAMS:
            self._clears_error = False
        elif code in JAMS:
            self._shoe_does("free")
        elif code == "overdraw":
            self._shoe_does(f"overdraw_{'kept' if self._next_is('redesignated') else 'discarded'}")
        elif code == "cannot_read" and self._next_is("card_drawn"):
            self._shoe_does("read_again")
        else:
            self._shoe_does("error_cleared", code=code)

    def _next_is(self, kind: str) -> bool:
        following = self._recording.happened[self._at + 1 : self._at + 2]
        return any(happened.shoe_event.get("type") == kind for happened in following)

    def _on_gap(self, event: Mapping[str, Any], _: Happened) -> None:
        """Cards came out that the shoe had no room for: it keeps no more here either."""
        lost, kept = event["last"] - event["first"] + 1, self._kept - 1
        drawn = self._drawn_by_hello() - self._order.drawn
        if self._unplugged_at is None or lost != drawn or kept < _LEAST_MEMORY:
            self._leave_out("events that the shoe lost")
            return
        self._memory = kept
        for _lost in range(lost):
            self._order.add_untold()
        self._act_before_link({"draw_early": lost})

    def _drawn_by_hello(self) -> int:
        """Return how many cards the shoe had given when it last said who it is."""
        for happened in reversed(self._recording.happened[: self._at]):
            if happened.shoe_event.get("type") == "hello":
                return int(happened.shoe_event.get("drawn", 0))
        return 0

    def _on_redesignated(self, event: Mapping[str, Any], _: Happened) -> None:
        self._judge = Judge()
        if event.get("card") is not None:
            self._judge.place(CARDS[str(event["card"])])

    def _on_lid(self, event: Mapping[str, Any], _: Happened) -> None:
        self._shoe_does("lid_open" if event["open"] else "lid_close")

    def _on_tamper(self, event: Mapping[str, Any], _: Happened) -> None:
        step = {"shoe": "tamper", "what": event["what"]}
        if event["what"] == "opened_without_power":  # it is noticed behind a fresh start
            self._steps.append(step)
        else:
            self._act(step)

    def _on_button(self, event: Mapping[str, Any], _: Happened) -> None:
        self._shoe_does("button", number=event["button"])

    def _on_power_low(self, event: Mapping[str, Any], _: Happened) -> None:
        self._shoe_does("power_low", percent=event.get("percent"))

    def _on_power_restored(self, _event: Mapping[str, Any], _: Happened) -> None:
        self._shoe_does("power_restored")

    def _on_warning(self, event: Mapping[str, Any], _: Happened) -> None:
        self._shoe_does("warning", code=event["code"])

    def _on_discarded(self, event: Mapping[str, Any], _: Happened) -> None:
        if event.get("reason") == "history":
            return
        if self._recording.profile == "bee_tek":
            self._order.add_untold()
            self._shoe_does("brown_out")
        elif not (self._starts_next() or self._is_suspended_next()):
            self._leave_out("garbage on the line")

    def _is_suspended_next(self) -> bool:
        """Return whether the line is suspended before anything else comes than garbage."""
        for happened in self._recording.happened[self._at + 1 :]:
            if happened.kind == "line_suspended":
                return True
            if happened.shoe_event.get("type", "status") not in ("discarded", "status"):
                return False
        return False

    def _starts_next(self) -> bool:
        for happened in self._recording.happened[self._at + 1 : self._at + 4]:
            kind = happened.shoe_event.get("type")
            if kind in ("hello", "started"):
                return True
        return False

    # --- the link and the host --------------------------------------------------------------

    def _take_suspension(self, happened: Happened) -> None:
        """The line is suspended; its connection is lost with that, and nobody unplugs it."""
        if self._opened and not happened.what["again"]:
            self._is_suspended = True
            self._steps.append({"shoe": "noise"})

    def _take_link_lost(self) -> None:
        if self._is_suspended:
            return
        if self._opened and self._plugged and not self._restarts_next():
            self._plugged = False
            self._steps.append({"shoe": "unplug"})

    def _restarts_next(self) -> bool:
        for happened in self._recording.happened[self._at + 1 :]:
            if happened.kind in ("restarted", "link_up"):
                return happened.kind == "restarted"
        return False

    def _take_link_up(self) -> None:
        if not self._opened or not self._connects():
            return
        if self._restart_at is not None:
            self._link_is_back_at(self._restart_at)
            self._restart_at = None
        elif self._is_suspended:
            self._link_is_back_at(len(self._steps))
            self._is_suspended = False
        elif not self._plugged:
            self._link_is_back_at(len(self._steps))
            self._steps.append({"shoe": "replug"})
        self._plugged = True

    def _connects(self) -> bool:
        """Return whether the shoe is connected on this link, before it is lost again."""
        for happened in self._recording.happened[self._at :]:
            if happened.kind == "link_lost":
                return False
            if any(told.type == "shoe.connected" for told in happened.public):
                return True
        return True

    def _take_restart(self, happened: Happened) -> None:
        boot = str(happened.what["host_boot"])
        self._is_reopened = self._opened and bool(happened.what.get("reopened"))
        if self._host_boot is not None and self._opened:
            self._restart_at = len(self._steps)
            if self._is_reopened:
                self._steps.append({"disk": "fail"})
            else:
                self._steps.append({"host": "restart" if boot == self._host_boot else "reboot"})
            if not self._plugged:
                self._leave_out("a restart of the host while the shoe was unplugged")
        self._host_boot = boot

    # --- staff ------------------------------------------------------------------------------

    def _take_command(self, happened: Happened) -> None:
        what = happened.what
        refusal = happened.refusal
        if what["command_id"] in self._ids:
            self._leave_out("a command that was given again with its id")
            return
        self._ids.add(what["command_id"])
        self._is_free = False
        self._clears_error |= any(
            told.type == "shoe.told" and told.data.get("command") == "clear_error"
            for told in happened.restricted
        )
        added = what.get("added") or ()
        args = {k: v for k, v in what.get("args", {}).items() if k not in added}
        step: Plain = {"say": what["command"]}
        if what["command"] not in ENTERS_CARDS:
            args = self._names.in_arguments(args)
        if args := without_nothing(args):
            step["args"] = args
        if what["position"] != "dealer":
            step["position"] = what["position"]
        step |= self._people(what)
        if what.get("round_id") is not None:
            if (number := self._round_number(what["round_id"])) is None:
                self._leave_out("a command for a round that is not in the recording")
                return
            step["round"] = number
        if refusal is not None:
            step["refused"] = refusal
        self._steps.append(step)

    def _people(self, what: Mapping[str, Any]) -> Plain:
        found: Plain = {}
        if what.get("reason") is not None:
            found["reason"] = what["reason"]
        second = what.get("consented_by")
        if second is not None:
            looked_up = what.get("second_person") or {}
            found["consented_by"] = self._names.second_person(
                second, is_known=looked_up.get("why_not") is None
            )
            if what.get("person") == second:
                found["person"] = found["consented_by"]
        return found

    def _round_number(self, round_id: str) -> int | None:
        opened = [told.data["round_id"] for told in self._public if told.type == "round.opened"]
        return opened.index(round_id) + 1 if round_id in opened else None


_SURE = 70
_DRAWN_LATE = "seen_drawn_late"
_LEAST_MEMORY = 2
_RANKS = tuple(f"{rank}D" for rank in "A23456789TJQK")


def _lay(judge: Judge, card: Card) -> bool:
    """Lay a card where it is due; False where none is."""
    if judge.complete:
        return False
    judge.place(card)
    return True


def _goes_so(judge: Judge, following: Sequence[tuple[tuple[Any, Any], str]]) -> bool:
    """Return whether these cards are due where the shoe laid them."""
    for place, code in following:
        if judge.next_place() != place or code not in CARDS:
            return False
        judge.place(CARDS[code])
    return True


def _in_ms(us: int) -> int | float:
    return us / 1000 if us % 1000 else us // 1000


def _joined(steps: Sequence[Plain]) -> list[Plain]:
    """Return the steps with draws that follow one another made one."""
    joined: list[Plain] = []
    for step in steps:
        verb = next(iter(step))
        last = joined[-1] if joined else {}
        if verb in ("draw", "draw_early") and last.keys() == step.keys() == {verb}:
            last[verb] += step[verb]
        else:
            joined.append(dict(step))
    return joined
