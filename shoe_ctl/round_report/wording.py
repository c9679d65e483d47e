"""The inputs and events of a round in words, with the rules that they cite.

``EVENT_TEXTS`` has the text of every event type. What a text does not name follows value by value,
so that nothing is left out.

In: an input, or an event's type and restricted data. Out: a headline, and lines that belong to it.
Must not know: the journal, the page that the words are laid out on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from shoe_ctl.records import utc
from shoe_ctl.texts.catalogue import in_words

_INPUTS_WITH_REASON = {
    "link_lost": ("the link was lost", "reason"),
    "not_told": ("the shoe could not be told", "why"),
    "storage_restored": ("the journal takes records again; it had failed", "what"),
}
"""Inputs that nobody gave, and the key of the reason."""

_INPUT_TEXTS = {
    "tick": "time passed",
    "commands_refused": "more commands were refused than are recorded of one user",
}

_RANGE = frozenset({"input", "t_us", "event", "connection", "seq", "first", "last"})


def input_words(given: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return a headline for the input, and the lines below it."""
    match given["input"]:
        case "shoe":
            return _shoe(given)
        case "command":
            return _command(given)
        case "link_up":
            return _link_up(given)
        case "restarted":
            again = "the controller went on with the journal after the storage had failed"
            started = again if given.get("reopened") else "the controller was started"
            return started, [f"host boot: {given.get('host_boot')}"]
        case "tick" | "commands_refused" as kind:
            return _INPUT_TEXTS[kind], []
        case "link_lost" | "not_told" | "storage_restored" as kind:
            sentence, why = _INPUTS_WITH_REASON[kind]
            return f"{sentence}: {given.get(why)}", []
        case "fault":
            where = f"{given.get('where')}: {given.get('what')}"
            return "a fault of the controller; the input before it was not taken", [where]
    return "an input that cannot be read", [values_text(given)]


def readable_name(name: str) -> str:
    """Return a name of the programs as people write it."""
    return name.replace("_", " ")


def value_text(of: object) -> str:
    """Return a value in a few words."""
    match of:
        case bool():
            return "yes" if of else "no"
        case None:
            return "none"
        case Mapping():
            return values_text(of)
        case list() | tuple():
            between = "; " if any(isinstance(one, Mapping) for one in of) else " and "
            return between.join(value_text(one) for one in of)
    return str(of)


def values_text(of: Mapping[str, Any]) -> str:
    """Names and values; a name that has none is left out."""
    return ", ".join(
        _named_value(name, one) for name, one in of.items() if one not in (None, {}, [])
    )


_UNITS = {"_s": "s", "_ms": "ms"}
"""Endings of the names of durations, and their units."""

_MONEY = {
    *("amount", "change", "collected", "commission", "differential", "excess", "limit"),
    *("maximum", "minimum", "most", "payout_cap", "pays", "returned", "stake", "unit"),
}
"""Names of amounts in minor units."""

_FREE = {
    *("device_id", "from", "holder", "person", "player"),
    *("set_id", "shoe_id", "table", "to", "user"),
}
"""Names of values that people chose: they stand as they are."""

_CODE = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")


def _named_value(name: str, value: object) -> str:
    """A name and its value as people write them: units behind the number, codes as words."""
    if isinstance(value, int) and not isinstance(value, bool):
        for ending, unit in _UNITS.items():
            if name.endswith(ending):
                return f"{readable_name(name.removesuffix(ending))} {value:,} {unit}"
        if name == "unix_us":
            return f"time {utc(value)}"
        if name in _MONEY:
            return f"{readable_name(name)} {value:,}"
    if isinstance(value, str) and name not in _FREE and _CODE.fullmatch(value):
        value = readable_name(value)
    return f"{readable_name(name)} {value_text(value)}"


_FACES = {"face_up": "cards are dealt face up", "turned_by_dealer": "the dealer turns the cards"}
_ANNOUNCEMENTS = {
    "explicit": "people make the announcements",
    "implied": "announcements follow from the cards",
}


