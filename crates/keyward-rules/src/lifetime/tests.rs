use super::*;

const NOW: i64 = 1_000_000;
const MINUTE: Duration = Duration::from_ms(60_000);
const HOUR: Duration = Duration::from_ms(3_600_000);

/// What happens to a row, and the deadline that it must have then, relative to now.
struct Deed {
    name: &'static str,
    before: Option<Option<i64>>,
    now_has: Option<i64>,
    touched: Touched,
}

/// Deeds on a row that has 20 seconds to live.
fn deeds() -> Vec<Deed> {
    let living = Some(Some(NOW + 20_000));
    let deed = |name, before, now_has: Option<i64>, touched| Deed {
        name,
        before,
        now_has: now_has.map(|ms| NOW + ms),
        touched,
    };
    vec![
        deed("created", None, None, Touched::Subject),
        deed("created for 30s", None, Some(30_000), Touched::Subject),
        deed("created for 2h", None, Some(7_200_000), Touched::Subject),
        deed("replaced", living, None, Touched::Subject),
        deed("replaced for 30s", living, Some(30_000), Touched::Subject),
        deed("edited", living, Some(20_000), Touched::Content),
        deed("deciding value edited", living, Some(20_000), Touched::Subject),
        deed("left endless, edited", Some(None), None, Touched::Content),
        deed("EXPIRE 10s", living, Some(10_000), Touched::Lifetime),
        deed("EXPIRE 30s", living, Some(30_000), Touched::Lifetime),
        deed("EXPIRE 2h", living, Some(7_200_000), Touched::Lifetime),
        deed("PERSIST", living, None, Touched::Lifetime),
    ]
}

fn outcome(term: Term, deed: &Deed) -> String {
    let Deed { before, now_has, touched, .. } = *deed;
    match deadline_after(term, NOW, Situation { before, now_has, touched }) {
        Ok(None) => "endless".to_owned(),
        Ok(Some(end)) => Duration::from_ms((end - NOW).unsigned_abs()).to_string(),
        Err(LifetimeProblem::TooLong { .. }) => "too long".to_owned(),
        Err(LifetimeProblem::TooShort { .. }) => "too short".to_owned(),
        Err(problem) => format!("{problem:?}").to_lowercase(),
    }
}

fn check(term: Term, expected: &str) {
    let found: Vec<String> =
        deeds().iter().map(|deed| format!("{}: {}", deed.name, outcome(term, deed))).collect();
    let expected: Vec<&str> = expected.trim().lines().map(str::trim).collect();
    assert_eq!(found, expected, "{term:?}");
}

#[test]
fn renewed_up_to_never_shortens_and_has_a_last_moment() {
    check(
        Term::RenewedUpTo { after: MINUTE, total: HOUR, last: NOW + 40_000 },
        "
        created: 40s
        created for 30s: 30s
        created for 2h: too long
        replaced: 40s
        replaced for 30s: 30s
        edited: 40s
        deciding value edited: 40s
        left endless, edited: 40s
        EXPIRE 10s: 10s
        EXPIRE 30s: 30s
        EXPIRE 2h: too long
        PERSIST: immortal
        ",
    );
    let living = Situation {
        before: Some(Some(NOW + 90_000)),
        now_has: Some(NOW + 90_000),
        touched: Touched::Content,
    };
    let term = Term::RenewedUpTo { after: MINUTE, total: HOUR, last: NOW + 3_000_000 };
    assert_eq!(deadline_after(term, NOW, living), Ok(Some(NOW + 90_000)));
}

