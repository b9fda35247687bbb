"""What is written is what is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinepy import Revision
from kinepy.log.retention import Ledger, Tally, needed_floor, retention_target
from kinepy.retention import BadRetention, Retention, parse_policy, parse_rules, rule_for

revisions = st.integers(1, 10_000).map(Revision)
maybe = st.none() | revisions


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("1h", Retention(keep_s=3600)),
        ("1.5m", Retention(keep_s=90)),
        ("100000", Retention(keep_changes=100_000)),
        ("512MiB", Retention(bytes_max=512 * 1024 * 1024)),
        ("7d,1000,1GiB", Retention(keep_s=604_800, keep_changes=1000, bytes_max=1024**3)),
        ("last", Retention(keep_s=10)),
        ("forever", Retention(forever=True)),
    ],
)
def test_a_policy_says_what_it_keeps(text: str, policy: Retention) -> None:
    assert parse_policy(text) == policy


@pytest.mark.parametrize("text", ["", "1 h", "-5", "1h,", "512MB", "last,1h", "1w", "١"])
def test_what_is_no_policy_is_refused_with_how_to_write_one(text: str) -> None:
    with pytest.raises(BadRetention, match="write an age"):
        parse_policy(text)


def test_the_longest_prefix_rules() -> None:
    rules = parse_rules(["/a/=1h", "/a/b=c/=last", "7d"], default=Retention(keep_changes=1))
    assert rules[b""] == Retention(keep_s=604_800)
    assert rule_for(rules, b"/a/b=c/d") == Retention(keep_s=10)
    assert rule_for(rules, b"/a/x") == Retention(keep_s=3600)
    assert rule_for(rules, b"/b") == rules[b""]


@given(st.integers(0, 9999), st.booleans(), revisions, revisions, maybe, maybe, maybe)
def test_no_rule_takes_what_it_keeps(
    keep: int,
    sized: bool,
    floor: Revision,
    current: Revision,
    old: Revision | None,
    spare: Revision | None,
    large: Revision | None,
) -> None:
    rule = Retention(keep_s=1.0, keep_changes=keep, bytes_max=1 if sized else None)
    target = retention_target(
        rule, floor=floor, current=current, newest_old=old, newest_spare=spare, newest_large=large
    )
    assert target >= floor
    if target > floor:
        kept = min(old or 0, spare or 0)
        assert target <= current and target <= max(kept, (large or 0) if sized else 0)


@given(revisions, revisions, maybe, maybe, maybe)
def test_for_ever_is_for_ever(
    floor: Revision, current: Revision, old: Revision | None, spare: Revision | None, large: Revision | None
) -> None:
    rule = Retention(forever=True)
    target = retention_target(
        rule, floor=floor, current=current, newest_old=old, newest_spare=spare, newest_large=large
    )
    assert target == floor


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 100)), max_size=20), st.integers(0, 60))
def test_a_ledger_cuts_where_enough_is_kept_and_not_too_much(
    counts: list[tuple[int, int]], bound: int
) -> None:
    ledger = Ledger(Revision(0))
    for position, (changes, size) in enumerate(counts, start=1):
        ledger.add(Tally(Revision(position), changes, size))
    spare, large = ledger.after_changes(bound), ledger.within_bytes(bound)
    assert sum(changes for changes, _ in counts[spare:]) >= bound or spare == 0
    assert sum(size for _, size in counts[large:]) <= bound
    if large:
        assert sum(size for _, size in counts[large - 1 :]) > bound


def test_what_is_below_the_floor_does_not_count() -> None:
    ledger = Ledger(Revision(0))
    for upto in (10, 20, 30):
        ledger.add(Tally(Revision(upto), 1, 100))
    ledger.forget(Revision(20))
    assert ledger.within_bytes(100) == 0 and ledger.within_bytes(99) == 30


@given(revisions, revisions, maybe)
def test_a_floor_moves_only_over_what_was_superseded(
    floor: Revision, target: Revision, superseding: Revision | None
) -> None:
    needed = needed_floor(floor=floor, target=target, superseding=superseding)
    assert needed >= floor
    if needed > floor:
        assert superseding is not None and needed <= min(target, superseding + 1)
