"""The status of a table: state, revealed cards, wagers, what is next, who may do it.

In: the table's state, its game, its settings. Out: plain values: what anyone at the table may see,
and in ``restricted`` what only those see who get the restricted stream.
Must not know: who asks, how it is shown; it changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from shoe_ctl.games.game import Game
from shoe_ctl.records import utc
from shoe_ctl.table import (
    applied_outcomes,
    offers,
    positions,
    retractions,
    setup,
    situations,
    undelivered,
    visible_cards,
)
from shoe_ctl.table.commands import COMMANDS
from shoe_ctl.table.irregularities import unread_cards
from shoe_ctl.table.irregularities.catalog import PROCEDURES
from shoe_ctl.table.irregularities.gaps import LINK_LOST
from shoe_ctl.table.irregularities.power_failure import REFER, face_up_seen_at_us
from shoe_ctl.table.procedures import stack
from shoe_ctl.table.procedures.procedure import VOID, Procedure
from shoe_ctl.table.procedures.shared import ALIGN_FIRST
from shoe_ctl.table.round import entitlement, reveal
from shoe_ctl.table.round.reveal import is_result_awaited
from shoe_ctl.table.settings import TableSettings
from shoe_ctl.table.shoe import arming, link, outbox
from shoe_ctl.table.state import (
    INITIAL_DEAL,
    Halt,
    Hands,
    OpenIrregularity,
    Person,
    Player,
    TableState,
    next_slot,
)
from shoe_ctl.table.turn import HANDED, TableView
from shoe_ctl.table.wagers import payments
from shoe_ctl.table.wagers.types import Wager
from shoe_ctl.texts.message import Message, message

HANDS = ("player", "banker")


def step_with(hand: str, at: TableView) -> dict[str, Any]:
    """Return what is next with a hand that has cards lying face down."""
    custody, control = at.round.hands.of(hand), at.now.control
    if custody.holder is not None:
        return _holder_exposes(hand, custody.holder, at)
    opened = any(dealt.revealed for dealt in at.round.cards if dealt.hand == hand)
    if opened or custody.with_dealer or at.method not in HANDED:
        return _dealer_exposes(hand, at)
    if at.method == "C":
        if control.holder is None or custody.refused:
            return _dealer_exposes(hand, at)
        given = message("next_pass_cards_or_expose", hand=hand, player=called(control.holder))
        return _do("pass_cards", given, hand=hand)
    if not entitlement.has_wager_feed(at.now.wagers):
        return _do("expose", message("next_pass_to_highest_wager", hand=hand), hand=hand)
    due = entitlement.find_recipient(at.now.wagers, hand, custody.refused, at.wager_rules)
    if due is None:
        named = message("next_pit_supervisor_names", hand=hand)
        return _do("expose", named, who=_position("pit_supervisor"), hand=hand)
    given = message("next_pass_cards", hand=hand, player=called(due.player))
    return _do("pass_cards", given, hand=hand)


def _dealer_exposes(hand: str, at: TableView) -> dict[str, Any]:
    if _is_third_card(hand, at):
        return _do("expose", message("next_expose_third", hand=hand), hand=hand)
    return _do("expose", message("next_expose", hand=hand), hand=hand)


def _holder_exposes(hand: str, holder: Player, at: TableView) -> dict[str, Any]:
    player = called(holder)
    if _is_third_card(hand, at):
        shown = message("next_holder_exposes_third", player=player, hand=hand)
    else:
        shown = message("next_holder_exposes", player=player, hand=hand)
    return _do("expose", shown, who=_player(holder), hand=hand)


def _is_third_card(hand: str, at: TableView) -> bool:
    """Return True if of this hand the third card alone lies face down."""
    return [dealt.index for dealt in at.round.face_down(hand)] == [3]


def _position(lowest: str) -> dict[str, Any]:
    """Return who does what is next: this position or a higher one."""
    return {"position": lowest}


def _player(player: Player) -> dict[str, Any]:
    """Return who does what is next: the Player at this seat; None if the seat is not known."""
    return {"seat": player.seat}


def called(player: Player) -> Message:
    """The Player as everyone at the table may know: by seat, never by id."""
    if player.seat is None:
        return message("player_not_named")
    return message("player_by_seat", seat=player.seat)


def status(
    now: TableState,
    game: Game,
    settings: TableSettings,
    t_us: int | None = None,
    *,
    procedures: Mapping[str, Procedure] = PROCEDURES,
) -> dict[str, Any]:
    """The table in public. A card not revealed yet is ``null``; a halt for inspection says no more.

    ``t_us`` is the time now, by default the last input's. ``takes`` are the commands that would be
    done now with proper arguments, each with the lowest position that may give it, and whether it
    wants a reason or a second person;
    ``next`` is what the round waits for, with its command where it has one. ``wagers`` are those on
    the layout; from the outcome until *settle* each with what it is paid or loses. ``last_round``
    is the one settled last, with its revisions. ``setup`` is what does not change.
    """
    at = TableView(now, game, settings, procedures)
    choices = offers.list_choices(at)
    trouble = link.link_trouble(now, now.t_us if t_us is None else t_us)
    due = _next(at, choices)
    return (
        {
            "table": settings.table,
            "game": game.id,
            "setup": setup.describe_setup(game, settings),
            "method": at.method,
            "faces": at.faces,
            "state": now.state,
            "link": link.link_state(now),
            "link_reason": None if trouble is None else trouble[0],
            "told": outbox.public_commands(now),
            "refused": arming.public_refusal(now),
            "shoe": None if now.shoe is None else _shoe(at),
            "round": None if now.round is None else _round(at),
            "beside": visible_cards.describe_unplaced(at),
            "wagers": payments.describe_wagers(at, restricted=False),
            "last_round": payments.describe_last_round(at, restricted=False),
            "declared": retractions.describe_declarations(at),
            "next": _beside(trouble, applied_outcomes.overdue_message(now), due),
            "deadlines": _deadlines(at),
            "takes": [offer.public(due["command"]) for offer in offers.list_offers(at)],
            "halt": _halt(at, choices),
            "waiting": [_waiting(opened, at, choices) for opened in now.pending_irregularities],
            "parked": undelivered.describe(now, restricted=False),
        }
        | applied_outcomes.describe(now)
        | _in_players_hands(at)
    )


def restricted(now: TableState, game: Game, settings: TableSettings) -> dict[str, Any]:
    """Return the parts of the status that differ for those who see the restricted stream.

    They name the Player of each wager, and every sink that refused events.
    """
    at = TableView(now, game, settings, PROCEDURES)
    return {
        "wagers": payments.describe_wagers(at, restricted=True),
        "last_round": payments.describe_last_round(at, restricted=True),
        "parked": undelivered.describe(now, restricted=True),
    }


def staff(now: TableState, game: Game, settings: TableSettings) -> dict[str, Any]:
    """Return what the public status says besides to staff of the table: who is who.

    Players at their wagers and with the cards, who raised what is open, the last commands. No card
    that is not revealed makes a difference, and no id of a restricted event is in it.
    """
    at = TableView(now, game, settings, PROCEDURES)
    last, commands = now.last_settled, now.last_commands
    return {
        "players": _players(now.wagers.standing),
        "last_players": [] if last is None else _players(last.wagers.standing),
        "hands": {} if now.round is None else _holders(now.round.hands),
        "shoe_with": None if now.control.holder is None else _named(now.control.holder),
        "open": [
            {"key": at.public_key(opened.key), "since": utc(opened.since_us), **_by(opened.by)}
            for opened in now.open_irregularities
        ],
        "commands": [
            {
                "command": given.command,
                "about": given.about,
                **_by(given.by),
                "consented_by": given.consented_by,
                "at": utc(given.t_us),
            }
            for given in (() if isinstance(commands, msgspec.UnsetType) else commands)
        ],
    }


def _players(wagers: Iterable[Wager]) -> list[dict[str, Any]]:
    return [{"number": held.number, "player": held.player} for held in wagers]


def _holders(hands: Hands) -> dict[str, Any]:
    held = {hand: hands.of(hand).holder for hand in HANDS}
    return {hand: _named(holder) for hand, holder in held.items() if holder is not None}


def _named(player: Player) -> dict[str, Any]:
    return {"player": player.id, "seat": player.seat, "designee": player.designee}


def _by(person: Person | msgspec.UnsetType) -> dict[str, Any]:
    """Return who brought something about; nobody where the shoe or the time did."""
    if isinstance(person, msgspec.UnsetType):
        return {"person": None, "position": None}
    return {"person": person.name, "position": person.position}


def in_storage_fault(stood: dict[str, Any], fault: Message, since_us: int | None) -> dict[str, Any]:
    """The status of a table that cannot store anything: as it stood, what failed, what to do.

    ``stood`` is its status when it was last stored. No command would be taken.
    """
    halt = stood["halt"]
    return stood | {
        "fault": {"message": fault.as_data()}
        | ({} if since_us is None else {"since": utc(since_us)}),
        "next": _wait(message("next_storage_fault"), "storage", who=_position("pit_supervisor")),
        "deadlines": [],
        "takes": [],
        "halt": None if halt is None else halt | {"choices": []},
        "waiting": [
            {name: said for name, said in waiting.items() if name != "choices"}
            for waiting in stood["waiting"]
        ],
    }


def _in_players_hands(at: TableView) -> dict[str, Any]:
    """``held_by`` where Players handle cards, ``shoe_with`` where one may have the shoe.

    Both name a seat; None while the dealer has the cards.
    """
    told: dict[str, Any] = {}
    if at.is_handed and at.now.round is not None:
        told["held_by"] = {hand: _seat(at.round.hands.of(hand).holder) for hand in HANDS}
    if at.method == "C":
        told["shoe_with"] = _seat(at.now.control.holder)
    return told


def _seat(holder: Player | None) -> dict[str, Any] | None:
    return None if holder is None else {"seat": holder.seat}


def _shoe(at: TableView) -> dict[str, Any]:
    shoe, out = at.shoe, visible_cards.cards_out(at)
    return {
        "shoe_id": shoe.id,
        "decks": shoe.decks,
        "out": out,
        "left": visible_cards.cards_in_set(at) - out,
        "cutting_card_out": shoe.cutting_card_out,
        "rounds_since_cutting_card": shoe.rounds_since_cutting_card,
    }


def _round(at: TableView) -> dict[str, Any]:
    played = at.round
    return {
        "round_id": played.id,
        "hands": visible_cards.describe_hands(at),
        "totals": visible_cards.announced_totals(played),
        "outcome": payments.describe_announced(at),
    }


def _deadlines(at: TableView) -> list[dict[str, Any]]:
    """Return when something happens by itself. No card that is not revealed moves any of these.

    ``cards_seen``: the next card that lies face up counts as seen. ``result``: the shoe's own
    result is overdue. ``applied``: an outcome counts as not applied by the table system.
    """
    now, seen_us, result_us = at.now, None, None
    if now.halt is not None:
        seen_us = face_up_seen_at_us(at)
    elif now.round is not None and now.state in situations.DEALT_UNTIL_SEEN:
        seen_us, result_us = at.seen_at_us(), reveal.result_due_us(at, now.round)
    due = {
        "cards_seen": seen_us,
        "result": result_us,
        "applied": applied_outcomes.next_due_us(now, at.settings),
    }
    return [{"what": what, "at": utc(us)} for what, us in due.items() if us is not None]


def _halt(at: TableView, choices: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return what the public stream was told of the halt, and the step that is open."""
    halt = at.now.halt
    if halt is None:
        return None
    top = halt.current
    told: dict[str, Any] = {
        "reason": at.public_key(top.key),
        "instance": halt.instance.public,
        "since": utc(top.since_us),
        "earlier": [at.public_key(key) for key in halt.earlier],
        **stack.describe_step(at),
        "choices": choices,
    }
    if at.now.pending is not None:
        hand, index = at.now.pending.named_slot or (None, None)
        told["pending"] = {"hand": hand, "index": index}
    if top.instance.public is not None:
        told["irregularity"] = top.instance.public
    if top.public_seen is not None:
        rules = dict(at.game.irregularities.get(top.key, {}))
        told |= {"seen": top.public_seen.as_data(), "rules": rules}
    return told