def _rounds_after(rounds: int) -> str:
    more = {0: "no round follows", 1: "1 round follows"}.get(rounds, f"{rounds} rounds follow")
    return f"{more} the one with the cutting card"


SETTING_TEXTS: Mapping[str, Callable[[Any], str]] = {
    "table": lambda name: f"table {name}",
    "area": lambda area: f"gaming area {area}",
    "layout": lambda layout: f"layout {layout}",
    "seats": lambda seats: f"{seats} seats",
    "decks": lambda decks: "1 deck" if decks == 1 else f"{decks} decks",
    "method": lambda method: f"Method {method}",
    "announcements": lambda which: _ANNOUNCEMENTS.get(which, which),
    "faces": lambda which: _FACES.get(which, which),
    "face_up_after_ms": lambda ms: f"a card dealt face up counts as seen after {ms:,} ms",
    "result_timeout_s": lambda s: f"the table waits up to {s} s for the shoe's result",
    "rounds_after_cutting_card": _rounds_after,
    "limits": lambda limits: f"limits in minor units: {values_text(limits)}",
    "highest_position": lambda held: f"highest position: {readable_name(held)}",
}
"""The words of every setting of a table."""


def settings_text(settings: Mapping[str, Any]) -> str:
    """Return a table's settings in words; those that are not set are left out."""
    given = {name: one for name, one in settings.items() if one not in (None, {}, [])}
    known = [text(given.pop(name)) for name, text in SETTING_TEXTS.items() if name in given]
    return "; ".join([*known, *(_named_value(name, one) for name, one in given.items())])


def person_text(by: Mapping[str, Any]) -> str:
    """Return a person and the position held."""
    position = readable_name(str(by.get("position") or "nobody"))
    person = by.get("person")
    return f"{person} ({position})" if person else position


def _shoe(given: Mapping[str, Any]) -> tuple[str, list[str]]:
    event = dict(given["event"])
    kind = readable_name(str(event.pop("type", "?")))
    more = [values_text(event)] if event else []
    number = "" if given.get("seq") is None else f" (event {given['seq']})"
    return f"the shoe: {kind}{number}", more


def _command(given: Mapping[str, Any]) -> tuple[str, list[str]]:
    args = dict(given.get("args") or {})
    command = str(given["command"])
    what = readable_name(command)
    if command == "decide" and "choice" in args:
        what = f"decides: {readable_name(str(args.pop('choice')))}"
    elif command == "declare" and "key" in args:
        what = f"declares: {readable_name(str(args.pop('key')))}"
    more = [values_text(args)] if args else []
    if given.get("reason"):
        more.append(f"reason: {given['reason']}")
    if given.get("consented_by"):
        more.append(f"second person: {given['consented_by']}")
    if given.get("user"):
        more.append(f"through user {given['user']}")
    if given.get("round_id"):
        more.append(f"for round {given['round_id']}")
    return f"{person_text(given)}: {what}", more


def _link_up(given: Mapping[str, Any]) -> tuple[str, list[str]]:
    more = {key: one for key, one in given.items() if key not in _RANGE | {"profile"}}
    can = [readable_name(key) for key, one in more.items() if one is True]
    return (
        f"connection {given.get('connection')} to the shoe was opened"
        f" ({readable_name(str(given.get('profile')))})",
        [f"it can: {', '.join(can) or 'only be listened to'}"],
    )


Data = dict[str, Any]
Words = tuple[str, list[str]]

_COMMAND_KEYS = frozenset(
    {"person", "position", "why", "consented_by", "said", "command_id", "command"}
)
"""Keys of an event that its command shows already."""

_HANDS = ("player", "banker")
_NAMES = {"player": "Player", "banker": "Banker"}


