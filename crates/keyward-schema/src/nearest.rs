//! The nearest of some words to a misspelt one.

/// The longest word that is compared, in letters.
const MAX_LETTERS: usize = 64;

/// How many candidates are looked at. All comparisons of a file with as many
/// findings as are kept then take about a second at the worst.
const MAX_CANDIDATES: usize = 256;

/// The candidate that most likely was meant: at most a third of its letters
/// differ.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word = Letters::of(word)?;
    let mut best: Option<(usize, &'a str)> = None;
    for candidate in candidates.into_iter().take(MAX_CANDIDATES) {
        let Some(letters) = Letters::of(candidate) else { continue };
        let allowed = letters.count.max(3) / 3;
        // Only something nearer than the best so far is of interest.
        let limit = best.map_or(allowed, |(distance, _)| allowed.min(distance.saturating_sub(1)));
        if best.is_some_and(|(distance, _)| distance == 0) {
            break;
        }
        if let Some(distance) = word.distance(&letters, limit) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// A word without case.
struct Letters {
    letters: [char; MAX_LETTERS],
    count: usize,
}

impl Letters {
    /// `None` if it is too long.
    fn of(word: &str) -> Option<Letters> {
        let mut letters = ['\0'; MAX_LETTERS];
        let mut count = 0;
        for letter in word.chars().flat_map(char::to_lowercase) {
            *letters.get_mut(count)? = letter;
            count += 1;
        }
        Some(Letters { letters, count })
    }

    /// Insertions, deletions, replacements and swaps of neighbours, if there
    /// are no more than `limit`.
    fn distance(&self, other: &Letters, limit: usize) -> Option<usize> {
        if self.count.abs_diff(other.count) > limit {
            return None;
        }
        // What both begin and end with makes no difference.
        let (left, right) = (&self.letters[..self.count], &other.letters[..other.count]);
        let shared = left.iter().zip(right).take_while(|(a, b)| a == b).count();
        let (left, right) = (&left[shared..], &right[shared..]);
        let ends = left.iter().rev().zip(right.iter().rev());
        let shared = ends.take_while(|(a, b)| a == b).count();
        let (left, right) = (&left[..left.len() - shared], &right[..right.len() - shared]);
        let mut before = [0_usize; MAX_LETTERS + 1];
        let mut last: [usize; MAX_LETTERS + 1] = std::array::from_fn(|j| j);
        for (i, a) in left.iter().enumerate() {
            let mut row = [0_usize; MAX_LETTERS + 1];
            row[0] = i + 1;
            for (j, b) in right.iter().enumerate() {
                let mut cost = (last[j] + usize::from(a != b)).min(last[j + 1] + 1).min(row[j] + 1);
                if i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b {
                    cost = cost.min(before[j - 1] + 1);
                }
                row[j + 1] = cost;
            }
            if row[..=right.len()].iter().all(|&cost| cost > limit) {
                return None;
            }
            before = std::mem::replace(&mut last, row);
        }
        Some(last[right.len()]).filter(|&distance| distance <= limit)
    }
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
