//! Streams against a plain model, and what they cost.

use super::*;
use crate::values::footprint::{Footprint, HeapBytes};
use proptest::prelude::*;
use std::collections::BTreeMap;

const LIMITS: NodeLimits = NodeLimits { bytes_max: 4096, entries_max: 10 };

fn id(number: u64) -> StreamId {
    StreamId::new(number / 5, number % 5)
}

fn add(stream: &mut Stream, number: u64, texts: &[&str]) {
    let texts = texts.iter().map(|text| text.as_bytes());
    stream.append(id(number), &LIMITS, texts).expect("it is short");
}

/// An entry in words.
fn words(entry: &Entry<'_>) -> (StreamId, Vec<Vec<u8>>) {
    let owned = |item: crate::values::packed::Item<'_>| item.text().as_bytes().to_vec();
    let texts = entry.pairs().flat_map(|(name, value)| [owned(name), owned(value)]);
    (entry.id, texts.collect())
}

type Model = BTreeMap<StreamId, Vec<Vec<u8>>>;

fn check(stream: &Stream, model: &Model) {
    let forward: Vec<_> = stream.all().map(|entry| words(&entry)).collect();
    let expected: Vec<_> = model.iter().map(|(id, texts)| (*id, texts.clone())).collect();
    assert_eq!(forward, expected);
    let all = [StreamId::MIN, StreamId::MAX];
    let mut backward: Vec<_> =
        stream.range(all, Direction::Backward).map(|entry| words(&entry)).collect();
    backward.reverse();
    assert_eq!(backward, expected);
    assert_eq!(stream.len(), model.len());
    let ends = [model.keys().next(), model.keys().last()].map(|end| end.copied());
    assert_eq!(stream.facts().first_id, ends[0].unwrap_or_default());
    assert_eq!(stream.last_live_id(), ends[1]);
}

#[derive(Debug, Clone)]
enum Step {
    Add(u64, Vec<String>),
    Remove(u64),
    Keep(u64),
    From(u64),
    Copy,
    TakeBack,
}

fn step() -> impl Strategy<Value = Step> {
    let texts = proptest::collection::vec(prop_oneof!["[a-c]", "[0-9]{1,6}", ".{0,90}"], 1..4);
    let texts = texts.prop_map(|texts| texts.iter().flat_map(|t| [t.clone(), t.clone()]).collect());
    prop_oneof![
        20 => (1u64..4, texts).prop_map(|(ahead, texts)| Step::Add(ahead, texts)),
        3 => (0u64..200).prop_map(Step::Remove),
        1 => (0u64..60).prop_map(Step::Keep),
        1 => (0u64..200).prop_map(Step::From),
        1 => Just(Step::Copy),
        2 => Just(Step::TakeBack),
    ]
}

proptest! {
    #[test]
    fn a_stream_is_what_a_map_is_and_so_are_its_copies(
        steps in proptest::collection::vec(step(), 1..150),
    ) {
        let (mut stream, mut model) = (Stream::default(), Model::new());
        let (mut number, mut copies) = (0, Vec::new());
        for step in steps {
            match step {
                Step::Add(ahead, texts) => {
                    number += ahead;
                    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                    add(&mut stream, number, &texts);
                    model.insert(id(number), texts.iter().map(|text| text.as_bytes().to_vec()).collect());
                }
                Step::Remove(number) => {
                    prop_assert_eq!(stream.remove(id(number)), model.remove(&id(number)).is_some());
                }
                Step::Keep(length) => {
                    let trim = Trim { bound: Bound::Length(length), is_approximate: false, limit: 0 };
                    let (count, _) = stream.trim(&trim);
                    let gone = model.len().saturating_sub(length as usize);
                    prop_assert_eq!(count, gone as u64);
                    (0..gone).for_each(|_| drop(model.pop_first()));
                }
                Step::From(number) => {
                    let trim = Trim { bound: Bound::First(id(number)), is_approximate: false, limit: 0 };
                    let (count, _) = stream.trim(&trim);
                    let kept = model.split_off(&id(number));
                    prop_assert_eq!(count, model.len() as u64);
                    model = kept;
                }
                Step::Copy => copies.push((stream.clone(), model.clone())),
                Step::TakeBack => {
                    let before = *stream.facts();
                    let bytes: Vec<Vec<u8>> = stream.nodes_from(0).map(|(_, node)| node.to_vec()).collect();
                    add(&mut stream, number + 1, &["back", "again"]);
                    stream.take_last(before);
                    let after: Vec<Vec<u8>> = stream.nodes_from(0).map(|(_, node)| node.to_vec()).collect();
                    prop_assert_eq!(bytes, after);
                }
            }
            check(&stream, &model);
        }
        for (copy, model) in &copies {
            check(copy, model);
        }
        let seek = id(number / 2);
        let behind: Vec<StreamId> =
            stream.range([seek, StreamId::MAX], Direction::Forward).map(|entry| entry.id).collect();
        prop_assert_eq!(behind, model.range(seek..).map(|(id, _)| *id).collect::<Vec<_>>());
        prop_assert_eq!(loaded(&stream).map(|loaded| check(&loaded, &model)), Ok(()));
    }

    #[test]
    fn damaged_nodes_are_refused_or_read(at in 0usize..400, byte: u8, cut in 0usize..400) {
        let mut stream = Stream::default();
        for number in 1..9 {
            let digits = "7".repeat(number as usize);
            let texts = ["field", "value", "n", &digits];
            add(&mut stream, number, if number == 5 { &["other", "x"] } else { &texts });
        }
        let (first, node) = stream.nodes_from(0).next().expect("there is one");
        let mut node = node.to_vec();
        let at = at % node.len();
        node[at] = byte;
        if cut < node.len() / 4 {
            node.truncate(node.len() - cut);
        }
        let mut load = load::StreamLoad::default();
        if load.node(first, &node).is_ok() {
            let length = u64::from(node[6]);
            let facts = Facts { length, last_id: StreamId::MAX, ..Facts::default() };
            if load.facts(facts, true).is_ok() {
                let stream = load.end().expect("it has no groups");
                stream.all().for_each(|entry| drop(words(&entry)));
                stream.range([StreamId::MIN, StreamId::MAX], Direction::Backward).for_each(|entry| drop(words(&entry)));
            }
        }
    }
}

