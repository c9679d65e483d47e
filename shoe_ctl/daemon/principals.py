"""Principals: the user at the other end, and the persons whose logins it vouches for.

In: commands of known callers, all users that there are. Out: commands as inputs, with what is known
of the second person; refusals. Must not know: how somebody logs in, what a command does.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

import msgspec

from shoe_ctl.api import requests
from shoe_ctl.api.requests import Caller, Command
from shoe_ctl.table.consent import normalize_name
from shoe_ctl.table.inputs import Login, SecondPerson, TableCommand
from shoe_ctl.table.positions import is_sufficient
from shoe_ctl.texts.message import Message, message

log = logging.getLogger(__name__)


class People:
    """All users that there are, each of whom may be another's second person.

    A user who vouches for logins is no person, and nobody's second.
    """

    def __init__(self, users: Iterable[Caller]) -> None:
        self._users = tuple(user for user in users if not user.vouches)
        self._named = {normalize_name(name): each for each in self._users for name in each.names}

    def others(self, caller: Caller) -> list[str]:
        """Return who may be asked for consent, each by the name that people use."""
        return [each.names[0] for each in self._users if each.user != caller.user and each.names]

    def find(self, name: str) -> Caller | None:
        """Return the user who goes by this name; None where nobody does."""
        return self._named.get(normalize_name(name))

    def second_person(
        self, caller: Caller, *, person: str, consented_by: str | None
    ) -> SecondPerson | None:
        """Return what is known of the second person named: another user's positions, or why not."""
        if consented_by is None:
            return None
        second = self.find(consented_by)
        name, others, user = consented_by, self.others(caller), caller.user
        if second is None:
            why = (
                message("refused_second_person_unknown", name=name, others=others)
                if others
                else message("refused_second_person_unknown_alone", name=name, user=user)
            )
            return SecondPerson(why_not=why)
        asks = self.find(person)
        if second.user == caller.user or second is asks:
            why = (
                message("refused_second_person_is_asker", name=name, others=others)
                if others
                else message("refused_second_person_is_asker_alone", name=name, user=user)
            )
            return SecondPerson(why_not=why)
        return SecondPerson(positions=(second.position, *second.also))

    def as_input(self, caller: Caller, asked: Command) -> TableCommand:
        """Return the command as an input; its time is given when it is taken up."""
        return TableCommand(
            t_us=0,
            command_id=asked.command_id,
            command=asked.command,
            args=asked.args,
            round_id=asked.round_id,
            person=asked.person,
            position=asked.position,
            reason=asked.reason,
            consented_by=asked.consented_by,
            user=caller.user,
            second_person=_second_logged_in(caller, asked)
            if caller.vouches
            else self.second_person(caller, person=asked.person, consented_by=asked.consented_by),
            login=_kept(asked.login),
            consent_login=_kept(asked.consent_login),
        )


def _kept(login: requests.Login | None) -> Login | msgspec.UnsetType:
    """Return a login as the journal keeps it."""
    if login is None:
        return msgspec.UNSET
    return Login(person=login.person, by=login.by, session=login.session)


def _second_logged_in(caller: Caller, asked: Command) -> SecondPerson | None:
    """Return what is known of the second person named, whose login the caller vouches for."""
    name, login = asked.consented_by, asked.consent_login
    if name is None:
        return None
    if login is None or normalize_name(login.person) != normalize_name(name):
        return SecondPerson(why_not=message("refused_second_person_not_logged_in", name=name))
    return SecondPerson(positions=_positions(caller, login))


def _positions(caller: Caller, login: requests.Login) -> tuple[str, ...]:
    """Return the positions that somebody who logged in may act in: none above the caller's own."""
    own = (caller.position, *caller.also)
    if not login.positions:
        return own
    return tuple(
        one for one in login.positions if any(is_sufficient(highest, one) for highest in own)
    )


def _check_login(caller: Caller, asked: Command) -> Message | None:
    """Return why this caller may not say who gives the command, or has to."""
    if not caller.vouches:
        if asked.login is None and asked.consent_login is None:
            return None
        return message("daemon_does_not_vouch", user=caller.user)
    if asked.login is None:
        return message("daemon_login_missing", user=caller.user)
    login = asked.login.person
    if normalize_name(login) != normalize_name(asked.person):
        return message("daemon_login_of_another_person", login=login, person=asked.person)
    return None


def may_not_act(caller: Caller, asked: Command, highest: str | None) -> Message | None:
    """Return why this caller, or who logged in there, may not act as it says; None where it may."""
    if (why := _check_login(caller, asked)) is not None:
        return why
    users = (caller.position, *caller.also)
    persons = users if asked.login is None else asked.login.positions or users
    if all(
        any(is_sufficient(own, asked.position, highest=highest) for own in each)
        for each in (users, persons)
    ):
        return None
    log.warning(
        "%s: command refused: command=%s position=%s user=%s highest_position=%s",
        asked.table, asked.command, asked.position, caller.user, caller.position,
    )  # fmt: skip
    if asked.login is not None and asked.login.positions:
        own, person = asked.login.positions[0], asked.person
        return message(
            "daemon_login_not_in_position", person=person, own=own, position=asked.position
        )
    return message(
        "daemon_not_in_position", user=caller.user, own=caller.position, position=asked.position
    )
