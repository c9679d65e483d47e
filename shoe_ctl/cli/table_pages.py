"""The help of ``shoectl table``: each command's situation, summary, example, arguments, page.

In: a command's name. Out: lines of help. Positions, arguments and states come from the table's own
tables, rule numbers from the game files; both are imported only for a page that is asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from shoe_ctl.cli.help_language import is_english, name_of, said

if TYPE_CHECKING:
    import msgspec

    from shoe_ctl.table.arguments import Argument
    from shoe_ctl.table.procedures.procedure import Choice

ROUND, HANDS, WAGERS = "The round", "Hands and the shoe with Players", "Wagers"
OPEN, CARDS, DEVICE = "Irregularities and reviews", "The shoe's cards", "Commands to the shoe"
LOOK = "Status and delivery"

SITUATIONS = (LOOK, ROUND, HANDS, WAGERS, OPEN, CARDS, DEVICE)
"""In the order of the help."""


class Page(NamedTuple):
    """A command in the help. ``example`` is what is typed behind its name.

    ``cites`` says where a game file has the rule number: ``clause NAME``, ``method M NAME``, or
    ``end IRREGULARITY END``; nothing where no rule speaks of it. ``more`` is said on its own page.
    """

    situation: str
    summary: str
    example: str = ""
    cites: str = ""
    more: str = ""


_MONEY = "Amounts are in the smallest unit of money."
_ENTERED = (
    "Cards are codes in dealing order: rank, then suit, as in 7D TS. A second person consents."
)

PAGES: Mapping[str, Page] = {
    "status": Page(LOOK, "Show how each table stands and what is next."),
    "redeliver": Page(
        LOOK,
        "Offer parked events to their sinks again.",
        "sink=jsonl:public.jsonl",
        more="Without sink=NAME every sink is offered its parked events.",
    ),
    "resend": Page(
        LOOK,
        "Offer a sink again the events of a table behind an id.",
        "sink=jsonl:public.jsonl after=bac-07/p31",
        more="The events keep their ids; the answer says how many they are.",
    ),
    "events": Page(
        LOOK,
        "Print events as JSON lines: what was missed, then what comes.",
        "after=bac-07/p31 audience=public",
        more=(
            "Without --table it prints those of all tables. Without after=ID it begins now; "
            "after=beginning prints all that the journal has. End it with Ctrl-C."
        ),
    ),
    "accept_loss": Page(
        LOOK,
        "Continue a journal that lost its newest records.",
        '--reason "the disk was replaced" --consented-by Kim',
        more="If you can, restore the lost files instead: then nothing is lost.",
    ),
    "place_your_bets": Page(ROUND, "Open a round.", cites="clause place_your_bets"),
    "no_more_bets": Page(ROUND, "Close the bets.", cites="clause no_more_bets"),
    "expose": Page(
        ROUND,
        "Turn over a hand, or one card of it.",
        "hand=player",
        "method A reveal_order",
    ),
    "announce_totals": Page(ROUND, "Announce both totals.", cites="clause table_of_play"),
    "announce_outcome": Page(
        ROUND,
        "Announce the outcome after the last card.",
        cites="method B announcements",
    ),
    "settle": Page(
        ROUND,
        "End the round after wagers are collected and paid.",
        cites="clause round_of_play",
        more="Before that, the status shows what each seat is paid or loses.",
    ),
    "change_method": Page(
        HANDS, "Change the dealing method, between rounds.", "method=A", "clause method_choice"
    ),
    "pass_cards": Page(
        HANDS,
        "Pass a hand to the Player who turns it over.",
        "hand=player",
        "method A highest_wager",
        "If no wagers are recorded, name the Player: seat=3.",
    ),
    "refuse_cards": Page(
        HANDS,
        "Record that the Player refuses the hand.",
        "hand=player",
        "method A refused_next_highest",
    ),
    "name_holder": Page(
        HANDS,
        "Name a holder for a hand that no Player took.",
        "hand=player seat=5",
        "method A pit_supervisor_names",
    ),
    "allow_squeeze": Page(
        HANDS,
        "Allow a Player or a designee to squeeze a hand.",
        "hand=banker seat=2 designee=Ann",
        "clause squeeze_allowed",
    ),
    "set_first_hand": Page(
        HANDS, "Set which hand is turned over first.", "hand=banker", "method A reveal_order"
    ),
    "offer_shoe": Page(
        HANDS, "Give the shoe to a Player.", "player=17 seat=4", "method C player_draws"
    ),
    "relinquish_shoe": Page(
        HANDS, "Take the shoe back from a Player.", cites="method C relinquished"
    ),
    "allow_without_wager": Page(
        HANDS,
        "Let a Player draw without a wager.",
        "player=17 seat=4",
        "method C without_wager",
    ),
    "declare_out_of_view": Page(
        HANDS, "Record that the shoe was out of full view.", cites="method C full_view"
    ),
    "place_wager": Page(
        WAGERS,
        "Place a wager.",
        "player=17 seat=4 wager=tie amount=5000",
        "clause limits",
        _MONEY,
    ),
    "increase_wager": Page(
        WAGERS,
        "Add to a wager.",
        "player=17 seat=4 wager=tie amount=1000",
        "clause limits",
        _MONEY,
    ),
    "decrease_wager": Page(
        WAGERS,
        "Take back part of a wager.",
        "player=17 seat=4 wager=tie amount=1000",
        "clause limits",
        _MONEY,
    ),
    "withdraw_wager": Page(
        WAGERS,
        "Take back a whole wager.",
        "seat=4 wager=tie",
        "end late_withdrawal refused",
        "After no more bets: only while a withdrawal window is open.",
    ),
    "clear_bets": Page(WAGERS, "Take back all wagers, in the electronic game."),
    "restrict_wagers": Page(
        WAGERS,
        "Limit the wagers per area, from the next round.",
        "number=2",
        "clause wagers_per_area_lowered",
        "number=null lifts the limit.",
    ),
    "declare": Page(
        OPEN,
        "Declare an irregularity that only people can see.",
        'key=wrong_order --reason "Banker\'s card went to Player"',
    ),
    "decide": Page(
        OPEN,
        "Decide the open step of an irregularity.",
        'choice=play_on --reason "link back, cards as they lie"',
        more="The status shows the open step, its choices, and a command for each.",
    ),
    "pause": Page(
        OPEN,
        "Pause the table for a review.",
        '--reason "look at seat 3"',
    ),
    "resume": Page(OPEN, "End the review and continue where the table was."),
    "retract": Page(
        OPEN,
        "Take back what was declared by mistake.",
        'declaration=3 --reason "there were no late chips" --consented-by Ann',
        "clause displays",
    ),
    "correct_card": Page(
        OPEN,
        "Say that an open card is another one than the shoe read.",
        'hand=banker index=2 card=2H --reason "a two" --consented-by Ann',
        "clause displays",
    ),
    "enter_round": Page(
        OPEN,
        "Enter a round that was finished by hand.",
        'player="4D 5S" banker="7C QH" --reason "by key" --consented-by Ann',
        "clause displays",
        _ENTERED,
    ),
    "revise_round": Page(
        OPEN,
        "Replace a published outcome that is wrong.",
        'player="4D 5S" banker="7C 2H" --reason "a two" --consented-by Ann',
        "end result_disagrees entered",
        _ENTERED,
    ),
    "align": Page(
        OPEN,
        "Confirm that shoe and table are at the same card.",
        '--reason "no card was drawn"',
    ),
    "change_shoe": Page(CARDS, "Deal no further round from this shoe."),
    "record_shoe": Page(
        CARDS,
        "Record how a set of cards was shuffled and cut.",
        'shuffle="machine 3" cut="seat 4" burn=8 same_backs=true',
        "clause decks",
    ),
    "count_remainder": Page(
        CARDS,
        "Compare the cards left with the table's count.",
        "left=96",
        "end missing_card_in_shoe earlier_stand",
    ),
    "declare_cutting_card": Page(
        CARDS, "Record that the cutting card came out.", cites="end cutting_card completed"
    ),
    "declare_new_shoe": Page(CARDS, "Record that the next set of cards is loaded."),
    "reset_shoe": Page(DEVICE, "Reset the shoe.", cites="end device_reset reset"),
    "test_shoe": Page(DEVICE, "Run the shoe's self-test."),
    "ask_shoe": Page(DEVICE, "Query the shoe.", "what=battery"),
    "clear_error": Page(DEVICE, "Clear the shoe's error."),
    "show_on_shoe": Page(DEVICE, "Show a text on the shoe's display.", 'text="SHOE CHANGE"'),
    "rotate_key": Page(DEVICE, "Give the shoe a new key."),
}
"""Every command, as the help lists it."""

REQUESTS = ("status", "redeliver", "resend", "events")
"""Requests to the daemon, which are no commands of the table."""

ABOUT_THE_JOURNAL = {"accept_loss": "gaming_shift_manager"}
"""Commands to the daemon, each with the lowest position that may give it."""

_MEANINGS: Mapping[str, str] = {
    "hand": "the hand",
    "player": "the Player, by the name or number that the house has",
    "seat": "the seat",
    "wager": "the wager, by its name in the game",
    "amount": "the amount, in the smallest unit of money",
    "on_behalf": "true if staff do it at the Player's request",
    "number": "the most wagers per area; null: no extra limit",
    "method": "the method: A, B or C",
    "designee": "who handles the cards in the Player's place",
    "because": "the reason that it ends",
    "index": "which card of the hand: 1, 2 or 3",
    "by": "the one who turns it over",
    "shuffle": "the person or machine that shuffled",
    "cut": "the person who cut",
    "burn": "the number of cards burned",
    "same_backs": "true if all backs are alike (2.1)",
    "decks": "the number of decks counted in",
    "set": "the house's name of the set",
    "left": "the number of cards left",
    "cards": "the cards, or their number",
    "against_reading": "true if the shoe read another card and is wrong",
    "against_table": "true to rule that cards stand which the Table of Play does not give",
    "banker": "Banker's cards",
    "round": "the round, by its id",
    "declaration": "the declaration, by its number in the status",
    "again": "true to exchange the same two once more",
    "earlier": "true for a wager that was settled in an earlier round",
    "what": "the question: each model of shoe knows its own",
    "overdraw": "the fate of an overdrawn card",
    "key_id": "the id of the key in the key file",
    "text": "the text, in ASCII",
    "key": "the irregularity: see below",
    "choice": "one of those that the status shows: see below",
    "card": "the card: rank, then suit",
    "one": "one of the two cards",
    "other": "the other card",
    "short": "all cards missing from the decks",
    "source": "the one who saw it",
    "sink": "the sink, by its name",
    "after": "the id of the event behind which it begins",
}
_OF_A_ROUND = {"player": "Player's cards"}
_OF_EVENTS = {
    "after": "the id of the last event that you have, or beginning",
    "audience": "the stream; restricted only for a user that sees it",
    "source": "the source of that event, so that another one with its id is noticed",
}
_SPECIAL: Mapping[str, Mapping[str, str]] = {
    "enter_round": _OF_A_ROUND,
    "revise_round": _OF_A_ROUND,
    "events": _OF_EVENTS,
}
"""The meaning of an argument at some commands."""

_PLACEHOLDERS: Mapping[tuple[str, ...], str] = {("int",): "NUMBER", ("str",): "TEXT"}


def situation_of(command: str) -> str:
    """Return the situation under which the help lists it."""
    return PAGES[command].situation


def summary(command: str) -> str:
    """Return what it does, in one line; in another language its name says that."""
    return PAGES[command].summary if is_english() else name_of("command", command)


def commands() -> tuple[str, ...]:
    """Return every command and every request, in the order of the help."""
    return tuple(PAGES)


def example(command: str) -> str:
    """Return the command as it is typed."""
    return f"shoectl table {command} {PAGES[command].example}".rstrip()


def takes_arguments(command: str) -> bool:
    """Return whether its example has any argument, which is so if it needs one."""
    return "=" in PAGES[command].example.partition(" --")[0].partition("--")[0]


# What a page says beyond that.


class Line(NamedTuple):
    """An argument, or a choice, with what is to be said of it."""

    name: str
    text: str


class ArgumentOption(NamedTuple):
    """An argument as an option. ``values`` are all that it may be, ``kinds`` what it is else."""

    name: str
    option: str
    values: tuple[str, ...]
    kinds: tuple[str, ...]
    optional: bool
    text: str


_OPTION_NAMES = {"round": "--of-round"}
"""Of arguments whose own name is that of an option of every command."""


def arguments(command: str) -> list[Line]:
    """Return each argument with the values that it may have."""
    return [
        Line(f"{one.name}={_show_values(one)}", _meaning(command, one))
        for one in _own_arguments(command)
    ]


def argument_options(command: str) -> list[ArgumentOption]:
    """Return all arguments that a command may have, as options.

    Of ``declare`` and ``decide`` these are the arguments of every irregularity and choice.
    """
    own = _own_arguments(command)
    more = _more_arguments(command) if command in ("declare", "decide") else []
    found = {one.name: one for one in (*more, *own)}
    counted = {"declare": ("key", _declared_keys), "decide": ("choice", choice_names)}
    if command in counted:
        name, values = counted[command]
        found[name] = found[name]._replace(values=tuple(values()))
    return [
        ArgumentOption(
            one.name,
            _option_name(one.name),
            one.values,
            one.kinds,
            one.optional,
            _meaning(command, one),
        )
        for one in found.values()
    ]


def _own_arguments(command: str) -> list[Argument]:
    """Return the arguments that stand on the command's page."""
    from shoe_ctl.table.arguments import Argument, list_arguments

    if command in REQUESTS:
        sink = Argument("sink", (), ("str",), command == "redeliver")
        after = Argument("after", (), ("str",), command == "events")
        audience = Argument("audience", ("public", "restricted"), ("str",), True)
        source = Argument("source", (), ("str",), True)
        return {
            "status": [],
            "redeliver": [sink],
            "resend": [sink, after],
            "events": [after, source, audience],
        }[command]
    kind = _kind(command)
    return [] if kind is None else [*list_arguments(kind)]