def _waiting(
    opened: OpenIrregularity, at: TableView, choices: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return what is open beside the round and halts nothing yet, as the room was told of it."""
    told: dict[str, Any] = {"key": at.public_key(opened.key), "since": utc(opened.since_us)}
    if opened.instance.public is not None:
        told["instance"] = opened.instance.public
    if unread_cards.is_naming(opened):
        hand, index = unread_cards.slot_of(opened)
        told["slot"] = {"hand": hand, "index": index}
    told |= {"seen": stack.public_seen(opened)}
    told |= {"prompt": _waiting_prompt(at, opened).as_data()}
    asked = choices if stack.due_decision(at) is opened else []
    return told | ({"choices": asked} if asked else {})


def _waiting_prompt(at: TableView, opened: OpenIrregularity) -> Message:
    """Return what is asked of it; of a card that is to be named, which one."""
    if not unread_cards.is_naming(opened):
        return stack.step_of(at, opened).prompt
    hand, index = unread_cards.slot_of(opened)
    return message("next_name_card_later", hand=hand, index=index)


_ASKED = {
    "idle": ("place_your_bets", message("next_place_your_bets")),
    "betting": ("no_more_bets", message("next_no_more_bets")),
    "resolved": ("settle", message("next_settle")),
}
"""The next announcement of people in a state, where they announce it."""


_BEFORE_CARDS = ("idle", *situations.BEGUN)


def _next(at: TableView, choices: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the table waits for, and who does it; the command that brings it, if one does."""
    now = at.now
    if now.halt is not None:
        return _halted(at, now.halt, choices)
    if (of_the_shoe := _of_the_shoe(now)) is not None:
        return of_the_shoe
    if now.state in _ASKED and not at.implied:
        return _do(*_ASKED[now.state])
    if now.state == "revealing":
        return _revealing(at)
    if now.state == "closed" and not entitlement.may_draw(now.control, now.wagers):
        without = message("next_holder_without_wager")
        return _do("relinquish_shoe", without, who=_position(positions.BESIDE))
    slot = next_slot(now)
    if slot is None:
        return _wait(message("next_the_shoe"), "shoe")
    hand, index = slot
    if slot in INITIAL_DEAL:
        return _draw(message("next_draw", hand=hand, index=index), slot, now)
    return _draw(message("next_draw_third", hand=hand), slot, now)


def next_message(at: TableView) -> Message:
    """Return what the table waits for."""
    return Message(**_next(at, [])["message"])


def _beside(
    trouble: tuple[str, Message] | None, overdue: Message | None, step: dict[str, Any]
) -> dict[str, Any]:
    """The step, with what is wrong at the other end of the line, or else at the table system."""
    if trouble is not None:
        return with_trouble(step, trouble[1])
    return step if overdue is None else with_trouble(step, overdue)


def with_trouble(step: dict[str, Any], trouble: Message) -> dict[str, Any]:
    """Return what is next, with something beside it that is wrong."""
    both = message("next_with_trouble", next=step["message"], trouble=trouble)
    return step | {"message": both.as_data()}


def _of_the_shoe(now: TableState) -> dict[str, Any] | None:
    """Return what is to be done about the shoe before anything else."""
    if now.state == "no_shoe":
        return _wait(_no_shoe(now), "shoe", who=_DEALER)
    if now.state == "shoe_change":
        if now.link.replay:
            return _wait(message("next_change_shoe"), "shoe", who=_DEALER)
        return _do("declare_new_shoe", message("next_declare_new_shoe"))
    if now.state in _BEFORE_CARDS and not (now.link.aligned or now.link.names_hands):
        if not now.link.up:
            return _wait(message("next_connect_shoe"), "shoe", who=_DEALER)
        return _do("align", message("next_align"))
    return None


def _no_shoe(now: TableState) -> Message:
    if not now.link.up:
        return message("next_connect_shoe")
    if now.link.refusal is not None:
        return message("next_connect_this_tables_shoe")
    if now.link.replay and not now.link.identified:  # only such a shoe says who it is
        return message("next_wait_for_hello")
    return message("next_push_shoe_in")


def _halted(at: TableView, halt: Halt, choices: list[dict[str, Any]]) -> dict[str, Any]:
    top = halt.current
    prompt = named_prompt(top) or stack.step_of(at, top).prompt
    if at.now.pending is not None:
        prompt = message("next_with_card_waiting", next=prompt)
    if stack.is_paused(at):
        return _paused(at, prompt)
    slot = stack.wanted_slot(at)
    if slot is not None:
        return _draw(prompt, slot, at.now)
    if top.key == LINK_LOST.key and not at.now.link.up:
        return _wait(message("next_wait_for_link", next=prompt), "shoe", who=_DEALER)
    can = [choice for choice in choices if "not_now" not in choice]
    named = {choice["choice"] for choice in can}
    if named <= {REFER} and any(
        choice.get("not_now") == ALIGN_FIRST.as_data() for choice in choices
    ):
        return _do("align", message("next_align_in_round", next=prompt))
    if not named or (named == {VOID} and _may_end_by_itself(at, top)):
        return _wait(prompt, "shoe")
    lowest = min((one["position"] for one in can), key=positions.POSITIONS.index)
    return _do("decide", prompt, who=_position(lowest))


def _may_end_by_itself(at: TableView, top: OpenIrregularity) -> bool:
    """Return True if what the shoe says next may end the step.

    Where the link was lost that is its hello: an aligned shoe has said it, and one that replays
    nothing says none.
    """
    link = at.now.link
    says_no_hello = top.key == LINK_LOST.key and (link.aligned or not link.replay)
    return bool(stack.step_of(at, top).accepts) and not says_no_hello


def named_prompt(opened: OpenIrregularity) -> Message | None:
    """Return what is asked of the card in a slot, where it is to be named; else None."""
    if not unread_cards.is_naming(opened):
        return None
    hand, index = unread_cards.slot_of(opened)
    return message("next_name_card", hand=hand, index=index)


def _paused(at: TableView, prompt: Message) -> dict[str, Any]:
    """A pause is over when a person says so, and not while something is in the way."""
    why = offers.check_command(at, "resume")
    if why is None:
        return _do("resume", prompt)
    return _wait(message("next_resume_waits", next=prompt, why=why), "obstacle")


def _revealing(at: TableView) -> dict[str, Any]:
    played = at.round
    order = ("banker", "player") if played.hands.first == "banker" else HANDS
    if hand := next((hand for hand in order if played.face_down(hand)), None):
        if at.faces == "face_up":
            return _wait(message("next_cards_being_seen"), "time")
        return step_with(hand, at)
    if not played.totals_announced:
        return _do("announce_totals", message("next_announce_totals"))
    if is_result_awaited(at.now):
        return _wait(message("next_result"), "shoe")
    return _do("announce_outcome", message("next_announce_outcome"))


_DEALER = _position("dealer")


def _do(
    command: str, says: Message, who: dict[str, Any] | None = None, **args: Any
) -> dict[str, Any]:
    """Return a step that a command brings; ``who`` is by default the lowest position that may."""
    by = _position(COMMANDS[command].position) if who is None else who
    return {"command": command, "args": args, "message": says.as_data(), "who": by, "wait": None}


def _draw(says: Message, slot: tuple[str, int], now: TableState) -> dict[str, Any]:
    """A card is awaited: nothing comes while the shoe refuses to give it."""
    refused = arming.describe_refusal(now)
    if refused is not None:
        says = message("next_with_trouble", next=says, trouble=refused)
    holder = now.control.holder
    who = _DEALER if holder is None else _player(holder)
    return _wait(says, "card", who=who, hand=slot[0], index=slot[1])


def _wait(
    says: Message, wait: str, who: dict[str, Any] | None = None, **draw: Any
) -> dict[str, Any]:
    """Return a step that no command brings; ``who`` does something all the same, or nobody.

    ``wait`` is what is awaited: a ``card``, the ``shoe``, the ``time``, the ``storage``, or that an
    ``obstacle`` goes.
    """
    waits: dict[str, Any] = {"command": None, "args": {}, "message": says.as_data(), "who": who}
    return waits | {"wait": wait} | ({"draw": draw} if draw else {})
