//! A collection within a row: one word, whose type the row's flags tell.
//!
//! Owns the passage between that word and the types of collections. Every type
//! is one pointer, so that a row needs no room for a tag of its own.
#![allow(unsafe_code)]

use crate::values::hash::Hash;
use crate::values::list::List;
use crate::values::set::Set;
use crate::values::stream::Stream;
use crate::values::value::{Object, ObjectMut, ObjectRef, Type};
use crate::values::zset::ZSet;
use std::ptr::NonNull;

/// Bytes of a collection, and what its place is a multiple of.
pub(super) const SLOT_BYTES: usize = 8;

const _: () = {
    assert!(size_of::<List>() == SLOT_BYTES && align_of::<List>() <= SLOT_BYTES);
    assert!(size_of::<Set>() == SLOT_BYTES && align_of::<Set>() <= SLOT_BYTES);
    assert!(size_of::<ZSet>() == SLOT_BYTES && align_of::<ZSet>() <= SLOT_BYTES);
    assert!(size_of::<Hash>() == SLOT_BYTES && align_of::<Hash>() <= SLOT_BYTES);
    assert!(size_of::<Stream>() == SLOT_BYTES && align_of::<Stream>() <= SLOT_BYTES);
};

/// Puts a collection into a slot.
///
/// # Safety
/// `at` is aligned to `SLOT_BYTES`, and as many bytes from there on may be written.
pub(super) unsafe fn put(at: NonNull<u8>, object: Object) {
    // SAFETY: by the contract above; each type fits.
    unsafe {
        match object {
            Object::List(list) => at.cast().write(list),
            Object::Set(set) => at.cast().write(set),
            Object::ZSet(zset) => at.cast().write(zset),
            Object::Hash(hash) => at.cast().write(hash),
            Object::Stream(stream) => at.cast().write(stream),
        }
    }
}

/// Lends the collection in a slot.
///
/// # Safety
/// A collection of this type was put there, and stays unchanged for `'a`.
#[inline(always)]
pub(super) unsafe fn get<'a>(at: NonNull<u8>, kind: Type) -> ObjectRef<'a> {
    // SAFETY: by the contract above.
    unsafe {
        match kind {
            Type::List => ObjectRef::List(at.cast().as_ref()),
            Type::Set => ObjectRef::Set(at.cast().as_ref()),
            Type::ZSet => ObjectRef::ZSet(at.cast().as_ref()),
            Type::Hash => ObjectRef::Hash(at.cast().as_ref()),
            Type::Stream => ObjectRef::Stream(at.cast().as_ref()),
            Type::String => unreachable!("strings have no slot"),
        }
    }
}

/// Lends the collection in a slot, for changing it.
///
/// # Safety
/// A collection of this type was put there, and nothing else refers to it for `'a`.
#[inline(always)]
pub(super) unsafe fn get_mut<'a>(at: NonNull<u8>, kind: Type) -> ObjectMut<'a> {
    // SAFETY: by the contract above.
    unsafe {
        match kind {
            Type::List => ObjectMut::List(at.cast().as_mut()),
            Type::Set => ObjectMut::Set(at.cast().as_mut()),
            Type::ZSet => ObjectMut::ZSet(at.cast().as_mut()),
            Type::Hash => ObjectMut::Hash(at.cast().as_mut()),
            Type::Stream => ObjectMut::Stream(at.cast().as_mut()),
            Type::String => unreachable!("strings have no slot"),
        }
    }
}

/// Takes the collection out of a slot.
///
/// # Safety
/// A collection of this type was put there, and is not read from there again.
pub(super) unsafe fn take(at: NonNull<u8>, kind: Type) -> Object {
    // SAFETY: by the contract above.
    unsafe {
        match kind {
            Type::List => Object::List(at.cast().read()),
            Type::Set => Object::Set(at.cast().read()),
            Type::ZSet => Object::ZSet(at.cast().read()),
            Type::Hash => Object::Hash(at.cast().read()),
            Type::Stream => Object::Stream(at.cast().read()),
            Type::String => unreachable!("strings have no slot"),
        }
    }
}