def event_words(kind: str, data: Mapping[str, Any], *, commanded: bool) -> Words:
    """Return the event in words; ``commanded``: its command is shown above it."""
    rest = {k: in_words(v) for k, v in data.items() if not (commanded and k in _COMMAND_KEYS)}
    for name in ("round_id", "instance"):
        rest.pop(name, None)
    inferred = rest.pop("inferred", False)
    tell = EVENT_TEXTS.get(kind)
    text, more = (kind, []) if tell is None else tell(rest)
    left = {k: v for k, v in rest.items() if v not in (None, [], {})}
    if left:
        more.append(values_text(left))
    return text + (" (inferred)" if inferred else ""), more


def outcome_words(data: Mapping[str, Any]) -> str:
    """Return winner, hands and totals."""
    hands = "; ".join(
        f"{_NAMES[hand]} {' '.join(data[hand]['cards'])} ({data[hand]['total']}"
        + (", Natural)" if data[hand]["natural"] else ")")
        for hand in _HANDS
    )
    winner = {"tie": "tie"}.get(data["winner"], f"{_NAMES.get(data['winner'])} wins")
    return f"{winner}: {hands}"


def won_text(data: Mapping[str, Any]) -> str:
    """Return the wagers won with their odds to 1, and those that push; the others are lost."""
    results = data["wagers"]
    wins = [
        f"{readable_name(name)} {one.get('odds')} to 1"
        for name, one in results.items()
        if one["result"] == "win"
    ]
    pushes = [readable_name(name) for name, one in results.items() if one["result"] == "push"]
    text = ", ".join(wins) or "none"
    return text + (f"; push: {', '.join(pushes)}" if pushes else "") + "; all others are lost"


# Each function takes out of ``data`` what it puts into words.


def _slot(data: Data) -> str:
    hand, index = data.pop("hand", None), data.pop("index", None)
    if hand is None:
        return "a card without a hand"
    name = _NAMES.get(hand)
    if name is None:
        return (
            f"a card {readable_name(hand)}"
            if index is None
            else f"{readable_name(hand)} card {index}"
        )
    return name if index is None else f"{name}'s card {index}"


def _rule(data: Data, how: str = "under rule") -> str:
    rule = data.pop("rule", None)
    return "" if rule is None else f", {how} {rule}"


def _player(data: Data) -> str:
    """Return a Player by name and seat."""
    player, seat = data.pop("player", None), data.pop("seat", None)
    named = "" if player is None else f"Player {player}"
    at = "" if seat is None else f"seat {seat}"
    return " at ".join(part for part in (named, at) if part) or "a Player"


def _key(data: Data) -> str:
    return readable_name(str(data.pop("key", "?")))


def _choice(one: Mapping[str, Any]) -> str:
    reason = ", with a reason" if one.get("reason") else ""
    second = ", with a second person" if one.get("second_person") else ""
    args = f" with {', '.join(map(readable_name, one['args']))}" if one.get("args") else ""
    return (
        f"{readable_name(one['choice'])}{args} ({readable_name(one['position'])}{reason}{second})"
    )


def _guided(data: Data) -> list[str]:
    """Return what the open step wants, who may decide what, and the rules of its ends."""
    more: list[str] = []
    if (seen := data.pop("seen", None)) is not None:
        more.append(f"seen: {seen}")
    if (prompt := data.pop("prompt", None)) is not None:
        more.append(f"to do: {prompt}")
    if choices := data.pop("choices", None):
        more.append("choices: " + "; ".join(_choice(one) for one in choices))
    if rules := data.pop("rules", None):
        cited = [f"{readable_name(end)} {rule or 'no rule'}" for end, rule in rules.items()]
        more.append("rules of its ends: " + ", ".join(cited))
    facts = [name for name in ("differential", "withdrawal") if name in data]
    more += [f"{name}: {values_text(data.pop(name))}" for name in facts]
    if data.get("why"):
        more.append(f"reason: {data.pop('why')}")
    if "person" in data or "position" in data:
        more.append(
            f"by {person_text({key: data.pop(key, None) for key in ('person', 'position')})}"
        )
    return more


