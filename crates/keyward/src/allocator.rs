//! The allocator, and how it is set up.
//!
//! Owns nothing at run time: jemalloc reads `CONFIGURATION` before `main` begins.
//! This module is `unsafe` because a symbol by which C finds it needs a fixed name.
#![allow(unsafe_code)]

/// Redis's own allocator: the engine's rows are sized by its classes.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Huge pages. At a million keys each command looks up addresses that the processor has
/// forgotten; with pages of 2 MB it takes 0.8 of the time. Redis has to do without, since
/// after its fork a write would copy 2 MB; here nothing forks. A thin pointer, as C wants.
// SAFETY: the name is jemalloc's own, for a text that ends with a zero byte.
#[unsafe(export_name = "_rjem_malloc_conf")]
static CONFIGURATION: &[u8; 11] = b"thp:always\0";
