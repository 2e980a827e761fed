//! One command of a load, and how it is to be answered.

use keyward_resp::Frame;

/// A command and what its user expects.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) words: Vec<String>,
    expected: Expected,
}

#[derive(Debug)]
enum Expected {
    /// Anything but an error.
    Success,
    /// Or an error with one of these codes, by which a function answers no.
    SuccessOr(&'static [&'static str]),
    /// The schema is broken on purpose.
    Refusal,
}

/// What became of a call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It was answered as its user expects.
    Answered,
    /// It was refused, as was intended.
    Refused,
    /// It was not answered as it should be.
    Failed(String),
}

impl Call {
    pub(crate) fn new<const N: usize>(words: [&str; N]) -> Call {
        Call { words: words.map(str::to_owned).into(), expected: Expected::Success }
    }

    /// A call of a function.
    pub(crate) fn function(name: &str, keys: &[&str], args: &[&str]) -> Call {
        Call::fcall("FCALL", name, keys, args)
    }

    /// A call of a function that only reads.
    pub(crate) fn query(name: &str, keys: &[&str], args: &[&str]) -> Call {
        Call::fcall("FCALL_RO", name, keys, args)
    }

    fn fcall(command: &str, name: &str, keys: &[&str], args: &[&str]) -> Call {
        let count = keys.len().to_string();
        let words = [command, name, &count].into_iter().chain(keys.iter().chain(args).copied());
        Call { words: words.map(str::to_owned).collect(), expected: Expected::Success }
    }

    /// Errors with these codes are answers too.
    pub(crate) fn or(self, codes: &'static [&'static str]) -> Call {
        Call { expected: Expected::SuccessOr(codes), ..self }
    }

    /// It breaks the schema on purpose.
    pub(crate) fn meant_to_fail(self) -> Call {
        Call { expected: Expected::Refusal, ..self }
    }

    pub(crate) fn judge(&self, reply: &Frame) -> Verdict {
        let Frame::Error(text) = reply else {
            return match self.expected {
                Expected::Refusal => self.failed("was not refused"),
                Expected::Success | Expected::SuccessOr(_) => Verdict::Answered,
            };
        };
        let text = String::from_utf8_lossy(text);
        let code = text.split(' ').next().unwrap_or_default();
        match self.expected {
            Expected::Refusal if code == "SCHEMA" => Verdict::Refused,
            Expected::SuccessOr(codes) if codes.contains(&code) => Verdict::Answered,
            _ => self.failed(&text),
        }
    }

    fn failed(&self, problem: &str) -> Verdict {
        Verdict::Failed(format!("{}: {problem}", self.words.join(" ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_judged_by_what_was_expected() {
        let error = |text: &str| Frame::Error(text.as_bytes().to_vec());
        let check = |call: Call, reply: Frame, expected: Verdict| {
            assert_eq!(call.judge(&reply), expected, "{call:?}");
        };
        let set = || Call::new(["SET", "k", "v"]);
        let failed = |text: &str| Verdict::Failed(format!("SET k v: {text}"));
        check(set(), Frame::Simple(b"OK".to_vec()), Verdict::Answered);
        check(set(), error("ERR no"), failed("ERR no"));
        check(set(), error("SCHEMA k: no"), failed("SCHEMA k: no"));
        check(set().meant_to_fail(), error("SCHEMA k: no"), Verdict::Refused);
        check(set().meant_to_fail(), error("ERR no"), failed("ERR no"));
        check(set().meant_to_fail(), Frame::Integer(1), failed("was not refused"));
        check(set().or(&["FULL"]), error("FULL up"), Verdict::Answered);
        check(set().or(&["FULL"]), error("FULLER"), failed("FULLER"));
        check(set().or(&["FULL"]), Frame::Integer(1), Verdict::Answered);
    }

    #[test]
    fn a_function_is_called_with_the_count_of_its_keys() {
        let call = Call::query("poll", &["a", "b"], &["10"]);
        assert_eq!(call.words, ["FCALL_RO", "poll", "2", "a", "b", "10"]);
    }
}
