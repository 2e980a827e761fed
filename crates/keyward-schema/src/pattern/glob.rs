//! A pattern as a glob of Redis, and which other keys that admits.
//!
//! Redis's globs know no segments: a star takes colons too. Owns the glob that admits every
//! key of a pattern, and the exact answer to which keys of another one it admits besides, by
//! the product of both automata; and how a pattern of the schema is written in a rule.
//! Invariant: neither has a byte that ends a rule in a file of users (white space, zero).

use super::machine::{Alphabet, Machine, explore};
use super::product::{Order, Product};
use super::reading::Reading;
use super::steps::{Steps, TooLarge};
use super::{Element, Pattern};

/// An element of a glob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Byte(u8),
    /// Any byte: stands for one that a rule cannot hold.
    Any,
    Star,
}

/// Where in the text of a pattern one is.
#[derive(Clone, Copy)]
enum Part {
    Literal,
    /// In the name of a placeholder.
    Name,
    /// Behind it.
    Kind,
}

/// Whether a byte would end a rule of ACL.
fn ends_rule(byte: u8) -> bool {
    matches!(byte, 0 | b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

impl Pattern {
    /// The glob that admits all keys of this pattern, and as few others as it can.
    pub fn glob(&self) -> String {
        let mut glob = String::new();
        for element in &self.elements {
            match element {
                Element::Placeholder(_) => glob.push('*'),
                Element::Literal(text) => {
                    for letter in text.chars() {
                        if u8::try_from(letter).is_ok_and(ends_rule) {
                            glob.push('?');
                            continue;
                        }
                        if matches!(letter, '*' | '?' | '[' | ']' | '\\') {
                            glob.push('\\');
                        }
                        glob.push(letter);
                    }
                }
            }
        }
        glob
    }

    /// The pattern as a rule names it: without the spaces in its placeholders, which mean
    /// nothing there. `None` if it cannot be written without white space.
    pub fn in_rule(&self) -> Option<String> {
        let text = Pattern::without_spaces(&self.text);
        let is_same = |other: Pattern| {
            (&other.elements, &other.placeholders) == (&self.elements, &self.placeholders)
        };
        let is_same = Pattern::parse(&text).is_ok_and(is_same);
        (is_same && !text.bytes().any(ends_rule)).then_some(text)
    }

    /// Whether two texts of patterns differ in the names of placeholders and in spaces within
    /// them that mean nothing at most: they have the same keys then. Allocates nothing.
    pub fn is_same_form(one: &[u8], other: &[u8]) -> bool {
        Pattern::form(one).eq(Pattern::form(other))
    }

    /// The text of a pattern without the names of placeholders and the spaces beside marks within
    /// them, where words do not have any; two bytes that no text has stand where a placeholder begins and ends.
    pub fn form(text: &[u8]) -> impl Iterator<Item = u8> {
        const BEGIN: u8 = 0xff;
        const END: u8 = 0xfe;
        let (mut at, mut part) = (0, Part::Literal);
        std::iter::from_fn(move || {
            loop {
                let byte = *text.get(at)?;
                at += 1;
                match (part, byte) {
                    // Two of them stand for one.
                    (Part::Literal, b'{' | b'}') if text.get(at) == Some(&byte) => {
                        at += 1;
                        return Some(byte);
                    }
                    (Part::Literal, b'{') => {
                        part = Part::Name;
                        return Some(BEGIN);
                    }
                    (Part::Literal, _) => return Some(byte),
                    (Part::Name | Part::Kind, b'}') => {
                        part = Part::Literal;
                        return Some(END);
                    }
                    (Part::Name, b':') => part = Part::Kind,
                    (Part::Name, _) => {}
                    (Part::Kind, b' ') if is_beside_mark(text, at - 1) => {}
                    (Part::Kind, _) => return Some(byte),
                }
            }
        })
    }

    /// The text of a pattern without the spaces in its placeholders.
    pub fn without_spaces(text: &str) -> String {
        let mut is_within = false;
        text.chars()
            .filter(|letter| {
                is_within = (is_within || *letter == '{') && *letter != '}';
                !(is_within && *letter == ' ')
            })
            .collect()
    }

    /// Keys of another pattern that the glob of this one admits: one that this pattern reads
    /// too and one that it does not, as far as there are such. If that is too hard to tell,
    /// the other pattern's text stands for a key.
    pub fn glob_admits(&self, other: &Pattern) -> Vec<Vec<u8>> {
        let (alphabet, steps) = (Product::alphabet(&[self, other]), Steps::default());
        let readings = || {
            Ok(vec![
                Reading { left: self.glob_machine(&alphabet, &steps)?, right: None },
                Reading::of(other, &alphabet, &steps)?,
                Reading::of(self, &alphabet, &steps)?,
            ])
        };
        let mut admitted = Vec::new();
        let searched = readings().and_then(|readings| {
            Product::of_readings(readings, alphabet).search(
                Order::Shortest,
                &steps,
                |may_accept| may_accept[0] && may_accept[1],
                |_, key| {
                    admitted.push(key);
                    admitted.len() < 2
                },
            )
        });
        if searched.is_err() && admitted.is_empty() {
            admitted.push(other.text().as_bytes().to_vec());
        }
        admitted
    }

    /// The glob as an automaton (subset construction): a state is where in it one may be.
    fn glob_machine(&self, alphabet: &Alphabet, steps: &Steps) -> Result<Machine, TooLarge> {
        let tokens: Vec<Token> = self
            .elements
            .iter()
            .flat_map(|element| match element {
                Element::Placeholder(_) => vec![Token::Star],
                Element::Literal(text) => text
                    .bytes()
                    .map(|byte| if ends_rule(byte) { Token::Any } else { Token::Byte(byte) })
                    .collect(),
            })
            .collect();
        // Behind a star one may be as well without having read anything.
        let spread = |mut places: Vec<u16>| {
            let mut at = 0;
            while at < places.len() {
                let place = places[at];
                if tokens.get(usize::from(place)) == Some(&Token::Star)
                    && !places.contains(&(place + 1))
                {
                    places.push(place + 1);
                }
                at += 1;
            }
            places.sort_unstable();
            places
        };
        let step = |places: &Vec<u16>, class: usize| {
            let byte = alphabet.samples()[class];
            let mut next = Vec::new();
            for &place in places {
                let after = match tokens.get(usize::from(place)) {
                    Some(Token::Star) => place,
                    Some(Token::Byte(own)) if *own == byte => place + 1,
                    Some(Token::Any) => place + 1,
                    _ => continue,
                };
                if !next.contains(&after) {
                    next.push(after);
                }
            }
            (!next.is_empty()).then(|| spread(next))
        };
        let end = tokens.len() as u16;
        let is_end = |places: &Vec<u16>| places.contains(&end);
        explore(steps, spread(vec![0]), is_end, step, alphabet.samples().len())
    }
}

/// Whether a space stands before or behind a mark, with nothing but spaces between them.
fn is_beside_mark(text: &[u8], at: usize) -> bool {
    let is_mark = |byte: Option<&u8>| byte.is_none_or(|byte| b"{}:|,()".contains(byte));
    let (before, behind) = text.split_at(at);
    is_mark(before.iter().rev().find(|byte| **byte != b' '))
        || is_mark(behind.iter().find(|byte| **byte != b' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(of: &str, other: &str, expected: &[&str]) {
        let pattern = |text| Pattern::parse(text).expect("a pattern");
        let admitted = pattern(of).glob_admits(&pattern(other));
        let admitted: Vec<_> = admitted.iter().map(|key| String::from_utf8_lossy(key)).collect();
        assert_eq!(admitted, expected, "{of} and {other}");
        for key in expected {
            assert!(pattern(other).accepts(key.as_bytes()), "{key} is no key of {other}");
        }
    }

    #[test]
    fn names_and_spaces_of_placeholders_are_not_part_of_a_form() {
        let check = |one: &str, other: &str, expected: bool| {
            let is_same = Pattern::is_same_form(one.as_bytes(), other.as_bytes());
            assert_eq!(is_same, expected, "{one} {other}");
        };
        check("user:{id:uint}", "user:{user_id:uint}", true);
        check("user:{id}", "user:{name}", true);
        check("tok:{t:text(a-z0-9, 32)}", "tok:{token:text(a-z0-9,32)}", true);
        check("{{{t}}}:a", "{{{u}}}:a", true);
        check("x:{w:ab | cd}", "x:{w: ab|cd }", true);
        check("x:{w:ab|cd}", "x:{w:a b|c d}", false);
        check("user:{id:uint}", "user:{id:uuid}", false);
        check("user:{id:uint}", "user:{id}", false);
        check("user:{id}", "usr:{id}", false);
        check("a:{b}", "a:{{b}}", false);
        check("a:{b}", "a:{b}:c", false);
        check("a:{w:x|y}", "a:{w:y|x}", false);
        check("a:{{}}", "a:{b}", false);
    }

    #[test]
    fn a_glob_crosses_colons() {
        check("user:{id}", "user:{id}:followers", &["user:x:followers"]);
        check("user:{id}:followers", "user:{id}", &[]);
        check("user:{id}:followers", "user:{id:int}", &[]);
        check("user:{id}", "order:{id}", &[]);
        check("u:{id}", "user:{id}", &[]);
        check("a:{x}:b", "a:{x}:{y}:b", &["a:x:x:b"]);
        check("a:{x:int}", "a:list", &["a:list"]);
        check("{a}", "anything", &["anything"]);
        check("a:b", "a:{x}", &["a:b"]);
        check("a:{x:int}", "a:{x}", &["a:x", "a:0"]);
    }

    #[test]
    fn what_a_glob_would_read_as_more_than_itself_is_escaped() {
        let glob = |text| Pattern::parse(text).expect("a pattern").glob();
        assert_eq!(glob("user:{id}:views"), "user:*:views");
        assert_eq!(glob("a*b?[c]:{id:int}"), "a\\*b\\?\\[c\\]:*");
    }

    #[test]
    fn what_a_rule_cannot_hold_is_any_byte_of_a_glob() {
        let pattern = |text| Pattern::parse(text).expect("a pattern");
        assert_eq!(pattern("a b\t{id:uint}\nc").glob(), "a?b?*?c");
        check("a {id:uint}", "a-{id:uint}", &["a-0"]);
        check("a {id:uint}", "a:{id:uint}", &["a:0"]);
        check("a {id:uint}", "b:{id:uint}", &[]);
    }

    #[test]
    fn a_pattern_in_a_rule_has_no_spaces() {
        let in_rule = |text| Pattern::parse(text).expect("a pattern").in_rule();
        let same = |text: &str| Some(text.to_owned());
        assert_eq!(in_rule("user:{id:uint}"), same("user:{id:uint}"));
        assert_eq!(in_rule("tok:{t:text(a-z0-9, 32)}"), same("tok:{t:text(a-z0-9,32)}"));
        assert_eq!(in_rule("{k:a | b}:x"), same("{k:a|b}:x"));
        assert_eq!(in_rule("mark of {day:date}"), None);
        assert_eq!(in_rule("a\n{day:date}"), None);
    }
}
