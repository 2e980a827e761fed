//! Reading wire scripts.

use keyward_resp::split_words;

/// How the servers' replies are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    /// The same bytes.
    Exact,
    /// The same elements.
    AnyOrder,
    /// The same kind of reply.
    Kind,
    /// Not now: the reply is taken by a later step.
    Later,
}

/// A command with its expectation, or the taking of a late reply.
#[derive(Debug)]
pub(super) struct Step {
    /// Where it stands.
    pub(super) line: usize,
    /// As it stands there.
    pub(super) text: String,
    pub(super) connection: String,
    /// `None` takes the reply of an earlier command.
    pub(super) command: Option<Vec<Vec<u8>>>,
    pub(super) comparison: Comparison,
    resp2: Vec<String>,
    resp3: Vec<String>,
}

impl Step {
    /// The expected reply in this protocol; `None` if nothing is expected.
    pub(super) fn expected(&self, protocol: &str) -> Option<String> {
        let lines =
            if protocol == "3" && !self.resp3.is_empty() { &self.resp3 } else { &self.resp2 };
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// A script.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) steps: Vec<Step>,
}

impl Script {
    /// Reads a script; the error tells the line.
    pub(super) fn parse(text: &str) -> Result<Script, String> {
        let mut steps: Vec<Step> = Vec::new();
        let mut is_open = false;
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            if line.starts_with('#') {
                continue;
            }
            if line.trim().is_empty() {
                is_open = false;
                continue;
            }
            if let Some(step) = parse_step(number, line)? {
                steps.push(step);
                is_open = true;
                continue;
            }
            match steps.last_mut() {
                Some(step) if is_open => match line.strip_prefix("3| ") {
                    Some(line) => step.resp3.push(line.to_owned()),
                    None => step.resp2.push(line.to_owned()),
                },
                _ => return Err(format!("{number}: an expectation without a command")),
            }
        }
        Ok(Script { steps })
    }
}

/// Reads a line that sends a command or takes a reply; `None` if it is neither.
fn parse_step(line: usize, text: &str) -> Result<Option<Step>, String> {
    let name_end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    let (connection, rest) = text.split_at(name_end);
    let is_take = rest == "=" && !connection.is_empty();
    let Some(rest) = rest.strip_prefix('>').or(is_take.then_some("")) else { return Ok(None) };
    let marks = [("~", Comparison::AnyOrder), ("?", Comparison::Kind), ("&", Comparison::Later)];
    let marked = marks
        .into_iter()
        .find_map(|(mark, comparison)| rest.strip_prefix(mark).map(|rest| (comparison, rest)));
    let (comparison, words) = marked.unwrap_or((Comparison::Exact, rest));
    let command = if is_take {
        None
    } else {
        Some(
            split_words(words.as_bytes())
                .ok_or_else(|| format!("{line}: a quote is not closed"))?,
        )
    };
    Ok(Some(Step {
        line,
        text: text.to_owned(),
        connection: connection.to_owned(),
        command,
        comparison,
        resp2: Vec::new(),
        resp3: Vec::new(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_reads_like_a_session() {
        let script = Script::parse("# x\n> SET a \"b\\x00\"\nOK\n\nb>~ KEYS *\n(empty array)\n3| (empty set)\n\nb>& BLPOP l 0\nb=\n(nil)\n").unwrap();
        let [set, keys, pop, take] = script.steps.as_slice() else { panic!("{script:?}") };
        assert_eq!(
            set.command.as_ref().unwrap(),
            &[b"SET".to_vec(), b"a".to_vec(), b"b\0".to_vec()]
        );
        assert_eq!(set.expected("3").as_deref(), Some("OK"));
        assert_eq!((keys.connection.as_str(), keys.comparison), ("b", Comparison::AnyOrder));
        assert_eq!(keys.expected("3").as_deref(), Some("(empty set)"));
        assert_eq!(pop.comparison, Comparison::Later);
        assert!(take.command.is_none());
        assert_eq!(take.line, 10);
    }

    #[test]
    fn a_stray_expectation_is_an_error() {
        assert_eq!(Script::parse("\nOK\n").unwrap_err(), "2: an expectation without a command");
    }
}
