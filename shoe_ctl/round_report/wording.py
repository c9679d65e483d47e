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
from shoe_ctl.texts.screen import Words

ENGLISH = Words()

_INPUTS_WITH_REASON = {
    "link_lost": ("the link was lost", "reason"),
    "not_told": ("the shoe could not be told", "why"),
    "storage_restored": ("the journal takes records again; it had failed", "what"),
}
"""Inputs that nobody gave, and the key of the reason."""

_INPUT_TEXTS = {
    "tick": "time passed",
    "commands_refused": "more commands were refused than are recorded of one user",
    "hearing_lost": "the shoe does not receive what is sent to it",
    "hearing_restored": "the shoe receives again what is sent to it",
    "disk_checked": "the disk of the journal was checked",
    "outcome_applied": "a table system reports that it applied an outcome",
    "shoe_stated": "a table system states the rounds and the money of a shoe",
    "left_out": "this names a Player and is left out",
    "door_noted": "something happened where people log in",
    "notes_refused": "more happened where people log in than is recorded",
}

_RANGE = frozenset({"input", "t_us", "event", "connection", "seq", "first", "last"})


def input_words(given: Mapping[str, Any], words: Words = ENGLISH) -> tuple[str, list[str]]:
    """Return a headline for the input, and the lines below it."""
    match given["input"]:
        case "shoe":
            return _shoe(given, words)
        case "command":
            return _command(given, words)
        case "link_up":
            return _link_up(given, words)
        case "restarted":
            again = "the controller went on with the journal after the storage had failed"
            started = again if given.get("reopened") else "the controller was started"
            said = words.sentence("host boot: {boot}", boot=given.get("host_boot"))
            return words.sentence(started), [said]
        case (
            "tick"
            | "commands_refused"
            | "hearing_lost"
            | "hearing_restored"
            | "disk_checked"
            | "outcome_applied"
            | "shoe_stated"
            | "left_out"
            | "door_noted"
            | "notes_refused"
        ) as kind:
            return words.sentence(_INPUT_TEXTS[kind]), []
        case "link_lost" | "not_told" | "storage_restored" as kind:
            sentence, why = _INPUTS_WITH_REASON[kind]
            return f"{words.sentence(sentence)}: {given.get(why)}", []
        case "fault":
            where = f"{given.get('where')}: {given.get('what')}"
            said = words.sentence("a fault of the controller; the input before it was not taken")
            return said, [where]
    return words.sentence("an input that cannot be read"), [values_text(given, words)]


def readable_name(name: str, words: Words = ENGLISH) -> str:
    """Return a name of the programs as people write it."""
    return words.code(name)


def value_text(of: object, words: Words = ENGLISH) -> str:
    """Return a value in a few words."""
    match of:
        case bool():
            return words.sentence("yes") if of else words.sentence("no")
        case None:
            return words.sentence("none")
        case Mapping():
            return values_text(of, words)
        case list() | tuple():
            between = "clauses" if any(isinstance(one, Mapping) for one in of) else "and"
            return words.join((value_text(one, words) for one in of), between)
    return str(of)