def _meaning(command: str, one: Argument) -> str:
    special = _SPECIAL.get(command, {})
    text = special.get(one.name, _MEANINGS.get(one.name, one.name))
    text = text if is_english() else name_of("argument", one.name)
    if one.name in _OPTION_NAMES:
        text = said("{text}; as an option {option}", text=text, option=_OPTION_NAMES[one.name])
    return said("{text} (optional)", text=text) if one.optional else text


def _option_name(argument: str) -> str:
    return _OPTION_NAMES.get(argument, f"--{argument.replace('_', '-')}")


def _show_values(one: Argument) -> str:
    return "|".join(one.values) or _PLACEHOLDERS.get(one.kinds, "NAME")


def _kind(command: str) -> type[msgspec.Struct] | None:
    from shoe_ctl.table.commands import COMMANDS

    return COMMANDS[command].args if command in COMMANDS else None


def _arguments(kind: type[msgspec.Struct]) -> Iterator[tuple[str, str, bool]]:
    from shoe_ctl.table.arguments import list_arguments

    for one in list_arguments(kind):
        yield one.name, _show_values(one), one.optional


def given_by(command: str) -> str:
    """Return the lowest position that may give it, and who else may."""
    from shoe_ctl.table.commands import COMMANDS
    from shoe_ctl.table.positions import APART

    known = COMMANDS.get(command)
    lowest = ABOUT_THE_JOURNAL[command] if known is None else known.position
    text = said("{position} or a higher position (6.2)", position=name_of("position", lowest))
    if known is not None and known.apart:
        text += said(", or {position}", position=name_of("position", APART))
    more = {
        "change_method": "; the game defines who chooses which method",
        "decide": "; each choice has its own, below",
        "declare": "; each key has its own, below",
        "accept_loss": "; a second person consents",
    }
    return text + said(more.get(command, ""))


