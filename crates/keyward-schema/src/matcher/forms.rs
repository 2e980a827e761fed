//! Segments with text beside placeholders, and segments of the rarer kinds.
//!
//! Owns a trie (radix tree) for each state that has such forms, over the text that they begin
//! with, and that tails which begin there begin with. A segment goes down as far as it can; the
//! forms on the way are the only ones that can fit, and each is judged once, by its gate first. Which of them fit, together with the kinds that the segment is
//! of, is the branch that leads on. Invariants: a node has at most `MAX_CANDIDATES` forms on the
//! way to it; nothing is allocated to find a branch.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use super::Next;
use super::gate::Gate;
use super::kinds::KindSet;
use crate::pattern::{Element, Kind, Pattern};

/// The trie of a state, by its root.
pub(super) type FormsId = NonZeroU32;

/// All tries of a matcher.
#[derive(Clone, Debug, Default)]
pub(super) struct Forms {
    /// The first one is nobody's.
    nodes: Vec<Node>,
    /// The children of all nodes that have few.
    edges: Vec<Edge>,
    /// The children of nodes that have many, by their first byte; zero for none.
    wide: Vec<[u32; 256]>,
    texts: Vec<u8>,
    /// The forms on the way to each node.
    candidates: Vec<(Gate, Form)>,
    branches: Vec<FormBranch>,
}

/// How many children a node may have before it gets a table of them.
const NARROW: usize = 4;

#[derive(Clone, Debug, Default)]
struct Node {
    /// What stands between its parent and this node.
    text_start: u32,
    text_length: u32,
    edges_start: u32,
    edge_count: u16,
    is_wide: bool,
    candidate_count: u8,
    candidates_start: u32,
    branches_start: u32,
    branch_count: u32,
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    byte: u8,
    node: u32,
}

/// Where a segment leads that is of these kinds and fits these candidates.
#[derive(Clone, Debug)]
struct FormBranch {
    kinds: KindSet,
    fitting: u32,
    next: Next,
}

/// What a segment must be, given that it begins with the form's leading text.
#[derive(Clone, Debug)]
pub(super) enum Form {
    /// One placeholder between two texts.
    Single { before: u32, kind: Kind, after: Box<[u8]> },
    /// Several placeholders.
    Several(Box<Pattern>),
}

/// What a node is made of.
pub(super) struct NodeDraft {
    /// The text from the root.
    pub(super) text: Vec<u8>,
    /// The forms on the way, by their index.
    pub(super) candidates: Vec<usize>,
    pub(super) branches: Vec<(KindSet, u32, Next)>,
}

impl Form {
    pub(super) fn of(pattern: &Pattern) -> Form {
        let kind_of = |index: usize| pattern.placeholders()[index].kind.clone();
        let (before, index, after) = match pattern.elements() {
            [Element::Placeholder(index)] => ("", index, ""),
            [Element::Literal(before), Element::Placeholder(index)] => (&**before, index, ""),
            [Element::Placeholder(index), Element::Literal(after)] => ("", index, &**after),
            [Element::Literal(before), Element::Placeholder(index), Element::Literal(after)] => {
                (&**before, index, &**after)
            }
            _ => return Form::Several(Box::new(pattern.clone())),
        };
        Form::Single {
            before: before.len() as u32,
            kind: kind_of(*index),
            after: after.as_bytes().into(),
        }
    }

    #[inline]
    fn accepts(&self, segment: &[u8]) -> bool {
        match self {
            Form::Single { before, kind, after } => segment
                .get(*before as usize..)
                .and_then(|behind| behind.strip_suffix(&**after))
                .is_some_and(|value| kind.accepts(value)),
            Form::Several(pattern) => pattern.accepts(segment),
        }
    }
}

impl Forms {
    /// Where a segment leads that is none of the state's words.
    #[inline(never)]
    pub(super) fn next(&self, root: FormsId, kinds: KindSet, segment: &[u8]) -> Option<Next> {
        let node = self.descend(root, segment);
        let candidates = &self.candidates[node.candidates_start as usize..];
        let mut fitting = 0;
        let candidates = &candidates[..usize::from(node.candidate_count)];
        for (bit, (gate, form)) in candidates.iter().enumerate() {
            if gate.admits(segment) && form.accepts(segment) {
                fitting |= 1 << bit;
            }
        }
        let branches = &self.branches[node.branches_start as usize..];
        branches[..node.branch_count as usize]
            .iter()
            .find(|branch| branch.fitting == fitting && branch.kinds == kinds)
            .map(|branch| branch.next)
    }

