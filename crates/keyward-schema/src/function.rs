//! Functions: the declared interface of multi-key operations.
//!
//! Not here: their code, which is Lua beside the schema.

use crate::derived::Reference;
use crate::shape::Shape;
use crate::source::Span;

/// A declared function.
#[derive(Clone, Debug)]
pub struct Function {
    /// What FCALL calls it.
    pub name: Box<str>,
    /// What it does.
    pub doc: Option<Box<str>>,
    /// The chapter of the document it belongs to.
    pub group: Option<Box<str>>,
    /// Its keys in order.
    pub keys: Vec<FunctionKey>,
    /// The names that its keys' placeholders have; [`crate::Binding::Bound`]
    /// counts them. The same name has the same value throughout a call.
    pub variables: Vec<Box<str>>,
    /// Its arguments in order.
    pub args: Vec<Argument>,
    /// What it answers.
    pub reply: Option<Shape>,
    /// Its errors: code and meaning.
    pub errors: Vec<(Box<str>, Box<str>)>,
    /// Whether it only reads, so that FCALL_RO may call it.
    pub read_only: bool,
    /// Where its name stands.
    pub at: Span,
    /// The place of its keyspace among those of the database.
    pub keyspace: usize,
}

/// A key that a function takes.
#[derive(Clone, Debug)]
pub struct FunctionKey {
    /// As the schema writes it.
    pub template: Box<str>,
    /// What it may refer to: one pattern, or one for each choice of words of
    /// a template such as `{kind:team|news}:{id}:likes`. Never empty.
    pub targets: Vec<Target>,
    /// Whether any number of such keys may follow; only the last one.
    pub repeated: bool,
}

/// A pattern that a function's key may belong to.
#[derive(Clone, Debug)]
pub struct Target {
    /// The pattern, and which variables fill its placeholders.
    pub reference: Reference,
    /// The variables that a key of this pattern settles, and their words.
    pub words: Vec<(usize, Box<str>)>,
}

/// An argument that a function takes.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Its name.
    pub name: Box<str>,
    /// What it holds.
    pub shape: Shape,
    /// Whether it must be given; optional ones stand behind required ones.
    pub required: bool,
    /// Whether any number of them may follow; only the last one.
    pub repeated: bool,
}