def taken_in(command: str) -> str:
    """Return the states that take it."""
    from shoe_ctl.table.commands import COMMANDS
    from shoe_ctl.table.situations import STATES

    if command in ABOUT_THE_JOURNAL:
        return said("while the journal is in doubt, when no other command is taken")
    states = COMMANDS[command].states
    if len(states) == len(STATES):
        return said("in every state")
    return ", ".join(states if is_english() else (name_of("state", one) for one in states))


def rules(command: str) -> str:
    """Return the rule number, game by game where they differ."""
    cites = PAGES[command].cites
    if not cites:
        text = {
            "accept_loss": "6.1",
            "declare": "each irregularity has its own; 6.1 where no rule covers it",
            "decide": "each choice has its own: the status shows it",
        }.get(command, "none")
        return said(text)
    games = {
        name if is_english() else name_of("game", name): _rule(file, cites.split())
        for name, file in _game_files().items()
    }
    numbers = dict.fromkeys(number for number in games.values() if number is not None)
    if not numbers:
        return said("none")
    staffed = {name: number for name, number in games.items() if number is not None}
    if len(numbers) == 1 and len(staffed) == len(games):
        return next(iter(numbers))
    return ", ".join(
        f"{number} ({', '.join(name for name, its in staffed.items() if its == number)})"
        for number in numbers
    )


