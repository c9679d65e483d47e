"""A witness: what continues the last checkpoint is cosigned, and a second history is an alarm."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import click.testing
import pytest

from shoe_ctl.audit import witness as under_test
from shoe_ctl.audit.witness import (
    Refusal,
    Submission,
    Witness,
    hold_state,
    read_event,
    read_request,
)
from shoe_ctl.cli.main import shoectl
from shoe_ctl.errors import EnvironmentFault, UsageError
from shoe_ctl.journal.signed_note import (
    Verified,
    cosign,
    read_note,
    read_verifier_key,
    sign,
    verifier_key,
    verify_note,
)
from shoe_ctl.journal.signing import Signer, open_key
from shoe_testing.checkpoints import (
    JOURNAL,
    NAME,
    NOW_S,
    ORIGIN,
    OWN,
    STRANGER,
    after,
    checkpoint,
    event_of,
    leaves,
    request_of,
)
from shoe_testing.cli import invoke

SHOECTL = str(Path(sys.executable).with_name("shoectl"))


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "w1.state"


def witness(state: Path, *, now_s: int = NOW_S, name: str = NAME, by: Signer = OWN) -> Witness:
    return Witness(name, by, [verifier_key(ORIGIN, JOURNAL.public_key)], state, lambda: now_s)


def refused(own: Witness, given: Submission) -> Refusal:
    with pytest.raises(Refusal) as found:
        own.cosign(given)
    assert "\n" not in str(found.value)
    return found.value


@pytest.mark.parametrize("seed", range(20))
def test_every_checkpoint_of_one_history_is_cosigned_with_its_time(state: Path, seed: int) -> None:
    draw = random.Random(seed)
    sizes = sorted(draw.sample(range(1, 80), 6))
    own = witness(state)

    for old, size in zip([0, *sizes], sizes, strict=False):
        found = own.cosign(after(old, leaves(size)))

        assert verify_note(found.note, [own.key]) == (Verified(own.key, NOW_S),)
        assert verify_note(found.note, [verifier_key(ORIGIN, JOURNAL.public_key)])


@pytest.mark.parametrize("seed", range(20))
def test_a_history_that_was_changed_before_the_last_one_cosigned_is_a_fork(
    state: Path, seed: int
) -> None:
    draw = random.Random(seed)
    old = draw.randrange(1, 60)
    size = draw.randrange(old, 80)
    own = witness(state)
    own.cosign(Submission(checkpoint(leaves(old))))

    found = refused(own, after(old, leaves(size, other_from=draw.randrange(old))))

    assert found.why == "fork"
    assert f"{ORIGIN}: size {size}" in str(found)


def test_after_a_fork_nothing_of_the_journal_is_cosigned_until_the_alarm_is_cleared(
    state: Path,
) -> None:
    own = witness(state)
    own.cosign(Submission(checkpoint(leaves(5))))
    fork = after(5, leaves(9, other_from=2))
    refused(own, fork)

    assert refused(own, after(5, leaves(7))).why == "alarm"
    assert refused(witness(state), after(5, leaves(7))).why == "alarm"

    assert witness(state).clear(ORIGIN).note.encode() == fork.note
    assert witness(state).cosign(after(5, leaves(7))).said.size == 7
    assert refused(witness(state), after(7, leaves(9, other_from=2))).why == "fork"


def test_an_alarm_of_one_journal_holds_up_no_other(state: Path) -> None:
    keys = [verifier_key(ORIGIN, JOURNAL.public_key), verifier_key("b", STRANGER.public_key)]
    own = Witness(NAME, OWN, keys, state, lambda: NOW_S)
    own.cosign(Submission(checkpoint(leaves(5))))
    refused(own, after(5, leaves(9, other_from=2)))

    assert own.cosign(Submission(checkpoint(leaves(3), origin="b", by=STRANGER))).said.origin == "b"


def test_an_alarm_that_is_not_there_cannot_be_cleared(state: Path) -> None:
    with pytest.raises(UsageError, match=r"casino\.example/floor-2: there is no alarm"):
        witness(state).clear(ORIGIN)


@pytest.mark.parametrize(
    ("given", "why", "line"),
    [
        (
            Submission(checkpoint(leaves(3), origin="other.example/j")),
            "unknown_journal",
            "other.example/j: a journal that this witness has no key of: add its --journal",
        ),
        (
            Submission(checkpoint(leaves(7), by=STRANGER)),
            "wrong_signature",
            f"{ORIGIN}: size 7: note: signed by no known key, only by '{ORIGIN}'",
        ),
        (
            Submission(checkpoint(leaves(3))),
            "behind",
            f"{ORIGIN}: size 3 is behind 5, the last one cosigned",
        ),
        (
            Submission(checkpoint(leaves(7))),
            "gap",
            f"{ORIGIN}: size 7 came without a proof from size 5, the last one cosigned: "
            "ask for a checkpoint with that proof",
        ),
        (
            after(4, leaves(7)),
            "gap",
            f"{ORIGIN}: size 7 came without a proof from size 5, the last one cosigned: "
            "ask for a checkpoint with that proof",
        ),
        (Submission(b"torn"), "unreadable", "note: no empty line with signatures behind it"),
        (Submission(b"x" * 5000), "unreadable", "a checkpoint of more than 4,096 bytes"),
    ],
)
def test_what_cannot_be_cosigned_is_refused_in_one_line_and_is_no_alarm(
    state: Path, given: Submission, why: str, line: str
) -> None:
    own = witness(state)
    own.cosign(Submission(checkpoint(leaves(5))))

    found = refused(own, given)

    assert (found.why, str(found), found.is_alarm) == (why, line, False)
    assert own.cosign(after(5, leaves(6))).said.size == 6


def test_what_was_cosigned_last_is_handed_out_again_as_it_was(state: Path) -> None:
    first = witness(state).cosign(Submission(checkpoint(leaves(5))))

    again = witness(state, now_s=NOW_S + 60).cosign(Submission(checkpoint(leaves(5))))

    assert again.note.to_bytes() == first.note.to_bytes()


def test_a_clock_that_was_set_back_gives_no_earlier_cosignature(state: Path) -> None:
    witness(state).cosign(Submission(checkpoint(leaves(5))))

    assert witness(state, now_s=NOW_S - 600).cosign(after(5, leaves(6))).t_s == NOW_S


def test_a_signature_of_a_stranger_on_the_note_is_left_out(state: Path) -> None:
    note = read_note(checkpoint(leaves(5)))
    both = note.add(sign(note.text, "stranger", STRANGER))

    found = witness(state).cosign(Submission(both.to_bytes()))

    assert [each.name for each in found.note.signatures] == [ORIGIN, NAME]


def test_no_cosignature_leaves_before_the_state_is_on_the_disk(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = witness(state)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as faulty:
        faulty.setattr(under_test, "write_atomically", full)
        with pytest.raises(EnvironmentFault, match=r"w1\.state cannot be written: No space left"):
            own.cosign(Submission(checkpoint(leaves(5))))

    # it does not count on what is not stored: another history may still be the first one
    assert own.cosign(Submission(checkpoint(leaves(5, other_from=1)))).said.size == 5


def test_a_state_file_that_was_altered_is_refused_with_its_line(state: Path) -> None:
    witness(state).cosign(Submission(checkpoint(leaves(5))))
    whole = state.read_bytes()
    for bad in (whole[:-1], whole.replace(b"\\n5\\n", b"\\n6\\n"), whole + whole, b"{}\n"):
        state.write_bytes(bad)

        with pytest.raises(EnvironmentFault, match=r"line \d is not what this witness wrote"):
            witness(state)


def test_a_state_file_is_not_taken_up_by_a_witness_with_another_key_or_name(state: Path) -> None:
    witness(state).cosign(Submission(checkpoint(leaves(5))))

    for other in ({"by": STRANGER}, {"name": "gaming.example/w2"}):
        with pytest.raises(EnvironmentFault, match="line 1 is not what this witness wrote"):
            witness(state, **other)


def test_one_process_at_a_time_uses_a_state_file(state: Path) -> None:
    with hold_state(state):
        found = run(state, "--clear", ORIGIN)

    assert isinstance(found.exception, EnvironmentFault)
    assert str(found.exception) == f"state file {state} is in use by another process"


def test_a_journal_with_the_key_of_the_witness_is_refused(state: Path) -> None:
    with pytest.raises(UsageError, match="its key is the witness's own"):
        Witness(NAME, OWN, [verifier_key("a", OWN.public_key)], state, lambda: 0)


def test_an_event_and_a_request_give_the_same_submission() -> None:
    given = after(5, leaves(9))

    assert read_event(json.dumps(event_of(given)).encode()) == given
    assert read_request(request_of(given)) == given
    assert read_request(given.note) == Submission(given.note)
    assert read_event(b'{"type":"round.outcome","data":{"winner":"tie"}}') is None


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[]",
        b'{"type":5}',
        b'{"type":"checkpoint.signed"}',
        b'{"type":"checkpoint.signed","data":{"note":7}}',
        b'{"type":"checkpoint.signed","data":{"note":"a","proof":["*"]}}',
        b'{"type":"checkpoint.signed","data":{"note":"a","proof":["YQ=="]}}',
        json.dumps(
            {"type": "checkpoint.signed", "data": {"note": "", "proof": ["a"] * 64}}
        ).encode(),
        b"[" * 100_000,
        b" " * 200_000,
    ],
)
def test_a_torn_event_is_refused_in_one_line(line: bytes) -> None:
    with pytest.raises(Refusal) as found:
        read_event(line)

    assert (found.value.why, "\n" in str(found.value)) == ("unreadable", False)


@pytest.mark.parametrize(
    "request_", [b"old \n\n", b"old -1\n\nx", b"old 5\n*\n\nx", b"old 5\nYQ==\n\nx"]
)
def test_a_torn_request_is_refused_in_one_line(request_: bytes) -> None:
    with pytest.raises(Refusal):
        read_request(request_)


# The command


@pytest.fixture
def command(tmp_path: Path, state: Path) -> Path:
    """A folder with a verifier key of the journal, in a file of keys."""
    keys = tmp_path / "journals.keys"
    keys.write_text(f"# floor 2\n{verifier_key(ORIGIN, JOURNAL.public_key)}  # since 2026\n\n")
    return tmp_path


def run(state: Path, *words: object, stdin: bytes = b"") -> click.testing.Result:
    key, keys = state.with_name("w1.key"), state.with_name("journals.keys")
    more = ("--journal", keys) if keys.exists() else ()
    options = ("--signing-key", key, "--name", NAME, "--state", state, *more)
    return invoke(shoectl, "witness", *options, *words, stdin=stdin)


def test_events_from_standard_input_are_cosigned_line_by_line(command: Path, state: Path) -> None:
    events = [
        event_of(after(0, leaves(5))),
        {"type": "round.opened"},
        event_of(after(5, leaves(8))),
    ]
    shown = run(state, "--show-key")
    key = read_verifier_key(shown.stdout.strip())

    found = run(state, "-", stdin="".join(f"{json.dumps(each)}\n" for each in events).encode())

    assert (found.exit_code, found.stderr) == (0, "")
    told = [json.loads(line) for line in found.stdout.splitlines()]
    assert [(each["type"], each["source"], each["data"]["size"]) for each in told] == [
        ("checkpoint.cosigned", "/witness/gaming.example/w1", 5),
        ("checkpoint.cosigned", "/witness/gaming.example/w1", 8),
    ]
    for each in told:
        assert verify_note(read_note(each["data"]["note"].encode()), [key])


def test_a_request_in_a_file_is_answered_with_the_cosigned_note(command: Path, state: Path) -> None:
    for old, size in ((0, 5), (5, 8)):
        given = after(old, leaves(size))
        (command / "request").write_bytes(request_of(given))

        found = run(state, command / "request")

        assert found.exit_code == 0
        assert found.stdout_bytes.startswith(given.note)
        assert f"\n— {NAME} ".encode() in found.stdout_bytes


def test_a_fork_ends_in_an_alarm_that_stays_in_the_list(command: Path, state: Path) -> None:
    lines = [event_of(after(0, leaves(5))), event_of(after(5, leaves(8, other_from=3)))]
    stdin = "".join(f"{json.dumps(each)}\n" for each in lines).encode()

    found = run(state, "-", stdin=stdin)

    line = f"ALARM: {ORIGIN}: size 8 does not continue 5, the last one cosigned"
    assert found.exit_code == 1
    assert found.stderr == f"- line 2: {line}; nothing more of it is cosigned until --clear\n"
    alarm = json.loads(found.stdout.splitlines()[1])
    assert (alarm["type"], alarm["data"]["why"]) == ("checkpoint.refused", "fork")
    assert alarm["data"]["note"].encode() == after(5, leaves(8, other_from=3)).note

    listed = run(state, "--list")
    assert listed.exit_code == 1
    assert f"{ORIGIN}  size 5  " in listed.stdout
    assert "ALARM of " in listed.stdout

    cleared = run(state, "--clear", ORIGIN)
    assert cleared.exit_code == 0
    assert after(5, leaves(8, other_from=3)).note in cleared.stdout_bytes
    assert run(state, "--list").exit_code == 0


def test_torn_lines_are_named_and_the_others_are_cosigned(command: Path, state: Path) -> None:
    good, torn = json.dumps(event_of(after(0, leaves(5)))), '{"type":"checkpoint.signed","da'
    (command / "events.jsonl").write_text(f"{good}\n{torn}\n\n{good}\n")

    found = run(state, command / "events.jsonl")

    assert found.exit_code == 1
    assert found.stderr.startswith(f"{command / 'events.jsonl'} line 2: no event: torn")
    assert found.stderr.count("\n") == 1
    assert len(found.stdout.splitlines()) == 2


def test_old_events_that_come_again_are_named_and_are_no_failure(
    command: Path, state: Path
) -> None:
    events = [event_of(after(0, leaves(5))), event_of(after(5, leaves(8)))]
    stdin = "".join(f"{json.dumps(each)}\n" for each in events).encode()
    run(state, "-", stdin=stdin)

    found = run(state, "-", stdin=stdin)

    assert (found.exit_code, found.stderr) == (
        0,
        f"- line 1: {ORIGIN}: size 5 is behind 8, the last one cosigned\n",
    )


@pytest.mark.parametrize("words", [(), ("-", "--list"), ("--list", "--show-key")])
def test_one_thing_at_a_time_is_asked_of_the_witness(state: Path, words: tuple[str, ...]) -> None:
    found = run(state, *words)

    assert isinstance(found.exception, UsageError)
    assert str(found.exception) == "give one of SOURCE, --show-key, --list and --clear JOURNAL"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("nats://127.0.0.1", "-"), "a broker is the only SOURCE: run a witness for each"),
        (("-", "--user", "w"), "--user needs a broker: give nats://HOST:PORT or mqtt://"),
        (("-", "--password-file", "p"), "--password-file needs a broker: give nats://HOST:PORT"),
        (("nats://a:b:c",), "SOURCE: expected nats://HOST:PORT or tls://HOST:PORT"),
        (("mqtt://a:b:c",), "SOURCE: expected mqtt://HOST:PORT or mqtts://HOST:PORT"),
        (("mqtt://a", "--ca", "f"), "--ca: needs an address that begins with mqtts://"),
    ],
)
def test_options_that_do_not_fit_the_source_are_refused(
    state: Path, words: tuple[str, ...], line: str
) -> None:
    found = run(state, *words)

    assert isinstance(found.exception, UsageError)
    assert str(found.exception).startswith(line)


def test_a_wrong_verifier_key_is_named_with_its_line(command: Path, state: Path) -> None:
    keys = command / "journals.keys"
    keys.write_text(keys.read_text() + "a+b+c\n")

    found = run(state, "--list")

    assert isinstance(found.exception, UsageError)
    assert str(found.exception).startswith(f"{keys} line 4: verifier key 'a+b+c'")


def test_a_key_that_was_lost_is_not_made_anew_beside_a_state(command: Path, state: Path) -> None:
    run(state, "-", stdin=checkpoint(leaves(5)))
    (command / "w1.key").unlink()

    found = run(state, "--list")

    assert isinstance(found.exception, EnvironmentFault)
    assert "w1.key cannot be read: No such file" in str(found.exception)


@pytest.mark.slow
def test_a_thousand_journals_fit_into_40_mb(command: Path, state: Path) -> None:
    origins = [f"casino.example/floor-2/journal-{n:04}" for n in range(1000)]
    keys = command / "journals.keys"
    keys.write_text("".join(f"{verifier_key(each, JOURNAL.public_key)}\n" for each in origins))
    own = open_key(command / "w1.key", create=True)
    with state.open("wb") as file:
        for each in origins:
            note = read_note(checkpoint(leaves(5), origin=each))
            cosigned = note.add(cosign(note.text, NAME, own, NOW_S)).to_bytes().decode()
            file.write(json.dumps({"origin": each, "note": cosigned}).encode() + b"\n")
    options = (
        "--signing-key",
        command / "w1.key",
        "--name",
        NAME,
        "--state",
        state,
        "--journal",
        keys,
    )

    with subprocess.Popen(
        [str(each) for each in (SHOECTL, "witness", *options, "-")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as running:
        assert running.stdin is not None and running.stdout is not None
        sizes = []
        for each in origins[::100]:
            event = event_of(after(5, leaves(8), origin=each))
            running.stdin.write(f"{json.dumps(event)}\n".encode())
            running.stdin.flush()
            sizes.append(json.loads(running.stdout.readline())["data"]["size"])
        status = Path(f"/proc/{running.pid}/status").read_text()
        running.stdin.close()

    assert (sizes, running.returncode) == ([8] * 10, 0)
    (peak_kb,) = (int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    assert peak_kb < 40_000, peak_kb
