"""Withdrawal windows: a step of a procedure at which Players may take their wagers back.

In: the step's window, each Player's answer, the dealer's close. Out: withdrawal.opened .closed,
wager.accepted. Must not know: which irregularity opens one, or any card that is not revealed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from shoe_ctl.games.decided import decide
from shoe_ctl.texts.message import Message, message

from ..arguments import ChoiceArgs, Name, require_args
from ..round import hands, methods
from ..state import OpenIrregularity, Window
from ..turn import Objection, TableView, Turn, not_taken
from ..wagers import commands as wager_commands
from ..wagers import ledger as wager_ledger
from ..wagers.ledger import WithdrawalRight
from ..wagers.types import Accepted, LedgerAnswer, Refused, Scope, WagerRequest
from .procedure import Choice, Step
from .shared import set_top

_SCOPES: Mapping[str, Scope] = {
    "any": "any",
    "all_or_none": "all",
    "remaining_or_none": "remaining",
}

WITHDRAW_ALL = "withdraw_all"
STAND = "stand"
CLOSE = "close_window"


class OfThePlayer(ChoiceArgs, frozen=True, kw_only=True):
    """Which Player answers: by id (which may be given as a number), by seat, or by both."""

    player: Name | int | None = None
    seat: int | None = None


def window_step(name: str, prompt: Message, window: str, then: str, *more: Choice) -> Step:
    """A step with a withdrawal window: each Player answers, then the dealer closes it.

    ``window`` is its key in the game's ``windows``: that says the rule, and what may go. Lead to it
    only where the game has it (``has_window``). ``then`` is the step or the end that follows when
    the dealer closes the window: the wagers of whoever did not answer stand. ``more`` are further
    choices.
    """
    answers = (
        Choice(
            WITHDRAW_ALL, "dealer", name, (_withdraw_all,), _check_answer, reason=False,
            takes=OfThePlayer, when=_asks_players, wants=_wants_whom,
        ),
        Choice(
            STAND, "dealer", name, (_stand,), _check_answer, reason=False,
            takes=OfThePlayer, when=_asks_players, wants=_wants_whom,
        ),
        Choice(CLOSE, "dealer", then, (close_window,), reason=False),
    )  # fmt: skip
    return Step(name, prompt, (*answers, *more), facts=_facts, window=window)


# How it opens and ends.


def has_window(standing: TableView, key: str) -> bool:
    """The game has this window, for tables in the area where this one stands."""
    window = standing.game.windows.get(key)
    if window is None:
        return False
    return not window.areas or standing.settings.area in window.areas


def offer(turn: Turn, key: str | None) -> None:
    """The step that is open now has the game's window of this key, or none."""
    if key is None:
        set_top(turn, window=None)
        return
    of_game = turn.game.windows[key]
    scope = _SCOPES[of_game.scope]
    window = Window(
        scope=scope,
        rule=of_game.rule,
        per_player=methods.has_wager_feed(turn.now.wagers),
        decided=_decided(turn) if scope == "remaining" else (),
    )
    set_top(turn, window=window)


def tell_opened(turn: Turn) -> None:
    """The step that is open has just opened a window, or has none."""
    window = turn.current.window
    if window is not None:
        _tell(turn, "withdrawal.opened", window, {"scope": window.scope})


def tell_ended(turn: Turn, opened: OpenIrregularity, answer: str = "void") -> None:
    """The irregularity ends otherwise, and its window with it; ``answer``: what becomes of wagers.

    ``void``: all go back as the round does. ``stands``: those not withdrawn are settled.
    """
    if opened.window is not None:
        _tell(turn, "withdrawal.closed", opened.window, {"answer": answer})


def _decided(turn: Turn) -> tuple[str, ...]:
    """The wagers that are won or lost already by the revealed cards: they are not withdrawn."""
    shown = [dealt.card if dealt.revealed else None for dealt in turn.round.cards]
    ends = decide(turn.game, shown, decks=turn.shoe.decks, layout=turn.settings.layout)
    return tuple(wager for wager, end in ends.items() if end != "open")


# What Players answer.


def is_open(standing: TableView) -> bool:
    """The step to be decided now has a window."""
    halt = standing.now.halt
    return halt is not None and halt.top.window is not None


