"""Withdrawal windows: steps of a procedure at which Players may take their wagers back.

The game's data says which windows it has, for which areas, and which wagers may go. Each Player
answers (withdraw, or let the wagers stand); then the dealer closes the window. The wagers of a
Player who did not answer stand. Without a wager feed a window opens and closes for the whole table.

In: the window of a step, each Player's answer, the dealer's close. Out: withdrawal.opened .closed,
wager.accepted. Must not know: which irregularity opens a window, any card that is not revealed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from shoe_ctl.table.arguments import ChoiceArgs, Name, require_args
from shoe_ctl.table.procedures.procedure import Choice, Step
from shoe_ctl.table.procedures.shared import update_current
from shoe_ctl.table.round import entitlement, hands
from shoe_ctl.table.state import OpenIrregularity, Window
from shoe_ctl.table.turn import Objection, TableView, Turn, not_taken
from shoe_ctl.table.wagers import betting
from shoe_ctl.table.wagers import ledger as wager_ledger
from shoe_ctl.table.wagers.ledger import WithdrawalRight
from shoe_ctl.table.wagers.types import Accepted, LedgerAnswer, Refused, Scope, WagerRequest
from shoe_ctl.texts.message import Message, message

_SCOPES: Mapping[str, Scope] = {
    "any": "any",
    "all_or_none": "all",
    "remaining_or_none": "remaining",
}
"""The scope of a window in the game's data → the scope in the table's state."""

WITHDRAW_ALL = "withdraw_all"
STAND = "stand"
CLOSE = "close_window"


class AnsweringPlayer(ChoiceArgs, frozen=True, kw_only=True):
    """The Player who answers: by id (a number is accepted), by seat, or by both."""

    player: Name | int | None = None
    seat: int | None = None


# Conditions


def has_window(view: TableView, key: str) -> bool:
    """Return True if the game has this window for tables in this table's area."""
    window = view.game.windows.get(key)
    if window is None:
        return False
    return not window.areas or view.settings.area in window.areas


def has_open_window(view: TableView) -> bool:
    """Return True if the step to be decided now has a window."""
    halt = view.now.halt
    return halt is not None and halt.current.window is not None


def _asks_players(view: TableView) -> bool:
    """Return True if each Player answers in the open window."""
    window = None if view.now.halt is None else view.now.halt.current.window
    return window is not None and window.per_player


def _can_withdraw_one(turn: Turn) -> bool:
    """Return True if some wager may go without others.

    It belongs to a Player who has not answered.
    """
    window = _window(turn)
    unanswered = _unanswered_wagers(turn, window)
    players = [
        held.player
        for held in wager_ledger.list_withdrawable(turn.now.wagers, _withdrawal_right(window))
    ]
    return any(window.scope == "any" or players.count(held.player) == 1 for held in unanswered)


def decided_wagers(view: TableView) -> dict[str, str]:
    """Return the available wagers that the revealed cards have won or lost already, with which."""
    shown = [dealt.card if dealt.revealed else None for dealt in view.round.cards]
    from shoe_ctl.games.decided import decide  # only a withdrawal asks for it

    wagers = decide(view.game, shown, decks=view.shoe.decks, layout=view.settings.layout)
    return {wager: end for wager, end in wagers.items() if end != "open"}


# Objections


def check_withdrawal(turn: Turn, given: Mapping[str, Any] | None) -> Objection | None:
    """Return what stands against taking a wager back, while bets are open or in a window."""
    if turn.state == "suspended" and has_open_window(turn):
        return _check_single_withdrawal(turn, given)
    if turn.state == "suspended" and not betting.are_bets_closed(turn):
        return not_taken(("betting",))
    return betting.check_change("withdraw_wager", turn, given)


def _check_single_withdrawal(turn: Turn, given: Mapping[str, Any] | None) -> Objection | None:
    """Return what stands against taking one wager back in the window."""
    if given is None:
        goes = _can_withdraw_one(turn)
        return None if goes else Objection(message("refused_none_goes_alone"))
    asked = betting.read_request(turn)
    answer = asked if isinstance(asked, Refused) else _without_wager(turn, asked)
    return betting.as_objection(answer) if isinstance(answer, Refused) else None


def _check_answer(turn: Turn, args: AnsweringPlayer | None) -> Message | None:
    """Return why this Player, or whoever sits at this seat, has nothing to answer."""
    if args is None:
        unanswered = _unanswered_wagers(turn, _window(turn))
        return None if unanswered else message("refused_nothing_left_to_withdraw")
    found = _find_player(turn)
    return found.why if isinstance(found, Refused) else None


def _already_answered(player: str) -> Message:
    return message("refused_player_has_answered", player=player)


# Actions


def open_window(turn: Turn, key: str | None) -> None:
    """Open the game's window of this key with the step that is open now; None: it has no window."""
    if key is None:
        update_current(turn, window=None)
        return
    of_game = turn.game.windows[key]
    scope = _SCOPES[of_game.scope]
    window = Window(
        scope=scope,
        rule=of_game.rule,
        per_player=entitlement.has_wager_feed(turn.now.wagers),
        decided=tuple(decided_wagers(turn)) if scope == "remaining" else (),
        instance=turn.open_instance(),
    )
    update_current(turn, window=window)