@functools.cache
def _game_files() -> dict[str, Any]:
    """The files as they are: a page wants one number of each, and not the whole game built."""
    import tomllib

    from shoe_ctl.games import catalog

    return {name: tomllib.loads(catalog.source(name).decode()) for name in catalog.shipped()}


def _rule(file: Any, cites: list[str]) -> str | None:
    """The number at this place of a game file; none where a key of it is not there."""
    place: list[str] = []
    match cites:
        case ["clause", name]:
            place = ["clauses", name]
        case ["method", method, name]:
            place = ["methods", method, "clauses", name]
        case [_, key, end]:
            place = ["irregularities", key, end]
    for key in place:
        file = file.get(key) if isinstance(file, dict) else None
    return None if file in (None, "none") else str(file)


def declared() -> list[Line]:
    """Return what can be declared: each key with its arguments and the lowest position."""
    from shoe_ctl.table.commands import COMMANDS
    from shoe_ctl.table.irregularities.catalog import PROCEDURES
    from shoe_ctl.table.wagers.declared import RECORDED, DeclaredWager

    found: list[Line] = []
    for key, recorded in RECORDED.items():
        stake = [_shown(*one) for one in _arguments(DeclaredWager) if one[0] in recorded.names]
        found.append(Line(key, _with(stake, name_of("position", COMMANDS["declare"].position))))
    for key, procedure in PROCEDURES.items():
        if (how := procedure.declared) is not None:
            names = [_shown(*one) for one in _arguments(how.takes) if one[0] != "key"]
            found.append(Line(key, _with(names, name_of("position", how.by))))
    return sorted(found)


