"""The people at the table: they do what the table asks of them, and now and then something else.

In: the table's status, as anyone may see it. Out: commands, with what was shown to the room.
Must not know: cards that lie face down, the controller's rules, what is wrong in the world.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from shoe_ctl.texts.catalogue import text
from tests.simulation.desk import Answer, Desk, NoAnswer

PACE_S = (0.05, 0.8)
"""How long people take for one thing."""

HALT_RESTS_S = 8.0
"""The longest that people look at a halt before they decide: it may end by itself."""

PLAYER, SEAT, AMOUNT = "17", 1, 500

PLAYERS = (("17", 1), ("23", 3), ("31", 5))
"""Who has wagers where several do, each at a seat."""

MAINS = ("player", "banker")
STAKES = (200, 500, 900)

FOUND = {"late_wager": (100, 300), "over_maximum": (1100, 1300, 1600)}
"""What is found on the layout of a main wager, and how much of it."""

FINDS = 0.03
"""How often somebody finds such a thing."""

TAKES_FIRST = 0.5
"""How often people take the choice that stands first where several Players are asked."""

RANKS = "A23456789T"
"""Of a card that somebody says lies there: each deck has these."""

DECLARED = ("wrong_order", "power_failure", "device_reset", "other", "order_altered", "unshuffled")


class Room(Protocol):
    """What people see and do beside the daemon."""

    def status_told(self, told: Mapping[str, Any]) -> None:
        """Somebody was told how the table stands."""

    def gives(self, asked: Mapping[str, Any]) -> None:
        """A command is about to be given; what is done at the table is done by now."""

    def answered(self, asked: Mapping[str, Any], answer: Answer) -> None:
        """A command was answered."""

    def foretold(self, answer: Answer) -> None:
        """Somebody was told what would follow."""

    def push_new_set(self) -> None:
        """The cards are taken out and others pushed in."""

    def read_again(self) -> None:
        """A card that the shoe stopped at is passed over its sensor once more."""

    def unread_card(self, seen: str) -> str | None:
        """The card, lying open by now, that the shoe did not read; of several, the one ``seen``."""

    def pulled_card(self, seen: str, *, rightly: bool) -> str | None:
        """The card, lying open by now, of those that came as one; else one that is none of them."""


class Staff:
    """One person for all positions, and the Players. ``players`` is chance of their own.

    Without it there is one Player, who does nothing but place a wager.
    """

    def __init__(
        self,
        desk: Desk,
        room: Room,
        chance: random.Random,
        table: str,
        players: random.Random | None = None,
    ) -> None:
        self._desk = desk
        self._room = room
        self._chance = chance
        self._players = players
        self._table = table
        self._said = 0
        self._last: dict[str, Any] | None = None
        self._also: list[dict[str, Any]] = []
        self._repeats = 0
        self._looks = 0
        self._corrects: list[random.Random] = []
        self._takes_back = 0
        self._looked_s = 0.0
        self._side: set[asyncio.Task[None]] = set()

    async def work(self) -> None:
        """Until cancelled."""
        while True:
            pause_s = self._chance.uniform(*PACE_S)
            await asyncio.sleep(pause_s)
            try:
                await self._one_thing(pause_s)
            except NoAnswer:
                continue

    # What goes wrong with people.

    def repeat(self, times: int) -> None:
        """The next command is given so many times more, under its own id."""
        self._repeats += times

    def say_again_later(self, after_s: float) -> None:
        """What was said last arrives once more, as a new command for the round of then."""
        if self._last is None:
            return
        late = dict(self._last)
        task = asyncio.create_task(self._late(late, after_s), name="said late")
        self._side.add(task)
        task.add_done_callback(self._side.discard)

    def wager_late(self) -> None:
        """A wager, whatever the table's state."""
        self._also.append(self._wager("tie"))

    def pause(self) -> None:
        """Surveillance wants to look."""
        self._also.append({"command": "pause", "position": "surveillance", "reason": "a look"})

    def pause_at_once(self) -> None:
        """The same, without a look at the table first."""
        asked = {"command": "pause", "position": "surveillance", "reason": "stop"}
        task = asyncio.create_task(self._say_at_once(asked), name="said at once")
        self._side.add(task)
        task.add_done_callback(self._side.discard)

    async def _say_at_once(self, act: dict[str, Any]) -> None:
        try:
            await self._say(act, {"round": None})
        except NoAnswer:
            return

    def declare(self, chance: random.Random) -> None:
        """Somebody says that something is wrong."""
        args = {"key": chance.choice(DECLARED)}
        self._also.append({"command": "declare", "args": args, "reason": "seen"})

    def correct_card(self, chance: random.Random) -> None:
        """As soon as a card lies open, somebody says that it is another one."""
        self._corrects.append(chance)

    def take_back(self) -> None:
        """As soon as something stands that was declared, it is taken back."""
        self._takes_back += 1

    def look(self, times: int) -> None:
        """The next commands are looked at before they are given."""
        self._looks += times

    def _put_right(self, stands: Mapping[str, Any]) -> dict[str, Any] | None:
        """A card that lies open is corrected, or what was declared last is taken back."""
        hands = {} if stands["round"] is None else stands["round"]["hands"]
        lying = [
            (hand, index, card["card"])
            for hand, cards in hands.items()
            for index, card in enumerate(cards, 1)
            if card["card"] is not None
        ]
        said = {"reason": "seen on the table", "consented_by": "Ann"}
        if self._corrects and lying:
            chance = self._corrects.pop(0)
            hand, index, code = chance.choice(lying)
            other = chance.choice([rank for rank in RANKS if rank != code[0]]) + code[1]
            args = {"hand": hand, "index": index, "card": other}
            return {"command": "correct_card", "args": args, **said}
        if self._takes_back and stands["declared"]:
            self._takes_back -= 1
            args = {"declaration": stands["declared"][-1]["declaration"]}
            return {"command": "retract", "args": args, **said}
        return None

    async def _late(self, late: dict[str, Any], after_s: float) -> None:
        await asyncio.sleep(after_s)
        late["command_id"] += "-late"
        try:
            await self._give(late)
        except NoAnswer:
            return

    # What is done.

    async def _one_thing(self, pause_s: float) -> None:
        answer = await self._desk.ask({"request": "status", "table": self._table})
        if "failed" in answer:
            return
        (stands,) = answer["tables"]
        self._room.status_told(stands)
        if self._chance.random() < 0.1:
            self._room.read_again()
        if any(parked["waiting"] for parked in stands["parked"]) and self._chance.random() < 0.2:
            await self._desk.ask({"request": "redeliver"})
        self._looked_s = self._looked_s + pause_s if stands["halt"] else 0.0
        if self._players is not None and self._players.random() < FINDS:
            self._also.append(self._found(self._players))
        if (right := self._put_right(stands)) is not None:
            self._looks += 1
            await self._say(right, stands)
        elif self._also:
            await self._say(self._also.pop(0), stands)
        elif (act := self._next(stands)) is not None:
            await self._say(act, stands)

    def _next(self, stands: Mapping[str, Any]) -> dict[str, Any] | None:
        halt, coming = stands["halt"], stands["next"]
        if halt is not None:
            if self._looked_s < self._chance.uniform(0.0, HALT_RESTS_S):
                return None
            if coming["command"] == "resume":
                return {"command": "resume", "reason": "looked at it"}
            return self._choice(halt.get("choices", []), halt)
        asked = [c for waiting in stands["waiting"] for c in waiting.get("choices", [])]
        if asked and self._chance.random() < 0.5:
            return self._choice(asked, {})
        if stands["state"] == "shoe_change" and self._chance.random() < 0.1:
            self._room.push_new_set()
        if stands["state"] == "betting" and self._chance.random() < 0.4:
            return self._wager(self._chance.choice(("player", "banker", "tie")))
        if coming["command"] is None:
            return None
        return {"command": coming["command"], "args": coming["args"], "reason": "as it is done"}

    def _choice(
        self, offered: list[Mapping[str, Any]], halt: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """One of the choices, with what it is to be given.

        People may decide as they like, but they name no card that is not there: of what they enter
        the table cannot know better.
        """
        can: list[dict[str, Any]] = []
        for offer in offered:
            args: dict[str, Any] = {"choice": offer["choice"]}
            if "card" in offer.get("args", ()):
                card = self._named(halt)
                if card is None:
                    continue
                args["card"] = card
            if self._players is not None:
                args |= self._of_a_player(self._players, offer.get("args", ()))
            can.append(
                {
                    "command": "decide",
                    "args": args,
                    "position": offer["position"],
                    "reason": "seen on the table",
                    "consented_by": "Ann" if offer.get("second_person") else None,
                }
            )
        if can and self._players is not None and self._players.random() < TAKES_FIRST:
            return can[0]
        return self._chance.choice(can) if can else None

    def _of_a_player(self, chance: random.Random, wanted: Sequence[str]) -> dict[str, Any]:
        """Which Player, and which wager, a choice is about."""
        player, seat = chance.choice(PLAYERS)
        of = {"player": player, "seat": seat}
        of |= {"wager": chance.choice(MAINS), "amount": chance.choice(STAKES)}
        return {name: of[name] for name in of if name in wanted}

    def _found(self, chance: random.Random) -> dict[str, Any]:
        """Chips that lie there and should not."""
        key = chance.choice(sorted(FOUND))
        of = self._of_a_player(chance, ("player", "seat", "wager"))
        args = {"key": key, **of, "amount": chance.choice(FOUND[key])}
        return {"command": "declare", "args": args, "reason": "seen on the layout"}

    def _named(self, halt: Mapping[str, Any]) -> str | None:
        """What lies there; now and then somebody misspeaks of a card that came with others."""
        seen = text(halt["seen"]) if "seen" in halt else ""
        if halt.get("reason") == "misread":
            return self._room.unread_card(seen)
        if (halt.get("reason"), halt.get("step")) == ("double_draw", "name"):
            return self._room.pulled_card(seen, rightly=self._chance.random() < 0.8)
        return None

    def _wager(self, wager: str) -> dict[str, Any]:
        args = {"player": PLAYER, "seat": SEAT, "wager": wager, "amount": AMOUNT}
        if self._players is not None:
            player, seat = self._players.choice(PLAYERS)
            args |= {"player": player, "seat": seat, "amount": self._players.choice(STAKES)}
        return {"command": "place_wager", "args": args, "position": "dealer"}

    async def _say(self, act: dict[str, Any], stands: Mapping[str, Any]) -> None:
        self._said += 1
        played = stands["round"]
        asked = {
            "command_id": f"c{self._said}",
            "table": self._table,
            "person": "Ines",
            "position": "gaming_shift_manager",
            "round_id": None if played is None else played["round_id"],
            **act,
        }
        if self._looks:
            self._looks -= 1
            self._room.foretold(await self._desk.ask({**asked, "preview": True}))
        self._last = asked
        repeats, self._repeats = self._repeats, 0
        for _ in range(1 + repeats):
            await self._give(asked)

    async def _give(self, asked: Mapping[str, Any]) -> None:
        self._room.gives(asked)
        self._room.answered(asked, await self._desk.ask(asked))
