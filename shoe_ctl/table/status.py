"""Status: how the table stands in public: its state, revealed cards, what is next, who may do it.

In: the table's state, its game, its settings. Out: plain values, the public part only.
Must not know: who asks, how it is shown. Nothing here changes the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from shoe_ctl.games.game import Game
from shoe_ctl.games.table_of_play import total
from shoe_ctl.records import utc

from . import offers, situations, undelivered
from .irregularities.catalog import PROCEDURES
from .irregularities.power_failure import REFER
from .procedures import stack
from .procedures.procedure import Procedure
from .procedures.shared import ALIGN_FIRST
from .round import methods
from .round.reveal import is_result_awaited
from .settings import TableSettings
from .shoe import arming, link
from .shoe import commands as shoe_commands
from .state import DealtCard, Halt, OpenIrregularity, Player, Round, TableState, next_slot
from .turn import TableView
from .wagers import settlement
from .wagers.limits import WagerRules
from .wagers.settlement import settle_all
from .wagers.types import Wager

# The whole status.


HANDS = ("player", "banker")


def status(
    now: TableState,
    game: Game,
    settings: TableSettings,
    t_us: int | None = None,
    *,
    procedures: Mapping[str, Procedure] = PROCEDURES,
) -> dict[str, Any]:
    """Return how the table stands in public.

    A card that is not revealed is ``null``; a halt for inspection gives no details. ``takes`` are
    the commands that could be taken now, with the lowest position that may give each, and whether
    it needs a reason or a second person. ``next`` is what the table waits for, with the command
    that brings it, if there is one. ``wagers`` are those on the layout; once the outcome is
    announced, each with what it is paid or loses.

    Args:
        now: the table's state.
        game: its game.
        settings: its settings.
        t_us: the time now; None: the time of the last input.
        procedures: the irregularities and pauses that may halt it, by key.
    """
    at = TableView(now, game, settings, procedures)
    choices = offers.list_choices(at)
    trouble = link.link_trouble(now, now.t_us if t_us is None else t_us)
    return {
        "table": settings.table,
        "game": game.id,
        "method": at.method,
        "state": now.state,
        "link": link.link_state(now),
        "link_reason": None if trouble is None else trouble[0],
        "told": shoe_commands.public_commands(now),
        "refused": arming.public(now),
        "shoe": None
        if now.shoe is None
        else {"shoe_id": now.shoe.id, "cutting_card_out": now.shoe.cutting_card_out},
        "round": None if now.round is None else _round(now.round),
        "wagers": _describe_wagers(now, game, settings, restricted=False),
        "next": _with_link_trouble(trouble, _next(at, choices)),
        "takes": [offer.public() for offer in offers.list_offers(at)],
        "halt": _halt(at, choices),
        "waiting": [_waiting(opened, at, choices) for opened in now.waiting],
        "parked": undelivered.describe(now, restricted=False),
    } | _in_players_hands(at)


def restricted(now: TableState, game: Game, settings: TableSettings) -> dict[str, Any]:
    """Return the parts of the status that differ for the restricted stream: wagers, sinks."""
    return {
        "wagers": _describe_wagers(now, game, settings, restricted=True),
        "parked": undelivered.describe(now, restricted=True),
    }


NOTHING_IS_STORED = (
    "deal no more from this shoe, leave every card where it lies, and call whoever looks after the "
    "box; once storage works again look at the cards, then a pit supervisor says resume"
)
"""What to do while nothing can be stored."""


def in_storage_fault(stood: dict[str, Any], fault: str, since_us: int | None) -> dict[str, Any]:
    """Return the status of a table that cannot store anything: no command is taken.

    Args:
        stood: its status when it was last stored.
        fault: what failed, one line for people.
        since_us: when it failed; None if that is not known.
    """
    halt = stood["halt"]
    return stood | {
        "fault": {"text": fault} | ({} if since_us is None else {"since": utc(since_us)}),
        "next": _wait(NOTHING_IS_STORED),
        "takes": [],
        "halt": None if halt is None else halt | {"choices": []},
        "waiting": [
            {name: said for name, said in waiting.items() if name != "choices"}
            for waiting in stood["waiting"]
        ],
    }


# The round, the halt, and what is open besides.


def _round(played: Round) -> dict[str, Any]:
    """Return the round as everybody at the table has seen it."""
    hands = {name: [_code(d) for d in played.cards if d.hand == name] for name in HANDS}
    totals = (
        {name: total(played.hand(name)) for name in HANDS}
        if played.totals_announced and played.all_revealed
        else None
    )
    return {"round_id": played.id, "hands": hands, "totals": totals}


def _code(dealt: DealtCard) -> str | None:
    return dealt.card.code if dealt.revealed and dealt.card is not None else None


def _halt(at: TableView, choices: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return what the public knows of the halt, with the step that is open."""
    halt = at.now.halt
    if halt is None:
        return None
    top = halt.top
    told: dict[str, Any] = {
        "reason": at.public_key(top.key),
        "since": utc(top.since_us),
        "earlier": [at.public_key(key) for key in halt.earlier],
        **stack.guide(at),
        "choices": choices,
    }
    if at.now.pending is not None:
        hand, index = at.now.pending.named_slot or (None, None)
        told["pending"] = {"hand": hand, "index": index}
    if top.publicly is not None:
        rules = dict(at.game.irregularities.get(top.key, {}))
        told |= {"seen": top.publicly, "rules": rules}
    return told