def choices() -> list[Line]:
    """Return each choice of each irregularity, with its arguments and the lowest position."""
    from shoe_ctl.table.irregularities.catalog import PROCEDURES

    found: list[Line] = []
    for key, procedure in PROCEDURES.items():
        told = dict.fromkeys(_choice(one) for step in procedure.steps for one in step.choices)
        if told:
            found.append(Line(key, "; ".join(told)))
    return sorted(found)


def _choice(choice: Choice) -> str:
    from shoe_ctl.table.procedures.procedure import DECIDES

    names = [_shown(*one) for one in _arguments(choice.arguments) if one[0] != "choice"]
    highest = choice.by == DECIDES
    by = said("highest authority, 6.1") if highest else name_of("position", choice.by)
    return f"{choice.name} {_with(names, by)}"


def _with(names: list[str], by: str) -> str:
    return " ".join([*names, f"({by})"])


def _shown(name: str, values: str, may: bool) -> str:
    return f"[{name}={values}]" if may else f"{name}={values}"


def completions(
    command: str, typed: list[str], incomplete: str, open_choices: list[str] | None = None
) -> list[str]:
    """Return how an argument of this command may go on: its name, or behind ``=`` its values.

    ``typed`` are the words before. A shell may take ``=`` for a word of its own: then a value
    stands alone, and where nothing of it is typed yet the ``=`` is not handed on.
    ``open_choices`` are those that the table would take now, if that is known.
    """
    offered = _offered(command)
    if open_choices is not None and "choice" in offered:
        offered["choice"] = open_choices
    before = typed[-1] if typed else ""
    if before == "=" and len(typed) > 1:
        return _starting(offered.get(typed[-2], []), incomplete)
    if before in offered and not incomplete:
        return offered[before]
    key, equals, start = incomplete.partition("=")
    if equals:
        return [f"{key}={value}" for value in _starting(offered.get(key, []), start)]
    used = {word.partition("=")[0] for word in typed}
    return [
        word
        for name, values in offered.items()
        if name.startswith(key) and name not in used
        for word in ([f"{name}={value}" for value in values] or [f"{name}="])
    ]


