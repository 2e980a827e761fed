//! Fuzzing guided by coverage: inputs that reach something new are kept and changed on.
//!
//! The compiler puts a counter into every edge of the control flow (SanitizerCoverage,
//! `coverage.rs`). An input that brings a counter to a count of a magnitude it never had
//! joins the corpus; inputs are made from those in the corpus, the newest more often.
//! Such a build is what `cargo xtask sanitize` makes (feature `guided`); in any other
//! there are no counters, and no guide.
//!
//! Before it is judged, an input is written to a file: AddressSanitizer ends the process,
//! and what it ended with must be there for the next.
//! Not here: what is judged (`requests`), the clock (`main.rs`).

mod coverage;

use crate::Random;
use coverage::Coverage;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Inputs made before there is anything to be guided by.
const FIRST_INPUTS: usize = 32;
/// Every second input is made from one of so many that were found last.
const NEWEST: usize = 8;
/// The most changes that make an input of another.
const CHANGES_MAX: usize = 4;

/// Makes an input from another, and from parts of these.
pub type Mutate = fn(&[u8], &[Vec<u8>], &mut Random) -> Vec<u8>;

/// Something that can be fuzzed by its bytes.
#[derive(Clone, Copy)]
pub struct Subject {
    /// Makes an input.
    pub generate: fn(&mut Random) -> Vec<u8>,
    /// Makes one from another.
    pub mutate: Mutate,
    /// Panics if an input breaks a promise.
    pub judge: fn(&[u8]),
}

/// Inputs, and what they have reached.
pub struct Guided {
    subject: Subject,
    random: Random,
    coverage: Coverage,
    corpus: Vec<Vec<u8>>,
    /// Where the input being judged is written.
    current: Option<(PathBuf, File)>,
    /// Where the corpus is kept for the next run.
    directory: Option<PathBuf>,
    executions: u64,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// Inputs judged.
    pub executions: u64,
    /// Inputs kept.
    pub corpus: usize,
    /// Edges of the control flow that were taken.
    pub edges: usize,
    /// Edges there are.
    pub edges_total: usize,
}

impl Guided {
    /// Begins from a seed. Keeps no files.
    pub fn new(subject: Subject, seed: u64) -> Guided {
        let (random, coverage) = (Random::new(seed), Coverage::new());
        let (corpus, current, directory) = (Vec::new(), None, None);
        Guided { subject, random, coverage, corpus, current, directory, executions: 0 }
    }

    /// Whether this program was built with counters.
    pub fn is_possible() -> bool {
        Coverage::new().total() > 0
    }

    /// Writes each input to a file before it is judged, and those that are kept into a
    /// directory, whose files are the first inputs.
    ///
    /// # Errors
    /// If they cannot be read or written.
    pub fn keep_in(&mut self, directory: &Path) -> io::Result<()> {
        let corpus = directory.join("corpus");
        std::fs::create_dir_all(&corpus)?;
        let current = directory.join("current");
        self.current = Some((current.clone(), File::create(&current)?));
        let mut files: Vec<PathBuf> = Vec::new();
        for entry in std::fs::read_dir(&corpus)? {
            files.push(entry?.path());
        }
        files.sort();
        for file in files {
            let input = std::fs::read(file)?;
            self.judge(input)?;
        }
        self.directory = Some(corpus);
        Ok(())
    }

    /// The file that has the input being judged.
    pub fn current(&self) -> Option<&Path> {
        self.current.as_ref().map(|(path, _)| path.as_path())
    }

    /// Makes one input and judges it.
    ///
    /// # Errors
    /// If a file cannot be written.
    ///
    /// # Panics
    /// If the input breaks a promise.
    pub fn step(&mut self) -> io::Result<()> {
        let Guided { subject, random, corpus, .. } = self;
        let input = if self.executions < FIRST_INPUTS as u64 || corpus.is_empty() {
            (subject.generate)(random)
        } else {
            let newest = if random.one_in(2) { NEWEST } else { corpus.len() };
            let parent = corpus.len() - 1 - random.below(newest.min(corpus.len()));
            let mut input = (subject.mutate)(&corpus[parent], corpus, random);
            for _ in 0..random.below(CHANGES_MAX) {
                input = (subject.mutate)(&input, corpus, random);
            }
            input
        };
        self.judge(input)
    }

    fn judge(&mut self, input: Vec<u8>) -> io::Result<()> {
        if let Some((_, file)) = &self.current {
            file.set_len(0)?;
            file.write_all_at(&input, 0)?;
        }
        self.executions += 1;
        self.coverage.reset();
        (self.subject.judge)(&input);
        if !self.coverage.take_new() {
            return Ok(());
        }
        if let Some(directory) = &self.directory {
            std::fs::write(directory.join(format!("{:08}", self.executions)), &input)?;
        }
        self.corpus.push(input);
        Ok(())
    }

    /// How far it has come.
    pub fn reached(&self) -> Reached {
        Reached {
            executions: self.executions,
            corpus: self.corpus.len(),
            edges: self.coverage.reached(),
            edges_total: self.coverage.total(),
        }
    }
}