def values_text(of: Mapping[str, Any], words: Words = ENGLISH) -> str:
    """Names and values; a name that has none is left out."""
    return words.join(
        _named_value(name, one, words) for name, one in of.items() if one not in (None, {}, [])
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


def _named_value(name: str, value: object, words: Words) -> str:
    """A name and its value as people write them: units behind the number, codes as words."""
    if isinstance(value, int) and not isinstance(value, bool):
        for ending, unit in _UNITS.items():
            if name.endswith(ending):
                return f"{words.name('field', name.removesuffix(ending))} {value:,} {unit}"
        if name == "unix_us":
            return words.sentence("time {time}", time=utc(value))
        if name in _MONEY:
            return f"{words.name('field', name)} {value:,}"
    if isinstance(value, str) and name not in _FREE and _CODE.fullmatch(value):
        value = readable_name(value, words)
    return f"{words.name('field', name)} {value_text(value, words)}"


_FACES = {"face_up": "cards are dealt face up", "turned_by_dealer": "the dealer turns the cards"}
_ANNOUNCEMENTS = {
    "explicit": "people make the announcements",
    "implied": "announcements follow from the cards",
}


def _rounds_after(rounds: int, words: Words) -> str:
    if rounds == 0:
        return words.sentence("no round follows the one with the cutting card")
    if rounds == 1:
        return words.sentence("1 round follows the one with the cutting card")
    return words.sentence("{n} rounds follow the one with the cutting card", n=rounds)


def _setting(sentence: str) -> Callable[[Any, Words], str]:
    return lambda value, words: words.sentence(sentence, value=value)


SETTING_TEXTS: Mapping[str, Callable[[Any, Words], str]] = {
    "table": _setting("table {value}"),
    "area": _setting("gaming area {value}"),
    "layout": _setting("layout {value}"),
    "seats": _setting("{value} seats"),
    "decks": lambda decks, words: words.sentence(
        "1 deck" if decks == 1 else "{value} decks", value=decks
    ),
    "method": _setting("Method {value}"),
    "announcements": lambda which, words: words.sentence(_ANNOUNCEMENTS.get(which, which)),
    "faces": lambda which, words: words.sentence(_FACES.get(which, which)),
    "face_up_after_ms": _setting("a card dealt face up counts as seen after {value:,} ms"),
    "result_timeout_s": _setting("the table waits up to {value} s for the shoe's result"),
    "applied_within_s": _setting("a table system applies outcomes within {value} s"),
    "rounds_after_cutting_card": _rounds_after,
    "limits": lambda limits, words: words.sentence(
        "limits in minor units: {value}", value=values_text(limits, words)
    ),
    "highest_position": lambda held, words: words.sentence(
        "highest position: {value}", value=readable_name(held, words)
    ),
}
"""The words of every setting of a table."""


def settings_text(settings: Mapping[str, Any], words: Words = ENGLISH) -> str:
    """Return a table's settings in words; those that are not set are left out."""
    given = {name: one for name, one in settings.items() if one not in (None, {}, [])}
    known = [text(given.pop(name), words) for name, text in SETTING_TEXTS.items() if name in given]
    return words.join(
        [*known, *(_named_value(name, one, words) for name, one in given.items())], "clauses"
    )


def game_title(game: str, title: str, words: Words = ENGLISH) -> str:
    """Return a game's name: that of its file where the language has no other."""
    named = words.name("game", game)
    return title if named == game.replace("_", " ") else named


def person_text(by: Mapping[str, Any], words: Words = ENGLISH) -> str:
    """Return a person and the position held."""
    position = readable_name(str(by.get("position") or "nobody"), words)
    person = by.get("person")
    return words("cited", text=person, rule=position) if person else position


def _shoe(given: Mapping[str, Any], words: Words = ENGLISH) -> tuple[str, list[str]]:
    event = dict(given["event"])
    kind = words.name("shoe_event", str(event.pop("type", "?")))
    more = [values_text(event, words)] if event else []
    if given.get("seq") is None:
        return words.sentence("the shoe: {kind}", kind=kind), more
    return words.sentence("the shoe: {kind} (event {seq})", kind=kind, seq=given["seq"]), more


def _command(given: Mapping[str, Any], words: Words = ENGLISH) -> tuple[str, list[str]]:
    args = dict(given.get("args") or {})
    command = str(given["command"])
    what = readable_name(command, words)
    if command == "decide" and "choice" in args:
        what = words.sentence("decides: {what}", what=words.name("choice", str(args.pop("choice"))))
    elif command == "declare" and "key" in args:
        what = words.sentence("declares: {what}", what=words.name("key", str(args.pop("key"))))
    more = [values_text(args, words)] if args else []
    if given.get("reason"):
        more.append(words.sentence("reason: {why}", why=given["reason"]))
    if given.get("consented_by"):
        more.append(words.sentence("second person: {who}", who=given["consented_by"]))
    if given.get("user"):
        more.append(words.sentence("through user {user}", user=given["user"]))
    if given.get("round_id"):
        more.append(words.sentence("for round {round}", round=given["round_id"]))
    return f"{person_text(given, words)}: {what}", more


def _link_up(given: Mapping[str, Any], words: Words = ENGLISH) -> tuple[str, list[str]]:
    more = {key: one for key, one in given.items() if key not in _RANGE | {"profile"}}
    can = [readable_name(key, words) for key, one in more.items() if one is True]
    opened = words.sentence(
        "connection {connection} to the shoe was opened ({profile})",
        connection=given.get("connection"),
        profile=str(given.get("profile")).replace("_", " "),
    )
    able = words.join(can) or words.sentence("only be listened to")
    return opened, [words.sentence("it can: {able}", able=able)]


Data = dict[str, Any]
Told = tuple[str, list[str]]

_COMMAND_KEYS = frozenset(
    {"person", "position", "why", "consented_by", "said", "command_id", "command"}
)
"""Keys of an event that its command shows already."""

_HANDS = ("player", "banker")


def event_words(
    kind: str, data: Mapping[str, Any], words: Words = ENGLISH, *, commanded: bool
) -> Told:
    """Return the event in words; ``commanded``: its command is shown above it."""
    rest = {
        k: in_words(v, words.language)
        for k, v in data.items()
        if not (commanded and k in _COMMAND_KEYS)
    }
    for name in ("round_id", "instance"):
        rest.pop(name, None)
    inferred = rest.pop("inferred", False)
    tell = EVENT_TEXTS.get(kind)
    text, more = (kind, []) if tell is None else tell(rest, words)
    left = {k: v for k, v in rest.items() if v not in (None, [], {})}
    if left:
        more.append(values_text(left, words))
    return text + (words.sentence(" (inferred)") if inferred else ""), more


def outcome_words(data: Mapping[str, Any], words: Words = ENGLISH) -> str:
    """Return winner, hands and totals."""
    hands = []
    for hand in _HANDS:
        held = data[hand]
        natural = words.sentence(", Natural") if held["natural"] else ""
        shown = f"{words.name('hand', hand)} {' '.join(held['cards'])}"
        hands.append(words("cited", text=shown, rule=f"{held['total']}{natural}"))
    return f"{winner_text(data['winner'], words)}: {words.join(hands, 'clauses')}"


def winner_text(winner: str, words: Words = ENGLISH) -> str:
    """Return who won, or that it is a tie."""
    sentence = {"player": "Player wins", "banker": "Banker wins", "tie": "tie"}.get(winner)
    return winner if sentence is None else words.sentence(sentence)


def won_text(data: Mapping[str, Any], words: Words = ENGLISH) -> str:
    """Return the wagers won with their odds to 1, and those that push; the others are lost."""
    results = data["wagers"]
    wins = [
        words.sentence("{wager} {odds} to 1", wager=words.name("wager", name), odds=one.get("odds"))
        for name, one in results.items()
        if one["result"] == "win"
    ]
    pushes = [words.name("wager", name) for name, one in results.items() if one["result"] == "push"]
    parts = [words.join(wins) or words.sentence("none")]
    parts += [words.sentence("push: {wagers}", wagers=words.join(pushes))] if pushes else []
    return words.join([*parts, words.sentence("all others are lost")], "clauses")


# Each function takes out of ``data`` what it puts into words.


def _slot(data: Data, words: Words) -> str:
    hand, index = data.pop("hand", None), data.pop("index", None)
    if hand is None:
        return words.sentence("a card without a hand")
    if hand not in _HANDS:
        name = readable_name(hand, words)
        if index is None:
            return words.sentence("a card {name}", name=name)
        return words.sentence("{name} card {index}", name=name, index=index)
    name = words.name("hand", hand)
    if index is None:
        return name
    return words.sentence("{name}'s card {index}", name=name, index=index)


def _rule(data: Data, words: Words) -> str:
    rule = data.pop("rule", None)
    return "" if rule is None else words.sentence(", under rule {rule}", rule=rule)


def _player(data: Data, words: Words) -> str:
    """Return a Player by name and seat."""
    player, seat = data.pop("player", None), data.pop("seat", None)
    if player is None:
        return words("a_player") if seat is None else words("seat", seat=seat)
    if seat is None:
        return words.sentence("Player {player}", player=player)
    return words.sentence("Player {player} at seat {seat}", player=player, seat=seat)


def _key(data: Data, words: Words) -> str:
    return words.name("key", str(data.pop("key", "?")))


def _choice(one: Mapping[str, Any], words: Words = ENGLISH) -> str:
    who = [words.name("position", str(one["position"]))]
    who += [words("with_reason")] if one.get("reason") else []
    who += [words.sentence("with a second person")] if one.get("second_person") else []
    taken = words.name("choice", str(one["choice"]))
    if one.get("args"):
        args = words.join(words.name("argument", arg) for arg in one["args"])
        taken = words.sentence("{choice} with {args}", choice=taken, args=args)
    return words("cited", text=taken, rule=words.join(who, "facts"))


def _guided(data: Data, words: Words) -> list[str]:
    """Return what the open step wants, who may decide what, and the rules of its ends."""
    more: list[str] = []
    if (seen := data.pop("seen", None)) is not None:
        more.append(words.sentence("seen: {seen}", seen=seen))
    if (prompt := data.pop("prompt", None)) is not None:
        more.append(words.sentence("to do: {prompt}", prompt=prompt))
    if choices := data.pop("choices", None):
        listed = words.join((_choice(one, words) for one in choices), "clauses")
        more.append(words.sentence("choices: {choices}", choices=listed))
    if rules := data.pop("rules", None):
        none = words.sentence("no rule")
        cited = [f"{words.name('end', end)} {rule or none}" for end, rule in rules.items()]
        more.append(words.sentence("rules of its ends: {rules}", rules=words.join(cited)))
    facts = [name for name in ("differential", "withdrawal") if name in data]
    more += [f"{words.name('field', name)}: {values_text(data.pop(name), words)}" for name in facts]
    if data.get("why"):
        more.append(words.sentence("reason: {why}", why=data.pop("why")))
    if "person" in data or "position" in data:
        who = {key: data.pop(key, None) for key in ("person", "position")}
        more.append(words.sentence("by {who}", who=person_text(who, words)))
    return more


def _started(data: Data, words: Words) -> Told:
    limits, currency = data.pop("limits", {}), data.pop("currency", None) or {}
    limited = values_text({**limits, **currency}, words)
    more = [words.sentence("limits: {limits}", limits=limited)]
    game, software = data.pop("game", "?"), data.pop("software", "?")
    text = "the table is started: {game}, shoe-ctl {software}"
    return words.sentence(text, game=words.name("game", game), software=software), more


def _raised(data: Data, words: Words) -> Told:
    key, step = _key(data, words), data.pop("step", None)
    text = words.sentence("IRREGULARITY {key}", key=key)
    if step is not None:
        text = words.sentence(
            "IRREGULARITY {key}, at step {step}", key=key, step=readable_name(step)
        )
    return f"{text}{_rule(data, words)}", _guided(data, words)


def _step(data: Data, words: Words) -> Told:
    key, step, how = _key(data, words), data.pop("step", None), data.pop("how", None)
    ended = "" if how is None else f": {words.code(how)}"
    text = words.sentence("irregularity {key}: step {step}", key=key, step=readable_name(str(step)))
    return f"{text}{ended}{_rule(data, words)}", _guided(data, words)


def _resolved(data: Data, words: Words) -> Told:
    key, how = _key(data, words), readable_name(str(data.pop("how", None)), words)
    kept = data.pop("cards_kept", 0)
    more = [words.sentence("{kept} drawn meanwhile kept apart", kept=kept)] if kept else []
    rule = data.pop("rule", None)
    text = words.sentence("irregularity {key} ends: {how}", key=key, how=how)
    if rule is None:
        return f"{text}{words.sentence(', no rule to cite')}", more
    return f"{text}{words.sentence(', under rule {rule}', rule=rule)}", more


def _drawn(data: Data, words: Words) -> Told:
    card, number = data.pop("card", None), data.pop("number", None)
    placed = data.pop("placed", True)
    read = words.sentence("not read") if card is None else card
    of = "" if number is None else words.sentence("draw {number}: ", number=number)
    return f"{of}{read}, {_slot(data, words)}{'' if placed else words.sentence(', not placed')}", []


def _outcome(data: Data, words: Words) -> Told:
    text = words.sentence("OUTCOME {outcome}", outcome=outcome_words(data, words))
    manual = words.sentence(" (entered by hand)") if data.pop("manual", False) else ""
    rules = data.pop("rules", [])
    more = [words.sentence("rules {rules}", rules=words.join(rules))] if rules else []
    _drop(data, "table", "shoe_id", "game", "game_sha256", "method", "winner", "player", "banker")
    _drop(data, "wagers", "proof")
    return text + manual, more


def _revised(data: Data, words: Words) -> Told:
    replaced, wins, rule = data.pop("revises", None), won_text(data, words), _rule(data, words)
    outcome = outcome_words(data, words)
    manual = words.sentence(" (entered by hand)") if data.get("manual") else ""
    _, more = _outcome(data, words)
    text = words.sentence("OUTCOME REVISED {outcome}", outcome=outcome) + manual
    if data.pop("against_table", False):
        text += words.sentence(" (by a ruling, against the Table of Play)")
    text += rule
    more.append(words.sentence("replaces event {event}", event=replaced))
    return text, [*more, words.sentence("won: {wagers}", wagers=wins)]


def _retracted(data: Data, words: Words) -> Told:
    key, number = _key(data, words), data.pop("declaration", None)
    text = words.sentence("declaration {number} is taken back: {key}", number=number, key=key)
    if "wager" in data:
        wager = words.name("wager", data.pop("wager"))
        text += words.sentence(", {who} on {wager}", who=_player(data, words), wager=wager)
    return text, []


def _retraction_alarm(data: Data, words: Words) -> Told:
    changes = [values_text(one, words) for one in data.pop("changes", [])]
    text, _ = _retracted(data, words)
    return words.sentence("ALARM: after the outcome {text}", text=text), changes


def _reopened(data: Data, words: Words) -> Told:
    former, rule = data.pop("reopens", None), _rule(data, words)
    text = words.sentence("THE ROUND GOES ON after its outcome")
    return f"{text}{rule}", [words.sentence("event {event} does not stand", event=former)]


def _moved(data: Data, words: Words) -> Told:
    was, hand = data.pop("from", {}), data.pop("hand", None)
    index, rule = data.pop("index", None), _rule(data, words)
    lay = f"{words.name('hand', str(was.get('hand', '?')))} {was.get('index')}"
    if hand is None:
        return words.sentence("{card} was not due", card=lay) + rule, []
    to = f"{words.name('hand', hand)} {index}"
    return words.sentence("{card} is moved to {place}", card=lay, place=to) + rule, []


def _drop(data: Data, *names: str) -> None:
    """Leave out what the header or the footer shows."""
    for name in names:
        data.pop(name, None)


def _accepted(data: Data, words: Words) -> Told:
    act, number, amount = data.pop("act"), data.pop("number"), data.pop("amount")
    change, wager = data.pop("change"), words.name("wager", data.pop("wager"))
    helped = data.pop("on_behalf", False)
    text = words.sentence(
        "wager {number} {act}: {who} on {wager}, {change:+,} to {amount:,}",
        number=number,
        act=words.name("wager_act", act),
        who=_player(data, words),
        wager=wager,
        change=change,
        amount=amount,
    )
    if helped:
        text += words.sentence(", on behalf of the Player")
    more = [_applied(one, words) for one in data.pop("applied", None) or []]
    return text + _rule(data, words), more


def _applied(one: Mapping[str, Any], words: Words = ENGLISH) -> str:
    """Return an irregularity of a wager and what its rule made of the wager."""
    rest = dict(one)
    key = words.name("key", str(rest.pop("key", "?")))
    end = words.name("end", str(rest.pop("end", "?")))
    rule = _rule(rest, words)
    more = f" ({values_text(rest, words)})" if rest else ""
    return f"{key}: {end}{rule}{more}"


def _settled(data: Data, words: Words) -> Told:
    number, stake = data.pop("number"), data.pop("stake")
    wager, result = words.name("wager", data.pop("wager")), data.pop("result")
    text = words.sentence(
        "wager {number}: {who} on {wager}, {stake:,}: {result}",
        number=number,
        who=_player(data, words),
        wager=wager,
        stake=stake,
        result=words.name("settled", result),
    )
    if (odds := data.pop("odds", None)) is not None:
        text += words.sentence(" at {odds} to 1", odds=odds)
    text += _rule(data, words)
    paid = ("pays", "collected", "returned", "commission", "change")
    money = [_named_value(name, data.pop(name), words) for name in paid if name in data]
    return text, [words.join(money)]


def _void(data: Data, words: Words) -> Told:
    reason = readable_name(str(data.pop("reason", "?")), words)
    data.pop("key", None)
    text = words.sentence("THE ROUND IS VOID: {reason}", reason=reason)
    return f"{text}{_rule(data, words)}", []


def _passed(data: Data, words: Words) -> Told:
    hand = data.pop("hand", "?")
    named = {"hand": words.name("hand", hand), "who": _player(data, words)}
    text = words.sentence("{hand}'s cards go to {who}", **named)
    if data.pop("through_dealer", False):
        text += words.sentence(" through the dealer")
    return text + _rule(data, words), []


def _window(verb: str) -> Callable[[Data, Words], Told]:
    def tell(data: Data, words: Words) -> Told:
        seats, players = data.pop("seats", None), data.pop("players", None)
        whose = data.pop("whose", "the table")
        text = words.sentence(
            f"a window to withdraw wagers {verb} for {{whose}}",
            whose=words.name("whose", str(whose)),
        )
        named = [words.sentence("seats {seats}", seats=value_text(seats, words))] if seats else []
        for_whom = value_text(players, words)
        named += [words.sentence("Players {players}", players=for_whom)] if players else []
        for name in ("scope", "answer"):
            if name in data:
                named.append(f"{words.name('field', name)}: {words.code(str(data.pop(name)))}")
        return text + _rule(data, words), [words.join(named)] if named else []

    return tell


def _sentence(text: str, *dropped: str) -> Callable[[Data, Words], Told]:
    """Return words for a text with {slot}, {who} or the {name} of a value."""

    def tell(data: Data, words: Words) -> Told:
        said: dict[str, str] = {}
        if "{slot}" in text:
            said["slot"] = _slot(data, words)
        if "{who}" in text:
            said["who"] = _player(data, words)
        for name in list(data):
            if f"{{{name}}}" in text:
                one = data.pop(name)
                said[name] = words.code(one) if isinstance(one, str) else value_text(one, words)
                if one in _HANDS:
                    said[name] = words.name("hand", one)
        _drop(data, *dropped)
        return words.sentence(text).format_map(_Blank(said)) + _rule(data, words), []

    return tell


def _answered(data: Data, words: Words) -> Told:
    accepted = data.pop("accepted", False)
    _drop(data, "number")
    return _sentence(
        "the shoe has done it: {command}" if accepted else "the shoe refuses: {command}"
    )(data, words)


def _unanswered(data: Data, words: Words) -> Told:
    given_up = data.pop("given_up", False)
    _drop(data, "number")
    if given_up:
        return _sentence("{command} was given up, and its result is unknown")(data, words)
    return _sentence("{command} has no answer yet")(data, words)


def _connected(data: Data, words: Words) -> Told:
    """Return words for a connection: a shoe whose profile has no names is not known to be there."""
    named = data.pop("identified", True)
    text = "the shoe is connected" if named else "the line to the shoe is open"
    return _sentence(text, "profile")(data, words)


def _counted(data: Data, words: Words) -> Told:
    text = "{left} cards are counted in the shoe, " + (
        "which agrees " if data.pop("agrees", False) else "WHICH DISAGREES "
    )
    text += "with the cards known: {expected} expected" if "expected" in data else "with the ledger"
    return _sentence(text, "shoe_id")(data, words)


def _reconciled(data: Data, words: Words) -> Told:
    if data.pop("agrees", False):
        text = "the table system's count of the shoe agrees: {rounds} rounds"
    else:
        text = "the table system's count of the shoe differs, first in {first}: {what}"
    return _sentence(text, "shoe_id", "wagers")(data, words)


def _paused(text: str) -> Callable[[Data, Words], Told]:
    """A sentence about a pause, with who ordered or ended it."""

    def tell(data: Data, words: Words) -> Told:
        _drop(data, "said", "key", "instance")
        kept = data.pop("cards_kept", 0)
        headline, more = _sentence(text)(data, words)
        more = [
            *more,
            *([words.sentence("{kept} drawn meanwhile kept apart", kept=kept)] if kept else []),
            *_guided(data, words),
        ]
        return headline, more

    return tell


class _Blank(dict[str, str]):
    """Values by name; one that is not there is shown as such."""

    def __missing__(self, name: str) -> str:
        return f"(no {name})"


EVENT_TEXTS: Mapping[str, Callable[[Data, Words], Told]] = {
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
    "outcome.applied": _sentence("a table system applied {event}"),
    "outcome.not_applied": _sentence("no table system applied the {type} of {told} in time"),
    "shoe.reconciled": _reconciled,
    "delivery.lost": _sentence("sink {sink} lost events {first} to {last}; they are sent again"),
    "delivery.refilled": _sentence("sink {sink} has the lost events {first} to {last} again"),
    "disk.filling": _sentence("the disk of the journal is full soon: {full_at}"),
    "disk.relieved": _sentence("the disk of the journal is not full soon any more"),
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
