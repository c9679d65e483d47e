"""What the table told, in words: an event as a person would put it, with the rules it cites.

In: an event's type and restricted data. Out: a sentence, and lines that belong to it.
Must not know: what brought it about, the page it is laid out on. What it has no words for it
tells value by value: nothing is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shoe_ctl.texts.catalogue import in_words

_FACTS = {
    "link_lost": ("the link was lost", "reason"),
    "not_told": ("the shoe could not be told", "why"),
    "storage_restored": ("the journal takes records again; it had failed", "what"),
}
"""What happened of itself, and where its reason stands."""

_PLAIN = {
    "tick": "time passed",
    "commands_refused": "more commands were refused than are recorded of one user",
}

_RANGE = frozenset({"input", "t_us", "event", "connection", "seq", "first", "last"})


def input_words(happened: Mapping[str, Any]) -> tuple[str, list[str]]:
    """A headline, and more to be said beneath it."""
    match happened["input"]:
        case "shoe":
            return _shoe(happened)
        case "command":
            return _command(happened)
        case "link_up":
            return _link_up(happened)
        case "restarted":
            again = "the controller went on with the journal after the storage had failed"
            started = again if happened.get("reopened") else "the controller was started"
            return started, [f"host boot: {happened.get('host_boot')}"]
        case "tick" | "commands_refused" as kind:
            return _PLAIN[kind], []
        case "link_lost" | "not_told" | "storage_restored" as kind:
            sentence, why = _FACTS[kind]
            return f"{sentence}: {happened.get(why)}", []
        case "fault":
            where = f"{happened.get('where')}: {happened.get('what')}"
            return "a fault of the controller; the input before it was not taken", [where]
    return "an input that cannot be read", [values(happened)]


def said_name(name: str) -> str:
    """A name of the programs as people say it."""
    return name.replace("_", " ")


def value(of: object) -> str:
    """A value in a few words."""
    match of:
        case bool():
            return "yes" if of else "no"
        case None:
            return "none"
        case Mapping():
            return values(of)
        case list() | tuple():
            between = "; " if any(isinstance(one, Mapping) for one in of) else " and "
            return between.join(value(one) for one in of)
    return str(of)


def values(of: Mapping[str, Any]) -> str:
    """Names and values; a name that has none is left out."""
    return ", ".join(
        f"{said_name(name)} {value(one)}" for name, one in of.items() if one not in (None, {}, [])
    )


def who(by: Mapping[str, Any]) -> str:
    """A person and the position held."""
    position = said_name(str(by.get("position") or "nobody"))
    person = by.get("person")
    return f"{person} ({position})" if person else position


def _shoe(happened: Mapping[str, Any]) -> tuple[str, list[str]]:
    event = dict(happened["event"])
    kind = said_name(str(event.pop("type", "?")))
    more = [values(event)] if event else []
    number = "" if happened.get("seq") is None else f" (event {happened['seq']})"
    return f"the shoe: {kind}{number}", more


def _command(happened: Mapping[str, Any]) -> tuple[str, list[str]]:
    args = dict(happened.get("args") or {})
    command = str(happened["command"])
    what = said_name(command)
    if command == "decide" and "choice" in args:
        what = f"decides: {said_name(str(args.pop('choice')))}"
    elif command == "declare" and "key" in args:
        what = f"declares: {said_name(str(args.pop('key')))}"
    more = [values(args)] if args else []
    if happened.get("reason"):
        more.append(f"reason: {happened['reason']}")
    if happened.get("consented_by"):
        more.append(f"second person: {happened['consented_by']}")
    if happened.get("user"):
        more.append(f"through user {happened['user']}")
    if happened.get("round_id"):
        more.append(f"for round {happened['round_id']}")
    return f"{who(happened)}: {what}", more


def _link_up(happened: Mapping[str, Any]) -> tuple[str, list[str]]:
    more = {key: one for key, one in happened.items() if key not in _RANGE | {"profile"}}
    can = [said_name(key) for key, one in more.items() if one is True]
    return (
        f"connection {happened.get('connection')} to the shoe was opened"
        f" ({happened.get('profile')})",
        [f"it can: {', '.join(can) or 'only be listened to'}"],
    )


Data = dict[str, Any]
Words = tuple[str, list[str]]

_SAID = frozenset({"person", "position", "why", "consented_by", "said", "command_id", "command"})
"""What the command that brought an event about says already."""

_HANDS = ("player", "banker")
_NAMES = {"player": "Player", "banker": "Banker"}


def event_words(kind: str, data: Mapping[str, Any], *, commanded: bool) -> Words:
    """The event in words; ``commanded``: the command that brought it about stands above it."""
    rest = {k: in_words(v) for k, v in data.items() if not (commanded and k in _SAID)}
    rest.pop("round_id", None)
    inferred = rest.pop("inferred", False)
    tell = _TOLD.get(kind)
    text, more = (kind, []) if tell is None else tell(rest)
    left = {k: v for k, v in rest.items() if v not in (None, [], {})}
    if left:
        more.append(values(left))
    return text + (" (inferred)" if inferred else ""), more


def outcome_words(data: Mapping[str, Any]) -> str:
    """Winner, hands and totals."""
    hands = "; ".join(
        f"{_NAMES[hand]} {' '.join(data[hand]['cards'])} ({data[hand]['total']}"
        + (", Natural)" if data[hand]["natural"] else ")")
        for hand in _HANDS
    )
    winner = {"tie": "tie"}.get(data["winner"], f"{_NAMES.get(data['winner'])} wins")
    return f"{winner}: {hands}"


def won(data: Mapping[str, Any]) -> str:
    """Which wagers are won, at which odds to 1; which are a push; that the others are lost."""
    results = data["wagers"]
    wins = [
        f"{said_name(name)} {one.get('odds')} to 1"
        for name, one in results.items()
        if one["result"] == "win"
    ]
    pushes = [said_name(name) for name, one in results.items() if one["result"] == "push"]
    text = ", ".join(wins) or "none"
    return text + (f"; push: {', '.join(pushes)}" if pushes else "") + "; all others are lost"


# Each takes out of ``data`` what it says.


def _slot(data: Data) -> str:
    hand, index = data.pop("hand", None), data.pop("index", None)
    if hand is None:
        return "a card without a hand"
    name = _NAMES.get(hand)
    if name is None:
        return f"a card {said_name(hand)}" if index is None else f"{said_name(hand)} card {index}"
    return name if index is None else f"{name}'s card {index}"


def _rule(data: Data, how: str = "under rule") -> str:
    rule = data.pop("rule", None)
    return "" if rule is None else f", {how} {rule}"


def _player(data: Data) -> str:
    """Who at the table, by name and seat."""
    player, seat = data.pop("player", None), data.pop("seat", None)
    named = "" if player is None else f"Player {player}"
    at = "" if seat is None else f"seat {seat}"
    return " at ".join(part for part in (named, at) if part) or "a Player"


def _key(data: Data) -> str:
    return said_name(str(data.pop("key", "?")))


def _choice(one: Mapping[str, Any]) -> str:
    reason = ", with a reason" if one.get("reason") else ""
    second = ", with a second person" if one.get("second_person") else ""
    args = f" with {', '.join(one['args'])}" if one.get("args") else ""
    return f"{said_name(one['choice'])}{args} ({said_name(one['position'])}{reason}{second})"


def _guided(data: Data) -> list[str]:
    """What the open step wants, who may decide what, and which rules its ends have."""
    more: list[str] = []
    if (seen := data.pop("seen", None)) is not None:
        more.append(f"seen: {seen}")
    if (prompt := data.pop("prompt", None)) is not None:
        more.append(f"to do: {prompt}")
    if choices := data.pop("choices", None):
        more.append("choices: " + "; ".join(_choice(one) for one in choices))
    if rules := data.pop("rules", None):
        cited = [f"{said_name(end)} {rule or 'no rule'}" for end, rule in rules.items()]
        more.append("rules of its ends: " + ", ".join(cited))
    facts = [name for name in ("differential", "withdrawal") if name in data]
    more += [f"{name}: {values(data.pop(name))}" for name in facts]
    if data.get("why"):
        more.append(f"reason: {data.pop('why')}")
    if "person" in data or "position" in data:
        more.append(f"by {who({key: data.pop(key, None) for key in ('person', 'position')})}")
    return more


def _raised(data: Data) -> Words:
    key, step = _key(data), data.pop("step", None)
    at = "" if step is None else f", at step {said_name(step)}"
    return f"IRREGULARITY {key}{at}{_rule(data)}", _guided(data)


def _step(data: Data) -> Words:
    key, step, how = _key(data), data.pop("step", None), data.pop("how", None)
    ended = "" if how is None else f": {said_name(how)}"
    return f"irregularity {key}: step {said_name(str(step))}{ended}{_rule(data)}", _guided(data)


def _resolved(data: Data) -> Words:
    key, how = _key(data), said_name(str(data.pop("how", None)))
    kept = data.pop("cards_kept", 0)
    more = [f"{kept} drawn meanwhile kept apart"] if kept else []
    rule = data.pop("rule", None)
    cited = "no rule to cite" if rule is None else f"under rule {rule}"
    return f"irregularity {key} ends: {how}, {cited}", more


def _drawn(data: Data) -> Words:
    card, number = data.pop("card", None), data.pop("number", None)
    placed = data.pop("placed", True)
    read = "not read" if card is None else card
    of = "" if number is None else f"draw {number}: "
    return f"{of}{read}, {_slot(data)}{'' if placed else ', not placed'}", []


def _outcome(data: Data) -> Words:
    text = f"OUTCOME {outcome_words(data)}"
    manual = " (entered by hand)" if data.pop("manual", False) else ""
    rules = data.pop("rules", [])
    more = [f"rules {', '.join(rules)}"] if rules else []
    _drop(data, "table", "shoe_id", "game", "game_sha256", "method", "winner", "player", "banker")
    _drop(data, "wagers", "proof")
    return text + manual, more


def _revised(data: Data) -> Words:
    replaced, wins, rule = data.pop("revises", None), won(data), _rule(data)
    text, more = _outcome(data)
    text = text.replace("OUTCOME", "OUTCOME REVISED", 1) + rule
    return text, [*more, f"replaces event {replaced}", f"won: {wins}"]


def _drop(data: Data, *names: str) -> None:
    """These stand in the header or the footer."""
    for name in names:
        data.pop(name, None)


def _accepted(data: Data) -> Words:
    act, number, amount = data.pop("act"), data.pop("number"), data.pop("amount")
    change, wager = data.pop("change"), said_name(data.pop("wager"))
    helped = ", on behalf of the Player" if data.pop("on_behalf", False) else ""
    text = f"wager {number} {said_name(act)}: {_player(data)} on {wager}, {change:+,} to {amount:,}"
    return text + helped + _rule(data), []


def _settled(data: Data) -> Words:
    number, wager, stake = data.pop("number"), said_name(data.pop("wager")), data.pop("stake")
    result, odds = data.pop("result"), data.pop("odds", None)
    at = "" if odds is None else f" at {odds} to 1"
    text = f"wager {number}: {_player(data)} on {wager}, {stake:,}: {result}{at}{_rule(data)}"
    paid = ("pays", "collected", "returned", "commission", "change")
    money = [f"{name} {value(data.pop(name))}" for name in paid if name in data]
    return text, [", ".join(money)]


def _void(data: Data) -> Words:
    reason = said_name(str(data.pop("reason", "?")))
    data.pop("key", None)
    return f"THE ROUND IS VOID: {reason}{_rule(data)}", []


def _passed(data: Data) -> Words:
    hand = data.pop("hand", "?")
    text = f"{_NAMES.get(hand, hand)}'s cards go to {_player(data)}"
    if data.pop("through_dealer", False):
        text += " through the dealer"
    return text + _rule(data), []


def _window(verb: str) -> Callable[[Data], Words]:
    def tell(data: Data) -> Words:
        seats, players = data.pop("seats", None), data.pop("players", None)
        whose = data.pop("whose", "the table")
        text = f"a window to withdraw wagers {verb} for {said_name(str(whose))}"
        named = [f"seats {value(seats)}"] if seats else []
        named += [f"Players {value(players)}"] if players else []
        for name in ("scope", "answer"):
            if name in data:
                named.append(f"{name}: {said_name(str(data.pop(name)))}")
        return text + _rule(data), [", ".join(named)] if named else []

    return tell


def _plain(text: str, *dropped: str) -> Callable[[Data], Words]:
    """A sentence with {slot}, or {name} of a value; what is named is said, the rest follows."""

    def tell(data: Data) -> Words:
        said: dict[str, str] = {}
        if "{slot}" in text:
            said["slot"] = _slot(data)
        if "{who}" in text:
            said["who"] = _player(data)
        for name in list(data):
            if f"{{{name}}}" in text:
                one = data.pop(name)
                said[name] = _NAMES.get(one, said_name(one)) if isinstance(one, str) else value(one)
        _drop(data, *dropped)
        return text.format_map(_Blank(said)) + _rule(data), []

    return tell


def _answered(data: Data) -> Words:
    accepted = data.pop("accepted", False)
    _drop(data, "number")
    return _plain("the shoe " + ("has done it" if accepted else "refuses") + ": {command}")(data)


def _unanswered(data: Data) -> Words:
    given_up = data.pop("given_up", False)
    _drop(data, "number")
    what = "is given up, and nobody knows whether it was done" if given_up else "has no answer yet"
    return _plain("{command} " + what)(data)


def _connected(data: Data) -> Words:
    """A shoe whose profile has no names may be any, or none: only the line is known to be open."""
    named = data.pop("identified", True)
    text = "the shoe is connected" if named else "the line to the shoe is open"
    return _plain(text, "profile")(data)


class _Blank(dict[str, str]):
    """A value that is not there is told as such."""

    def __missing__(self, name: str) -> str:
        return f"(no {name})"


_TOLD: Mapping[str, Callable[[Data], Words]] = {
    "round.opened": _plain("the round is open", "shoe_id"),
    "round.bets_closed": _plain("no more bets"),
    "round.card_dealt": _plain("{slot} lies face {face}"),
    "round.card_drawn": _drawn,
    "round.card_revealed": _plain("{slot} is turned: {card}"),
    "round.card_entered": _plain("{slot} is entered: {card}"),
    "round.card_corrected": _plain("{slot} is corrected: {card}"),
    "round.total_announced": _plain("total announced: {hand} {total}"),
    "round.first_hand": _plain("{hand}'s cards are turned first"),
    "round.entered": _plain("the round is entered by hand: Player {player}, Banker {banker}"),
    "round.entry_compared": _plain("draw {number} is heard: {card}, entered was {entered}"),
    "round.outcome": _outcome,
    "round.revised": _revised,
    "round.settled": _plain("THE ROUND IS SETTLED"),
    "round.void": _void,
    "irregularity.raised": _raised,
    "irregularity.step": _step,
    "irregularity.resolved": _resolved,
    "table.halted": _plain("THE TABLE HALTS: {reason}"),
    "table.resumed": _plain("the table goes on"),
    "command.refused": _plain("REFUSED: {error}"),
    "command.unrecorded": _plain(
        "{count} more commands of user {user} were refused since {since} and not recorded"
    ),
    "wager.accepted": _accepted,
    "wager.refused": _plain("REFUSED: {error}", "asked"),
    "wager.settled": _settled,
    "wager.revised": _settled,
    "withdrawal.opened": _window("opens"),
    "withdrawal.closed": _window("closes"),
    "cards.passed": _passed,
    "cards.refused": _plain("{hand}'s cards are not taken by {who}"),
    "cards.retrieved": _plain("{hand}'s cards are taken back from {who}"),
    "frame.discarded": _plain("not taken: {reason}"),
    "shoe.connected": _connected,
    "shoe.refused": _plain("who speaks is not this table's shoe: {reason}"),
    "shoe.lost": _plain("the shoe is lost: {reason}"),
    "shoe.line_suspended": _plain("the line to the shoe is suspended for {wait_s} s: {reason}"),
    "shoe.line_resumed": _plain("the line to the shoe is opened again"),
    "shoe.loaded": _plain("a set of cards is in the shoe: {set_id}, {decks} decks, {shoe_id}"),
    "shoe.not_aligned": _plain("where the shoe stands is not known, until {until}"),
    "shoe.fault": _plain("a fault of the shoe: {code}"),
    "shoe.cleared": _plain("a fault of the shoe is cleared: {code}"),
    "shoe.noted": _plain("the shoe says: {what}"),
    "shoe.told": _plain("the shoe is told: {command}", "number"),
    "shoe.arm_refused": _plain("the shoe refuses draw {number}: {why}"),
    "shoe.arm_taken": _plain("the shoe gives draw {number} after all"),
    "shoe.answered": _answered,
    "shoe.unanswered": _unanswered,
    "shoe.change_due": _plain("the shoe is to be changed", "shoe_id"),
    "shoe.holder_changed": _plain("the shoe goes to {who}"),
    "shoe.draw_allowed": _plain("{who} may draw without a wager"),
    "method.changed": _plain("Method {method} is played from now on"),
    "method.breached": _plain("a breach of the method is recorded: {seen}"),
}
