"""Who handles what at the table: hands of cards passed to Players, the shoe itself in Method C.

In: nothing. Out: Player, Handling, ShoeControl: values that the table's state holds.
Must not know: methods' rules, wagers, who may decide.
"""

from __future__ import annotations

import msgspec

from shoe_ctl.texts.message import Message, message


class Player(msgspec.Struct, frozen=True, kw_only=True):
    """A Player at the table, as far as known: by id, by seat, or both.

    ``designee`` is who handles the cards in the Player's place, where one was allowed.
    """

    id: str | None = None
    seat: int | None = None
    designee: str | None = None

    @property
    def named(self) -> Message:
        """The Player by seat; by id only where no seat is known."""
        if self.seat is None:
            return message("player_by_id", player=self.id)
        return message("player_by_seat", seat=self.seat)


class Handling(msgspec.Struct, frozen=True, kw_only=True):
    """One hand's cards in a round: who holds them face down, and who did not take them.

    ``refused`` are Players who did not take the hand, in order. ``holder`` None: the dealer has it.
    ``by_wagers``: the wagers named the holder, who has it no longer than they do.
    ``with_dealer``: it was a Player's, and the dealer exposes it to the end (5.10).
    """

    holder: Player | None = None
    refused: tuple[Player, ...] = ()
    by_wagers: bool = False
    with_dealer: bool = False


class Hands(msgspec.Struct, frozen=True, kw_only=True):
    """Both hands of a round; ``first`` is the one to be revealed first, once that is settled."""

    player: Handling = Handling()
    banker: Handling = Handling()
    first: str | None = None

    def of(self, hand: str) -> Handling:
        """The handling of this hand: ``player`` or ``banker``."""
        return self.player if hand == "player" else self.banker


class ShoeControl(msgspec.Struct, frozen=True, kw_only=True):
    """Who controls the shoe in Method C; ``holder`` None: the dealer.

    ``leaves`` are Players allowed to draw without a wager.
    """

    holder: Player | None = None
    leaves: tuple[Player, ...] = ()
