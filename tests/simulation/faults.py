"""Every fault there is: its name, how often it is drawn, what it does to the world.

In: a world, chance of the fault's own. Out: the world with something wrong in it, for a while.
Must not know: invariants, which faults come together. A new one is a function under ``_fault``.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

import apsw

from firmware_proto.events import Lid
from simulators.shoe.angel_eye import AngelEyeDevice
from simulators.shoe.model import Refused
from simulators.shoe.reference import ReferenceDevice
from tests.simulation.line import DAMAGES

if TYPE_CHECKING:
    from tests.simulation.world import World

Strike = Callable[["World", random.Random], None]

STRIKES: dict[str, Strike] = {}
WEIGHTS: dict[str, float] = {}

APART: dict[str, float] = {}
"""Kinds that are drawn by themselves, each with how likely a seed meets it: what else a seed draws
is as it was before there was this kind."""

SOON_STEPS = 60
"""Steps of the loop within which a card is received, stored and acknowledged."""

SOON_CALLS = 30
"""Calls of the disk that a few commits, or a tidied log, take."""


def _fault(name: str, weight: float = 1.0) -> Callable[[Strike], Strike]:
    def named(strike: Strike) -> Strike:
        STRIKES[name], WEIGHTS[name] = strike, weight
        return strike

    return named


def _apart(name: str, likely: float) -> Callable[[Strike], Strike]:
    def named(strike: Strike) -> Strike:
        STRIKES[name], APART[name] = strike, likely
        return strike

    return named


# The line.


def _damage(how: str) -> None:
    @_fault(f"line_{how}", 2.0)
    def strike(world: World, chance: random.Random) -> None:
        line = chance.choice((world.to_host, world.to_shoe))
        for _ in range(chance.randint(1, 3)):
            line.damage_next(how, random.Random(chance.random()))


for _how in DAMAGES:
    _damage(_how)


@_fault("unplugged", 2.0)
def _unplugged(world: World, chance: random.Random) -> None:
    world.rig.unplug()
    world.later(chance.choice((0.2, 2.0, 20.0)) * chance.random(), world.rig.replug)


@_fault("half_open")
def _half_open(world: World, chance: random.Random) -> None:
    """Nothing gets through, and nobody hangs up."""
    world.cable.muted = True
    world.later(chance.uniform(0.1, 30.0), world.unmute)


# The shoe.


@_fault("shoe_reboots", 2.0)
def _shoe_reboots(world: World, chance: random.Random) -> None:
    world.device.boot(world.loop.time())
    world.rig.turn()


@_fault("shoe_without_power")
def _shoe_without_power(world: World, chance: random.Random) -> None:
    world.device.power_off()
    world.rig.turn()
    world.later(chance.uniform(0.5, 15.0), world.shoe_has_power)


@_fault("key_turned", 0.5)
def _key_turned(world: World, chance: random.Random) -> None:
    world.turn_key(locked=True)
    world.later(chance.uniform(0.5, 10.0), lambda: world.turn_key(locked=False))


@_fault("drawn_by_force")
def _drawn_by_force(world: World, chance: random.Random) -> None:
    """A card comes out past the bolt, whatever the table does."""
    try:
        world.device.draw(world.loop.time(), force=True)
    except Refused:
        return
    world.rig.turn()


@_fault("card_not_read")
def _card_not_read(world: World, chance: random.Random) -> None:
    shoe = world.device.shoe
    shoe.unreadable |= {shoe.drawn + chance.randint(1, 4)}


@_fault("card_face_up", 0.5)
def _card_face_up(world: World, chance: random.Random) -> None:
    shoe = world.device.shoe
    shoe.face_up |= {shoe.drawn + chance.randint(1, 4)}


@_fault("two_pulled_together", 0.5)
def _two_pulled_together(world: World, chance: random.Random) -> None:
    if not isinstance(world.device, ReferenceDevice):
        return
    try:
        world.device.pull_together(world.loop.time(), order_known=chance.random() < 0.5)
    except Refused:
        return
    world.rig.turn()


@_fault("shoe_is_chatty", 0.5)
def _shoe_is_chatty(world: World, chance: random.Random) -> None:
    """A flap that somebody plays with: a small memory is full of it before long."""
    if not isinstance(world.device, ReferenceDevice):
        return
    for _ in range(chance.randint(1, 40)):
        world.device.happen(Lid(open=chance.random() < 0.5), world.loop.time())
    world.rig.turn()


@_fault("shoe_misjudges", 0.5)
def _shoe_misjudges(world: World, chance: random.Random) -> None:
    if isinstance(world.device, AngelEyeDevice):
        world.device.misjudges = chance.choice(("none", "player", "banker", "tie"))


@_fault("shoe_changed", 0.5)
def _shoe_changed(world: World, chance: random.Random) -> None:
    """The cards are taken out and others pushed in, whatever the table does."""
    world.push_new_set()


# The host.


@_fault("killed", 3.0)
def _killed(world: World, chance: random.Random) -> None:
    world.host.in_steps(chance.randrange(SOON_STEPS), world.host.kill)


@_fault("killed_at_disk_call", 3.0)
def _killed_at_disk_call(world: World, chance: random.Random) -> None:
    world.host.at_call(chance.randrange(SOON_CALLS), world.host.kill)


@_fault("power_lost", 3.0)
def _power_lost(world: World, chance: random.Random) -> None:
    world.host.in_steps(chance.randrange(SOON_STEPS), lambda: world.host.lose_power(chance))


@_fault("power_lost_at_disk_call", 3.0)
def _power_lost_at_disk_call(world: World, chance: random.Random) -> None:
    world.host.at_call(chance.randrange(SOON_CALLS), lambda: world.host.lose_power(chance))


@_fault("stopped")
def _stopped(world: World, chance: random.Random) -> None:
    world.host.stop()


@_fault("clock_set")
def _clock_set(world: World, chance: random.Random) -> None:
    world.wall.jump(chance.choice((-1, 1)) * chance.choice((0.5, 60.0, 86_400.0)))


# The disk.


def _fails(world: World, calls: tuple[str, ...], error: apsw.Error, lasts_s: float) -> None:
    def fault(call: str) -> None:
        if call in calls:
            raise error

    world.host.disk_fault = fault
    world.later(lasts_s, world.host.disk_is_well)


@_fault("disk_full")
def _disk_full(world: World, chance: random.Random) -> None:
    _fails(world, ("write",), apsw.FullError("the disk is full"), chance.uniform(0.0, 10.0))


@_fault("disk_read_only", 0.5)
def _disk_read_only(world: World, chance: random.Random) -> None:
    calls = ("write", "truncate", "delete", "sync")
    _fails(world, calls, apsw.ReadOnlyError("read only"), chance.uniform(0.0, 10.0))


@_fault("disk_error")
def _disk_error(world: World, chance: random.Random) -> None:
    calls = chance.choice(
        (("read",), ("write",), ("sync",), ("truncate",), ("delete",), ("read", "write", "sync"))
    )
    lasts_s = chance.choice((0.02, 10.0)) * chance.random()
    _fails(world, calls, apsw.IOError("the disk failed"), lasts_s)


@_fault("disk_slow")
def _disk_slow(world: World, chance: random.Random) -> None:
    world.disk_takes_s = chance.choice((0.2, 2.0))
    world.later(chance.uniform(0.5, 10.0), world.disk_is_quick)


# Where events go.


@_fault("sink_dead")
def _sink_dead(world: World, chance: random.Random) -> None:
    remote = chance.choice(world.remotes)
    remote.dead = True
    world.later(chance.uniform(0.5, 40.0), remote.is_well)


@_fault("sink_slow")
def _sink_slow(world: World, chance: random.Random) -> None:
    remote = chance.choice(world.remotes)
    remote.slow = True
    world.later(chance.uniform(0.5, 20.0), remote.is_well)


@_fault("sink_forgets", 2.0)
def _sink_forgets(world: World, chance: random.Random) -> None:
    """It takes events, and its answer is lost."""
    chance.choice(world.remotes).forgets += chance.randint(1, 3)


@_apart("sink_chokes", 0.3)
def _sink_chokes(world: World, chance: random.Random) -> None:
    """Some events it does not understand, until somebody mends it."""
    remote = world.remotes[0]  # whose parked events everybody may know of
    remote.chokes += chance.randint(1, 3)
    world.later(chance.uniform(0.5, 20.0), remote.is_well)


# People.


@_fault("said_twice", 2.0)
def _said_twice(world: World, chance: random.Random) -> None:
    world.staff.repeat(chance.randint(1, 5))


@_fault("said_late", 2.0)
def _said_late(world: World, chance: random.Random) -> None:
    world.staff.say_again_later(chance.uniform(0.1, 20.0))


@_fault("wager_late", 2.0)
def _wager_late(world: World, chance: random.Random) -> None:
    world.staff.wager_late()


@_fault("paused", 0.5)
def _paused(world: World, chance: random.Random) -> None:
    world.staff.pause()


@_apart("paused_as_a_card_comes", 0.4)
def _paused_as_a_card_comes(world: World, chance: random.Random) -> None:
    """The hand draws as surveillance says stop: the card is on its way, and so is the lock."""
    if world.device.lamp is None:
        return
    try:
        world.device.draw(world.loop.time())
    except Refused:
        return
    world.staff.pause_at_once()
    world.rig.turn()


@_fault("declared")
def _declared(world: World, chance: random.Random) -> None:
    world.staff.declare(chance)


@_apart("card_corrected", 0.4)
def _card_corrected(world: World, chance: random.Random) -> None:
    """Somebody says that a card which lies open is another one than the shoe read."""
    world.staff.correct_card(chance)


@_apart("taken_back", 0.4)
def _taken_back(world: World, chance: random.Random) -> None:
    """Somebody declares something by mistake, and takes it back."""
    world.staff.declare(chance)
    world.staff.take_back()


@_apart("looked_beforehand", 0.3)
def _looked_beforehand(world: World, chance: random.Random) -> None:
    """People look at the next things that they do before they do them."""
    world.staff.look(chance.randint(1, 5))