def _waiting(
    opened: OpenIrregularity, at: TableView, choices: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return what the public knows of an irregularity that is open and does not halt the table."""
    told: dict[str, Any] = {"key": at.public_key(opened.key), "since": utc(opened.since_us)}
    told |= {"seen": opened.publicly, "prompt": stack.step_of(at, opened).prompt}
    asked = choices if stack.to_decide(at) is opened else []
    return told | ({"choices": asked} if asked else {})


# The hands and the shoe in Players' hands.


def _in_players_hands(at: TableView) -> dict[str, Any]:
    """Return ``held_by`` if Players handle cards, and ``shoe_with`` if one may have the shoe."""
    found: dict[str, Any] = {}
    if at.is_handed and at.now.round is not None:
        found["held_by"] = _holders(at.now.round)
    if at.method == "C":
        found["shoe_with"] = _shoe_holder(at.now)
    return found


def _holders(played: Round) -> dict[str, Any]:
    """Return for each hand the seat that has it; None while the dealer has it."""
    return {hand: _seat(played.hands.of(hand).holder) for hand in ("player", "banker")}


def _shoe_holder(now: TableState) -> dict[str, Any] | None:
    """Return the seat that has the shoe in Method C; None while the dealer has it."""
    return _seat(now.control.holder)


def _seat(holder: Player | None) -> dict[str, Any] | None:
    return None if holder is None else {"seat": holder.seat}


# The wagers.


_KEYS_OF_WAGER = ("number", "player", "seat", "wager")
"""Keys of a settlement's line that the wager itself has too."""


def _describe_wagers(
    now: TableState, game: Game, settings: TableSettings, *, restricted: bool
) -> list[dict[str, Any]]:
    """Return the wagers on the layout, seat by seat counter-clockwise.

    The ``player`` is in it only if ``restricted``. Amounts are in minor units. ``not_honoured``
    came after *no more bets* and goes back; what was ``taken_back`` is settled as if it stood. Once
    the outcome is announced, ``settlement`` has the values that ``wager.settled`` will have.
    """
    if not now.wagers.standing:
        return []
    rules = WagerRules(game, settings.layout, settings.limits)
    lines = _settlement_lines(now, game, settings, rules)
    held = settlement.order_lines(now.wagers.standing, rules)
    return [_wager(one, lines.get(one.number), restricted=restricted) for one in held]


def _settlement_lines(
    now: TableState, game: Game, settings: TableSettings, rules: WagerRules
) -> dict[int, settlement.SettlementLine]:
    """Return how each wager will be settled, by number; empty before the outcome is announced."""
    if now.state != "resolved" or now.round is None:
        return {}
    hands = (now.round.hand("player"), now.round.hand("banker"))
    settlement = game.settle_hands(*hands, layout=settings.layout)
    settled = settle_all(now.wagers, settlement, rules)
    return {line.number: line for line in settled.lines}


def _wager(
    held: Wager, line: settlement.SettlementLine | None, *, restricted: bool
) -> dict[str, Any]:
    said: dict[str, Any] = {
        "number": held.number,
        "seat": held.seat,
        "wager": held.wager,
        "amount": held.amount,
    }
    said |= {"player": held.player} if restricted else {}
    said |= {"not_honoured": held.not_honoured} if held.not_honoured else {}
    said |= {"taken_back": True} if held.taken_back else {}
    if line is not None:
        data = settlement.line_data(line)
        said["settlement"] = {k: v for k, v in data.items() if k not in _KEYS_OF_WAGER}
    return said


# What the table waits for.


_ASKED = {
    "idle": ("place_your_bets", "place your bets"),
    "betting": ("no_more_bets", "no more bets"),
    "resolved": ("settle", "pay and collect, then settle"),
}
"""State → the announcement that people make next: its command, and what to do in words."""

_BEFORE_CARDS = ("idle", *situations.BEGUN)

_ALIGN = "say that the shoe stands between rounds and no card is missing"

_ALIGN_IN_A_ROUND = "before that look whether a card is missing; if none is, align the shoe"

_NEW_SHOE = "change the shoe; where it does not say so itself, say that it is changed"

_NO_WAGER = (
    "the Player with the shoe has no wager: an assistant casino manager lets them draw, "
    "or the shoe goes back to the dealer"
)

_PENDING = "; the card that was drawn waits face down, and takes its place when the table goes on"


def next_text(at: TableView) -> str:
    """Return what the table waits for, in words."""
    return str(_next(at, [])["text"])


def _next(at: TableView, choices: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the table waits for, with ``command`` and ``args`` if a command brings it."""
    now = at.now
    if now.halt is not None:
        return _next_in_halt(at, now.halt, choices)
    if (of_the_shoe := _next_for_shoe(now)) is not None:
        return of_the_shoe
    if now.state in _ASKED and not at.implied:
        return _do(*_ASKED[now.state])
    if now.state == "revealing" and now.round is not None:
        return _next_in_revealing(at, now.round)
    if _lacks_wager_to_draw(now):
        return _do("relinquish_shoe", _NO_WAGER)
    slot = next_slot(now)
    if slot is None:
        return _wait("the shoe")
    return _draw(f"draw {_possessive(slot[0])} card {slot[1]}", slot, now)


def _with_link_trouble(trouble: tuple[str, str] | None, step: dict[str, Any]) -> dict[str, Any]:
    """Return the step with what is wrong with the link, if anything is."""
    return step if trouble is None else step | {"text": f"{step['text']}; {trouble[1]}"}


def _next_for_shoe(now: TableState) -> dict[str, Any] | None:
    """Return what must be done about the shoe first, if anything."""
    if now.state == "no_shoe":
        return _wait(_how_to_get_a_shoe(now))
    if now.state == "shoe_change":
        return _wait("change the shoe") if now.link.replay else _do("declare_new_shoe", _NEW_SHOE)
    if now.state in _BEFORE_CARDS and not (now.link.aligned or now.link.names_hands):
        return _do("align", _ALIGN) if now.link.up else _wait("connect the shoe")
    return None


def _how_to_get_a_shoe(now: TableState) -> str:
    if not now.link.up:
        return "connect the shoe"
    if now.link.refusal is not None:
        return "connect this table's shoe"
    if now.link.replay and not now.link.met:  # only such a shoe says who it is
        return "wait for the shoe to say who it is: if it does not, shoectl doctor says why"
    return "push a shoe in"


def _next_in_halt(at: TableView, halt: Halt, choices: list[dict[str, Any]]) -> dict[str, Any]:
    prompt = stack.step_of(at, halt.top).prompt + (_PENDING if at.now.pending is not None else "")
    if stack.is_paused(at):
        return _next_in_pause(at, prompt)
    slot = stack.draw_wanted(at)
    if slot is not None:
        return _draw(prompt, slot, at.now)
    can = [choice["choice"] for choice in choices if "not_now" not in choice]
    if set(can) <= {REFER} and any(choice.get("not_now") == ALIGN_FIRST for choice in choices):
        return _do("align", f"{prompt}; {_ALIGN_IN_A_ROUND}")
    return _do("decide", prompt) if can else _wait(prompt)


def _next_in_pause(at: TableView, prompt: str) -> dict[str, Any]:
    """Return what a paused table waits for: *resume*, or what stands against it."""
    why = offers.check_command(at, "resume")
    if why is None:
        return _do("resume", prompt)
    return _wait(f"{prompt}; resume waits for this: {why}; if it stays so, declare other")


def _next_in_revealing(at: TableView, played: Round) -> dict[str, Any]:
    order = _reveal_order(played)
    unseen = next((d for name in order for d in played.cards if _is_face_down(d, name)), None)
    if unseen is not None:
        if at.faces == "face_up":
            return _wait("the cards are being seen")
        step = _step_of_hand(unseen.hand, at)
        return _do(step.command, step.text, hand=unseen.hand)
    if not played.totals_announced:
        return _do("announce_totals", "announce both totals")
    if is_result_awaited(at.now):
        return _wait("the shoe's own result")
    return _do("announce_outcome", "announce the outcome")


def _is_face_down(dealt: DealtCard, hand: str) -> bool:
    return dealt.hand == hand and not dealt.revealed


def _reveal_order(played: Round) -> tuple[str, str]:
    """Return both hands in the order in which they are revealed."""
    return ("banker", "player") if played.hands.first == "banker" else ("player", "banker")


class _Step(NamedTuple):
    """What is next with a hand."""

    command: str
    """The command that brings it."""
    text: str
    """What to do, in words."""


def _step_of_hand(hand: str, at: TableView) -> _Step:
    """Return what is next with a hand that has cards face down."""
    named, handling = f"{hand.capitalize()}'s", at.round.hands.of(hand)
    if handling.holder is not None:
        return _Step("expose", f"{_player_name(handling.holder)} exposes {named} cards")
    opened = any(dealt.revealed for dealt in at.round.cards if dealt.hand == hand)
    if at.method != "A" or opened or handling.with_dealer:
        return _Step("expose", f"expose {named} cards")
    if not methods.has_wager_feed(at.now.wagers):
        return _Step("expose", f"pass {named} cards to the highest wager, or expose them")
    rules = WagerRules(at.game, at.settings.layout, at.settings.limits)
    due = methods.find_recipient(at.now.wagers, hand, handling.refused, rules)
    if due is None:
        return _Step("expose", f"the pit supervisor names who takes {named} cards, or expose them")
    return _Step("pass_cards", f"pass {named} cards to {_player_name(due.player)}")


def _player_name(player: Player) -> str:
    return "the Player" if player.seat is None else f"seat {player.seat}"


def _lacks_wager_to_draw(now: TableState) -> bool:
    """Return True if the Player with the shoe has neither a wager nor leave to draw without one."""
    return now.state == "closed" and not methods.may_draw(now.control, now.wagers)


def _possessive(hand: str) -> str:
    return f"{hand.capitalize()}'s"


def _do(command: str, text: str, **args: Any) -> dict[str, Any]:
    return {"command": command, "args": args, "text": text}


def _draw(text: str, slot: tuple[str, int], now: TableState) -> dict[str, Any]:
    """Return that a card is to be drawn, and whether the shoe refuses to give it."""
    refused = "" if now.arming is None else arming.words(now.arming)
    said = f"{text}; {refused}" if refused else text
    return _wait(said, hand=slot[0], index=slot[1])


def _wait(text: str, **draw: Any) -> dict[str, Any]:
    return {"command": None, "args": {}, "text": text} | ({"draw": draw} if draw else {})
