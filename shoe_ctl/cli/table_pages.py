"""The help of ``shoectl table``: each command's situation, summary, example, and its whole page.

In: a command's name. Out: lines of help. Positions, arguments and states come from the table's own
tables, rule numbers from the game files; both are imported only for a page that is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import msgspec

    from shoe_ctl.table.procedures.procedure import Choice

ROUND, HANDS, WAGERS = "The round", "Hands and the shoe in Players' hands", "Wagers"
OPEN, CARDS, DEVICE = "Irregularities and reviews", "The shoe's cards", "Telling the shoe"
LOOK = "Looking and delivering"

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
    "status": Page(LOOK, "Show how the tables stand, and what is next."),
    "redeliver": Page(
        LOOK,
        "Offer events again that a sink did not take.",
        "sink=jsonl:public",
        more="Without sink=NAME all sinks are offered what they have not taken.",
    ),
    "accept_loss": Page(
        LOOK,
        "Rule that a journal which lost its newest part goes on without it.",
        '--reason "the disk was replaced" --consented-by Kim',
        more="Put the lost files back instead where you can: then nothing is lost.",
    ),
    "place_your_bets": Page(ROUND, "Open the round.", cites="clause place_your_bets"),
    "no_more_bets": Page(ROUND, "Close the bets.", cites="clause no_more_bets"),
    "expose": Page(
        ROUND,
        "Say that a hand, or one card of it, is turned over.",
        "hand=player",
        "method A reveal_order",
    ),
    "announce_totals": Page(ROUND, "Announce both totals.", cites="clause table_of_play"),
    "announce_outcome": Page(
        ROUND, "Announce the outcome, once the last card is turned.", cites="method B announcements"
    ),
    "settle": Page(
        ROUND,
        "End the round: every wager is collected and paid.",
        cites="clause round_of_play",
        more="Before it the status shows what each seat is paid or loses.",
    ),
    "change_method": Page(
        HANDS, "Change to another method, between rounds.", "method=A", "clause method_choice"
    ),
    "pass_cards": Page(
        HANDS,
        "Hand a hand's cards to the Player who opens them.",
        "hand=player",
        "method A highest_wager",
        "Where no wagers are recorded say to whom: seat=3.",
    ),
    "refuse_cards": Page(
        HANDS,
        "Say that the Player does not take the hand.",
        "hand=player",
        "method A refused_next_highest",
    ),
    "name_holder": Page(
        HANDS,
        "Name who takes a hand that no Player with a wager took.",
        "hand=player seat=5",
        "method A pit_supervisor_names",
    ),
    "allow_squeeze": Page(
        HANDS,
        "Let a Player, or somebody in their place, squeeze a hand.",
        "hand=banker seat=2 designee=Ann",
        "clause squeeze_allowed",
    ),
    "set_first_hand": Page(
        HANDS, "Say which hand is opened first.", "hand=banker", "method A reveal_order"
    ),
    "offer_shoe": Page(
        HANDS, "Give the shoe to a Player.", "player=17 seat=4", "method C player_draws"
    ),
    "relinquish_shoe": Page(
        HANDS, "Take the shoe back from a Player.", cites="method C relinquished"
    ),
    "allow_without_wager": Page(
        HANDS, "Let a Player draw without a wager.", "player=17 seat=4", "method C without_wager"
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
        "Add to a wager that lies there.",
        "player=17 seat=4 wager=tie amount=1000",
        "clause limits",
        _MONEY,
    ),
    "decrease_wager": Page(
        WAGERS,
        "Take part of a wager back.",
        "player=17 seat=4 wager=tie amount=1000",
        "clause limits",
        _MONEY,
    ),
    "withdraw_wager": Page(
        WAGERS,
        "Take a whole wager back.",
        "seat=4 wager=tie",
        "end late_withdrawal refused",
        "After no more bets only while a withdrawal window is open.",
    ),
    "clear_bets": Page(WAGERS, "Take all wagers back, in the electronic game."),
    "restrict_wagers": Page(
        WAGERS,
        "Restrict the wagers of an area, from the next round.",
        "number=2",
        "clause wagers_per_area_lowered",
        "number=null lifts the restriction.",
    ),
    "declare": Page(
        OPEN,
        "Declare what only people can see.",
        'key=wrong_order --reason "Banker\'s card went to Player"',
    ),
    "decide": Page(
        OPEN,
        "Decide the step that is open.",
        'choice=play_on --reason "link back, cards as they lie"',
        more="The status shows the open step, its choices, and each as it is typed.",
    ),
    "pause": Page(
        OPEN,
        "Pause the table for a review; surveillance may too.",
        '--reason "look at seat 3"',
    ),
    "resume": Page(OPEN, "End the review: the table goes on where it was."),
    "enter_round": Page(
        OPEN,
        "Enter a round that was finished by hand.",
        'player="4D 5S" banker="7C QH" --reason "by key" --consented-by Ann',
        "clause displays",
        _ENTERED,
    ),
    "revise_round": Page(
        OPEN,
        "Replace an outcome that was told and is wrong.",
        'player="4D 5S" banker="7C 2H" --reason "a two" --consented-by Ann',
        "end result_disagrees entered",
        _ENTERED,
    ),
    "align": Page(
        OPEN,
        "Say that the shoe stands where the table does.",
        '--reason "no card was drawn"',
    ),
    "change_shoe": Page(CARDS, "Deal no further round from these cards."),
    "record_shoe": Page(
        CARDS,
        "Record how a set of cards was put in.",
        'shuffle="machine 3" cut="seat 4" burn=8 same_backs=true',
        "clause decks",
    ),
    "count_remainder": Page(
        CARDS,
        "Compare what is left in the shoe with the table's count.",
        "left=96",
        "end missing_card_in_shoe earlier_stand",
    ),
    "declare_cutting_card": Page(
        CARDS, "Say that the cutting card came out.", cites="end cutting_card completed"
    ),
    "declare_new_shoe": Page(CARDS, "Say that the next set of cards is in the shoe."),
    "reset_shoe": Page(DEVICE, "Tell the shoe to reset itself.", cites="end device_reset reset"),
    "test_shoe": Page(DEVICE, "Tell the shoe to test itself."),
    "ask_shoe": Page(DEVICE, "Ask the shoe something.", "what=battery"),
    "clear_error": Page(DEVICE, "Tell the shoe to clear its error."),
    "show_on_shoe": Page(DEVICE, "Show a text on the shoe.", 'text="SHOE CHANGE"'),
    "rotate_key": Page(DEVICE, "Give the shoe a new key."),
}
"""Every command, as the help lists it."""

REQUESTS = ("status", "redeliver")
"""What is asked and is no command of the table's."""

