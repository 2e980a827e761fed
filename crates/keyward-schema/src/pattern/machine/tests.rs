use super::*;
use std::sync::LazyLock;

use crate::pattern::TextKind;
use proptest::prelude::*;

fn kinds() -> Vec<Kind> {
    let text = |inner| Kind::Text(TextKind::parse(inner).expect(inner));
    let words = ["a", "ab", "b-1"].map(Box::from);
    Kind::NAMES
        .iter()
        .map(|name| Kind::named(name).expect("a kind"))
        .chain([text("4"), text("a-f1"), text("a-z_-, 3"), Kind::Enum(words.into())])
        .collect()
}

fn accepts(machine: &Machine, alphabet: &Alphabet, value: impl Iterator<Item = u8>) -> bool {
    let mut state = 0;
    for byte in value {
        match machine.next(state, alphabet.class(byte)) {
            Some(next) => state = next,
            None => return false,
        }
    }
    machine.accepting[state as usize]
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        "[-a-c0-2_:.]{0,6}".prop_map(String::into_bytes),
        "-?[09][0-9]{0,20}".prop_map(String::into_bytes),
        "-?92233720368547758[0-9]{1,3}".prop_map(String::into_bytes),
        "[0-2][0-9]{3}-[01][0-9](-[0-3][0-9])?".prop_map(String::into_bytes),
        "(1900|2000|2024|2025)-(02|04|12)-(28|29|30|31|32|00)".prop_map(String::into_bytes),
        "[0-9a-fg]{8}(-[0-9A-F]{4}){3}-[0-9a-f]{12}".prop_map(String::into_bytes),
        "[0-8][0-9A-HJKMNP-TV-Zuo]{24,26}".prop_map(String::into_bytes),
        "(0|1|25[0-9]|[0-9]{1,3})(\\.([0-9]|1[0-9]|2[0-9]{2})){2,4}".prop_map(String::into_bytes),
        "::?([0-9a-f]{1,5}:){0,8}(:?[0-9a-f]{1,4})?".prop_map(String::into_bytes),
        "([0-9a-f]{1,4}:){0,8}:?([0-9a-f]{1,4}:){0,7}([0-9a-f]{1,4}|1\\.2\\.3\\.4)?"
            .prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..6),
    ]
}

/// A kind with its machine and the reversed one.
type Machines = (Kind, Machine, Machine);

static MACHINES: LazyLock<(Alphabet, Vec<Machines>)> = LazyLock::new(|| {
    let kinds = kinds();
    let alphabet = Alphabet::of(std::iter::empty(), kinds.iter());
    let machines = kinds.into_iter().map(|kind| {
        let machine = Machine::of(&kind, &alphabet, &Steps::default()).expect("few steps");
        let reversed = machine.reversed(&Steps::default()).expect("few steps");
        (kind, machine, reversed)
    });
    let machines = machines.collect();
    (alphabet, machines)
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn machines_accept_what_kinds_do_from_either_end(value in value()) {
        let (alphabet, machines) = &*MACHINES;
        for (kind, machine, reversed) in machines {
            let expected = kind.accepts(&value);
            let read = accepts(machine, alphabet, value.iter().copied());
            prop_assert_eq!(read, expected, "{}", kind);
            let read = accepts(reversed, alphabet, value.iter().rev().copied());
            prop_assert_eq!(read, expected, "{} reversed", kind);
        }
    }
}

#[test]
fn machines_are_small() {
    for (kind, machine, reversed) in &MACHINES.1 {
        let (own, reversed) = (machine.accepting.len(), reversed.accepting.len());
        assert!(own <= 400 && reversed <= 400, "{kind}: {own} states, {reversed} reversed");
    }
}
