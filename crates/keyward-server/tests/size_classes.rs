//! What the store takes for the size of an allocation is what the allocator hands out.

use keyward_store::values::size_class::{allocated, size_class};
use tikv_jemalloc_ctl::thread;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Every size up to here, and some above.
const EACH_BYTES_MAX: usize = 64 * 1024;
const BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes that the allocator hands out for a request.
fn taken(bytes: usize) -> usize {
    let allocated = thread::allocatedp::read().expect("the allocator counts");
    let before = allocated.get();
    let allocation = Vec::<u8>::with_capacity(bytes);
    let taken = allocated.get() - before;
    drop(allocation);
    taken as usize
}

#[test]
fn size_classes_are_the_allocators() {
    let some = (EACH_BYTES_MAX..BYTES_MAX).step_by(3 * 4096 + 1);
    for bytes in (1..EACH_BYTES_MAX).chain(some) {
        assert_eq!(allocated(bytes), taken(bytes), "{bytes} bytes");
        let class = size_class(bytes);
        assert_eq!(class, taken(class), "{bytes} bytes, rounded up");
    }
}