ABOUT_THE_JOURNAL = {"accept_loss": "gaming_shift_manager"}
"""Commands to the daemon, each with the lowest position that may give it."""

_MEANINGS: Mapping[str, str] = {
    "hand": "the hand",
    "player": "the Player, by the name or number that the house has",
    "seat": "the seat",
    "wager": "the wager, by its name in the game",
    "amount": "how much, in the smallest unit of money",
    "on_behalf": "staff do it at the Player's request",
    "number": "how many wagers an area takes; null: as many as before",
    "method": "the method: A, B or C",
    "designee": "who handles the cards in the Player's place",
    "because": "why it ends",
    "index": "which card of the hand: 1, 2 or 3",
    "by": "who turns it over",
    "shuffle": "who or what shuffled",
    "cut": "who cut",
    "burn": "how many cards were burned",
    "same_backs": "all backs are alike (2.1)",
    "decks": "how many decks were counted in",
    "set": "the house's name of the set",
    "left": "how many cards are left",
    "cards": "the cards, or how many",
    "against_reading": "where the shoe read a card otherwise, the people are right",
    "banker": "Banker's cards",
    "round": "the round, by its id",
    "what": "what is asked: the shoe says what it can tell",
    "overdraw": "what becomes of an overdrawn card",
    "key_id": "the key in the key file",
    "text": "the text, in ASCII",
    "key": "what is declared; below",
    "choice": "one of those that the status shows; below",
    "card": "the card: rank, then suit",
    "one": "one of the two cards",
    "other": "the other card",
    "short": "all cards that the decks lack",
    "source": "who saw it",
    "sink": "the sink, by its name",
}
_OF_A_ROUND = {"player": "Player's cards"}

