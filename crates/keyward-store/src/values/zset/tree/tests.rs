//! The tree against a plain sorted list, and its shape.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A tree and the numbers that were ever put in.
struct Grove {
    tree: Tree,
    numbers: BTreeSet<u32>,
}

fn name(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

impl Grove {
    fn new() -> Grove {
        Grove { tree: Tree::new(), numbers: BTreeSet::new() }
    }

    fn insert(&mut self, number: u32, score: f64) {
        self.tree.insert(ScoredMember { score, member: MemberRef::leaked(&name(number)) });
        self.numbers.insert(number);
    }

    fn of(numbers: impl IntoIterator<Item = u32>) -> Grove {
        let mut grove = Grove::new();
        numbers.into_iter().for_each(|number| grove.insert(number, f64::from(number)));
        grove
    }
}

fn leaves(node: &Node) -> usize {
    nodes(node).0
}

/// How many leaves and inner nodes there are.
fn nodes(node: &Node) -> (usize, usize) {
    match node {
        Node::Leaf(_) => (1, 0),
        Node::Inner(inner) => {
            let below = (0..inner.len()).map(|at| nodes(inner.node(at)));
            below.fold((0, 1), |sum, below| (sum.0 + below.0, sum.1 + below.1))
        }
    }
}

fn check_counted(tree: &Tree) {
    assert_eq!((tree.nodes.leaves, tree.nodes.inners), nodes(&tree.root));
}

fn numbers(tree: &Tree) -> Vec<f64> {
    tree.iter(0..tree.len()).map(|(_, score)| score).collect()
}

#[test]
fn ascending_insertions_fill_their_leaves() {
    let grove = Grove::of(0..100_000);
    assert_eq!(leaves(&grove.tree.root), 100_000usize.div_ceil(leaf::LEAF_MAX));
}

#[test]
fn descending_insertions_leave_leaves_half_full() {
    let mut grove = Grove::of((0..100_000).rev());
    assert!(leaves(&grove.tree.root) <= 100_000 / (leaf::LEAF_MAX / 2));
    assert_eq!(grove.tree.at(99_999).1, 99_999.0);
    check_counted(&grove.tree);
    while grove.tree.shed(1_000) > 0 && grove.tree.len() > 0 {
        check_counted(&grove.tree);
    }
}

#[test]
fn descending_insertions_into_a_gap_do_not_scatter_leaves() {
    let mut grove = Grove::of((0..63).chain(100_000..100_063));
    (1_000..50_000).rev().for_each(|number| grove.insert(number, f64::from(number)));
    assert!(leaves(&grove.tree.root) <= grove.tree.len() / (leaf::LEAF_MAX / 2));
}

#[test]
fn a_tree_emptied_from_anywhere_is_one_empty_leaf() {
    for pick in [0, 1, 2] {
        let mut grove = Grove::of(0..20_000);
        while grove.tree.len() > 0 {
            let last = grove.tree.len() - 1;
            grove.tree.remove_at([0, last / 2, last][pick]);
        }
        assert!(matches!(&grove.tree.root, Node::Leaf(leaf) if leaf.len() == 0));
        check_counted(&grove.tree);
    }
}

#[test]
fn removals_leave_no_more_leaves_than_a_quarter_filled() {
    let mut grove = Grove::of(0..50_000);
    for number in (0..50_000).filter(|number| number % 40 != 0) {
        grove.tree.remove(f64::from(number), &name(number));
    }
    assert_eq!(grove.tree.len(), 1_250);
    assert!(leaves(&grove.tree.root) <= 1_250 / (leaf::LEAF_MAX / 4));
    assert_eq!(numbers(&grove.tree)[1_249], 49_960.0);
    check_counted(&grove.tree);
}

#[test]
fn a_rescore_moves_an_entry_only_where_order_demands() {
    let mut grove = Grove::of(0..1_000);
    for number in 0..1_000 {
        grove.tree.rescore((f64::from(number), &name(number)), f64::from(number) + 0.5);
    }
    assert_eq!(grove.tree.at(999).1, 999.5);
    grove.tree.rescore((0.5, &name(0)), 2_000.0);
    assert_eq!(grove.tree.at(999).0, name(0));
    assert_eq!(grove.tree.at(0).0, name(1));
}

#[derive(Debug, Clone)]
enum Step {
    Insert(u32, i32),
    Remove(usize),
    RemoveAt(usize),
    Rescore(usize, i32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (any::<u32>(), -20i32..20).prop_map(|(number, score)| Step::Insert(number, score)),
        1 => any::<usize>().prop_map(Step::Remove),
        1 => any::<usize>().prop_map(Step::RemoveAt),
        2 => (any::<usize>(), -20i32..20).prop_map(|(at, score)| Step::Rescore(at, score)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_tree_agrees_with_a_sorted_list(steps in proptest::collection::vec(step(), 0..1_500)) {
        let mut grove = Grove::new();
        let mut model: Vec<(i32, u32)> = Vec::new();
        for step in steps {
            match step {
                Step::Insert(number, score) => {
                    if grove.numbers.contains(&number) { continue; }
                    grove.insert(number, f64::from(score));
                    model.push((score, number));
                }
                Step::Remove(at) if !model.is_empty() => {
                    let (score, number) = model.swap_remove(at % model.len());
                    grove.tree.remove(f64::from(score), &name(number));
                }
                Step::RemoveAt(at) if !model.is_empty() => {
                    model.sort_unstable();
                    let (_, number) = model.remove(at % (model.len()));
                    let rank = at % (model.len() + 1);
                    let entry = grove.tree.remove_at(rank);
                    prop_assert_eq!(entry.member.bytes(), name(number));
                }
                Step::Rescore(at, new) if !model.is_empty() => {
                    let at = at % model.len();
                    let (old, number) = model[at];
                    grove.tree.rescore((f64::from(old), &name(number)), f64::from(new));
                    model[at].0 = new;
                }
                _ => {}
            }
        }
        check_counted(&grove.tree);
        model.sort_unstable();
        let expected: Vec<([u8; 4], f64)> =
            model.iter().map(|(score, number)| (name(*number), f64::from(*score))).collect();
        let as_arrays = |(member, score): (&[u8], f64)| (member.try_into().unwrap(), score);
        let len = grove.tree.len();
        let forward: Vec<([u8; 4], f64)> = grove.tree.iter(0..len).map(as_arrays).collect();
        prop_assert_eq!(&forward, &expected);
        let mut backward: Vec<([u8; 4], f64)> =
            grove.tree.iter(0..len).rev().map(as_arrays).collect();
        backward.reverse();
        prop_assert_eq!(&backward, &expected);
        for score in [-21, -20, 0, 7, 19] {
            let before = model.iter().filter(|(s, _)| *s < score).count();
            prop_assert_eq!(grove.tree.rank(&Cut::BeforeScore(f64::from(score))), before);
            let through = model.iter().filter(|(s, _)| *s <= score).count();
            prop_assert_eq!(grove.tree.rank(&Cut::AfterScore(f64::from(score))), through);
        }
        for (rank, (score, number)) in model.iter().enumerate() {
            let cut = Cut::BeforeScored(f64::from(*score), &name(*number));
            prop_assert_eq!(grove.tree.rank(&cut), rank);
        }
    }
}