def _started(data: Data) -> Words:
    limits, currency = data.pop("limits", {}), data.pop("currency", None) or {}
    more = [f"limits: {values_text({**limits, **currency})}"]
    game, software = data.pop("game", "?"), data.pop("software", "?")
    return f"the table is started: {readable_name(game)}, shoe-ctl {software}", more


def _raised(data: Data) -> Words:
    key, step = _key(data), data.pop("step", None)
    at = "" if step is None else f", at step {readable_name(step)}"
    return f"IRREGULARITY {key}{at}{_rule(data)}", _guided(data)


def _step(data: Data) -> Words:
    key, step, how = _key(data), data.pop("step", None), data.pop("how", None)
    ended = "" if how is None else f": {readable_name(how)}"
    return f"irregularity {key}: step {readable_name(str(step))}{ended}{_rule(data)}", _guided(data)


def _resolved(data: Data) -> Words:
    key, how = _key(data), readable_name(str(data.pop("how", None)))
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
    replaced, wins, rule = data.pop("revises", None), won_text(data), _rule(data)
    text, more = _outcome(data)
    text = text.replace("OUTCOME", "OUTCOME REVISED", 1) + rule
    return text, [*more, f"replaces event {replaced}", f"won: {wins}"]


def _retracted(data: Data) -> Words:
    key, number = _key(data), data.pop("declaration", None)
    at = f", {_player(data)} on {readable_name(data.pop('wager'))}" if "wager" in data else ""
    return f"declaration {number} is taken back: {key}{at}", []


def _retraction_alarm(data: Data) -> Words:
    changes = [values_text(one) for one in data.pop("changes", [])]
    text, _ = _retracted(data)
    return f"ALARM: after the outcome {text}", changes


def _reopened(data: Data) -> Words:
    former, rule = data.pop("reopens", None), _rule(data)
    return f"THE ROUND GOES ON after its outcome{rule}", [f"event {former} does not stand"]


def _moved(data: Data) -> Words:
    was, hand = data.pop("from", {}), data.pop("hand", None)
    index, rule = data.pop("index", None), _rule(data)
    lay = f"{_NAMES.get(was.get('hand'), '?')} {was.get('index')}"
    if hand is None:
        return f"{lay} was not due{rule}", []
    return f"{lay} is moved to {_NAMES.get(hand, hand)} {index}{rule}", []


def _drop(data: Data, *names: str) -> None:
    """Leave out what the header or the footer shows."""
    for name in names:
        data.pop(name, None)


def _accepted(data: Data) -> Words:
    act, number, amount = data.pop("act"), data.pop("number"), data.pop("amount")
    change, wager = data.pop("change"), readable_name(data.pop("wager"))
    helped = ", on behalf of the Player" if data.pop("on_behalf", False) else ""
    what = f"wager {number} {readable_name(act)}"
    text = f"{what}: {_player(data)} on {wager}, {change:+,} to {amount:,}"
    return text + helped + _rule(data), [_applied(one) for one in data.pop("applied", None) or []]


def _applied(one: Mapping[str, Any]) -> str:
    """Return an irregularity of a wager and what its rule made of the wager."""
    rest = dict(one)
    key, end = readable_name(str(rest.pop("key", "?"))), readable_name(str(rest.pop("end", "?")))
    rule = _rule(rest)
    more = f" ({values_text(rest)})" if rest else ""
    return f"{key}: {end}{rule}{more}"


def _settled(data: Data) -> Words:
    number, wager, stake = data.pop("number"), readable_name(data.pop("wager")), data.pop("stake")
    result, odds = data.pop("result"), data.pop("odds", None)
    at = "" if odds is None else f" at {odds} to 1"
    text = f"wager {number}: {_player(data)} on {wager}, {stake:,}: {result}{at}{_rule(data)}"
    paid = ("pays", "collected", "returned", "commission", "change")
    money = [_named_value(name, data.pop(name)) for name in paid if name in data]
    return text, [", ".join(money)]