_PLACEHOLDERS: Mapping[tuple[str, ...], str] = {("int",): "NUMBER", ("str",): "TEXT"}


def situation_of(command: str) -> str:
    """Where the help lists it."""
    return PAGES[command].situation


def summary(command: str) -> str:
    """What it does, in a line."""
    return PAGES[command].summary


def commands() -> tuple[str, ...]:
    """Every command of the table and every request, as the help lists them."""
    return tuple(PAGES)


def example(command: str) -> str:
    """The command as it is typed."""
    return f"shoectl table {command} {PAGES[command].example}".rstrip()


# What a page says beyond that.


class Line(NamedTuple):
    """An argument, or a choice, with what is to be said of it."""

    name: str
    text: str


def arguments(command: str) -> list[Line]:
    """Each argument with the values it may have."""
    if command in REQUESTS:
        found = [("sink", "TEXT", True)] if command == "redeliver" else []
    else:
        found = list(_arguments(_kind(command)))
    special = _OF_A_ROUND if command in ("enter_round", "revise_round") else {}
    return [
        Line(
            f"{name}={values}",
            special.get(name, _MEANINGS.get(name, name)) + (" (optional)" if may else ""),
        )
        for name, values, may in found
    ]


def _kind(command: str) -> type[msgspec.Struct] | None:
    from shoe_ctl.table.commands import COMMANDS

    return COMMANDS[command].args if command in COMMANDS else None


def _arguments(kind: type[msgspec.Struct] | None) -> Iterator[tuple[str, str, bool]]:
    from shoe_ctl.table.arguments import list_arguments as arguments_of

    for one in arguments_of(kind) if kind is not None else ():
        plain = _PLACEHOLDERS.get(one.kinds, "NAME")
        yield one.name, "|".join(one.values) or plain, one.optional


def given_by(command: str) -> str:
    """Who may give it."""
    from shoe_ctl.table.commands import COMMANDS
    from shoe_ctl.table.positions import APART

    known = COMMANDS.get(command)
    lowest = (ABOUT_THE_JOURNAL[command] if known is None else known.position).replace("_", " ")
    apart = f", or {APART}" if known is not None and known.apart else ""
    more = {
        "change_method": "; the game says who chooses which method",
        "decide": "; each choice says its own, below",
        "declare": "; each key says its own, below",
        "accept_loss": "; a second person consents",
    }
    return f"{lowest} or a higher position (6.2){apart}{more.get(command, '')}"


def taken_in(command: str) -> str:
    """In which states it may do something."""
    from shoe_ctl.table.commands import COMMANDS
    from shoe_ctl.table.situations import STATES

    if command in ABOUT_THE_JOURNAL:
        return "while a journal may have lost its newest part, and then no other command"
    states = COMMANDS[command].states
    return "in every state" if len(states) == len(STATES) else ", ".join(states)