/// The stream that a file of this one would make.
fn loaded(stream: &Stream) -> Result<Stream, &'static str> {
    let mut load = load::StreamLoad::default();
    for (id, listpack) in stream.nodes_from(0) {
        load.node(id, listpack)?;
    }
    load.facts(*stream.facts(), true)?;
    load.end()
}

/// Redis writes the shortest form of a number and reads any.
#[test]
fn flags_in_a_longer_form_are_read_and_changed() {
    for [code, back] in [[&[0xc0, 2][..], &[2]], [&[0xf1, 2, 0], &[3]], [&[0xf3, 2, 0, 0, 0], &[5]]]
    {
        let mut node = vec![0; 6];
        // Two live ones, no dead ones, one field: `a`.
        node.extend(b"\x02\x01\x00\x01\x01\x01\x81a\x02\x00\x01");
        for seq in [0, 1] {
            node.extend([code, back, &[0, 1, seq, 1, 0x81, b'v', 2, 4, 1]].concat());
        }
        node.push(0xff);
        let head = [&(node.len() as u32).to_le_bytes()[..], &[15, 0]].concat();
        node[..6].copy_from_slice(&head);
        let mut load = load::StreamLoad::default();
        load.node(id(5), &node).expect("it is whole");
        let facts = Facts { length: 2, last_id: id(9), ..Facts::default() };
        load.facts(facts, true).expect("they are true");
        let mut stream = load.end().expect("it has no groups");
        let entry = |number| (id(number), vec![b"a".to_vec(), b"v".to_vec()]);
        check(&stream, &Model::from([entry(5), entry(6)]));
        assert!(stream.remove(id(5)));
        check(&stream, &Model::from([entry(6)]));
    }
}

fn long_stream(entries: u64) -> Stream {
    let mut stream = Stream::default();
    let limits = NodeLimits::default();
    for number in 0..entries {
        let value = format!("value {number:04}");
        let names = ["first", "second", "third", "fourth", "fifth"];
        let texts = names.iter().flat_map(|name| [name.as_bytes(), value.as_bytes()]);
        stream.append(StreamId::new(1_700_000_000_000 + number, 0), &limits, texts).unwrap();
    }
    stream
}

#[test]
fn an_entry_of_five_fields_takes_what_the_module_estimates() {
    let stream = long_stream(20_000);
    let bytes = stream.heap_bytes() as f64 / 20_000.0;
    assert!((68.0..80.0).contains(&bytes), "{bytes} bytes an entry");
}

#[test]
fn a_copy_costs_a_glance_and_what_changes() {
    let mut stream = long_stream(20_000);
    let copy = stream.clone();
    assert!(stream.remove(StreamId::new(1_700_000_010_000, 0)));
    let shared = |a: &Stream, b: &Stream| {
        let nodes = a.nodes_from(0).zip(b.nodes_from(0));
        nodes.filter(|((_, a), (_, b))| std::ptr::eq(a.as_ptr(), b.as_ptr())).count()
    };
    assert_eq!(shared(&stream, &copy), stream.node_count() - 1);
    assert_eq!((copy.len(), stream.len()), (20_000, 19_999));
}

