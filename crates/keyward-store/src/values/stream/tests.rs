//! Streams against a plain model, and what they cost.

use super::*;
use crate::values::footprint::{Footprint, HeapBytes};
use proptest::prelude::*;
use std::collections::BTreeMap;

const LIMITS: NodeLimits = NodeLimits { bytes_max: 4096, entries_max: 10 };
/// So that few entries make several nodes.
const SMALL: NodeLimits = NodeLimits { bytes_max: 4096, entries_max: 3 };

fn id(number: u64) -> StreamId {
    StreamId::new(number / 5, number % 5)
}

fn add(stream: &mut Stream, number: u64, texts: &[&str]) {
    add_to(stream, &LIMITS, number, texts);
}

fn add_to(stream: &mut Stream, limits: &NodeLimits, number: u64, texts: &[&str]) {
    let texts = texts.iter().map(|text| text.as_bytes());
    stream.append(id(number), limits, texts).expect("it is short");
}

/// The same with every node as it is before it is closed.
fn whole(stream: &Stream) -> Stream {
    let mut whole = stream.clone();
    let nodes = &mut whole.content.body.nodes;
    for number in 0..nodes.len() {
        let place = nodes.nth(number).expect("there are so many");
        nodes.edit(place, |_, node| node.complete());
    }
    whole
}

/// Which nodes are stripped.
fn stripped(stream: &Stream) -> Vec<bool> {
    let twigs = stream.nodes.from(tree::Place::START);
    twigs.map(|twig| twig.leaf.codes().is_stripped()).collect()
}

/// The listpacks of all nodes.
fn listpacks(stream: &Stream) -> Vec<Vec<u8>> {
    stream.nodes_from(0).map(|(_, listpack)| listpack.into_owned()).collect()
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
    TakeBack(u64),
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
        2 => (1u64..8).prop_map(Step::TakeBack),
    ]
}

proptest! {
    #[test]
    fn a_stream_is_what_a_map_is_and_so_are_its_copies(
        steps in proptest::collection::vec(step(), 1..150),
        limits in prop_oneof![Just(LIMITS), Just(SMALL)],
        ends in (0u64..300, 0u64..300),
    ) {
        let (mut stream, mut model) = (Stream::default(), Model::new());
        let (mut number, mut copies) = (0, Vec::new());
        for step in steps {
            match step {
                Step::Add(ahead, texts) => {
                    number += ahead;
                    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                    add_to(&mut stream, &limits, number, &texts);
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
                Step::TakeBack(count) => {
                    let before = listpacks(&stream);
                    let mut facts = Vec::new();
                    for ahead in 1..=count {
                        facts.push(*stream.facts());
                        add_to(&mut stream, &limits, number + ahead, &["back", "again"]);
                    }
                    facts.into_iter().rev().for_each(|facts| stream.take_last(facts));
                    prop_assert_eq!(before, listpacks(&stream));
                }
            }
            check(&stream, &model);
        }
        for (copy, model) in &copies {
            check(copy, model);
        }
        let bounds = [ends.0.min(ends.1), ends.0.max(ends.1)].map(id);
        let expected: Vec<_> = model.range(bounds[0]..=bounds[1]).map(|(id, _)| *id).collect();
        let loaded = loaded(&stream).expect("it was just written");
        for stream in [&stream, &whole(&stream), &loaded] {
            check(stream, &model);
            let ids = |direction| stream.range(bounds, direction).map(|entry| entry.id);
            prop_assert!(ids(Direction::Forward).eq(expected.iter().copied()));
            prop_assert!(ids(Direction::Backward).eq(expected.iter().rev().copied()));
            for id in (0..300).map(id) {
                let entry = stream.get(id).map(|entry| words(&entry).1);
                prop_assert_eq!(entry.as_ref(), model.get(&id));
            }
        }
        prop_assert!(!stripped(&whole(&stream)).contains(&true));
        prop_assert_eq!(listpacks(&stream), listpacks(&whole(&stream)));
        prop_assert_eq!(listpacks(&stream), listpacks(&loaded));
        prop_assert_eq!(stream.nodes.heap_bytes(), stream.nodes.bytes_by_looking());
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
        let mut node = node.into_owned();
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
        load.node(id, &listpack)?;
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
    assert!((60.0..68.0).contains(&bytes), "{bytes} bytes an entry");
}

/// Entries of short names: a listpack is full at some 4,096 bytes, a little below or above.
#[test]
fn full_nodes_take_less_than_their_listpacks() {
    let mut stream = Stream::default();
    for number in 0..20_000 {
        let value = "v".repeat(1 + number as usize % 14);
        let texts = ["a", "b", "c", "d", "e"].iter().flat_map(|name| [*name, &value]);
        let texts = texts.map(str::as_bytes);
        stream.append(StreamId::new(number + 1, 0), &NodeLimits::default(), texts).unwrap();
    }
    let packed: usize = listpacks(&stream).iter().map(Vec::len).sum();
    let ratio = stream.heap_bytes() as f64 / packed as f64;
    assert!(ratio < 0.92, "{ratio}");
    let loaded = loaded(&stream).expect("it was just written");
    assert!(loaded.heap_bytes() <= stream.heap_bytes());
}

#[test]
fn nodes_are_stripped_when_two_have_come_and_are_whole_again_once_they_change() {
    let mut stream = Stream::default();
    let texts = ["name", "value"];
    (1..=35).for_each(|number| add(&mut stream, number, &texts));
    assert_eq!(stripped(&stream), [true, true, false, false]);
    assert!(stream.remove(id(15)));
    assert_eq!(stripped(&stream), [true, false, false, false]);
    (36..=45).for_each(|number| add(&mut stream, number, &texts));
    assert_eq!(stripped(&stream), [true, false, true, false, false]);
    let mut trim = |bound| stream.trim(&Trim { bound, is_approximate: false, limit: 0 }).0;
    assert_eq!(trim(Bound::First(id(1))), 0);
    assert_eq!(trim(Bound::Length(43)), 1);
    assert_eq!(stripped(&stream), [false, false, true, false, false]);
    (41..=45).for_each(|number| assert!(stream.remove(id(number))));
    assert_eq!(stripped(&stream), [false, false, true, false], "the last one went");
    add(&mut stream, 46, &texts);
    assert_eq!(stripped(&stream), [false, false, true, false, false], "the one before was full");
    let loaded = loaded(&stream).expect("it was just written");
    assert_eq!(stripped(&loaded), [false, false, true, true, true]);
}

/// The last node of a stream that was loaded is stripped too, until an entry comes to it.
#[test]
fn entries_come_to_a_stripped_node_where_redis_puts_them() {
    let mut stream = Stream::default();
    (1..=7).for_each(|number| add(&mut stream, number, &["name", "value"]));
    let mut loaded = loaded(&stream).expect("it was just written");
    assert_eq!(stripped(&loaded), [true]);
    for number in 8..=12 {
        add(&mut loaded, number, &["name", "value"]);
        add(&mut stream, number, &["name", "value"]);
        assert_eq!(listpacks(&loaded), listpacks(&stream));
    }
    assert_eq!(stripped(&loaded), [false, false]);
}

#[test]
fn a_copy_costs_a_glance_and_what_changes() {
    let mut stream = long_stream(20_000);
    let copy = stream.clone();
    assert!(stream.remove(StreamId::new(1_700_000_010_000, 0)));
    let shared = |a: &Stream, b: &Stream| {
        let [a, b] = [a, b].map(|stream| stream.nodes.from(tree::Place::START));
        a.zip(b).filter(|(a, b)| Arc::ptr_eq(&a.leaf, &b.leaf)).count()
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