def _starting(values: list[str], start: str) -> list[str]:
    return [value for value in values if value.startswith(start)]


def _offered(command: str) -> dict[str, list[str]]:
    """Return by each argument's name its values, none where they cannot be listed."""
    return {one.name: _complete_values(one) for one in argument_options(command)}


def _complete_values(one: ArgumentOption) -> list[str]:
    """Return all values, if they can be listed and each is one word for a shell."""
    return [] if any(" " in value for value in one.values) else list(one.values)


def choice_names() -> list[str]:
    """Return every choice that a step may have."""
    from shoe_ctl.table.irregularities.catalog import PROCEDURES

    names = (c.name for p in PROCEDURES.values() for step in p.steps for c in step.choices)
    return sorted(set(names))


def _declared_keys() -> list[str]:
    return [line.name for line in declared()]


def _more_arguments(command: str) -> list[Argument]:
    """Return the arguments of all that can be declared, or of all choices; each is optional.

    One that several of them have takes the values of all.
    """
    from shoe_ctl.table.arguments import list_arguments
    from shoe_ctl.table.irregularities.catalog import PROCEDURES
    from shoe_ctl.table.wagers.declared import DeclaredWager

    kinds: list[type[msgspec.Struct]] = []
    for procedure in PROCEDURES.values():
        if command == "decide":
            kinds += [c.arguments for step in procedure.steps for c in step.choices]
        elif procedure.declared is not None:
            kinds.append(procedure.declared.takes)
    kinds += [DeclaredWager] if command == "declare" else []
    found: dict[str, Argument] = {}
    for one in (one for kind in dict.fromkeys(kinds) for one in list_arguments(kind)):
        known = found.get(one.name, one)
        found[one.name] = one._replace(
            values=tuple(dict.fromkeys((*known.values, *one.values))),
            kinds=tuple(dict.fromkeys((*known.kinds, *one.kinds))),
            optional=True,
        )
    return list(found.values())