def decide_again(turn: Turn) -> None:
    """Determine again which wagers of the open windows are won or lost: a card was corrected."""
    halt = turn.halt
    opened = tuple(_with_decided(turn, one) for one in halt.stack)
    if opened != halt.stack:
        turn.change(halt=msgspec.structs.replace(halt, stack=opened))


def _with_decided(turn: Turn, opened: OpenIrregularity) -> OpenIrregularity:
    window = opened.window
    if window is None or window.scope != "remaining":
        return opened
    decided = msgspec.structs.replace(window, decided=tuple(decided_wagers(turn)))
    return msgspec.structs.replace(opened, window=decided)


def close_window(turn: Turn) -> None:
    """Close the window: a Player who has not answered lets the wagers stand.

    In Method A a hand goes by the wagers, so its holder may be another Player now.
    """
    _emit_window(turn, "withdrawal.closed", _window(turn), {"answer": "stands"})
    update_current(turn, window=None)
    hands.update_holders_after_withdrawals(turn)


def withdraw(turn: Turn) -> None:
    """Take one wager of a Player back, while bets are open or in a window."""
    if turn.state == "suspended":
        _withdraw_one(turn)
    else:
        betting.apply_wager(turn)


def _withdraw_one(turn: Turn) -> None:
    """Take one wager of a Player back. A Player who has none left has answered."""
    window, done = _window(turn), _without_wager(turn, turn.args)
    assert isinstance(done, Accepted) and done.entry is not None, (
        "check_withdrawal was asked before"
    )
    turn.change(wagers=done.wagers)
    betting.emit_accepted(turn, done.entry)
    player = done.entry.player
    if not wager_ledger.list_withdrawable(turn.now.wagers, _withdrawal_right(window), player):
        _record_answer(turn, player, (done.entry.seat,), "withdrawn")


def _withdraw_all(turn: Turn) -> None:
    player = _named_player(turn)
    seats = _withdrawable_seats(turn, player)
    by = betting.ledger_actor(turn, on_behalf=False)
    withdrawn = wager_ledger.withdraw_all(
        turn.now.wagers, player, by, _withdrawal_right(_window(turn))
    )
    turn.change(wagers=withdrawn.wagers)
    for entry in withdrawn.entries:
        betting.emit_accepted(turn, entry)
    _record_answer(turn, player, seats, "withdrawn")


def _stand(turn: Turn) -> None:
    player = _named_player(turn)
    _record_answer(turn, player, _withdrawable_seats(turn, player), "stands")


def _record_answer(turn: Turn, player: str, seats: tuple[int, ...], answer: str) -> None:
    """Note the Player's answer in the window, and emit it."""
    window = _window(turn)
    answered = msgspec.structs.replace(window, answered=(*window.answered, player))
    update_current(turn, window=answered)
    data = {
        "rule": window.rule, "whose": "player", "seats": list(seats), "answer": answer,
    }  # fmt: skip
    secret = {**data, "players": [player]}
    turn.emit("withdrawal.closed", data, restricted=secret, instance=window.instance)


def emit_window_opened(turn: Turn, window: Window) -> None:
    """Emit that the open step has just opened this window."""
    _emit_window(turn, "withdrawal.opened", window, {"scope": window.scope})


def emit_window_closed(turn: Turn, opened: OpenIrregularity, answer: str = "void") -> None:
    """Emit that the window of an irregularity closes because the irregularity ends.

    ``answer`` says what becomes of the wagers. ``void``: all are returned with the round.
    ``stands``: those not withdrawn are settled.
    """
    if opened.window is not None:
        _emit_window(turn, "withdrawal.closed", opened.window, {"answer": answer})


def _emit_window(turn: Turn, kind: str, window: Window, more: dict[str, Any]) -> None:
    """Emit an event about the window as a whole."""
    data: dict[str, Any] = {
        "rule": window.rule,
        "whose": "players" if window.per_player else "table",
        "seats": _open_seats(turn, window),
        **more,
    }
    unanswered = dict.fromkeys(held.player for held in _unanswered_wagers(turn, window))
    players = list(unanswered) if window.per_player else None
    secret = {**data, "players": players}
    turn.emit(kind, data, restricted=secret, instance=window.instance)


# The wagers, and who answers for them


def _window(view: TableView) -> Window:
    window = view.current.window
    assert window is not None, "the open step has a window"
    return window


def _withdrawal_right(window: Window) -> WithdrawalRight:
    """Return what may be withdrawn in this window, for the ledger of wagers."""
    return WithdrawalRight(window.scope, window.rule, window.decided)


def _unanswered_wagers(view: TableView, window: Window) -> list[Any]:
    """Return the wagers that may be withdrawn and whose Players have not answered."""
    held = wager_ledger.list_withdrawable(view.now.wagers, _withdrawal_right(window))
    return [one for one in held if one.player not in window.answered]


