//! The nearest of some words to a misspelt one.

/// The candidate that most likely was meant: at most a third of its letters
/// differ.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    const MAX_WORD: usize = 64;
    if word.len() > MAX_WORD {
        return None;
    }
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= MAX_WORD)
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance * 3 <= candidate.chars().count().max(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours, without case.
fn distance(left: &str, right: &str) -> usize {
    let letters = |word: &str| word.to_lowercase().chars().collect::<Vec<_>>();
    let (left, right) = (letters(left), letters(right));
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in right.iter().enumerate() {
            let mut cost = (last[j] + usize::from(a != b)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b {
                cost = cost.min(before[j - 1] + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant() {
        let check = |word, expected| {
            assert_eq!(
                nearest(word, ["max_len", "max_members", "ttl", "type", "items"]),
                expected,
                "{word}"
            );
        };
        check("maxlen", Some("max_len"));
        check("tll", Some("ttl"));
        check("TTL", Some("ttl"));
        check("itmes", Some("items"));
        check("colour", None);
        check("", None);
    }
}