/// Bytes by looking at everything, to hold the sums against.
#[test]
fn sums_of_bytes_are_kept_whatever_happens() {
    let mut stream = long_stream(3_000);
    stream.add_group(b"g", Group::new(StreamId::MIN, None));
    let ids: Vec<StreamId> = stream.all().map(|entry| entry.id).collect();
    stream.edit_group(b"g", |_, group| {
        let consumers: Vec<ConsumerNumber> = (0..3)
            .map(|n| group.add_consumer(format!("consumer {n}").as_bytes(), 5).unwrap())
            .collect();
        for (at, id) in ids.iter().enumerate() {
            let consumer = consumers[at % 3];
            group.give(*id, Pending { delivered_ms: 1, deliveries: 1, consumer });
        }
    });
    let copy = stream.clone();
    for (at, id) in ids.iter().enumerate() {
        if at % 4 == 0 {
            stream.edit_group(b"g", |_, group| group.take(*id));
        }
        if at % 7 == 0 {
            stream.remove(*id);
        }
    }
    stream.trim(&Trim { bound: Bound::Length(500), is_approximate: false, limit: 0 });
    drop(copy);
    let rebuilt = {
        let mut rebuilt = Stream::clone(&stream);
        // Changing everything once leaves nothing shared and the same sums.
        let ids: Vec<StreamId> = rebuilt.all().map(|entry| entry.id).collect();
        drop(stream);
        rebuilt.remove(ids[0]);
        rebuilt
    };
    let looked_at = rebuilt.content.body.nodes.bytes_by_looking();
    assert_eq!(rebuilt.content.body.nodes.heap_bytes(), looked_at);
}

#[test]
fn pending_entries_stay_with_exactly_one_consumer() {
    let mut group = Group::new(StreamId::MIN, Some(0));
    let [a, b] = [b"a", b"b"].map(|name| group.add_consumer(name, 1).unwrap());
    assert_eq!(group.add_consumer(b"a", 1), None);
    let pending = |consumer, deliveries| Pending { delivered_ms: 1, deliveries, consumer };
    for number in 1..=300 {
        group.give(id(number), pending(if number % 2 == 0 { a } else { b }, 1));
    }
    group.give(id(10), pending(b, 2));
    assert_eq!((group.consumer(a).pending().len(), group.consumer(b).pending().len()), (149, 151));
    assert_eq!(group.take(id(10)).map(|pending| pending.deliveries), Some(2));
    assert_eq!(group.remove_consumer(b"b").map(|(count, _)| count), Some(150));
    assert_eq!(group.pending().len(), 149);
    assert!(group.pending().iter().all(|(_, pending)| pending.consumer == a));
    let c = group.add_consumer(b"c", 1).unwrap();
    assert_eq!(
        group.consumers().map(|(_, consumer)| consumer.name()).collect::<Vec<_>>(),
        [b"a", b"c"]
    );
    assert!(group.consumer(c).pending().is_empty(), "a number that is used again has nothing");
}

#[test]
fn a_stream_is_shed_to_nothing_in_bounded_steps() {
    let mut stream = long_stream(50_000);
    stream.add_group(b"g", Group::new(StreamId::MIN, None));
    let ids: Vec<StreamId> = stream.all().map(|entry| entry.id).collect();
    stream.edit_group(b"g", |_, group| {
        let consumer = group.add_consumer(b"c", 1).unwrap();
        for id in ids {
            group.give(id, Pending { delivered_ms: 1, deliveries: 1, consumer });
        }
    });
    let before = stream.heap_bytes();
    let mut steps = 0;
    loop {
        let freed = stream.shed(100);
        assert!(freed <= 200, "{freed} at a time");
        if freed == 0 {
            break;
        }
        steps += 1;
    }
    assert!(steps > 10, "{steps} steps");
    assert!(stream.heap_bytes() < before / 50);
}

#[test]
fn a_stream_is_gathered_in_steps_and_stays_what_it_is() {
    let mut stream = long_stream(30_000);
    stream.add_group(b"g", Group::new(StreamId::MIN, None));
    let before: Vec<_> = stream.all().map(|entry| words(&entry)).collect();
    let bytes = stream.heap_bytes();
    let (mut place, mut steps) = (Some(0), 0);
    while let Some(from) = place {
        place = stream.gather(from, 32);
        steps += 1;
    }
    assert!(steps > 10, "{steps} steps");
    assert_eq!(stream.heap_bytes(), bytes);
    assert!(stream.all().map(|entry| words(&entry)).eq(before));
}

#[test]
fn trims_take_whole_nodes_or_single_entries() {
    let mut stream = Stream::default();
    (1..=35).for_each(|number| add(&mut stream, number, &["a", "1"]));
    let mut trim = |bound, is_approximate, limit| {
        let (count, gone) = stream.trim(&Trim { bound, is_approximate, limit });
        (count, gone.node_count())
    };
    assert_eq!(trim(Bound::Length(30), true, 0), (0, 0));
    assert_eq!(trim(Bound::Length(24), true, 0), (10, 1));
    assert_eq!(trim(Bound::Length(0), true, 15), (10, 1));
    assert_eq!(trim(Bound::Length(14), false, 0), (1, 0));
    assert_eq!(trim(Bound::First(id(31)), true, 0), (9, 1));
    assert_eq!(trim(Bound::First(id(33)), false, 0), (2, 0));
    assert_eq!(trim(Bound::Length(0), false, 0), (3, 1));
    assert_eq!(stream.facts().first_id, StreamId::MIN);
}