def check_withdrawal(turn: Turn, given: Mapping[str, Any] | None) -> Objection | None:
    """What stands against taking a wager back: while bets are open, or in a window."""
    if turn.state == "suspended" and is_open(turn):
        return _check_one(turn, given)
    if turn.state == "suspended" and not wager_commands.are_bets_closed(turn):
        return not_taken(("betting",))
    return wager_commands.check_change("withdraw_wager", turn, given)


def _check_one(turn: Turn, given: Mapping[str, Any] | None) -> Objection | None:
    """What stands against taking one wager back in the window, or any."""
    if given is None:
        goes = _some_go_alone(turn)
        return None if goes else Objection(message("refused_none_goes_alone"))
    asked = wager_commands.read_request(turn)
    answer = asked if isinstance(asked, Refused) else _without(turn, asked)
    return wager_commands.as_objection(answer) if isinstance(answer, Refused) else None


def _some_go_alone(turn: Turn) -> bool:
    """A wager of somebody who has not answered may go, and need not take others with it."""
    window = _window(turn)
    waited = _waited_for(turn, window)
    players = [
        held.player for held in wager_ledger.list_withdrawable(turn.now.wagers, _leave(window))
    ]
    return any(window.scope == "any" or players.count(held.player) == 1 for held in waited)


def _without(turn: Turn, asked: WagerRequest) -> LedgerAnswer:
    """The wagers without the one that the command names, or why it stays."""
    window = _window(turn)
    if asked.player in window.answered:
        return Refused(why=_has_answered(asked.player), rule=window.rule)
    return wager_ledger.withdraw_one(turn.now.wagers, asked, turn.wager_rules, _leave(window))


def withdraw(turn: Turn) -> None:
    """A Player takes one wager back, while bets are open or in a window."""
    if turn.state == "suspended":
        _withdraw_one(turn)
    else:
        wager_commands.apply_wager(turn)


def _withdraw_one(turn: Turn) -> None:
    """A Player takes one wager back; who has none left has answered."""
    window, done = _window(turn), _without(turn, turn.args)
    assert isinstance(done, Accepted) and done.entry is not None, "the check asks before"
    turn.change(wagers=done.wagers)
    wager_commands.emit_accepted(turn, done.entry)
    player = done.entry.player
    if not wager_ledger.list_withdrawable(turn.now.wagers, _leave(window), player):
        _answer(turn, player, (done.entry.seat,), "withdrawn")


def _withdraw_all(turn: Turn) -> None:
    player = _who_answers(turn)
    seats = _seats(turn, player)
    by = wager_commands.ledger_actor(turn, on_behalf=False)
    gone = wager_ledger.withdraw_all(turn.now.wagers, player, by, _leave(_window(turn)))
    turn.change(wagers=gone.wagers)
    for entry in gone.entries:
        wager_commands.emit_accepted(turn, entry)
    _answer(turn, player, seats, "withdrawn")


def _stand(turn: Turn) -> None:
    player = _who_answers(turn)
    _answer(turn, player, _seats(turn, player), "stands")


def close_window(turn: Turn) -> None:
    """The dealer closes the window; a Player who has not answered is taken to stand.

    A hand that goes by wagers is with nobody any more who is not named by those that are left.
    """
    _tell(turn, "withdrawal.closed", _window(turn), {"answer": "stands"})
    set_top(turn, window=None)
    hands.update_holders_after_withdrawals(turn)


def _answer(turn: Turn, player: str, seats: tuple[int, ...], answer: str) -> None:
    window = _window(turn)
    answered = msgspec.structs.replace(window, answered=(*window.answered, player))
    set_top(turn, window=answered)
    data = {
        "round_id": turn.round.id, "rule": window.rule, "whose": "player", "seats": list(seats),
        "answer": answer,
    }  # fmt: skip
    turn.tell("withdrawal.closed", data, restricted={**data, "players": [player], **turn.actor()})


def _check_answer(turn: Turn, args: OfThePlayer | None) -> Message | None:
    """Why this Player, or whoever sits at this seat, has nothing to answer."""
    if args is None:
        waited = _waited_for(turn, _window(turn))
        return None if waited else message("refused_nothing_left_to_withdraw")
    found = _answering_player(turn)
    return found.why if isinstance(found, Refused) else None


def _has_answered(player: str) -> Message:
    return message("refused_player_has_answered", player=player)


# What is told, and small parts.


