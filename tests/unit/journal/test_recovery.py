"""A journal that lost its newest part is not written on, whatever way it lost it.

In: a journal as a killed writer left it, and the same spoilt. Out: a doubt, before anything is
written; or a journal that holds everything that was stored.
"""

from __future__ import annotations

import hashlib
import random
import shutil
import struct
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from shoe_ctl.errors import JournalError
from shoe_ctl.journal import head_file, wal
from shoe_ctl.journal.batch import Batch
from shoe_ctl.journal.evidence import DeliveredEvent, PossibleLoss, was_replaced
from shoe_ctl.journal.files import head_path, log_path
from shoe_ctl.journal.record_format import Kind, LossRuling, Meta, Ruling
from shoe_ctl.journal.recovery import current_epoch, rulings
from shoe_ctl.journal.store import AcceptedLoss, Store
from shoe_ctl.records import Audience, source_of
from shoe_testing.journals import T_US, opened, records, stored_round, verified

COMMITS = 60
SINK = "jsonl:floor.jsonl"
FRAME_BYTES = 24 + 4096

Image = dict[str, bytes]


def image_of(path: Path) -> Image:
    """What a killed writer leaves: all that it wrote, whether it was synced or not."""
    beside = (path, log_path(path), head_path(path))
    return {file.name: file.read_bytes() for file in beside if file.exists()}


