//! Lists against a deque of vectors.

use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;

type Model = VecDeque<Vec<u8>>;

/// One step of a random life of a list. Indexes are taken modulo the length.
#[derive(Debug, Clone)]
enum Step {
    Push(End, Vec<u8>),
    Pop(End, usize),
    Insert(usize, Vec<u8>),
    Set(usize, Vec<u8>),
    Remove(usize, usize),
    RemoveEqual(Vec<u8>, usize, End),
    CutAndSplice(usize, usize, usize),
    InsertEqual(Vec<u8>, Vec<usize>),
    Clone,
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![Just(End::Head), Just(End::Tail)]
}

/// Few different elements, so that equal ones meet; some longer than a chunk.
fn element() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => (0i64..5).prop_map(|n| n.to_string().into_bytes()),
        2 => any::<i64>().prop_map(|n| n.to_string().into_bytes()),
        4 => (0usize..700).prop_map(|length| vec![b'x'; length]),
        1 => (4000usize..9000).prop_map(|length| vec![b'y'; length]),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (end(), element()).prop_map(|(end, text)| Step::Push(end, text)),
        2 => (end(), 1usize..20).prop_map(|(end, count)| Step::Pop(end, count)),
        3 => (any::<usize>(), element()).prop_map(|(at, text)| Step::Insert(at, text)),
        3 => (any::<usize>(), element()).prop_map(|(at, text)| Step::Set(at, text)),
        1 => (any::<usize>(), 0usize..30).prop_map(|(at, count)| Step::Remove(at, count)),
        1 => (element(), 0usize..9, end()).prop_map(|(text, max, end)| Step::RemoveEqual(text, max, end)),
        1 => (any::<usize>(), 0usize..60, any::<usize>())
            .prop_map(|(at, count, to)| Step::CutAndSplice(at, count, to)),
        1 => (element(), proptest::collection::vec(0usize..400, 1..40))
            .prop_map(|(text, at)| Step::InsertEqual(text, at)),
        1 => Just(Step::Clone),
    ]
}

fn apply(list: &mut List, model: &mut Model, step: Step) {
    let len = model.len();
    match step {
        Step::Push(end, text) => {
            list.push(end, &text);
            match end {
                End::Head => model.push_front(text),
                End::Tail => model.push_back(text),
            }
        }
        Step::Pop(end, count) => {
            for _ in 0..count {
                list.pop(end);
                match end {
                    End::Head => model.pop_front(),
                    End::Tail => model.pop_back(),
                };
            }
        }
        Step::Insert(at, text) => {
            list.insert(at % (len + 1), &text);
            model.insert(at % (len + 1), text);
        }
        Step::Set(at, text) => {
            let at = at % (len + 1);
            assert_eq!(list.set(at, &text), at < len);
            if at < len {
                model[at] = text;
            }
        }
        Step::Remove(at, count) => {
            let range = at % (len + 1)..(at % (len + 1) + count).min(len);
            list.remove(range.clone());
            model.drain(range);
        }
        Step::RemoveEqual(text, max, end) => {
            assert_eq!(list.remove_equal(&text, max, end), remove_equal(model, &text, max, end));
        }
        Step::CutAndSplice(at, count, to) => {
            let range = at % (len + 1)..(at % (len + 1) + count).min(len);
            let cut = list.cut(range.clone());
            let moved: Model = model.drain(range).collect();
            check_same(&cut, &moved);
            check_same(list, model);
            let to = to % (model.len() + 1);
            list.splice(to, cut);
            let mut behind = model.split_off(to);
            model.extend(moved);
            model.append(&mut behind);
        }
        Step::InsertEqual(text, mut indexes) => {
            indexes.sort_unstable();
            indexes.dedup();
            // Those that there is something in front of.
            let many = indexes.iter().enumerate().take_while(|(nth, at)| **at <= len + nth).count();
            indexes.truncate(many);
            list.insert_equal(&indexes, &text);
            indexes.iter().for_each(|at| model.insert(*at, text.clone()));
        }
        Step::Clone => *list = list.clone(),
    }
}

fn remove_equal(model: &mut Model, text: &[u8], max: usize, end: End) -> usize {
    let mut found: Vec<usize> = (0..model.len()).filter(|at| model[*at] == text).collect();
    if end == End::Tail {
        found.reverse();
    }
    found.truncate(max);
    found.sort_unstable();
    found.iter().rev().for_each(|at| drop(model.remove(*at)));
    found.len()
}

fn check_same(list: &List, model: &Model) {
    let texts = |elements: Vec<Item<'_>>| -> Vec<Vec<u8>> {
        elements.iter().map(|element| element.text().as_bytes().to_vec()).collect()
    };
    assert_eq!(list.len(), model.len());
    assert_eq!(texts(list.forward(0).collect()), Vec::from(model.clone()));
    let reversed: Vec<Vec<u8>> = model.iter().rev().cloned().collect();
    assert_eq!(texts(list.backward(list.len()).collect()), reversed);
    for at in (0..=model.len()).step_by(7) {
        let expected = model.get(at).map(|text| Item::of(text));
        assert_eq!(list.get(at), expected);
        let before = at.checked_sub(1).and_then(|at| model.get(at)).map(|text| Item::of(text));
        assert_eq!(list.backward(at).next(), before);
    }
    assert_eq!(list.peek(End::Head), list.get(0));
    assert_eq!(list.peek(End::Tail), list.backward(list.len()).next());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn lists_change_as_deques_do(steps in proptest::collection::vec(step(), 0..150)) {
        let (mut list, mut model) = (List::default(), Model::new());
        for step in steps {
            apply(&mut list, &mut model, step);
            prop_assert_eq!(list.len(), model.len());
            if let Form::Large(chunks) = list.word.form() {
                chunks.check_counted();
            }
        }
        check_same(&list, &model);
    }
}

#[test]
fn a_queue_of_any_length_passes_through_unchanged() {
    for length in [1, 100, 1000, 20_000] {
        for (put, take) in [(End::Head, End::Tail), (End::Tail, End::Head)] {
            let mut list = List::default();
            let name = |number: usize| format!("element:{number}");
            for number in 0..length {
                list.push(put, name(number).as_bytes());
            }
            for number in 0..3 * length {
                let front = list.peek(take).expect("the queue is as long as before");
                assert_eq!(front.text().as_bytes(), name(number).as_bytes());
                list.pop(take);
                list.push(put, name(number + length).as_bytes());
            }
            assert_eq!(list.len(), length);
        }
    }
}

#[test]
fn a_list_that_shrank_is_small_again() {
    let mut list = List::default();
    (0..1000).for_each(|_| list.push(End::Tail, b"some element"));
    assert!(matches!(list.word.form(), Form::Large(_)));
    list.remove(0..990);
    assert!(matches!(list.word.form(), Form::Small(_)));
    assert_eq!(list.len(), 10);
}