def _asks_players(standing: TableView) -> bool:
    window = None if standing.now.halt is None else standing.now.halt.top.window
    return window is not None and window.per_player


def _facts(standing: TableView) -> dict[str, Any]:
    """The window as the room sees it: which seats may still answer, not who sits there."""
    halt = standing.now.halt
    window = None if halt is None else halt.top.window
    if window is None:
        return {}
    open_for = {held.seat for held in _waited_for(standing, window)}
    seats = sorted(open_for) if window.per_player else None
    return {"withdrawal": {"scope": window.scope, "rule": window.rule, "seats": seats}}


def _tell(turn: Turn, kind: str, window: Window, more: dict[str, Any]) -> None:
    """Of the window as a whole; ``seats`` are those not answered for, None: for the whole table."""
    waited = _waited_for(turn, window)
    data: dict[str, Any] = {
        "round_id": turn.round.id,
        "rule": window.rule,
        "whose": "players" if window.per_player else "table",
        "seats": sorted({held.seat for held in waited}) if window.per_player else None,
        **more,
    }
    players = list(dict.fromkeys(held.player for held in waited)) if window.per_player else None
    turn.tell(kind, data, restricted={**data, "players": players, **turn.actor()})


def _waited_for(standing: TableView, window: Window) -> list[Any]:
    held = wager_ledger.list_withdrawable(standing.now.wagers, _leave(window))
    return [one for one in held if one.player not in window.answered]


def _window(turn: Turn) -> Window:
    window = turn.current.window
    assert window is not None, "the step has one"
    return window


def _leave(window: Window) -> WithdrawalRight:
    return WithdrawalRight(window.scope, window.rule, window.decided)


def _who_answers(turn: Turn) -> str:
    """The Player who is named, where ``_check_answer`` found nothing wrong before."""
    found = _answering_player(turn)
    assert isinstance(found, str), found
    return found


def _answering_player(turn: Turn) -> str | Refused:
    """The Player who answers, named or found by the seat, or why nobody does."""
    args, window = require_args(turn, OfThePlayer), _window(turn)
    if args.player is None and args.seat is None:
        return Refused(why=message("refused_say_player_or_seat"))
    if args.player is None:
        return _at_seat(turn, window, args.seat)
    player = str(args.player)
    if player in window.answered:
        return Refused(why=_has_answered(player))
    seats = _seats(turn, player)
    if not seats:
        return Refused(why=message("refused_nothing_to_withdraw", player=player))
    if args.seat not in (None, *seats):
        why = message("refused_nothing_to_withdraw_at", player=player, seat=args.seat)
        return Refused(why=why)
    return player


def _at_seat(turn: Turn, window: Window, seat: int | None) -> str | Refused:
    """The one Player who still has to answer for wagers at this seat."""
    waited = players_at(turn, window, seat)
    if len(waited) == 1:
        return waited[0]
    if waited:
        return Refused(why=message("refused_several_at_seat", seat=seat))
    held = wager_ledger.list_withdrawable(turn.now.wagers, _leave(window))
    if any(one.seat == seat for one in held):
        return Refused(why=message("refused_seat_has_answered", seat=seat))
    return Refused(why=message("refused_nothing_at_seat", seat=seat))


def players_at(standing: TableView, window: Window, seat: int | None) -> list[str]:
    """Who still has to answer for wagers at this seat."""
    waited = (one.player for one in _waited_for(standing, window) if one.seat == seat)
    return list(dict.fromkeys(waited))


def next_seat_to_answer(standing: TableView) -> int | None:
    """The first seat that can answer by its number; None where no seat can, or no window is open.

    At a seat where several Players have wagers each is named.
    """
    halt = standing.now.halt
    window = None if halt is None else halt.top.window
    if window is None or not window.per_player:
        return None
    seats = sorted({one.seat for one in _waited_for(standing, window)})
    return next((s for s in seats if len(players_at(standing, window, s)) == 1), None)


def _wants_whom(standing: TableView) -> dict[str, Any]:
    """The seat that answers next; where none can by its number, a Player."""
    seat = next_seat_to_answer(standing)
    return {"player": None} if seat is None else {"seat": seat}


def _seats(turn: Turn, player: str) -> tuple[int, ...]:
    held = wager_ledger.list_withdrawable(turn.now.wagers, _leave(_window(turn)), player)
    return tuple(sorted({one.seat for one in held}))