def laid(folder: Path, image: Image) -> Path:
    """The image in a folder of its own."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in image.items():
        (folder / name).write_bytes(content)
    return folder / "journal.db"


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> list[Image]:
    """A journal after each of its commits, its log written back now and then."""
    folder = tmp_path_factory.mktemp("images")
    path, found = folder / "journal.db", []
    before, wal.PAGES = wal.PAGES, 40
    try:
        with opened(path) as store:
            for number in range(COMMITS):
                store.commit([stored_round(number, "ab"[number % 3 == 0])])
                if number % 4 == 0:
                    store.move_cursor(SINK, store.last_n)
                found.append(image_of(path))
    finally:
        wal.PAGES = before
    return found


def flipped(content: bytes, at: int, bit: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :]


Damage = Callable[[list[Image], random.Random], Image]


def _flip_in_log(images: list[Image], chance: random.Random) -> Image:
    image = dict(images[-1])
    content = image["journal.db-wal"]
    image["journal.db-wal"] = flipped(content, chance.randrange(len(content)), chance.randrange(8))
    return image


def _flip_in_first_frame(images: list[Image], chance: random.Random) -> Image:
    image = dict(images[-1])
    at = 32 + chance.randrange(FRAME_BYTES)
    image["journal.db-wal"] = flipped(image["journal.db-wal"], at, chance.randrange(8))
    return image


def _flip_in_header(images: list[Image], chance: random.Random) -> Image:
    image = dict(images[-1])
    at = chance.randrange(32)
    image["journal.db-wal"] = flipped(image["journal.db-wal"], at, chance.randrange(8))
    return image


def _log_deleted(images: list[Image], _: random.Random) -> Image:
    return {name: content for name, content in images[-1].items() if name != "journal.db-wal"}


def _log_cut(images: list[Image], chance: random.Random) -> Image:
    image = dict(images[-1])
    content = image["journal.db-wal"]
    image["journal.db-wal"] = content[: chance.randrange(len(content))]
    return image


def _log_zeroed(images: list[Image], chance: random.Random) -> Image:
    image = dict(images[-1])
    content = image["journal.db-wal"]
    at = chance.randrange(len(content))
    image["journal.db-wal"] = content[:at] + bytes(len(content) - at)
    return image


def _older(images: list[Image], chance: random.Random) -> Image:
    """An older journal with its log, beside the head file of now."""
    image = dict(images[chance.randrange(len(images) - 1)])
    return image | {"journal.db-head": images[-1]["journal.db-head"]}


def _older_without_log(images: list[Image], chance: random.Random) -> Image:
    image = _older(images, chance)
    return {name: content for name, content in image.items() if name != "journal.db-wal"}


def _older_with_log_of_now(images: list[Image], chance: random.Random) -> Image:
    return images[-1] | {"journal.db": images[chance.randrange(len(images) - 1)]["journal.db"]}


def _older_without_head(images: list[Image], chance: random.Random) -> Image:
    image = images[chance.randrange(len(images) - 1)]
    return {name: content for name, content in image.items() if name != "journal.db-head"}


def _flip_in_head_and_log_cut(images: list[Image], chance: random.Random) -> Image:
    image = _log_cut(images, chance)
    at = chance.randrange(len(image["journal.db-head"]))
    image["journal.db-head"] = flipped(image["journal.db-head"], at, chance.randrange(8))
    return image


def _head_cut_and_log_cut(images: list[Image], chance: random.Random) -> Image:
    image = _log_cut(images, chance)
    content = image["journal.db-head"]
    image["journal.db-head"] = content[: chance.randrange(len(content))]
    return image


DAMAGES: list[Damage] = [
    _flip_in_log,
    _flip_in_first_frame,
    _flip_in_header,
    _log_deleted,
    _log_cut,
    _log_zeroed,
    _older,
    _older_without_log,
    _older_with_log_of_now,
    _older_without_head,
    _flip_in_head_and_log_cut,
    _head_cut_and_log_cut,
]


def is_noticed(path: Path, last_n: int) -> bool:
    """Whether it is refused and left as it is; where it opens, nothing may be lost.

    Files that were put back are verified first, as a daemon does.
    """
    before = image_of(path)
    try:
        if not verified(path).ok:
            return True
        store = Store.open(path, head_needed=True)
    except JournalError:
        now = image_of(path)
        assert {name: now[name] for name in before} == before
        return True
    with closing(store):
        assert store.last_n == last_n, "records that were stored are gone on without"
    assert verified(path).ok
    return False


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__.strip("_"))
@pytest.mark.parametrize("times", [12, pytest.param(400, marks=pytest.mark.soak)])
def test_no_way_of_losing_the_newest_part_goes_unnoticed(
    images: list[Image], tmp_path: Path, damage: Damage, times: int, seed: int
) -> None:
    chance, noticed = random.Random(f"{seed} {damage.__name__}"), 0
    for _ in range(times):
        upto = chance.randrange(2, COMMITS + 1)
        spoilt = damage(images[:upto], chance)
        last_n = 4 * upto
        noticed += is_noticed(laid(tmp_path / "left", spoilt), last_n)
    assert noticed


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [12, pytest.param(1, marks=pytest.mark.exhaustive(cpu_s=2))])
@pytest.mark.parametrize("bit", [0, 7])
def test_one_bit_anywhere_in_any_frame_is_noticed_or_loses_nothing(
    images: list[Image], tmp_path: Path, bit: int, sparse: int
) -> None:
    image = images[-1]
    frames = (len(image["journal.db-wal"]) - 32) // FRAME_BYTES
    assert frames > 10
    for frame in range(0, frames, sparse):
        for offset in (1, 6, 10, 22, 24, FRAME_BYTES - 1):
            at = 32 + frame * FRAME_BYTES + offset
            spoilt = image | {"journal.db-wal": flipped(image["journal.db-wal"], at, bit)}
            is_noticed(laid(tmp_path / "left", spoilt), 4 * COMMITS)


def test_one_bit_anywhere_in_the_head_file_hides_no_lost_commit(
    images: list[Image], tmp_path: Path
) -> None:
    """The journal ends one commit or two earlier, and one slot of the head file is damaged."""
    for upto in (2, 3, 4, COMMITS):
        head = images[upto - 1]["journal.db-head"]
        for earlier in {max(0, upto - 2), max(0, upto - 3)}:
            for slot in range(0, len(head), head_file.SLOT_BYTES):
                for offset in (0, 15, 23, 27, 33, 300, head_file.SLOT_BYTES - 1):
                    spoilt = flipped(head, slot + offset, 0)
                    left = images[earlier] | {"journal.db-head": spoilt}
                    assert is_noticed(laid(tmp_path / "left", left), 4 * upto)


def test_a_head_file_that_was_cut_hides_no_lost_commit(images: list[Image], tmp_path: Path) -> None:
    """The journal ends one commit earlier, and the head file between two slots or in one."""
    for upto in (2, 3, 4, 5, 6, COMMITS - 1, COMMITS):
        head = images[upto - 1]["journal.db-head"]
        for slot in range(0, len(head), head_file.SLOT_BYTES):
            for cut in (slot, slot + 1):
                left = images[upto - 2] | {"journal.db-head": head[:cut]}
                assert is_noticed(laid(tmp_path / "left", left), 4 * upto)


def test_what_a_killed_writer_left_opens_without_a_doubt(
    images: list[Image], tmp_path: Path
) -> None:
    for number, image in enumerate(images, 1):
        with opened(laid(tmp_path / "left", image)) as store:
            assert store.last_n == 4 * number


def test_a_log_that_is_torn_where_it_was_not_synced_is_no_damage(
    images: list[Image], tmp_path: Path
) -> None:
    """Any frame of the last transaction may be missing, and its commit there: nobody was told."""
    frames: list[bytes] = []
    for place in range(COMMITS - 1):
        before, after = images[place], images[place + 1]
        grown = len(after["journal.db-wal"]) - len(before["journal.db-wal"])
        if before["journal.db"] != after["journal.db"] or grown < 2 * FRAME_BYTES:
            continue
        if (place + 1) % 4 == 0:  # a cursor was moved behind it, once it was synced
            continue
        end = len(before["journal.db-wal"])
        for frame in range(grown // FRAME_BYTES):
            at = end + frame * FRAME_BYTES
            log_left = after["journal.db-wal"]
            log_left = log_left[:at] + bytes(FRAME_BYTES) + log_left[at + FRAME_BYTES :]
            path = laid(tmp_path / "left", before | {"journal.db-wal": log_left})
            with opened(path) as store:
                assert store.last_n == 4 * (place + 1)
                store.commit([stored_round(place + 1)])
            with opened(path) as store:
                assert store.last_n == 4 * (place + 2)
            frames.append(log_left)
    assert frames


def test_a_torn_move_of_a_cursor_with_others_behind_it_is_no_damage(tmp_path: Path) -> None:
    """No move of a cursor is synced by itself: the power may take any of them, and leave others."""
    path = tmp_path / "journal.db"
    with opened(path) as store:
        store.commit([stored_round(0)])  # it is written back at once, as a journal's first
        store.commit([stored_round(1)])
        at = log_path(path).stat().st_size
        for n in (1, 2, 3):
            store.move_cursor(SINK, n)
        left = image_of(path)
    log_left = left["journal.db-wal"]
    assert len(log_left) == at + 3 * FRAME_BYTES
    torn = log_left[:at] + bytes(FRAME_BYTES) + log_left[at + FRAME_BYTES :]
    with opened(laid(tmp_path / "left", left | {"journal.db-wal": torn})) as store:
        assert store.last_n == 8


def test_what_was_torn_once_is_not_taken_for_damage_at_a_later_start(
    images: list[Image], tmp_path: Path
) -> None:
    """What stands behind the end is taken out: new frames before it would make it look stored."""
    place = next(
        p
        for p in range(COMMITS - 1)
        if images[p]["journal.db"] == images[p + 1]["journal.db"]
        and len(images[p + 1]["journal.db-wal"]) - len(images[p]["journal.db-wal"])
        >= 3 * FRAME_BYTES
    )
    before, torn = images[place], images[place + 1]["journal.db-wal"]
    at = len(before["journal.db-wal"])
    torn = torn[:at] + bytes(FRAME_BYTES) + torn[at + FRAME_BYTES :]
    path = laid(tmp_path / "left", before | {"journal.db-wal": torn})
    with opened(path) as store:
        assert log_path(path).stat().st_size == at
        store.move_cursor(SINK, store.last_n)
        again = image_of(path)
    with opened(laid(tmp_path / "again", again)) as store:
        assert store.last_n == 4 * (place + 1)


def test_a_log_that_was_begun_again_with_a_torn_header_is_no_damage(
    images: list[Image], tmp_path: Path
) -> None:
    """All of the old log is in the journal by then: nothing is lost with it."""
    path = laid(tmp_path / "left", images[-1])
    with opened(path) as store:
        connection = store._log
        connection.wal_checkpoint(mode=0)
        image = image_of(path)
    content = image["journal.db-wal"]
    for cut in (3, 13, 17, 22, 27):
        header = struct.pack(">3I", 0x377F0682, 3007000, 4096) + random.Random(cut).randbytes(20)
        image["journal.db-wal"] = header[:cut] + content[cut:]
        with opened(laid(tmp_path / "again", image)) as store:
            assert store.last_n == 4 * COMMITS


def given(number: int, epoch: str = "00000000", table: str = "a") -> list[DeliveredEvent]:
    last = f"{table}/p{number}"
    return [DeliveredEvent(SINK, source_of(epoch, table), Audience.PUBLIC, number, last)]


@pytest.mark.parametrize(
    ("number", "epoch", "table", "doubtful"),
    [(1, "00000000", "a", True), (0, "00000000", "a", False), (9, "11111111", "a", False),
     (9, "00000000", "c", False)],
)  # fmt: skip
def test_a_sink_that_was_given_more_shows_it(
    tmp_path: Path, number: int, epoch: str, table: str, doubtful: bool
) -> None:
    path = tmp_path / "journal.db"
    with opened(path) as store:
        group = stored_round(1, "a")
        group.append_meta("a", Meta(game=b"", settings={}, software="1", t_us=T_US))
        store.commit([group])
        public = store.head("a").counters.public
    told = given(public + number, epoch, table)
    if not doubtful:
        Store.open(path, given=lambda: told).close()
        return
    shown = f"was given event a/p{public + 1}, and a/p{public} is the last"
    with pytest.raises(PossibleLoss, match=shown):
        Store.open(path, given=lambda: told)
    assert verified(path).last_n == 5


def begun(path: Path, *epochs: str) -> None:
    """A journal whose table ``a`` told something under each of these epochs."""
    with opened(path) as store:
        for number, epoch in enumerate(epochs):
            group = Batch(epoch)
            group.append_meta(
                "a", Meta(game=b"", settings={}, software="1", t_us=T_US, epoch=epoch)
            )
            group.append_event(
                "a", Audience.PUBLIC, "round.card_dealt", t_us=T_US + number, subject=None, data={}
            )
            store.commit([group])


OF_A_LOST_RULING = r"given events of table a under epoch 0b0b0b0b, which the journal does not know"


@pytest.mark.parametrize("audience", list(Audience))
def test_a_sink_that_ends_in_an_unknown_epoch_shows_that_a_ruling_was_lost(
    tmp_path: Path, audience: Audience
) -> None:
    path = tmp_path / "journal.db"
    begun(path, "0a0a0a0a")
    last = DeliveredEvent(SINK, source_of("0b0b0b0b", "a"), audience, 1, f"a/{audience.value}1")
    with closing(Store.open(path, given=lambda: [last])) as store:  # it had nothing of this journal
        store.move_cursor(SINK, store.last_n)
    with pytest.raises(PossibleLoss, match=OF_A_LOST_RULING) as doubtful:
        Store.open(path, given=lambda: [last])
    assert ("a/r1" in str(doubtful.value)) is False
    before = msgspec.structs.replace(last, ends=False)
    Store.open(path, given=lambda: [before]).close()
    # What a person ruled on is not asked about again, where the sink was given nothing since.
    lost = tuple(doubt.what for doubt in doubtful.value.evidence)
    gone_on = LossRuling(epoch="0c0c0c0c", t_us=T_US, lost=lost, ruling=RULED)
    accepted = AcceptedLoss(doubtful.value.evidence, gone_on)
    Store.open(path, given=lambda: [last], accepted=accepted).close()
    Store.open(path, given=lambda: [last]).close()


def test_a_sink_that_ends_in_an_earlier_epoch_shows_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    begun(path, "0a0a0a0a", "0b0b0b0b")
    with opened(path) as store:
        store.move_cursor(SINK, store.last_n)
    told = given(9, "0a0a0a0a")
    Store.open(path, given=lambda: told).close()


def test_a_missing_head_file_is_a_doubt_where_it_is_needed(
    images: list[Image], tmp_path: Path
) -> None:
    path = laid(tmp_path / "left", images[-1])
    head_path(path).unlink()
    with pytest.raises(PossibleLoss, match=r"head file journal\.db-head is missing"):
        Store.open(path, head_needed=True)
    with opened(path) as store:
        assert store.last_n == 4 * COMMITS
    with closing(Store.open(path, head_needed=True)):
        pass


def test_the_head_file_is_never_ahead_and_goes_with_each_commit(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with opened(path) as store:
        for number in range(2 * head_file.SYNC_EVERY):
            store.commit([stored_round(number, "abc"[number % 3])])
            found = head_file.read_head_file(path)
            assert found is not None
            assert {t: (c.n, c.hash) for t, c in found.chains.items()} == store.ends()
            if store.is_head_file_due:
                store.sync_head_file()
                assert not store.is_head_file_due
    assert not was_replaced(path)


RULED = Ruling(person="Ines", position="gaming_shift_manager", reason="gone", consented_by="Kim")


def test_a_ruling_is_the_first_record_of_a_new_epoch(images: list[Image], tmp_path: Path) -> None:
    image = images[-1]
    path = laid(tmp_path / "left", image | {"journal.db-wal": image["journal.db-wal"][:9000]})
    with pytest.raises(PossibleLoss) as doubtful:
        Store.open(path)
    lost = tuple(doubt.what for doubt in doubtful.value.evidence)
    gone_on = LossRuling(epoch="0a1b2c3d", t_us=T_US, lost=lost, ruling=RULED)
    store = Store.open(path, accepted=AcceptedLoss(doubtful.value.evidence, gone_on))
    with closing(store):
        left = store.last_n - 1
        assert left < 4 * COMMITS
        with store.reader() as reader:
            assert current_epoch(reader, "a") == "0a1b2c3d"
            ruled_on = hashlib.sha256(image["journal.db-head"]).hexdigest()
            recorded = msgspec.structs.replace(gone_on, head_file=ruled_on)
            assert [(r.n, said) for r, said in rulings(reader)] == [(left + 1, recorded)]
            assert all(n <= left for _, n in reader.moment().cursors)
        store.commit([stored_round(99)])
    with opened(path) as store:
        assert store.last_n == left + 5
    assert verified(path).ok
    assert [r.kind for r in records(path)].count(Kind.META.value) == 1
    aside = path.with_name("journal.db-lost-0a1b2c3d-wal")
    assert aside.read_bytes() == image["journal.db-wal"][:9000]
    assert path.with_name("journal.db-lost-0a1b2c3d-head").read_bytes() == image["journal.db-head"]


def test_a_ruling_on_other_doubts_than_there_are_changes_nothing(
    images: list[Image], tmp_path: Path
) -> None:
    path = laid(tmp_path / "left", images[-1])
    head_path(path).unlink()
    with pytest.raises(PossibleLoss) as doubtful:
        Store.open(path, head_needed=True)
    head_path(path).write_bytes(images[-1]["journal.db-head"])
    gone_on = LossRuling(epoch="0a1b2c3d", t_us=T_US, lost=(), ruling=RULED)
    with pytest.raises(PossibleLoss):
        Store.open(path, accepted=AcceptedLoss(doubtful.value.evidence, gone_on))
    assert image_of(path) == images[-1]


def _accept_loss(path: Path, epoch: str) -> None:
    """A person rules on all that shows a loss; the daemon then ends."""
    with pytest.raises(PossibleLoss) as doubtful:
        Store.open(path)
    lost = tuple(doubt.what for doubt in doubtful.value.evidence)
    gone_on = LossRuling(epoch=epoch, t_us=T_US, lost=lost, ruling=RULED)
    Store.open(path, accepted=AcceptedLoss(doubtful.value.evidence, gone_on)).close()


def _without_table_a(images: list[Image]) -> Image:
    """An older copy that has table b alone; the head file knows both."""
    return images[0] | {"journal.db-head": images[-1]["journal.db-head"]}


def _without_log(images: list[Image]) -> Image:
    return {name: content for name, content in images[-1].items() if name != "journal.db-wal"}


LOST = [_without_table_a, _without_log]


@pytest.mark.parametrize("lost", LOST, ids=lambda lost: lost.__name__.strip("_"))
def test_a_ruling_is_asked_once_though_no_table_stores_anything_after_it(
    images: list[Image], tmp_path: Path, lost: Callable[[list[Image]], Image]
) -> None:
    path = laid(tmp_path / "left", lost(images))
    _accept_loss(path, "0a1b2c3d")
    assert verified(path).ok
    for _ in range(2):
        with closing(Store.open(path, head_needed=True)) as store:
            ends = store.ends()
        found = head_file.read_head_file(path)
        assert found is not None and found.unreadable == 0
        assert {name: (chain.n, chain.hash) for name, chain in found.chains.items()} == ends


@pytest.mark.parametrize("lost", LOST, ids=lambda lost: lost.__name__.strip("_"))
def test_a_ruling_is_asked_once_though_the_daemon_is_killed_before_the_head_file_is_begun_anew(
    images: list[Image],
    tmp_path: Path,
    lost: Callable[[list[Image]], Image],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = laid(tmp_path / "left", lost(images))
    with monkeypatch.context() as patch:
        patch.setattr(head_file, "begin_anew", _killed)
        with pytest.raises(KeyboardInterrupt):
            _accept_loss(path, "0a1b2c3d")
    assert head_path(path).read_bytes() == images[-1]["journal.db-head"]
    assert verified(path).ok
    Store.open(path, head_needed=True).close()
    Store.open(path, head_needed=True).close()
    assert verified(path).ok


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_copy_that_ends_with_a_ruling_is_noticed_once_more_was_stored(
    images: list[Image], tmp_path: Path
) -> None:
    path = laid(tmp_path / "left", _without_log(images))
    _accept_loss(path, "0a1b2c3d")
    ruled = image_of(path)
    with opened(path) as store:
        store.commit([stored_round(99)])
    newer = image_of(path)
    laid(tmp_path / "left", ruled | {"journal.db-head": newer["journal.db-head"]})
    with pytest.raises(PossibleLoss, match=r"(was|were) stored"):
        Store.open(path)


@pytest.fixture(autouse=True)
def _tidy(tmp_path: Path) -> Iterator[None]:
    yield
    shutil.rmtree(tmp_path, ignore_errors=True)
