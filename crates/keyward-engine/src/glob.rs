//! Glob patterns as KEYS, SCAN, PSUBSCRIBE and CONFIG GET take them.
//!
//! Owns matching: `*`, `?`, `[a-z]`, `[^a]`, `\`. No recursion and no allocation;
//! at worst pattern times text steps. Odd behaviour of Redis 7.0 that is kept:
//! an empty text matches only an empty pattern, `[` without `]` ends with the
//! pattern, and ranges compare bytes as signed.

/// Whether upper and lower case are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// `A` is not `a`.
    Sensitive,
    /// `A` is `a`.
    Insensitive,
}

/// What every text that matches begins with.
pub fn literal_prefix(pattern: &[u8]) -> &[u8] {
    let special = |byte: &u8| matches!(byte, b'*' | b'?' | b'[' | b'\\');
    &pattern[..pattern.iter().position(special).unwrap_or(pattern.len())]
}

/// Whether the whole text matches the pattern.
pub fn matches(pattern: &[u8], text: &[u8], case: Case) -> bool {
    if text.is_empty() {
        return pattern.is_empty();
    }
    let (mut p, mut t) = (0, 0);
    // Where to go on when the last star has to take one more byte.
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&b'*') {
            retry = Some((p + 1, t + 1));
            p += 1;
        } else if let Some(next) = step(&pattern[p..], text[t], case) {
            p += next;
            t += 1;
        } else if let Some((star, from)) = retry {
            (p, t) = (star, from);
            retry = Some((star, from + 1));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// Matches one byte with the pattern's next element, which is not a star;
/// returns the element's length.
fn step(pattern: &[u8], byte: u8, case: Case) -> Option<usize> {
    let same = |a: u8| match case {
        Case::Sensitive => a == byte,
        Case::Insensitive => a.eq_ignore_ascii_case(&byte),
    };
    match pattern {
        [] => None,
        [b'?', ..] => Some(1),
        [b'[', class @ ..] => class_len(class, byte, case).map(|len| len + 1),
        [b'\\', escaped, ..] => same(*escaped).then_some(2),
        [literal, ..] => same(*literal).then_some(1),
    }
}

/// Matches a byte with a class (the pattern after `[`); returns its length with `]`.
fn class_len(class: &[u8], byte: u8, case: Case) -> Option<usize> {
    let is_negated = class.first() == Some(&b'^');
    let mut at = usize::from(is_negated);
    let mut is_in = false;
    loop {
        match &class[at..] {
            [] => break,
            [b'\\', escaped, ..] => {
                is_in |= *escaped == byte;
                at += 2;
            }
            [b']', ..] => {
                at += 1;
                break;
            }
            [from, b'-', to, ..] => {
                is_in |= in_range(*from, *to, byte, case);
                at += 3;
            }
            [one, ..] => {
                is_in |= match case {
                    Case::Sensitive => *one == byte,
                    Case::Insensitive => one.eq_ignore_ascii_case(&byte),
                };
                at += 1;
            }
        }
    }
    (is_in != is_negated).then_some(at)
}

fn in_range(from: u8, to: u8, byte: u8, case: Case) -> bool {
    let fold = |b: u8| match case {
        Case::Sensitive => b as i8,
        Case::Insensitive => b.to_ascii_lowercase() as i8,
    };
    let (low, high) = ((from as i8).min(to as i8) as u8, (from as i8).max(to as i8) as u8);
    (fold(low)..=fold(high)).contains(&fold(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_redis() {
        let yes = [
            ("*", "a"),
            ("h?llo", "hello"),
            ("h*llo", "hllo"),
            ("h*llo", "heeeello"),
            ("h[ae]llo", "hallo"),
            ("h[^e]llo", "hbllo"),
            ("h[a-c]llo", "hbllo"),
            ("h[c-a]llo", "hbllo"),
            ("\\*", "*"),
            ("a\\", "a\\"),
            ("*a*b*c", "xxaxxbxxc"),
            ("[abc", "b"),
            ("[\\]]", "]"),
            ("a**", "a"),
            ("", ""),
            ("a*", "a"),
        ];
        for (pattern, text) in yes {
            assert!(
                matches(pattern.as_bytes(), text.as_bytes(), Case::Sensitive),
                "{pattern} {text}"
            );
        }
        let no = [
            ("*", ""),
            ("h?llo", "hllo"),
            ("h[^e]llo", "hello"),
            ("a", "b"),
            ("a", "ab"),
            ("ab", "a"),
            ("*b", "a"),
            ("[a-c]", "d"),
            ("A", "a"),
            ("[]", "]"),
        ];
        for (pattern, text) in no {
            assert!(
                !matches(pattern.as_bytes(), text.as_bytes(), Case::Sensitive),
                "{pattern} {text}"
            );
        }
        assert!(matches(b"MAX*", b"maxmemory", Case::Insensitive));
    }

    #[test]
    fn many_stars_do_not_explode() {
        let pattern = "a*".repeat(50) + "b";
        assert!(!matches(pattern.as_bytes(), &[b'a'; 2000], Case::Sensitive));
    }
}