    /// The last node whose text the segment begins with.
    #[inline]
    fn descend(&self, root: FormsId, segment: &[u8]) -> &Node {
        let mut node = &self.nodes[root.get() as usize];
        let mut left = segment;
        while let Some(first) = left.first() {
            let Some(child) = self.child(node, *first) else { break };
            let text = &self.texts[child.text_start as usize..][..child.text_length as usize];
            match left.strip_prefix(text) {
                Some(behind) => (node, left) = (child, behind),
                None => break,
            }
        }
        node
    }

    #[inline]
    fn child(&self, node: &Node, byte: u8) -> Option<&Node> {
        let start = node.edges_start as usize;
        let index = match node.is_wide {
            true => self.wide[start][usize::from(byte)],
            false => {
                let edges = &self.edges[start..start + usize::from(node.edge_count)];
                edges.iter().find(|edge| edge.byte == byte)?.node
            }
        };
        (index != 0).then(|| &self.nodes[index as usize])
    }

    /// Adds the trie of a state: its nodes, the one with the empty text first, each behind those
    /// that its text begins with.
    pub(super) fn add(&mut self, forms: &[(Gate, Form)], drafts: Vec<NodeDraft>) -> FormsId {
        if self.nodes.is_empty() {
            self.nodes.push(Node::default());
        }
        let root = self.nodes.len();
        let texts: Vec<Vec<u8>> = drafts.iter().map(|draft| draft.text.clone()).collect();
        let mut children: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, draft) in drafts.into_iter().enumerate() {
            let parent = parent_of(&texts, index);
            let from = parent.map_or(0, |parent| texts[parent].len());
            if let Some(parent) = parent {
                children.entry(parent).or_default().push(index);
            }
            let text_start = self.texts.len() as u32;
            self.texts.extend_from_slice(&draft.text[from..]);
            let node = Node {
                text_start,
                text_length: (draft.text.len() - from) as u32,
                candidates_start: self.candidates.len() as u32,
                candidate_count: draft.candidates.len() as u8,
                branches_start: self.branches.len() as u32,
                branch_count: draft.branches.len() as u32,
                ..Node::default()
            };
            self.nodes.push(node);
            self.candidates.extend(draft.candidates.iter().map(|form| forms[*form].clone()));
            let branches = draft.branches.into_iter();
            self.branches.extend(branches.map(|(kinds, fitting, next)| FormBranch {
                kinds,
                fitting,
                next,
            }));
        }
        for (parent, own) in children {
            self.connect(root, parent, &own, &texts);
        }
        NonZeroU32::new(root as u32).expect("the first node is nobody's")
    }

    fn connect(&mut self, root: usize, parent: usize, own: &[usize], texts: &[Vec<u8>]) {
        let depth = texts[parent].len();
        let edges = own
            .iter()
            .map(|child| Edge { byte: texts[*child][depth], node: (root + child) as u32 });
        let node = &mut self.nodes[root + parent];
        node.edge_count = own.len() as u16;
        node.is_wide = own.len() > NARROW;
        if node.is_wide {
            node.edges_start = self.wide.len() as u32;
            let mut table = [0; 256];
            edges.for_each(|edge| table[usize::from(edge.byte)] = edge.node);
            self.wide.push(table);
        } else {
            node.edges_start = self.edges.len() as u32;
            self.edges.extend(edges);
        }
    }
}

/// The texts of a trie's nodes: the empty one, those of the forms, and where two of them part.
/// In order, so that each comes behind those that it begins with.
pub(super) fn node_texts<'t>(leading: impl Iterator<Item = &'t [u8]>) -> Vec<Vec<u8>> {
    let mut texts: Vec<Vec<u8>> =
        leading.map(<[u8]>::to_vec).chain(std::iter::once(Vec::new())).collect();
    texts.sort_unstable();
    texts.dedup();
    let partings: Vec<Vec<u8>> = texts
        .windows(2)
        .map(|pair| {
            let shared = pair[0].iter().zip(&pair[1]).take_while(|(a, b)| a == b).count();
            pair[0][..shared].to_vec()
        })
        .collect();
    texts.extend(partings);
    texts.sort_unstable();
    texts.dedup();
    texts
}

/// The longest of the texts before that a text begins with.
fn parent_of(texts: &[Vec<u8>], index: usize) -> Option<usize> {
    (0..index).rev().find(|&before| texts[index].starts_with(&texts[before]))
}