def rules(command: str) -> str:
    """The rule number, game by game where they differ."""
    cites = PAGES[command].cites
    if not cites:
        return {
            "accept_loss": "6.1",
            "declare": "each irregularity has its own; 6.1 where no rule covers it",
            "decide": "each choice has its own: the status shows it",
        }.get(command, "no rule speaks of it")
    import tomllib

    from shoe_ctl.games import catalog

    # The files as they are: a page wants one number of each, and not the whole game built.
    files = {name: tomllib.loads(catalog.source(name).decode()) for name in catalog.shipped()}
    games = {name: _rule(file, cites.split()) for name, file in files.items()}
    numbers = dict.fromkeys(number for number in games.values() if number is not None)
    if not numbers:
        return "no rule speaks of it"
    staffed = {name: number for name, number in games.items() if number is not None}
    if len(numbers) == 1 and len(staffed) == len(games):
        return next(iter(numbers))
    return ", ".join(
        f"{number} ({', '.join(name for name, its in staffed.items() if its == number)})"
        for number in numbers
    )


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
    """What can be declared: each key with its arguments and the lowest position."""
    from shoe_ctl.table.commands import COMMANDS
    from shoe_ctl.table.irregularities.catalog import PROCEDURES
    from shoe_ctl.table.wagers.declared import RECORDED, DeclaredWager

    found: list[Line] = []
    for key, recorded in RECORDED.items():
        stake = [_shown(*one) for one in _arguments(DeclaredWager) if one[0] in recorded.names]
        found.append(Line(key, _with(stake, COMMANDS["declare"].position)))
    for key, procedure in PROCEDURES.items():
        if (how := procedure.declared) is not None:
            names = [_shown(*one) for one in _arguments(how.takes) if one[0] != "key"]
            found.append(Line(key, _with(names, how.by)))
    return sorted(found)


def choices() -> list[Line]:
    """What can be decided: each choice of each irregularity, with its arguments and position."""
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
    by = "whoever decides by 6.1" if choice.by == DECIDES else choice.by.replace("_", " ")
    return f"{choice.name} {_with(names, by)}"


def _with(names: list[str], position: str) -> str:
    return " ".join([*names, f"({position.replace('_', ' ')})"])


def _shown(name: str, values: str, may: bool) -> str:
    return f"[{name}={values}]" if may else f"{name}={values}"


def completions(command: str, typed: list[str], incomplete: str) -> list[str]:
    """How an argument of this command goes on: its name, or behind ``=`` its values.

    ``typed`` are the words before. A shell may take ``=`` for a word of its own: then a value
    stands alone, and where nothing of it is typed yet the ``=`` is not handed on.
    """
    offered = _offered(command)
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
    """By an argument's name its values, none where they cannot be counted."""
    shown = (line.name.partition("=") for line in arguments(command))
    found = {name: _values(values) for name, _, values in shown}
    if command == "declare":
        found["key"] = [line.name for line in declared()]
    if command == "decide":
        found["choice"] = choice_names()
    if command in ("declare", "decide"):
        found |= {name: values for name, values in _more_arguments(command) if name not in found}
    return found


def _values(values: str) -> list[str]:
    """All values, where they are counted and each is one word for a shell."""
    counted = values.split("|") if "|" in values else []
    return [] if any(" " in value for value in counted) else counted


def choice_names() -> list[str]:
    """Every choice that a step may have."""
    from shoe_ctl.table.irregularities.catalog import PROCEDURES

    names = (c.name for p in PROCEDURES.values() for step in p.steps for c in step.choices)
    return sorted(set(names))


def _more_arguments(command: str) -> Iterator[tuple[str, list[str]]]:
    """The arguments of what is declared, or of the choices."""
    from shoe_ctl.table.irregularities.catalog import PROCEDURES
    from shoe_ctl.table.wagers.declared import DeclaredWager

    kinds: list[Any] = []
    for procedure in PROCEDURES.values():
        if command == "decide":
            kinds += [c.arguments for step in procedure.steps for c in step.choices]
        elif procedure.declared is not None:
            kinds.append(procedure.declared.takes)
    kinds += [DeclaredWager] if command == "declare" else []
    for kind in dict.fromkeys(kinds):
        for name, values, _ in _arguments(kind):
            yield name, _values(values)
