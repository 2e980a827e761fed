//! Segments with text beside placeholders, and segments of the rarer kinds.
//!
//! Owns a trie (radix tree) for each state that has such forms, over the text that they begin
//! with, and that tails which begin there begin with. A segment goes down as far as it can; the
//! forms on the way are the only ones that can fit, and each is judged once (`routine`), by its
//! gate first. Which of them fit, together with the kinds that the segment is of, is the branch
//! that leads on. Invariants: a node has at most `MAX_CANDIDATES` forms on the
//! way to it; nothing is allocated to find a branch.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use super::Next;
use super::kinds::KindSet;
use super::literal::Literal;
use super::routine::Routine;
use super::text::Text;

/// The trie of a state, by its root.
pub(super) type FormsId = NonZeroU32;

/// All tries of a matcher.
#[derive(Clone, Debug, Default)]
pub(super) struct Forms {
    /// The first one is nobody's.
    nodes: Vec<Node>,
    /// The children of nodes that have several, by their first byte; zero for none.
    children: Vec<[u32; 256]>,
    /// The forms on the way to each node.
    candidates: Vec<Routine>,
    branches: Vec<FormBranch>,
    /// Where a segment of no kind leads that fits one candidate, and behind those of a node, one
    /// that fits none.
    alone: Vec<Option<Next>>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    /// What stands between its parent and this node; never empty but for a root.
    text: Literal,
    children: Children,
    candidates_start: u32,
    candidate_count: u8,
    branches_start: u32,
    branch_count: u32,
    alone_start: u32,
}

#[derive(Clone, Copy, Debug, Default)]
enum Children {
    #[default]
    None,
    /// The index of a node.
    One(u32),
    /// The index of a table.
    Several(u32),
}

/// Where a segment leads that is of these kinds and fits these candidates.
#[derive(Clone, Debug)]
struct FormBranch {
    kinds: KindSet,
    fitting: u32,
    next: Next,
}

/// What a node is made of.
pub(super) struct NodeDraft {
    /// The text from the root.
    pub(super) text: Vec<u8>,
    /// The forms on the way, by their index.
    pub(super) candidates: Vec<usize>,
    pub(super) branches: Vec<(KindSet, u32, Next)>,
}

impl Forms {
    /// Where the segment of a key from `start` to `end` leads, which is none of the state's words.
    #[inline(never)]
    pub(super) fn next(
        &self,
        root: FormsId,
        kinds: KindSet,
        key: Text<'_>,
        (start, end): (usize, usize),
    ) -> Option<Next> {
        let node = self.descend(root, key, start, end);
        let count = usize::from(node.candidate_count);
        let candidates = &self.candidates[node.candidates_start as usize..][..count];
        let mut admitted: u32 = 0;
        for (bit, routine) in candidates.iter().enumerate() {
            admitted |= u32::from(routine.admits(key, start, end)) << bit;
        }
        let mut fitting = 0;
        while admitted != 0 {
            let bit = admitted.trailing_zeros();
            admitted &= admitted - 1;
            fitting |= u32::from(candidates[bit as usize].accepts(key, start, end)) << bit;
        }
        if kinds.is_empty() && fitting & fitting.wrapping_sub(1) == 0 {
            let place = count.min(fitting.trailing_zeros() as usize);
            return self.alone[node.alone_start as usize + place];
        }
        let branches = &self.branches[node.branches_start as usize..];
        branches[..node.branch_count as usize]
            .iter()
            .find(|branch| branch.fitting == fitting && branch.kinds == kinds)
            .map(|branch| branch.next)
    }

    /// The last node whose text the segment begins with.
    #[inline]
    fn descend(&self, root: FormsId, key: Text<'_>, start: usize, end: usize) -> &Node {
        let mut node = &self.nodes[root.get() as usize];
        let mut at = start;
        loop {
            let child = match node.children {
                Children::None => return node,
                Children::One(child) => child,
                Children::Several(table) => {
                    self.children[table as usize][usize::from(key.byte(at))]
                }
            };
            // The first node is nobody's, and its text is longer than any.
            let child = &self.nodes[child as usize];
            if end - at < child.text.length() || !child.text.stands_at(key, at) {
                return node;
            }
            (node, at) = (child, at + child.text.length());
        }
    }

    /// Adds the trie of a state: its nodes, the one with the empty text first, each behind those
    /// that its text begins with.
    pub(super) fn add(&mut self, forms: &[Routine], drafts: Vec<NodeDraft>) -> FormsId {
        if self.nodes.is_empty() {
            self.nodes.push(Node { text: Literal::ENDLESS, ..Node::default() });
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
            let node = Node {
                text: Literal::of(&draft.text[from..]),
                candidates_start: self.candidates.len() as u32,
                candidate_count: draft.candidates.len() as u8,
                branches_start: self.branches.len() as u32,
                branch_count: draft.branches.len() as u32,
                alone_start: self.alone.len() as u32,
                children: Children::None,
            };
            self.nodes.push(node);
            self.candidates.extend(draft.candidates.iter().map(|form| forms[*form].clone()));
            self.alone.extend(draft.alone());
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
        let node_of = |child: usize| (root + child) as u32;
        self.nodes[root + parent].children = match own {
            [only] => Children::One(node_of(*only)),
            several => {
                let depth = texts[parent].len();
                let mut table = [0; 256];
                for child in several {
                    table[usize::from(texts[*child][depth])] = node_of(*child);
                }
                self.children.push(table);
                Children::Several(self.children.len() as u32 - 1)
            }
        };
    }
}

impl NodeDraft {
    /// Where a segment of no kind leads that fits each candidate alone, then one that fits none.
    fn alone(&self) -> impl Iterator<Item = Option<Next>> {
        let alone = (0..self.candidates.len()).map(|bit| 1 << bit).chain([0]);
        alone.map(|fitting| {
            let is_it =
                |(kinds, own, _): &&(KindSet, u32, Next)| kinds.is_empty() && *own == fitting;
            self.branches.iter().find(is_it).map(|(.., next)| *next)
        })
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