def _without_wager(turn: Turn, asked: WagerRequest) -> LedgerAnswer:
    """Return the wagers without the one that the command names, or why it stays."""
    window = _window(turn)
    if asked.player in window.answered:
        return Refused(why=_already_answered(asked.player), rule=window.rule)
    return wager_ledger.withdraw_one(
        turn.now.wagers, asked, turn.wager_rules, _withdrawal_right(window)
    )


def _withdrawable_seats(turn: Turn, player: str) -> tuple[int, ...]:
    held = wager_ledger.list_withdrawable(turn.now.wagers, _withdrawal_right(_window(turn)), player)
    return tuple(sorted({one.seat for one in held}))


def _named_player(turn: Turn) -> str:
    """Return the Player who answers. ``_check_answer`` was asked before."""
    found = _find_player(turn)
    assert isinstance(found, str), found
    return found


def _find_player(turn: Turn) -> str | Refused:
    """Return the Player who answers, named or found by the seat, or why nobody does."""
    args, window = require_args(turn, AnsweringPlayer), _window(turn)
    if args.player is None and args.seat is None:
        return Refused(why=message("refused_say_player_or_seat"))
    if args.player is None:
        return _find_player_at_seat(turn, window, args.seat)
    player = str(args.player)
    if player in window.answered:
        return Refused(why=_already_answered(player))
    seats = _withdrawable_seats(turn, player)
    if not seats:
        return Refused(why=message("refused_nothing_to_withdraw", player=player))
    if args.seat not in (None, *seats):
        why = message("refused_nothing_to_withdraw_at", player=player, seat=args.seat)
        return Refused(why=why)
    return player


def _find_player_at_seat(turn: Turn, window: Window, seat: int | None) -> str | Refused:
    """Return the one Player who must still answer for wagers at this seat, or why there is none."""
    unanswered = _players_to_answer_at(turn, window, seat)
    if len(unanswered) == 1:
        return unanswered[0]
    if unanswered:
        return Refused(why=message("refused_several_at_seat", seat=seat))
    held = wager_ledger.list_withdrawable(turn.now.wagers, _withdrawal_right(window))
    if any(one.seat == seat for one in held):
        return Refused(why=message("refused_seat_has_answered", seat=seat))
    return Refused(why=message("refused_nothing_at_seat", seat=seat))


def _players_to_answer_at(view: TableView, window: Window, seat: int | None) -> list[str]:
    """Return who still has to answer for wagers at this seat."""
    unanswered = (one.player for one in _unanswered_wagers(view, window) if one.seat == seat)
    return list(dict.fromkeys(unanswered))


def _next_seat_to_answer(view: TableView) -> int | None:
    """Return the first seat that can answer by its number, or None.

    A seat where several Players have wagers cannot: each of them is named.
    """
    window = _window(view)
    seats = sorted({one.seat for one in _unanswered_wagers(view, window)})
    return next((s for s in seats if len(_players_to_answer_at(view, window, s)) == 1), None)


def _suggested_player(view: TableView) -> dict[str, Any]:
    """Return the seat that answers next. Where none can by its number, a Player must be named."""
    seat = _next_seat_to_answer(view)
    return {"player": None} if seat is None else {"seat": seat}


def _seats_to_answer(view: TableView) -> dict[str, Any]:
    """Return the seats that have not answered, where each Player answers."""
    seats = _open_seats(view, _window(view))
    return {} if seats is None else {"seat": seats}


def _window_facts(view: TableView) -> dict[str, Any]:
    """Return the window as the room sees it: the seats that may still answer, not the Players."""
    window = _window(view)
    seats = _open_seats(view, window)
    return {"withdrawal": {"scope": window.scope, "rule": window.rule, "seats": seats}}


def _open_seats(view: TableView, window: Window) -> list[int] | None:
    """Return the seats that have not answered; None: the whole table answers as one."""
    unanswered = _unanswered_wagers(view, window)
    return sorted({held.seat for held in unanswered}) if window.per_player else None


# The step


def window_step(name: str, prompt: Message, window: str, then: str, *more: Choice) -> Step:
    """Return a step with a withdrawal window: each Player answers, then the dealer closes it.

    ``window`` is the key of the window in the game's ``windows``, which says the rule and what may
    go. Lead to the step only where the game has the window (``has_window``). ``then`` is the step
    or the end that follows when the dealer closes the window. ``more`` are further choices.
    """
    answers = (
        Choice(
            WITHDRAW_ALL, "dealer", name, (_withdraw_all,), _check_answer, reason=False,
            arguments=AnsweringPlayer, offered_if=_asks_players, suggested=_suggested_player,
            possible=_seats_to_answer,
        ),
        Choice(
            STAND, "dealer", name, (_stand,), _check_answer, reason=False,
            arguments=AnsweringPlayer, offered_if=_asks_players, suggested=_suggested_player,
            possible=_seats_to_answer,
        ),
        Choice(CLOSE, "dealer", then, (close_window,), reason=False),
    )  # fmt: skip
    return Step(name, prompt, (*answers, *more), facts=_window_facts, window=window)