def _void(data: Data) -> Words:
    reason = readable_name(str(data.pop("reason", "?")))
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
        text = f"a window to withdraw wagers {verb} for {readable_name(str(whose))}"
        named = [f"seats {value_text(seats)}"] if seats else []
        named += [f"Players {value_text(players)}"] if players else []
        for name in ("scope", "answer"):
            if name in data:
                named.append(f"{name}: {readable_name(str(data.pop(name)))}")
        return text + _rule(data), [", ".join(named)] if named else []

    return tell


def _sentence(text: str, *dropped: str) -> Callable[[Data], Words]:
    """Return words for a text with {slot}, {who} or the {name} of a value."""

    def tell(data: Data) -> Words:
        said: dict[str, str] = {}
        if "{slot}" in text:
            said["slot"] = _slot(data)
        if "{who}" in text:
            said["who"] = _player(data)
        for name in list(data):
            if f"{{{name}}}" in text:
                one = data.pop(name)
                said[name] = (
                    _NAMES.get(one, readable_name(one)) if isinstance(one, str) else value_text(one)
                )
        _drop(data, *dropped)
        return text.format_map(_Blank(said)) + _rule(data), []

    return tell


def _answered(data: Data) -> Words:
    accepted = data.pop("accepted", False)
    _drop(data, "number")
    return _sentence("the shoe " + ("has done it" if accepted else "refuses") + ": {command}")(data)


def _unanswered(data: Data) -> Words:
    given_up = data.pop("given_up", False)
    _drop(data, "number")
    what = "was given up, and its result is unknown" if given_up else "has no answer yet"
    return _sentence("{command} " + what)(data)


def _connected(data: Data) -> Words:
    """Return words for a connection: a shoe whose profile has no names is not known to be there."""
    named = data.pop("identified", True)
    text = "the shoe is connected" if named else "the line to the shoe is open"
    return _sentence(text, "profile")(data)


def _counted(data: Data) -> Words:
    found = "which agrees" if data.pop("agrees", False) else "WHICH DISAGREES"
    more = "with the cards known: {expected} expected" if "expected" in data else "with the ledger"
    return _sentence(f"{{left}} cards are counted in the shoe, {found} {more}", "shoe_id")(data)


def _paused(text: str) -> Callable[[Data], Words]:
    """A sentence about a pause, with who ordered or ended it."""

    def words(data: Data) -> Words:
        _drop(data, "said", "key", "instance")
        kept = data.pop("cards_kept", 0)
        headline, more = _sentence(text)(data)
        more = [*more, *([f"{kept} drawn meanwhile kept apart"] if kept else []), *_guided(data)]
        return headline, more

    return words


class _Blank(dict[str, str]):
    """Values by name; one that is not there is shown as such."""

    def __missing__(self, name: str) -> str:
        return f"(no {name})"