#[test]
fn a_birth_may_lie_ahead_by_no_more_than_a_renewal() {
    let created = Situation { before: None, now_has: None, touched: Touched::Subject };
    let of = |birth_ms: i64| Term::RenewedUpTo {
        after: MINUTE,
        total: HOUR,
        last: end_of(HOUR, NOW + birth_ms),
    };
    assert_eq!(deadline_after(of(60_000), NOW, created), Ok(Some(NOW + 60_000)));
    assert_eq!(deadline_after(of(60_001), NOW, created), Err(LifetimeProblem::Unborn));
    let end = Some(NOW + 20_000);
    let used = Situation { before: Some(end), now_has: end, touched: Touched::Content };
    assert_eq!(deadline_after(of(60_001), NOW, used), Ok(Some(NOW + 60_000)));
    let persisted = Situation { before: Some(end), now_has: None, touched: Touched::Lifetime };
    assert_eq!(deadline_after(of(60_001), NOW, persisted), Err(LifetimeProblem::Immortal));
}

#[test]
fn free_is_as_in_redis() {
    check(
        Term::Free,
        "created: endless
         created for 30s: 30s
         created for 2h: 2h
         replaced: endless
         replaced for 30s: 30s
         edited: 20s
         deciding value edited: 20s
         left endless, edited: endless
         EXPIRE 10s: 10s
         EXPIRE 30s: 30s
         EXPIRE 2h: 2h
         PERSIST: endless",
    );
}

#[test]
fn forever_takes_no_lifetime() {
    check(
        Term::Forever,
        "created: endless
         created for 30s: mortal
         created for 2h: mortal
         replaced: endless
         replaced for 30s: mortal
         edited: endless
         deciding value edited: endless
         left endless, edited: endless
         EXPIRE 10s: mortal
         EXPIRE 30s: mortal
         EXPIRE 2h: mortal
         PERSIST: endless",
    );
}

#[test]
fn within_gives_a_lifetime_and_bounds_it() {
    check(
        Term::Within { after: MINUTE, excess: Excess::Refuse },
        "created: 1m
         created for 30s: 30s
         created for 2h: too long
         replaced: 1m
         replaced for 30s: 30s
         edited: 20s
         deciding value edited: 1m
         left endless, edited: 1m
         EXPIRE 10s: 10s
         EXPIRE 30s: 30s
         EXPIRE 2h: too long
         PERSIST: immortal",
    );
}

#[test]
fn within_can_shorten_instead_of_refusing() {
    check(
        Term::Within { after: MINUTE, excess: Excess::Clamp },
        "created: 1m
         created for 30s: 30s
         created for 2h: 1m
         replaced: 1m
         replaced for 30s: 30s
         edited: 20s
         deciding value edited: 1m
         left endless, edited: 1m
         EXPIRE 10s: 10s
         EXPIRE 30s: 30s
         EXPIRE 2h: 1m
         PERSIST: immortal",
    );
}

#[test]
fn a_window_ends_when_it_was_to_end() {
    check(
        Term::Window { after: MINUTE },
        "created: 1m
         created for 30s: 30s
         created for 2h: too long
         replaced: 20s
         replaced for 30s: 20s
         edited: 20s
         deciding value edited: 20s
         left endless, edited: 1m
         EXPIRE 10s: 10s
         EXPIRE 30s: 20s
         EXPIRE 2h: 20s
         PERSIST: immortal",
    );
}

#[test]
fn each_write_renews() {
    check(
        Term::Renewed { after: MINUTE },
        "created: 1m
         created for 30s: 30s
         created for 2h: too long
         replaced: 1m
         replaced for 30s: 30s
         edited: 1m
         deciding value edited: 1m
         left endless, edited: 1m
         EXPIRE 10s: 10s
         EXPIRE 30s: 30s
         EXPIRE 2h: too long
         PERSIST: immortal",
    );
}

