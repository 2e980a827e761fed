//! Rules as people write them: what is wrong with one, and selectors in several words.

/// Why a rule is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuleError {
    /// It is none.
    Syntax,
    /// There is no such command or category.
    Unknown,
    /// A pattern of keys after `~*`.
    KeysAfterAll,
    /// A pattern of channels after `&*`.
    ChannelsAfterAll,
    /// A password to be removed that is not there.
    NoSuchPassword,
    /// A hash that is none.
    BadHash,
    /// A first argument of a subcommand.
    ArgumentOfSubcommand,
}

impl RuleError {
    /// Redis's words.
    pub(crate) fn text(self) -> &'static str {
        match self {
            RuleError::Syntax => "Syntax error",
            RuleError::Unknown => "Unknown command or category name in ACL",
            RuleError::KeysAfterAll => {
                "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns"
            }
            RuleError::ChannelsAfterAll => {
                "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels"
            }
            RuleError::NoSuchPassword => {
                "The password you are trying to remove from the user does not exist"
            }
            RuleError::BadHash => {
                "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters"
            }
            RuleError::ArgumentOfSubcommand => {
                "Allowing first-arg of a subcommand is not supported"
            }
        }
    }
}

/// The rules with each selector as one of them: it may be spread over several words.
///
/// # Errors
/// Names the word that begins a selector without an end.
pub(crate) fn merge_selectors<'a>(words: &[&'a [u8]]) -> Result<Vec<Vec<u8>>, &'a [u8]> {
    let mut rules: Vec<Vec<u8>> = Vec::with_capacity(words.len());
    let mut open: Option<(&[u8], Vec<u8>)> = None;
    for word in words {
        let ends = word.last() == Some(&b')');
        if word.first() == Some(&b'(') && !ends {
            // One that begins within another forgets what was read of that, as in Redis.
            open = Some((word, word.to_vec()));
            continue;
        }
        match &mut open {
            None => rules.push(word.to_vec()),
            Some((_, rule)) => {
                rule.push(b' ');
                rule.extend_from_slice(word);
                if ends {
                    rules.extend(open.take().map(|(_, rule)| rule));
                }
            }
        }
    }
    match open {
        Some((begin, _)) => Err(begin),
        None => Ok(rules),
    }
}

/// Whether a name or pattern has something that would end it in a file: white space, or a
/// zero byte.
pub(super) fn has_space(text: &[u8]) -> bool {
    text.iter().any(|byte| matches!(byte, 0 | b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_may_be_spread_over_words() {
        let merged = |words: &[&str]| {
            let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
            merge_selectors(&words)
                .map(|rules| {
                    let text = |rule: &Vec<u8>| String::from_utf8_lossy(rule).into_owned();
                    rules.iter().map(text).collect::<Vec<_>>()
                })
                .map_err(|begin| String::from_utf8_lossy(begin).into_owned())
        };
        assert_eq!(merged(&["on", "(+get", "~a)", "off"]).unwrap(), ["on", "(+get ~a)", "off"]);
        assert_eq!(merged(&["(+get)", "(", ")"]).unwrap(), ["(+get)", "( )"]);
        assert_eq!(merged(&["a", "(b", "c"]), Err("(b".to_owned()));
        assert_eq!(merged(&["(b", "(c", "d)"]).unwrap(), ["(c d)"]);
    }
}