EVENT_TEXTS: Mapping[str, Callable[[Data], Words]] = {
    "round.opened": _sentence("the round is open", "shoe_id"),
    "round.bets_closed": _sentence("no more bets"),
    "round.card_dealt": _sentence("{slot} lies face {face}"),
    "round.card_drawn": _drawn,
    "round.card_revealed": _sentence("{slot} is turned: {card}"),
    "round.card_entered": _sentence("{slot} is entered: {card}"),
    "round.card_corrected": _sentence("{slot} is corrected: {card}"),
    "irregularity.retracted": _retracted,
    "irregularity.alarm": _retraction_alarm,
    "round.card_moved": _moved,
    "round.reopened": _reopened,
    "round.total_announced": _sentence("total announced: {hand} {total}"),
    "round.first_hand": _sentence("{hand}'s cards are turned first"),
    "round.entered": _sentence("the round is entered by hand: Player {player}, Banker {banker}"),
    "round.entry_compared": _sentence("draw {number} was read as {card}; {entered} was entered"),
    "round.outcome": _outcome,
    "round.revised": _revised,
    "round.settled": _sentence("THE ROUND IS SETTLED"),
    "round.void": _void,
    "irregularity.raised": _raised,
    "irregularity.step": _step,
    "irregularity.resolved": _resolved,
    "table.started": _started,
    "table.halted": _sentence("THE TABLE HALTS: {reason}"),
    "table.resumed": _sentence("the table goes on"),
    "command.refused": _sentence("REFUSED: {error}"),
    "command.unrecorded": _sentence(
        "{count} more commands of user {user} were refused since {since} and not recorded"
    ),
    "wager.accepted": _accepted,
    "wager.refused": _sentence("REFUSED: {error}", "asked"),
    "wager.settled": _settled,
    "wager.revised": _settled,
    "withdrawal.opened": _window("opens"),
    "withdrawal.closed": _window("closes"),
    "cards.passed": _passed,
    "cards.refused": _sentence("{hand}'s cards are not taken by {who}"),
    "cards.replaced": _sentence("{slot} is replaced"),
    "cards.retrieved": _sentence("{hand}'s cards are taken back from {who}"),
    "wagers.restricted": _sentence("wagers per playing area: {number} at most, from {from} on"),
    "review.opened": _paused("play is paused for a review"),
    "review.closed": _paused("the review ends"),
    "outage.opened": _paused("nothing was stored from {from} until {until}: {what}"),
    "outage.closed": _paused("the storage fault is dealt with"),
    "delivery.parked": _sentence("sink {sink} refused event {event} ({type}), which is parked"),
    "delivery.taken": _sentence("sink {sink} took the parked event {event} ({type})"),
    "frame.discarded": _sentence("frame discarded: {reason}"),
    "shoe.connected": _connected,
    "shoe.refused": _sentence("the connected shoe is refused: {reason}"),
    "shoe.lost": _sentence("the shoe is lost: {reason}"),
    "shoe.line_suspended": _sentence("the line to the shoe is suspended for {wait_s} s: {reason}"),
    "shoe.line_resumed": _sentence("the line to the shoe is opened again"),
    "shoe.hearing_lost": _sentence("the shoe does not receive what is sent to it"),
    "shoe.hearing_restored": _sentence("the shoe receives again what is sent to it"),
    "shoe.loaded": _sentence("a set of cards is in the shoe: {set_id}, {decks} decks, {shoe_id}"),
    "shoe.not_aligned": _sentence("the shoe's position is unknown until {until}"),
    "shoe.fault": _sentence("a fault of the shoe: {code}"),
    "shoe.cleared": _sentence("a fault of the shoe is cleared: {code}"),
    "shoe.noted": _sentence("the shoe says: {what}"),
    "shoe.told": _sentence("the shoe is told: {command}", "number"),
    "shoe.arm_refused": _sentence("the shoe refuses draw {number}: {reason}"),
    "shoe.arm_taken": _sentence("the shoe accepts draw {number} after all"),
    "shoe.answered": _answered,
    "shoe.unanswered": _unanswered,
    "shoe.opened": _sentence("the opening record of the shoe: {decks} decks, shuffle {shuffle}"),
    "shoe.counted": _counted,
    "shoe.alarm": _sentence("ALARM: {cards} cards in {what}, draws {draws}", "shoe_id"),
    "shoe.change_due": _sentence("the shoe is to be changed", "shoe_id"),
    "shoe.holder_changed": _sentence("the shoe goes to {who}"),
    "shoe.draw_allowed": _sentence("{who} may draw without a wager"),
    "method.changed": _sentence("the method changes from {from} to {to}"),
    "method.breached": _sentence("a breach of the method is recorded: {seen}"),
}
"""The words of every event type that a table emits."""
