//! Diagnostics: what is wrong with a schema, where, and what to write instead.
//!
//! Owns the form of a rule and of a finding, and the report that collects
//! findings. Invariant: every finding belongs to a declared [`Rule`], so that
//! `keyward explain-code` has a page for whatever `keyward check` prints.
//! Not here: the rules themselves (`checks`), how findings look (`keyward_docs`).

use crate::pattern::Steps;
use crate::source::Span;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The schema cannot be served.
    Error,
    /// Legal, and probably not meant.
    Warning,
}

impl Level {
    /// `error` or `warning`.
    pub fn name(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warning => "warning",
        }
    }
}

/// The declaration of a diagnostic: everything that is the same at each finding.
#[derive(Debug)]
pub struct Rule {
    /// The stable code, `KW0107`.
    pub code: &'static str,
    /// How bad it is.
    pub level: Level,
    /// One sentence without a full stop.
    pub title: &'static str,
    /// Why it matters and what to do, as Markdown.
    pub why: &'static str,
    /// A schema that has the problem, or nothing where no text shows it.
    pub wrong: &'static str,
    /// The same schema without the problem.
    pub right: &'static str,
}

impl Rule {
    /// A finding of this rule at a place. The title is its sentence unless
    /// [`Diagnostic::saying`] gives a more exact one.
    pub(crate) fn at(&'static self, span: Span, label: impl Into<String>) -> Diagnostic {
        Diagnostic {
            rule: self,
            message: self.title.to_owned(),
            primary: Label { span, text: label.into() },
            related: Vec::new(),
            help: None,
        }
    }

    /// The page that `keyward explain-code` prints.
    pub fn page(&self) -> String {
        let mut page = format!(
            "# {} ({}): {}\n\n{}\n",
            self.code,
            self.level.name(),
            self.title,
            self.why.trim()
        );
        for (heading, example) in [("Wrong", self.wrong), ("Right", self.right)] {
            if !example.is_empty() {
                page.push_str(&format!("\n## {heading}\n\n```toml\n{}\n```\n", example.trim()));
            }
        }
        page
    }
}

/// A place in the schema with a few words about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What is there.
    pub text: String,
}

/// One finding.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// The rule that is broken.
    pub rule: &'static Rule,
    /// One sentence.
    pub message: String,
    /// Where it is broken.
    pub primary: Label,
    /// What else takes part.
    pub related: Vec<Label>,
    /// What to write instead, ready to be pasted.
    pub help: Option<String>,
}

impl Diagnostic {
    /// Replaces the rule's title by a sentence about this very case.
    pub(crate) fn saying(mut self, message: impl Into<String>) -> Diagnostic {
        self.message = message.into();
        self
    }

    /// Adds a related place.
    pub(crate) fn see(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.related.push(Label { span, text: text.into() });
        self
    }

    /// Adds help.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// Adds help if there is any.
    pub(crate) fn maybe_help(mut self, help: Option<String>) -> Diagnostic {
        self.help = help.or(self.help);
        self
    }
}

/// Comparing so many patterns is enough for finding out what all templates of a file refer to.
const TEMPLATES: usize = 256;

/// How many findings are kept. A hostile file could cause one per byte.
pub const MAX_DIAGNOSTICS: usize = 500;

/// The findings of one run over one file.
#[derive(Debug)]
pub(crate) struct Report {
    found: Vec<Diagnostic>,
    errors_total: usize,
    /// For what templates refer to.
    steps: Steps,
}

impl Default for Report {
    fn default() -> Report {
        Report { found: Vec::new(), errors_total: 0, steps: Steps::among(TEMPLATES) }
    }
}

impl Report {
    /// The steps that are left for finding out what the templates of the file refer to.
    pub(crate) fn steps(&self) -> &Steps {
        &self.steps
    }

    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        if diagnostic.rule.level == Level::Error {
            self.errors_total += 1;
        }
        if self.found.len() < MAX_DIAGNOSTICS {
            self.found.push(diagnostic);
        }
    }

    /// As `push`, where findings could be many and are costly to describe.
    pub(crate) fn push_with(&mut self, rule: &Rule, describe: impl FnOnce() -> Diagnostic) {
        if self.found.len() < MAX_DIAGNOSTICS {
            self.push(describe());
        } else if rule.level == Level::Error {
            self.errors_total += 1;
        }
    }

    /// Whether further findings are only counted.
    pub(crate) fn is_full(&self) -> bool {
        self.found.len() >= MAX_DIAGNOSTICS
    }

    /// How many errors there were so far, those that were not kept included.
    pub(crate) fn errors_total(&self) -> usize {
        self.errors_total
    }

    /// Whether a rule of these codes is broken, as far as findings are kept.
    pub(crate) fn has_any(&self, codes: &[&str]) -> bool {
        self.found.iter().any(|found| codes.contains(&found.rule.code))
    }

    /// The findings in the order of the file, and of the files that it includes.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        self.found.sort_by_key(|found| (found.primary.span, found.rule.code));
        self.found
    }

    pub(crate) fn retain(&mut self, keep: impl FnMut(&Diagnostic) -> bool) {
        self.found.retain(keep);
    }
}
