"""Build a simulated shoe: the only module that knows which device a profile needs.

In: a profile's name, a deck, a seed. Out: a Device with its first set in it, not yet switched on.
Must not know: ports, clocks, who deals.
"""

from __future__ import annotations

from collections.abc import Mapping

from firmware_proto import profiles
from firmware_proto.cards import DECKS
from firmware_proto.profiles import Profile
from firmware_proto.reference.mac import ShoeKeys
from firmware_proto.session import DeviceSession
from simulators.errors import WrongUsage
from simulators.shoe.angel_eye import AngelEyeDevice
from simulators.shoe.bee_tek import BeeTekDevice
from simulators.shoe.device import Device
from simulators.shoe.event_log import EventLog
from simulators.shoe.ground_truth import GroundTruth
from simulators.shoe.model import AS_SHUFFLED, CARDS_BEHIND_CUT, Shoe, Stacked
from simulators.shoe.reference import ReferenceDevice

MOST_DECKS = 10
"""Rule 2.1 allows four to ten decks; fewer than four are a bench's own affair."""


def simulated_shoe(  # noqa: PLR0913 - what a test may choose, each by name
    profile: str,
    *,
    deck: str = "french52",
    decks: int = 8,
    seed: int = 1,
    device_id: str = "SIM-0001",
    behind_cut: int = CARDS_BEHIND_CUT,
    stacked: Stacked = AS_SHUFFLED,
    unreadable: frozenset[int] = frozenset(),
    settings: Mapping[str, object] | None = None,
    truth: GroundTruth | None = None,
    event_log: EventLog | None = None,
    keys: ShoeKeys | None = None,
) -> Device:
    """Return a shoe of this profile with one set pushed in, without power: ``boot`` switches it on.

    ``settings`` are the profile's own, as in ``profiles.Profile.device_session``; ``unreadable``
    draw numbers are not read by the sensor; ``event_log`` is for profiles that can replay, ``keys``
    for those that can prove who they are.

    Raises:
        simulators.errors.WrongUsage: an unknown profile, deck or setting, decks out of range,
            or a deck whose cards the profile cannot name, keys for one without.
    """
    chosen = dict(settings or {})
    kind = _checked(profile, deck, decks, chosen)

    def session() -> DeviceSession:
        return kind.device_session(settings=chosen)

    def keyed_session() -> DeviceSession:
        from firmware_proto.reference.profile import device_session

        return device_session(settings=chosen, keys=keys)

    if keys is not None and not kind.CAPABILITIES.arm:
        raise WrongUsage(f"a shoe of profile {profile} has no keys")
    shoe = Shoe(device_id, unreadable=unreadable)
    seen = GroundTruth() if truth is None else truth
    device: Device
    if kind.CAPABILITIES.arm:
        device = ReferenceDevice(
            shoe,
            seen,
            session=session if keys is None else keyed_session,
            event_log=event_log,
            keys=None if keys is None else keys.keys,
        )
    elif kind.CAPABILITIES.judges:
        device = AngelEyeDevice(shoe, seen, session=session)
    else:
        device = BeeTekDevice(shoe, seen, session=session)
    device.load(DECKS[deck], decks, seed, 0.0, behind_cut=behind_cut, stacked=stacked)
    return device


def _checked(name: str, deck: str, decks: int, settings: Mapping[str, object]) -> Profile:
    try:
        kind = profiles.profile(name)
        kind.device_session(settings=settings)  # a wrong setting is told now, not on first use
    except ValueError as error:
        raise WrongUsage(str(error)) from None
    if deck not in DECKS:
        raise WrongUsage(f"unknown deck {deck!r} (have: {', '.join(DECKS)})")
    if deck not in kind.CAPABILITIES.decks:
        raise WrongUsage(f"a shoe of profile {name} cannot name the cards of {deck}")
    if not 1 <= decks <= MOST_DECKS:
        raise WrongUsage(f"{decks} decks: a shoe holds 1 to {MOST_DECKS}")
    return kind
