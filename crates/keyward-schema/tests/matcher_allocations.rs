//! Finding the pattern of a key allocates nothing, whatever the key.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

use keyward_schema::{Matcher, Pattern};

thread_local! {
    static ALLOCATION_COUNT: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, which counts what each thread takes.
struct Counting;

// SAFETY: all is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATION_COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps what the system's allocator demands.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: it was allocated above, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn finding_a_pattern_and_its_values_allocates_nothing() {
    let patterns = [
        "user:{id:uint}:views:{day:date}",
        "a_word_that_is_longer_than_two_edges:{x}",
        "{class:text(A-Za-z0-9_)}-{day:text(0-9, 2)}:{minute:uint}",
        "{id:uuid}.reply",
        "huey.r.{name:text(A-Za-z0-9_)}.{instance:text(A-Za-z0-9_-)}.lock.{lock:rest}",
        "huey.r.{name:text(A-Za-z0-9_)}.{key:rest}",
        "LIMITS:{address:ip}/{scope:rest}/{amount:uint}/{per:second|minute}",
        "other:{x}some-long-text{y}:z",
    ];
    let keys = [
        ("user:42:views:2025-12-31", Some(0)),
        ("a_word_that_is_longer_than_two_edges:1", Some(1)),
        ("HardJob-12:7", Some(2)),
        ("123e4567-e89b-12d3-a456-426614174000.reply", Some(3)),
        ("huey.r.shop.mail.lock.a:b", Some(4)),
        ("huey.r.shop.anything at all", Some(5)),
        ("LIMITS:2001:db8::8a2e:370:7334/a:b/c/7/minute", Some(6)),
        ("other:onesome-long-texttwo:z", Some(7)),
        ("LIMITS:1.2.3.4.5/a/7/minute", None),
        ("user:042:views:2025-12-31", None),
        ("", None),
        (":::::::::::::::::::::::::::::::::::::::::::::::::::::::::::::::::::::::::::", None),
    ];
    let parsed = patterns.map(|text| Pattern::parse(text).expect(text));
    let matcher = Matcher::new(&parsed).expect("patterns that can be told apart");
    for (key, expected) in keys {
        let before = ALLOCATION_COUNT.get();
        let found = matcher.find(black_box(key.as_bytes()));
        let index = found.as_ref().map(|found| found.pattern);
        let bytes: usize =
            found.iter().flat_map(|found| found.placeholders()).map(<[u8]>::len).sum();
        black_box(bytes);
        assert_eq!(ALLOCATION_COUNT.get(), before, "{key}");
        assert_eq!(index, expected, "{key}");
    }
}
