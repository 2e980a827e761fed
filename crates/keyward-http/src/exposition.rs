//! Prometheus's text format.
//!
//! Owns how families and samples are written. Invariants: a family is written once, its help
//! and kind before its samples; whatever a label holds stays within its quotes.

use crate::families::{Family, FamilyKind};
use std::fmt::Write as _;

/// What the text is called in HTTP.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The text so far.
#[derive(Debug, Default)]
pub(crate) struct Exposition {
    text: String,
}

/// A family whose samples are being written.
pub(crate) struct Samples<'e> {
    text: &'e mut String,
    name: &'static str,
    labels: &'static [&'static str],
}

impl Exposition {
    /// A text that is written into this one.
    pub(crate) fn new(empty: String) -> Exposition {
        Exposition { text: empty }
    }

    /// Begins a family.
    pub(crate) fn family(&mut self, family: &Family) -> Samples<'_> {
        self.begin(family.name, family.kind, family.help);
        Samples { text: &mut self.text, name: family.name, labels: family.labels }
    }

    /// A family with one sample and no labels.
    pub(crate) fn plain(&mut self, name: &'static str, kind: FamilyKind, help: &str, value: f64) {
        self.begin(name, kind, help);
        Samples { text: &mut self.text, name, labels: &[] }.add(&[], value);
    }

    fn begin(&mut self, name: &str, kind: FamilyKind, help: &str) {
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {}", kind.name());
    }

    /// All of it.
    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

impl Samples<'_> {
    /// A sample with the family's labels.
    pub(crate) fn add(&mut self, labels: &[&str], value: f64) {
        self.sample("", labels, None, value);
    }

    /// A histogram: how many were within each bound, how many there were, and their sum.
    pub(crate) fn histogram(
        &mut self,
        labels: &[&str],
        steps: impl Iterator<Item = (f64, u64)>,
        (count, sum): (u64, f64),
    ) {
        for (bound, within) in steps {
            self.sample("_bucket", labels, Some(("le", &number(bound))), within as f64);
        }
        self.sample("_bucket", labels, Some(("le", "+Inf")), count as f64);
        self.sample("_sum", labels, None, sum);
        self.sample("_count", labels, None, count as f64);
    }

    /// A summary: quantiles, how many there were, and their sum.
    pub(crate) fn summary<'q>(
        &mut self,
        labels: &[&str],
        quantiles: impl Iterator<Item = (&'q str, f64)>,
        (count, sum): (f64, f64),
    ) {
        for (quantile, value) in quantiles {
            self.sample("", labels, Some(("quantile", quantile)), value);
        }
        self.sample("_sum", labels, None, sum);
        self.sample("_count", labels, None, count);
    }

    fn sample(&mut self, suffix: &str, labels: &[&str], extra: Option<(&str, &str)>, value: f64) {
        debug_assert_eq!(labels.len(), self.labels.len(), "{}", self.name);
        let text = &mut *self.text;
        let _ = write!(text, "{}{suffix}", self.name);
        let named = self.labels.iter().copied().zip(labels.iter().copied()).chain(extra);
        let mut before = '{';
        for (name, value) in named {
            let _ = write!(text, "{before}{name}=\"");
            push_escaped(text, value);
            text.push('"');
            before = ',';
        }
        if before == ',' {
            text.push('}');
        }
        let _ = writeln!(text, " {}", number(value));
    }
}

/// Appends a label's value.
fn push_escaped(text: &mut String, value: &str) {
    for sign in value.chars() {
        match sign {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            sign => text.push(sign),
        }
    }
}

/// A number as Prometheus reads it.
pub(crate) fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        format!("{}", value as i64)
    } else {
        format!("{value}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAMILY: Family =
        Family { name: "x_total", kind: FamilyKind::Counter, labels: &["a", "b"], help: "A \\ b." };

    #[test]
    fn labels_hold_anything() {
        let mut exposition = Exposition::default();
        exposition.family(&FAMILY).add(&["\"}\n\\ 1", "user:{id}"], 1.5);
        exposition.plain("y", FamilyKind::Gauge, "Y.", 3.0);
        let expected = "# HELP x_total A \\\\ b.\n# TYPE x_total counter\n\
                        x_total{a=\"\\\"}\\n\\\\ 1\",b=\"user:{id}\"} 1.5\n\
                        # HELP y Y.\n# TYPE y gauge\ny 3\n";
        assert_eq!(exposition.into_text(), expected);
    }

    #[test]
    fn histograms_end_with_infinity() {
        let mut exposition = Exposition::default();
        let family = Family { labels: &[], kind: FamilyKind::Histogram, name: "h", help: "H." };
        exposition.family(&family).histogram(&[], [(0.5, 1), (1.0, 3)].into_iter(), (4, 9.25));
        let expected = "# HELP h H.\n# TYPE h histogram\nh_bucket{le=\"0.5\"} 1\n\
                        h_bucket{le=\"1\"} 3\nh_bucket{le=\"+Inf\"} 4\nh_sum 9.25\nh_count 4\n";
        assert_eq!(exposition.into_text(), expected);
    }
}