#[test]
fn the_time_can_be_set_elsewhere() {
    check(
        Term::At(Some(NOW + 30_400)),
        "created: 30s400ms
         created for 30s: 30s400ms
         created for 2h: elsewhere
         replaced: 30s400ms
         replaced for 30s: 30s400ms
         edited: 30s400ms
         deciding value edited: 30s400ms
         left endless, edited: 30s400ms
         EXPIRE 10s: elsewhere
         EXPIRE 30s: 30s400ms
         EXPIRE 2h: elsewhere
         PERSIST: elsewhere",
    );
    check(
        Term::At(None),
        "created: endless
         created for 30s: elsewhere
         created for 2h: elsewhere
         replaced: endless
         replaced for 30s: elsewhere
         edited: endless
         deciding value edited: endless
         left endless, edited: endless
         EXPIRE 10s: elsewhere
         EXPIRE 30s: elsewhere
         EXPIRE 2h: elsewhere
         PERSIST: endless",
    );
}

#[test]
fn the_writer_says_within_bounds() {
    let given = |min, max, default| Term::Given { min, max, default, excess: Excess::Refuse };
    check(
        given(Some(Duration::from_ms(15_000)), Some(HOUR), Some(MINUTE)),
        "created: 1m
         created for 30s: 30s
         created for 2h: too long
         replaced: 1m
         replaced for 30s: 30s
         edited: 20s
         deciding value edited: 20s
         left endless, edited: 1m
         EXPIRE 10s: too short
         EXPIRE 30s: 30s
         EXPIRE 2h: too long
         PERSIST: immortal",
    );
    check(
        given(None, Some(HOUR), None),
        "created: unsaid
         created for 30s: 30s
         created for 2h: too long
         replaced: unsaid
         replaced for 30s: 30s
         edited: 20s
         deciding value edited: 20s
         left endless, edited: unsaid
         EXPIRE 10s: 10s
         EXPIRE 30s: 30s
         EXPIRE 2h: too long
         PERSIST: immortal",
    );
    // Whoever says nothing gets an end, so nobody takes it away.
    check(
        given(None, None, Some(MINUTE)),
        "created: 1m
         created for 30s: 30s
         created for 2h: 2h
         replaced: 1m
         replaced for 30s: 30s
         edited: 20s
         deciding value edited: 20s
         left endless, edited: 1m
         EXPIRE 10s: 10s
         EXPIRE 30s: 30s
         EXPIRE 2h: 2h
         PERSIST: immortal",
    );
    check(
        given(None, None, None),
        "created: endless
         created for 30s: 30s
         created for 2h: 2h
         replaced: endless
         replaced for 30s: 30s
         edited: 20s
         deciding value edited: 20s
         left endless, edited: endless
         EXPIRE 10s: 10s
         EXPIRE 30s: 30s
         EXPIRE 2h: 2h
         PERSIST: endless",
    );
}

#[test]
fn a_time_in_the_past_is_an_answer() {
    let situation = Situation { before: None, now_has: None, touched: Touched::Subject };
    assert_eq!(deadline_after(Term::At(Some(5)), NOW, situation), Ok(Some(5)));
    let past = Situation { now_has: Some(5), ..situation };
    let term = Term::Given { min: Some(HOUR), max: None, default: None, excess: Excess::Refuse };
    assert_eq!(deadline_after(term, NOW, past), Ok(Some(5)));
}

#[test]
fn who_asks_again_for_a_deadline_that_the_row_may_not_have_is_told_the_same() {
    let end = Some(NOW + 60_000);
    for term in [Term::Forever, Term::At(end), Term::With { leader: end, end }] {
        let has = Some(NOW + 20_000);
        let asked = |before| {
            let touched = Touched::Lifetime;
            deadline_after(term, NOW, Situation { before: Some(before), now_has: has, touched })
        };
        assert!(asked(None).is_err(), "{term:?}");
        assert_eq!(asked(has), asked(None), "{term:?}");
        // A row as it stands is to have what the schema says.
        let stands = Situation { before: Some(has), now_has: has, touched: Touched::Nothing };
        let expected = if term == Term::Forever { None } else { end };
        assert_eq!(deadline_after(term, NOW, stands), Ok(expected), "{term:?}");
    }
}
