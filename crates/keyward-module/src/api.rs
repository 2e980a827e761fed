//! The server's C interface, as far as it is used.
//!
//! Owns every declaration of it, the pointers that the server hands out by GetApi, and the safe
//! types around them: a context, an opened key, a reply, the arguments of a filter. All unsafe
//! code of the module is here.
//! Invariants: no pointer outlives the callback that it came with (the lifetimes say so); bytes
//! are read with the length that came with them; what is created is freed when it is dropped;
//! every entry is run in `catch_unwind`, so that no panic crosses into C.
//! It stays whole, so that who reviews the module's unsafe code has one file to read.
//! Not here: what is done with any of it.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::{CStr, CString, c_char, c_double, c_int, c_long, c_longlong, c_void};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

/// The command that returns a refusal: its text, then the key that it is about. What panics in a
/// filter is led to it.
pub(crate) const REFUSE: &str = "keyward.refuse";

/// What entries return.
pub(crate) const OK: c_int = 0;
pub(crate) const ERR: c_int = 1;

/// An opaque type of the server.
#[repr(C)]
pub(crate) struct Opaque {
    _private: [u8; 0],
}

pub(crate) type Raw = *mut Opaque;
type CommandFunction = extern "C" fn(Raw, *mut Raw, c_int) -> c_int;
type FilterFunction = extern "C" fn(Raw);
type EventFunction = extern "C" fn(Raw, RawEvent, u64, *mut c_void);
type JobFunction = extern "C" fn(Raw, *mut c_void);
type InfoFunction = extern "C" fn(Raw, c_int);

/// `RedisModuleEvent`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct RawEvent {
    id: u64,
    data_version: u64,
}

/// `RedisModuleKeyInfo`.
#[repr(C)]
struct RawKeyInfo {
    version: u64,
    key: Raw,
}

macro_rules! functions {
    ($($field:ident: $name:literal, $signature:ty;)+) => {
        /// The functions of the server.
        struct Api { $($field: $signature,)+ }

        impl Api {
            /// Gets all of them; the name of one that the server lacks otherwise.
            ///
            /// # Safety
            /// `get` must be the server's GetApi.
            unsafe fn of(get: GetApi) -> Result<Api, &'static str> {
                Ok(Api { $($field: {
                    let mut found: *mut c_void = null_mut();
                    let name = concat!("RedisModule_", $name, "\0");
                    // SAFETY: the name ends in a zero byte, and the place is one pointer wide.
                    let status = unsafe { get(name.as_ptr().cast(), (&raw mut found).cast()) };
                    if status != OK || found.is_null() {
                        return Err($name);
                    }
                    // SAFETY: what the server registers under this name has this signature since
                    // version 7.2, in Redis and in Valkey.
                    unsafe { std::mem::transmute::<*mut c_void, $signature>(found) }
                },)+ })
            }
        }
    };
}

type GetApi = unsafe extern "C" fn(*const c_char, *mut c_void) -> c_int;

functions! {
    alloc: "Alloc", unsafe extern "C" fn(usize) -> *mut c_void;
    calloc: "Calloc", unsafe extern "C" fn(usize, usize) -> *mut c_void;
    realloc: "Realloc", unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;
    free: "Free", unsafe extern "C" fn(*mut c_void);
    set_module_attribs: "SetModuleAttribs", unsafe extern "C" fn(Raw, *const c_char, c_int, c_int);
    is_module_name_busy: "IsModuleNameBusy", unsafe extern "C" fn(*const c_char) -> c_int;
    context_flags: "GetContextFlags", unsafe extern "C" fn(Raw) -> c_int;
    log: "Log", unsafe extern "C" fn(Raw, *const c_char, *const c_char, ...);
    create_command: "CreateCommand", unsafe extern "C" fn(Raw, *const c_char, CommandFunction, *const c_char, c_int, c_int, c_int) -> c_int;
    get_command: "GetCommand", unsafe extern "C" fn(Raw, *const c_char) -> Raw;
    set_acl_categories: "SetCommandACLCategories", unsafe extern "C" fn(Raw, *const c_char) -> c_int;
    is_keys_request: "IsKeysPositionRequest", unsafe extern "C" fn(Raw) -> c_int;
    key_at: "KeyAtPosWithFlags", unsafe extern "C" fn(Raw, c_int, c_int);
    register_filter: "RegisterCommandFilter", unsafe extern "C" fn(Raw, FilterFunction, c_int) -> Raw;
    filter_count: "CommandFilterArgsCount", unsafe extern "C" fn(Raw) -> c_int;
    filter_get: "CommandFilterArgGet", unsafe extern "C" fn(Raw, c_int) -> Raw;
    filter_replace: "CommandFilterArgReplace", unsafe extern "C" fn(Raw, c_int, Raw) -> c_int;
    filter_insert: "CommandFilterArgInsert", unsafe extern "C" fn(Raw, c_int, Raw) -> c_int;
    filter_delete: "CommandFilterArgDelete", unsafe extern "C" fn(Raw, c_int) -> c_int;
    subscribe: "SubscribeToServerEvent", unsafe extern "C" fn(Raw, RawEvent, EventFunction) -> c_int;
    add_job: "AddPostNotificationJob", unsafe extern "C" fn(Raw, JobFunction, *mut c_void, Option<extern "C" fn(*mut c_void)>) -> c_int;
    register_info: "RegisterInfoFunc", unsafe extern "C" fn(Raw, InfoFunction) -> c_int;
    info_section: "InfoAddSection", unsafe extern "C" fn(Raw, *const c_char) -> c_int;
    info_text: "InfoAddFieldCString", unsafe extern "C" fn(Raw, *const c_char, *const c_char) -> c_int;
    info_number: "InfoAddFieldULongLong", unsafe extern "C" fn(Raw, *const c_char, u64) -> c_int;
    create_string: "CreateString", unsafe extern "C" fn(Raw, *const c_char, usize) -> Raw;
    free_string: "FreeString", unsafe extern "C" fn(Raw, Raw);
    string_bytes: "StringPtrLen", unsafe extern "C" fn(Raw, *mut usize) -> *const c_char;
    selected_db: "GetSelectedDb", unsafe extern "C" fn(Raw) -> c_int;
    select_db: "SelectDb", unsafe extern "C" fn(Raw, c_int) -> c_int;
    cached_us: "CachedMicroseconds", unsafe extern "C" fn() -> i64;
    open_key: "OpenKey", unsafe extern "C" fn(Raw, Raw, c_int) -> Raw;
    close_key: "CloseKey", unsafe extern "C" fn(Raw);
    key_type: "KeyType", unsafe extern "C" fn(Raw) -> c_int;
    key_length: "ValueLength", unsafe extern "C" fn(Raw) -> usize;
    key_name: "GetKeyNameFromModuleKey", unsafe extern "C" fn(Raw) -> Raw;
    key_db: "GetDbIdFromModuleKey", unsafe extern "C" fn(Raw) -> c_int;
    key_deadline: "GetAbsExpire", unsafe extern "C" fn(Raw) -> i64;
    string_dma: "StringDMA", unsafe extern "C" fn(Raw, *mut usize, c_int) -> *const c_char;
    hash_get: "HashGet", unsafe extern "C" fn(Raw, c_int, ...) -> c_int;
    zset_score: "ZsetScore", unsafe extern "C" fn(Raw, Raw, *mut c_double) -> c_int;
    scan_cursor: "ScanCursorCreate", unsafe extern "C" fn() -> Raw;
    scan_cursor_free: "ScanCursorDestroy", unsafe extern "C" fn(Raw);
    scan_key: "ScanKey", unsafe extern "C" fn(Raw, Raw, ScanFunction, *mut c_void) -> c_int;
    list_get: "ListGet", unsafe extern "C" fn(Raw, c_long) -> Raw;
    call: "Call", unsafe extern "C" fn(Raw, *const c_char, *const c_char, ...) -> Raw;
    free_reply: "FreeCallReply", unsafe extern "C" fn(Raw);
    reply_type: "CallReplyType", unsafe extern "C" fn(Raw) -> c_int;
    reply_integer: "CallReplyInteger", unsafe extern "C" fn(Raw) -> c_longlong;
    reply_length: "CallReplyLength", unsafe extern "C" fn(Raw) -> usize;
    reply_element: "CallReplyArrayElement", unsafe extern "C" fn(Raw, usize) -> Raw;
    reply_bytes: "CallReplyStringPtr", unsafe extern "C" fn(Raw, *mut usize) -> *const c_char;
    send_reply: "ReplyWithCallReply", unsafe extern "C" fn(Raw, Raw) -> c_int;
    send_error: "ReplyWithError", unsafe extern "C" fn(Raw, *const c_char) -> c_int;
    send_integer: "ReplyWithLongLong", unsafe extern "C" fn(Raw, c_longlong) -> c_int;
    send_bytes: "ReplyWithStringBuffer", unsafe extern "C" fn(Raw, *const c_char, usize) -> c_int;
    send_text: "ReplyWithSimpleString", unsafe extern "C" fn(Raw, *const c_char) -> c_int;
    user_name: "GetCurrentUserName", unsafe extern "C" fn(Raw) -> Raw;
    user_of_name: "GetModuleUserFromUserName", unsafe extern "C" fn(Raw) -> Raw;
    free_user: "FreeModuleUser", unsafe extern "C" fn(Raw);
    check_command: "ACLCheckCommandPermissions", unsafe extern "C" fn(Raw, *const Raw, c_int) -> c_int;
    check_key: "ACLCheckKeyPermissions", unsafe extern "C" fn(Raw, Raw, c_int) -> c_int;
    avoids_traffic: "AvoidReplicaTraffic", unsafe extern "C" fn() -> c_int;
    create_timer: "CreateTimer", unsafe extern "C" fn(Raw, c_longlong, JobFunction, *mut c_void) -> u64;
    block_client: "BlockClient", BlockClient;
    unblock_client: "UnblockClient", unsafe extern "C" fn(Raw, *mut c_void) -> c_int;
    send_null_array: "ReplyWithNullArray", unsafe extern "C" fn(Raw) -> c_int;
    block_on_keys: "BlockClientOnKeys", BlockOnKeys;
    send_null: "ReplyWithNull", unsafe extern "C" fn(Raw) -> c_int;
    send_array: "ReplyWithArray", unsafe extern "C" fn(Raw, c_long) -> c_int;
}

type BlockOnKeys = unsafe extern "C" fn(
    Raw,
    CommandFunction,
    CommandFunction,
    Option<extern "C" fn(Raw, *mut c_void)>,
    c_longlong,
    *const Raw,
    c_int,
    *mut c_void,
) -> Raw;
type BlockClient = unsafe extern "C" fn(
    Raw,
    Option<CommandFunction>,
    Option<CommandFunction>,
    Option<extern "C" fn(Raw, *mut c_void)>,
    c_longlong,
) -> Raw;
type ScanFunction = extern "C" fn(Raw, Raw, Raw, *mut c_void);

static API: OnceLock<Api> = OnceLock::new();

fn api() -> &'static Api {
    API.get().expect("the server's functions were got when the module was loaded")
}

/// Memory of the server, so that used_memory and maxmemory see it.
struct ServerMemory;

#[global_allocator]
static MEMORY: ServerMemory = ServerMemory;

/// The server promises no more than this.
const SERVER_ALIGNMENT: usize = 8;

// SAFETY: memory comes from the server's allocator, or from the system's where there is no server
// (unit tests): nothing is allocated before `load` has got the functions, and they stay.
unsafe impl GlobalAlloc for ServerMemory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(api) = API.get() else {
            // SAFETY: the caller's promise.
            return unsafe { System.alloc(layout) };
        };
        if layout.align() <= SERVER_ALIGNMENT {
            // SAFETY: any size can be asked for.
            return unsafe { (api.alloc)(layout.size()) }.cast();
        }
        // In front of an aligned block stands where it begins.
        let room = layout.size() + layout.align() + size_of::<usize>();
        // SAFETY: as above; the block has room for the address, and for the alignment behind it.
        unsafe {
            let begin: *mut u8 = (api.alloc)(room).cast();
            let first = begin.add(size_of::<usize>());
            let aligned = first.add(first.align_offset(layout.align()));
            aligned.cast::<*mut u8>().sub(1).write_unaligned(begin);
            aligned
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let Some(api) = API.get() else {
            // SAFETY: the caller's promise; without a server it came from the system.
            return unsafe { System.dealloc(block, layout) };
        };
        if layout.align() <= SERVER_ALIGNMENT {
            // SAFETY: it came from `alloc`.
            return unsafe { (api.free)(block.cast()) };
        }
        // SAFETY: `alloc` wrote the address in front of it.
        unsafe { (api.free)(block.cast::<*mut u8>().sub(1).read_unaligned().cast()) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match API.get() {
            Some(api) if layout.align() <= SERVER_ALIGNMENT => {
                // SAFETY: any size can be asked for.
                unsafe { (api.calloc)(1, layout.size()) }.cast()
            }
            _ => {
                // SAFETY: the caller's promise; the block is as long as the layout says.
                unsafe {
                    let block = self.alloc(layout);
                    if !block.is_null() {
                        block.write_bytes(0, layout.size());
                    }
                    block
                }
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match API.get() {
            Some(api) if layout.align() <= SERVER_ALIGNMENT => {
                // SAFETY: it came from `alloc`.
                unsafe { (api.realloc)(block.cast(), size) }.cast()
            }
            _ => {
                // SAFETY: the caller's promise; both blocks have room for the smaller size.
                unsafe {
                    let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
                    if !new.is_null() {
                        new.copy_from_nonoverlapping(block, layout.size().min(size));
                        self.dealloc(block, layout);
                    }
                    new
                }
            }
        }
    }
}

/// The bytes of a string of the server.
fn bytes_of<'s>(string: Raw) -> &'s [u8] {
    let mut length = 0;
    // SAFETY: who calls this has a string of the server that lives for `'s`.
    let start = unsafe { (api().string_bytes)(string, &raw mut length) };
    slice(start, length)
}

/// Bytes of the server, which live for `'s`; a null pointer is none.
fn slice<'s>(start: *const c_char, length: usize) -> &'s [u8] {
    if start.is_null() || length == 0 {
        return &[];
    }
    // SAFETY: the server told how many there are.
    unsafe { std::slice::from_raw_parts(start.cast(), length) }
}

/// A text for C, up to its first zero byte.
fn c_text(text: &str) -> CString {
    let text = text.split('\0').next().unwrap_or_default();
    CString::new(text).unwrap_or_default()
}

/// A string of our own making.
struct OwnString(Raw);

impl OwnString {
    fn of(bytes: &[u8]) -> OwnString {
        // SAFETY: the server copies that many bytes; without a context the string is ours.
        OwnString(unsafe { (api().create_string)(null_mut(), bytes.as_ptr().cast(), bytes.len()) })
    }

    /// Hands it to the server.
    fn give(self) -> Raw {
        let raw = self.0;
        std::mem::forget(self);
        raw
    }
}

impl Drop for OwnString {
    fn drop(&mut self) {
        // SAFETY: it is ours, and freed once.
        unsafe { (api().free_string)(null_mut(), self.0) }
    }
}

/// A context, for as long as the callback runs that it was given to.
#[derive(Clone, Copy)]
pub(crate) struct Ctx<'c> {
    raw: Raw,
    life: PhantomData<&'c ()>,
}

/// A client that waits for what we are going to tell it.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// The server's handle.
    address: usize,
}

impl Waiting {
    /// Has [`Entries::told`] called, unless the client is gone.
    pub(crate) fn release(self) {
        let raw = std::ptr::with_exposed_provenance_mut(self.address);
        // SAFETY: the server gave us the handle, which is used once; nothing is handed over.
        unsafe { (api().unblock_client)(raw, null_mut()) };
    }
}

/// The arguments of a command, as the server has them.
#[derive(Clone, Copy)]
pub(crate) struct Argv<'c> {
    raw: &'c [Raw],
}

impl<'c> Argv<'c> {
    pub(crate) fn iter(self) -> impl Iterator<Item = &'c [u8]> {
        self.raw.iter().map(|string| bytes_of(*string))
    }

    /// Those from one on.
    pub(crate) fn from(self, index: usize) -> Argv<'c> {
        Argv { raw: self.raw.get(index..).unwrap_or_default() }
    }
}

/// How loud a line of the log is.
#[derive(Clone, Copy)]
pub(crate) enum Loudness {
    Notice,
    Warning,
}

/// With whose rights a command is run, and who is told of it.
#[derive(Clone, Copy)]
pub(crate) enum Run {
    /// A client's, with its rights; replicas and the append-only file are told.
    Client,
    /// Our own; replicas and the append-only file are told.
    Own,
    /// Our own, which only reads.
    Read,
}

impl Run {
    fn format(self) -> &'static CStr {
        match self {
            Run::Client => c"!0ECv",
            Run::Own => c"!0Ev",
            Run::Read => c"Ev",
        }
    }
}

/// What of a context's server is asked.
const FLAG_REPLICA: c_int = 1 << 3;
const FLAG_CLUSTER: c_int = 1 << 5;
const FLAG_DENY_BLOCKING: c_int = 1 << 21;
const FLAG_SERVER_STARTUP: c_int = 1 << 24;
const FLAG_IMPORTS_SLOT: c_int = 1 << 25;

impl<'c> Ctx<'c> {
    fn of(raw: Raw) -> Ctx<'c> {
        Ctx { raw, life: PhantomData }
    }

    pub(crate) fn log(self, loudness: Loudness, text: &str) {
        let level = match loudness {
            Loudness::Notice => c"notice",
            Loudness::Warning => c"warning",
        };
        let text = c_text(text);
        // SAFETY: the text stands for the `%s`, and both end in a zero byte.
        unsafe { (api().log)(self.raw, level.as_ptr(), c"%s".as_ptr(), text.as_ptr()) }
    }

    pub(crate) fn is_replica(self) -> bool {
        // SAFETY: the context is valid.
        unsafe { (api().context_flags)(self.raw) & FLAG_REPLICA != 0 }
    }

    /// Whether the server is starting, and has served nobody yet.
    pub(crate) fn is_starting(self) -> bool {
        // SAFETY: the context is valid.
        unsafe { (api().context_flags)(self.raw) & FLAG_SERVER_STARTUP != 0 }
    }

    pub(crate) fn is_cluster(self) -> bool {
        // SAFETY: the context is valid.
        unsafe { (api().context_flags)(self.raw) & FLAG_CLUSTER != 0 }
    }

    /// Whether a command comes from the node that hands a slot over, by Valkey's MIGRATESLOTS.
    pub(crate) fn imports_slot(self) -> bool {
        // SAFETY: the context is valid.
        unsafe { (api().context_flags)(self.raw) & FLAG_IMPORTS_SLOT != 0 }
    }

    /// Whether a client cannot wait here: in a transaction or a script.
    pub(crate) fn denies_waiting(self) -> bool {
        // SAFETY: the context is valid.
        unsafe { (api().context_flags)(self.raw) & FLAG_DENY_BLOCKING != 0 }
    }

    /// Has the client wait until one of these keys is ready, or so long; for ever if that is zero.
    pub(crate) fn wait_for<E: Entries>(self, keys: &[&[u8]], timeout_ms: i64) {
        let names: Vec<OwnString> = keys.iter().map(|key| OwnString::of(key)).collect();
        let raw: Vec<Raw> = names.iter().map(|name| name.0).collect();
        let count = c_int::try_from(raw.len()).unwrap_or(0);
        // SAFETY: the context is valid; the server keeps the names that it needs, and nothing is
        // handed over with them.
        unsafe {
            (api().block_on_keys)(
                self.raw,
                woken_entry::<E>,
                timeout_entry::<E>,
                None,
                timeout_ms,
                raw.as_ptr(),
                count,
                null_mut(),
            );
        }
    }

    /// Has the client wait until it is released, for ever otherwise.
    pub(crate) fn wait<E: Entries>(self) -> Waiting {
        // SAFETY: the context is valid; the entry lives as long as the module.
        let raw = unsafe { (api().block_client)(self.raw, Some(told_entry::<E>), None, None, 0) };
        Waiting { address: raw.expose_provenance() }
    }

    /// Has [`Entries::tick`] called soon, once.
    pub(crate) fn start_timer<E: Entries>(self) {
        const SOON_MS: c_longlong = 1;
        // SAFETY: the context is valid; nothing is handed over with it.
        unsafe { (api().create_timer)(self.raw, SOON_MS, tick_entry::<E>, null_mut()) };
    }

    /// Whether the server must not write now: clients are paused, by who hands over to a replica.
    pub(crate) fn is_paused(self) -> bool {
        // SAFETY: it takes nothing.
        unsafe { (api().avoids_traffic)() != 0 }
    }

    /// Makes a command; its keys are told by [`Entries::command`] where it has `getkeys-api`.
    pub(crate) fn create_command<E: Entries>(
        self,
        name: &str,
        flags: &str,
        categories: &str,
    ) -> bool {
        let (name, flags, categories) = (c_text(name), c_text(flags), c_text(categories));
        // SAFETY: the context is valid, the texts end in zero bytes and are copied.
        unsafe {
            let made = (api().create_command)(
                self.raw,
                name.as_ptr(),
                command_entry::<E>,
                flags.as_ptr(),
                0,
                0,
                0,
            );
            if made != OK {
                return false;
            }
            let command = (api().get_command)(self.raw, name.as_ptr());
            !command.is_null() && (api().set_acl_categories)(command, categories.as_ptr()) == OK
        }
    }

    /// Makes a command with one key at a position.
    pub(crate) fn create_command_with_key<E: Entries>(
        self,
        (name, flags, categories): (&str, &str, &str),
        key: i32,
    ) -> bool {
        let (name, flags, categories) = (c_text(name), c_text(flags), c_text(categories));
        let entry = command_entry::<E>;
        let step = i32::from(key > 0);
        // SAFETY: as above.
        unsafe {
            let create = api().create_command;
            if create(self.raw, name.as_ptr(), entry, flags.as_ptr(), key, key, step) != OK {
                return false;
            }
            let command = (api().get_command)(self.raw, name.as_ptr());
            !command.is_null() && (api().set_acl_categories)(command, categories.as_ptr()) == OK
        }
    }

    /// Has commands filtered, events told and INFO asked.
    pub(crate) fn subscribe<E: Entries>(self) -> bool {
        /// Not the commands that we run ourselves.
        const NO_SELF: c_int = 1;
        let event = |id: u64| RawEvent { id, data_version: 1 };
        // SAFETY: the context is valid, and the entries live as long as the module.
        unsafe {
            !(api().register_filter)(self.raw, filter_entry::<E>, NO_SELF).is_null()
                && (api().subscribe)(self.raw, event(EVENT_ROLE), event_entry::<E>) == OK
                && (api().subscribe)(self.raw, event(EVENT_KEY), event_entry::<E>) == OK
                && (api().register_info)(self.raw, info_entry::<E>) == OK
        }
    }

    /// Has [`Entries::job`] called once the unit that is running has ended, as a part of it.
    pub(crate) fn add_job<E: Entries>(self) -> bool {
        // SAFETY: the context is valid; nothing is handed over with it.
        unsafe { (api().add_job)(self.raw, job_entry::<E>, null_mut(), None) == OK }
    }

    /// Whether the server only wants to know the keys of a command.
    pub(crate) fn asks_keys(self) -> bool {
        // SAFETY: the context is valid.
        unsafe { (api().is_keys_request)(self.raw) != 0 }
    }

    /// Tells a key of the command whose keys are asked for.
    pub(crate) fn tell_key(self, position: usize, flags: i32) {
        // SAFETY: the context is valid; the server checks the position.
        unsafe { (api().key_at)(self.raw, c_int::try_from(position).unwrap_or(0), flags) }
    }

    pub(crate) fn db(self) -> usize {
        // SAFETY: the context is valid.
        usize::try_from(unsafe { (api().selected_db)(self.raw) }).unwrap_or(0)
    }

    pub(crate) fn select(self, db: usize) -> bool {
        let Ok(db) = c_int::try_from(db) else { return false };
        // SAFETY: the context is valid; the server checks the number.
        unsafe { (api().select_db)(self.raw, db) == OK }
    }

    /// The time that the server judges lifetimes by, in milliseconds since the epoch.
    pub(crate) fn now_ms() -> i64 {
        // SAFETY: it takes nothing.
        unsafe { (api().cached_us)() / 1000 }
    }

    /// Opens a key to look at it, without a trace: it counts as no access, and is not ended if
    /// its time is over.
    pub(crate) fn look(self, key: &[u8]) -> Option<Key<'c>> {
        const READ: c_int = 1;
        const NO_TOUCH: c_int = 1 << 16;
        const NO_NOTIFY: c_int = 1 << 17;
        const NO_STATS: c_int = 1 << 18;
        const NO_EXPIRE: c_int = 1 << 19;
        self.open(key, READ | NO_TOUCH | NO_NOTIFY | NO_STATS | NO_EXPIRE)
    }

    /// Has the server end a key whose time is over.
    pub(crate) fn end_if_due(self, key: &[u8]) {
        const READ: c_int = 1;
        const NO_TOUCH: c_int = 1 << 16;
        const NO_NOTIFY: c_int = 1 << 17;
        const NO_STATS: c_int = 1 << 18;
        self.open(key, READ | NO_TOUCH | NO_NOTIFY | NO_STATS);
    }

    fn open(self, key: &[u8], mode: c_int) -> Option<Key<'c>> {
        let name = OwnString::of(key);
        // SAFETY: the context is valid; the server keeps the name as long as it needs it.
        let raw = unsafe { (api().open_key)(self.raw, name.0, mode) };
        (!raw.is_null()).then_some(Key { raw, is_ours: true, life: PhantomData })
    }

    /// Whether the client may read a key.
    pub(crate) fn may_read(self, key: &[u8]) -> bool {
        const ACCESS: c_int = 1 << 4;
        let key = OwnString::of(key);
        // SAFETY: the user is valid.
        self.is_granted(|user| unsafe { (api().check_key)(user, key.0, ACCESS) == OK })
    }

    /// Whether the client may run a command with these arguments.
    pub(crate) fn may_run(self, name: &[u8], args: Argv<'_>) -> bool {
        let name = OwnString::of(name);
        let raw: Vec<Raw> = [name.0].iter().chain(args.raw).copied().collect();
        let count = c_int::try_from(raw.len()).unwrap_or(0);
        // SAFETY: the user is valid, and there are that many strings.
        self.is_granted(|user| unsafe { (api().check_command)(user, raw.as_ptr(), count) == OK })
    }

    /// Whether the client may run a command without arguments.
    pub(crate) fn may_run_plainly(self, name: &[u8]) -> bool {
        self.may_run(name, Argv { raw: &[] })
    }

    /// The name of the client's user.
    pub(crate) fn user(self) -> String {
        // SAFETY: the context is valid; the name is freed after it was copied.
        unsafe {
            let name = (api().user_name)(self.raw);
            if name.is_null() {
                return String::new();
            }
            let text = String::from_utf8_lossy(bytes_of(name)).into_owned();
            (api().free_string)(self.raw, name);
            text
        }
    }

    fn is_granted(self, check: impl FnOnce(Raw) -> bool) -> bool {
        // SAFETY: the context is valid; name and user are freed here, after they were used.
        unsafe {
            let name = (api().user_name)(self.raw);
            if name.is_null() {
                return false;
            }
            let user = (api().user_of_name)(name);
            (api().free_string)(self.raw, name);
            if user.is_null() {
                return false;
            }
            let is_granted = check(user);
            (api().free_user)(user);
            is_granted
        }
    }

    /// Runs a command, its name first; errors are replies.
    pub(crate) fn call<'a>(self, run: Run, args: impl Iterator<Item = &'a [u8]>) -> Reply<'c> {
        let strings: Vec<OwnString> = args.map(OwnString::of).collect();
        let raw: Vec<Raw> = strings.iter().map(|string| string.0).collect();
        self.call_raw(run, &raw)
    }

    /// The same with a client's own arguments, under another name.
    pub(crate) fn call_named(self, run: Run, name: &[u8], args: Argv<'_>) -> Reply<'c> {
        let name = OwnString::of(name);
        let mut raw = Vec::with_capacity(args.raw.len() + 1);
        raw.push(name.0);
        raw.extend_from_slice(args.raw);
        self.call_raw(run, &raw)
    }

    fn call_raw(self, run: Run, raw: &[Raw]) -> Reply<'c> {
        let Some((name, args)) = raw.split_first() else { return Reply::none() };
        let Ok(name) = CString::new(bytes_of(*name)) else { return Reply::none() };
        // SAFETY: the format's `v` stands for the vector and its length, and the strings live
        // until the command has run.
        let raw = unsafe {
            (api().call)(self.raw, name.as_ptr(), run.format().as_ptr(), args.as_ptr(), args.len())
        };
        Reply { raw, is_ours: true, life: PhantomData }
    }

    pub(crate) fn send_error(self, text: &str) {
        let text = c_text(text);
        // SAFETY: the context is valid, the text ends in a zero byte and is copied.
        unsafe { (api().send_error)(self.raw, text.as_ptr()) };
    }

    pub(crate) fn send_integer(self, number: i64) {
        // SAFETY: the context is valid.
        unsafe { (api().send_integer)(self.raw, number) };
    }

    pub(crate) fn send_bytes(self, bytes: &[u8]) {
        // SAFETY: the context is valid, and that many bytes are copied.
        unsafe { (api().send_bytes)(self.raw, bytes.as_ptr().cast(), bytes.len()) };
    }

    pub(crate) fn send_text(self, text: &CStr) {
        // SAFETY: the context is valid, and the text is copied.
        unsafe { (api().send_text)(self.raw, text.as_ptr()) };
    }

    pub(crate) fn send_null_array(self) {
        // SAFETY: the context is valid.
        unsafe { (api().send_null_array)(self.raw) };
    }

    pub(crate) fn send_null(self) {
        // SAFETY: the context is valid.
        unsafe { (api().send_null)(self.raw) };
    }

    /// So many replies follow.
    pub(crate) fn send_array(self, length: usize) {
        let length = c_long::try_from(length).unwrap_or(0);
        // SAFETY: the context is valid.
        unsafe { (api().send_array)(self.raw, length) };
    }

    pub(crate) fn send_reply(self, reply: &Reply<'_>) {
        if reply.raw.is_null() {
            return self.send_error("ERR the server did not run the command");
        }
        // SAFETY: both are valid.
        unsafe { (api().send_reply)(self.raw, reply.raw) };
    }
}

/// What kind of value a key has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    List,
    Hash,
    Set,
    Zset,
    Stream,
    /// A type of another module.
    Other,
}

/// An opened key.
pub(crate) struct Key<'c> {
    raw: Raw,
    is_ours: bool,
    life: PhantomData<&'c ()>,
}

impl Drop for Key<'_> {
    fn drop(&mut self) {
        if self.is_ours {
            // SAFETY: we opened it, and close it once.
            unsafe { (api().close_key)(self.raw) }
        }
    }
}

impl Key<'_> {
    pub(crate) fn name(&self) -> &[u8] {
        // SAFETY: the key is open; its name lives as long.
        bytes_of(unsafe { (api().key_name)(self.raw) })
    }

    pub(crate) fn db(&self) -> usize {
        // SAFETY: the key is open.
        usize::try_from(unsafe { (api().key_db)(self.raw) }).unwrap_or(0)
    }

    pub(crate) fn kind(&self) -> Kind {
        // SAFETY: the key is open.
        match unsafe { (api().key_type)(self.raw) } {
            1 => Kind::Text,
            2 => Kind::List,
            3 => Kind::Hash,
            4 => Kind::Set,
            5 => Kind::Zset,
            7 => Kind::Stream,
            _ => Kind::Other,
        }
    }

    pub(crate) fn len(&self) -> usize {
        // SAFETY: the key is open.
        unsafe { (api().key_length)(self.raw) }
    }

    pub(crate) fn deadline(&self) -> Option<i64> {
        // SAFETY: the key is open. Without a deadline it is -1.
        Some(unsafe { (api().key_deadline)(self.raw) }).filter(|deadline| *deadline >= 0)
    }

    /// The bytes of a string.
    pub(crate) fn text(&self) -> Option<Vec<u8>> {
        const READ: c_int = 1;
        if self.kind() != Kind::Text {
            return None;
        }
        let mut length = 0;
        // SAFETY: the key is open and a string; the bytes are copied before anything else happens.
        let start = unsafe { (api().string_dma)(self.raw, &raw mut length, READ) };
        Some(slice(start, length).to_vec())
    }

    /// A field of a hash.
    pub(crate) fn field(&self, name: &[u8]) -> Option<Vec<u8>> {
        if self.kind() != Kind::Hash {
            return None;
        }
        let name = OwnString::of(name);
        let mut value: Raw = null_mut();
        let (end, nothing): (*const c_void, c_int) = (null(), 0);
        // SAFETY: the key is open and a hash; a field and a place for its value, then the end.
        unsafe { (api().hash_get)(self.raw, nothing, name.0, &raw mut value, end) };
        // The value is ours to free.
        let value = (!value.is_null()).then(|| OwnString(value))?;
        Some(bytes_of(value.0).to_vec())
    }

    /// The score of a member of a sorted set.
    pub(crate) fn score(&self, member: &[u8]) -> Option<f64> {
        if self.kind() != Kind::Zset {
            return None;
        }
        let member = OwnString::of(member);
        let mut score = 0.0;
        // SAFETY: the key is open and a sorted set.
        let found = unsafe { (api().zset_score)(self.raw, member.0, &raw mut score) };
        (found == OK).then_some(score)
    }

    /// Visits the elements of a hash (name and value), a set (member) or a sorted set (member and
    /// score as text), or the items of a list.
    pub(crate) fn each(&self, visit: &mut dyn FnMut(&[u8], &[u8])) {
        match self.kind() {
            Kind::Hash | Kind::Set | Kind::Zset => self.scan(visit),
            Kind::List => {
                for index in 0..c_long::try_from(self.len()).unwrap_or(0) {
                    // SAFETY: the key is open and a list; the item is ours to free.
                    let item = unsafe { (api().list_get)(self.raw, index) };
                    if item.is_null() {
                        return;
                    }
                    visit(bytes_of(OwnString(item).0), b"");
                }
            }
            Kind::Text | Kind::Stream | Kind::Other => {}
        }
    }

    fn scan(&self, mut visit: &mut dyn FnMut(&[u8], &[u8])) {
        extern "C" fn scanned(_key: Raw, field: Raw, value: Raw, visit: *mut c_void) {
            // SAFETY: `visit` is the reference below, which lives while the scan runs.
            let visit = unsafe { &mut *visit.cast::<&mut dyn FnMut(&[u8], &[u8])>() };
            let value: &[u8] = if value.is_null() { b"" } else { bytes_of(value) };
            let field: &[u8] = if field.is_null() { b"" } else { bytes_of(field) };
            guarded((), || visit(field, value));
        }
        // SAFETY: the cursor is freed below; the key is open and a collection.
        unsafe {
            let cursor = (api().scan_cursor)();
            let visit: *mut c_void = (&raw mut visit).cast();
            while (api().scan_key)(self.raw, cursor, scanned, visit) != 0 {}
            (api().scan_cursor_free)(cursor);
        }
    }
}

/// What a command returned.
pub(crate) struct Reply<'c> {
    raw: Raw,
    is_ours: bool,
    life: PhantomData<&'c ()>,
}

impl Drop for Reply<'_> {
    fn drop(&mut self) {
        if self.is_ours && !self.raw.is_null() {
            // SAFETY: it is ours, and freed once; its elements are freed with it.
            unsafe { (api().free_reply)(self.raw) }
        }
    }
}

impl Reply<'_> {
    fn none() -> Reply<'static> {
        Reply { raw: null_mut(), is_ours: false, life: PhantomData }
    }

    fn reply_type(&self) -> c_int {
        match self.raw.is_null() {
            true => -1,
            // SAFETY: the reply is valid.
            false => unsafe { (api().reply_type)(self.raw) },
        }
    }

    pub(crate) fn is_error(&self) -> bool {
        matches!(self.reply_type(), 1 | -1)
    }

    pub(crate) fn is_null(&self) -> bool {
        self.reply_type() == 4
    }

    pub(crate) fn integer(&self) -> Option<i64> {
        // SAFETY: it is an integer.
        (self.reply_type() == 2).then(|| unsafe { (api().reply_integer)(self.raw) })
    }

    /// The bytes of a string or of an error.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        if !matches!(self.reply_type(), 0 | 1) {
            return None;
        }
        let mut length = 0;
        // SAFETY: it is a string, and its bytes live as long as it does.
        let start = unsafe { (api().reply_bytes)(self.raw, &raw mut length) };
        Some(slice(start, length))
    }

    /// The elements of an array.
    pub(crate) fn elements(&self) -> impl Iterator<Item = Reply<'_>> {
        let length = match self.reply_type() {
            // SAFETY: it is an array.
            3 => unsafe { (api().reply_length)(self.raw) },
            _ => 0,
        };
        (0..length).map(|index| Reply {
            // SAFETY: it is an array of that many elements, which belong to it.
            raw: unsafe { (api().reply_element)(self.raw, index) },
            is_ours: false,
            life: PhantomData,
        })
    }
}

/// The arguments of a command that is about to be looked up.
pub(crate) struct Filtered<'c> {
    raw: Raw,
    life: PhantomData<&'c ()>,
}

impl<'c> Filtered<'c> {
    pub(crate) fn len(&self) -> usize {
        // SAFETY: the filter's context is valid while it runs.
        usize::try_from(unsafe { (api().filter_count)(self.raw) }).unwrap_or(0)
    }

    pub(crate) fn get(&self, index: usize) -> Option<&'c [u8]> {
        let index = c_int::try_from(index).ok()?;
        // SAFETY: as above; the server checks the index. The string lives while the filter runs,
        // unless it is replaced, which `replace_all` does with what was copied.
        let string = unsafe { (api().filter_get)(self.raw, index) };
        (!string.is_null()).then(|| bytes_of(string))
    }

    /// Puts another argument in the place of the first one.
    pub(crate) fn rename(&mut self, name: &[u8]) {
        // SAFETY: as above; the server owns the string from then on.
        unsafe { (api().filter_replace)(self.raw, 0, OwnString::of(name).give()) };
    }

    /// Puts other arguments in the place of all.
    pub(crate) fn replace_all<'a>(&mut self, args: impl ExactSizeIterator<Item = &'a [u8]>) {
        let count = args.len();
        let (had, mut at) = (self.len(), 0);
        for arg in args {
            let string = OwnString::of(arg).give();
            // SAFETY: as above.
            unsafe {
                match usize::try_from(at).is_ok_and(|at| at < had) {
                    true => (api().filter_replace)(self.raw, at, string),
                    false => (api().filter_insert)(self.raw, at, string),
                };
            }
            at += 1;
        }
        for _ in count..had {
            // SAFETY: as above.
            unsafe { (api().filter_delete)(self.raw, at) };
        }
    }
}

/// A section of INFO that is being written.
pub(crate) struct Info {
    raw: Raw,
}

impl Info {
    pub(crate) fn section(&mut self, name: &str) {
        let name = c_text(name);
        // SAFETY: the context of INFO is valid while it is written.
        unsafe { (api().info_section)(self.raw, name.as_ptr()) };
    }

    pub(crate) fn text(&mut self, field: &str, value: &str) {
        let (field, value) = (c_text(field), c_text(value));
        // SAFETY: as above; the texts are copied.
        unsafe { (api().info_text)(self.raw, field.as_ptr(), value.as_ptr()) };
    }

    pub(crate) fn number(&mut self, field: &str, value: u64) {
        let field = c_text(field);
        // SAFETY: as above.
        unsafe { (api().info_number)(self.raw, field.as_ptr(), value) };
    }
}

/// Why a row went by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gone {
    Expired,
    Evicted,
}

/// What the server calls.
pub(crate) trait Entries {
    /// Loads the module with its arguments; whether it is to be kept.
    fn load(ctx: Ctx<'_>, args: Argv<'_>) -> bool;
    /// Takes leave.
    fn unload();
    /// Runs a command of ours.
    fn command(ctx: Ctx<'_>, argv: Argv<'_>);
    /// Runs one again whose client waited; whether it need not wait any longer.
    fn woken(ctx: Ctx<'_>, argv: Argv<'_>) -> bool;
    /// A command is about to be looked up.
    fn filter(filtered: &mut Filtered<'_>);
    /// The server has become a primary or a replica.
    fn role(is_replica: bool);
    /// A row is going by itself: it is there for the last time.
    fn gone(ctx: Ctx<'_>, key: &Key<'_>, gone: Gone);
    /// The unit in which a job was asked for has ended.
    fn job(ctx: Ctx<'_>);
    /// Tells a client that waited what it waited for.
    fn told(ctx: Ctx<'_>);
    /// The timer is over.
    fn tick(ctx: Ctx<'_>);
    /// INFO is asked for.
    fn info(info: &mut Info);
    /// A panic was caught.
    fn panicked();
}

const EVENT_ROLE: u64 = 0;
const EVENT_KEY: u64 = 17;

/// Runs an entry; a panic ends here.
fn guarded<T>(otherwise: T, entry: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(entry)).unwrap_or(otherwise)
}

/// The arguments that the server hands over.
fn argv_of<'c>(argv: *mut Raw, argc: c_int) -> Argv<'c> {
    match usize::try_from(argc).unwrap_or(0) {
        0 => Argv { raw: &[] },
        // SAFETY: the server hands over that many strings, which live while the command runs.
        count => Argv { raw: unsafe { std::slice::from_raw_parts(argv.cast_const(), count) } },
    }
}

/// Sees to a command in which we panicked: it is refused.
fn refuse_panicked<E: Entries>(ctx: Ctx<'_>) {
    guarded((), E::panicked);
    guarded((), || ctx.send_error("ERR Keyward failed; see the server's log"));
}

extern "C" fn command_entry<E: Entries>(ctx: Raw, argv: *mut Raw, argc: c_int) -> c_int {
    let ctx = Ctx::of(ctx);
    let run = || {
        E::command(ctx, argv_of(argv, argc));
        true
    };
    if !guarded(false, run) {
        refuse_panicked::<E>(ctx);
    }
    OK
}

extern "C" fn woken_entry<E: Entries>(ctx: Raw, argv: *mut Raw, argc: c_int) -> c_int {
    let ctx = Ctx::of(ctx);
    match guarded(None, || Some(E::woken(ctx, argv_of(argv, argc)))) {
        Some(true) => OK,
        Some(false) => ERR,
        None => {
            refuse_panicked::<E>(ctx);
            OK
        }
    }
}

extern "C" fn timeout_entry<E: Entries>(ctx: Raw, _argv: *mut Raw, _argc: c_int) -> c_int {
    guarded((), || Ctx::of(ctx).send_null_array());
    OK
}

extern "C" fn filter_entry<E: Entries>(filter: Raw) {
    let done = guarded(false, || {
        E::filter(&mut Filtered { raw: filter, life: PhantomData });
        true
    });
    if !done {
        guarded((), E::panicked);
        guarded((), || {
            let text = b"SCHEMA Keyward failed; see the server's log";
            let words: [&[u8]; 3] = [REFUSE.as_bytes(), text, b""];
            Filtered { raw: filter, life: PhantomData }.replace_all(words.into_iter());
        });
    }
}

extern "C" fn event_entry<E: Entries>(ctx: Raw, event: RawEvent, sub: u64, data: *mut c_void) {
    let done = guarded(false, || {
        match (event.id, sub) {
            (EVENT_ROLE, 0) => E::role(false),
            (EVENT_ROLE, 1) => E::role(true),
            (EVENT_KEY, 1 | 2) if !data.is_null() => {
                // SAFETY: of this event the data is a `RedisModuleKeyInfo`, whose key is open.
                let info = unsafe { &*data.cast::<RawKeyInfo>() };
                debug_assert!(info.version > 0);
                let key = Key { raw: info.key, is_ours: false, life: PhantomData };
                let gone = if sub == 1 { Gone::Expired } else { Gone::Evicted };
                E::gone(Ctx::of(ctx), &key, gone);
            }
            _ => {}
        }
        true
    });
    if !done {
        guarded((), E::panicked);
    }
}

extern "C" fn job_entry<E: Entries>(ctx: Raw, _data: *mut c_void) {
    let done = guarded(false, || {
        E::job(Ctx::of(ctx));
        true
    });
    if !done {
        guarded((), E::panicked);
    }
}

extern "C" fn told_entry<E: Entries>(ctx: Raw, _argv: *mut Raw, _argc: c_int) -> c_int {
    let ctx = Ctx::of(ctx);
    let told = || {
        E::told(ctx);
        true
    };
    if !guarded(false, told) {
        refuse_panicked::<E>(ctx);
    }
    OK
}

extern "C" fn tick_entry<E: Entries>(ctx: Raw, _data: *mut c_void) {
    let done = guarded(false, || {
        E::tick(Ctx::of(ctx));
        true
    });
    if !done {
        guarded((), E::panicked);
    }
}

extern "C" fn info_entry<E: Entries>(raw: Raw, _for_crash: c_int) {
    guarded((), || E::info(&mut Info { raw }));
}

/// Writes a line to the server's log from where there is no context.
pub(crate) fn log_anywhere(text: &str) {
    if API.get().is_some() {
        Ctx::of(null_mut()).log(Loudness::Warning, text);
    }
}

/// What the server is told of us.
const NAME: &CStr = c"keyward";
const API_VERSION: c_int = 1;
/// Our version, with two digits each for minor and patch.
const VERSION: c_int = number(env!("CARGO_PKG_VERSION_MAJOR")) * 10_000
    + number(env!("CARGO_PKG_VERSION_MINOR")) * 100
    + number(env!("CARGO_PKG_VERSION_PATCH"));

/// The number that digits write.
const fn number(digits: &str) -> c_int {
    let (digits, mut sum, mut at) = (digits.as_bytes(), 0, 0);
    while at < digits.len() {
        sum = sum * 10 + (digits[at] - b'0') as c_int;
        at += 1;
    }
    sum
}

/// The two functions that a server looks for in a module, for these entries.
macro_rules! server_functions {
    ($entries:ty) => {
        /// The server's first call.
        #[allow(unsafe_code)]
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn RedisModule_OnLoad(
            ctx: $crate::api::Raw,
            argv: *mut $crate::api::Raw,
            argc: std::ffi::c_int,
        ) -> std::ffi::c_int {
            $crate::api::on_load::<$entries>(ctx, argv, argc)
        }

        /// The server's last call.
        #[allow(unsafe_code)]
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn RedisModule_OnUnload(_ctx: $crate::api::Raw) -> std::ffi::c_int {
            $crate::api::on_unload::<$entries>()
        }
    };
}
pub(crate) use server_functions;

/// Gets the server's functions, then loads the module.
pub(crate) fn on_load<E: Entries>(ctx: Raw, argv: *mut Raw, argc: c_int) -> c_int {
    // SAFETY: a context begins with the pointer to GetApi, and the server hands over as many
    // arguments as it says.
    let load = || unsafe {
        let get = std::mem::transmute::<*mut c_void, GetApi>(*ctx.cast::<*mut c_void>());
        let found = match Api::of(get) {
            Ok(found) => found,
            Err(lacking) => {
                refuse_old_server(get, ctx, lacking);
                return false;
            }
        };
        if (found.is_module_name_busy)(NAME.as_ptr()) != 0 {
            return false;
        }
        (found.set_module_attribs)(ctx, NAME.as_ptr(), VERSION, API_VERSION);
        API.get_or_init(|| found);
        take_part_in_migration(get, ctx);
        E::load(Ctx::of(ctx), argv_of(argv, argc))
    };
    match guarded(false, load) {
        true => OK,
        false => ERR,
    }
}

/// Takes leave.
pub(crate) fn on_unload<E: Entries>() -> c_int {
    guarded((), E::unload);
    OK
}

/// Tells a Valkey that knows CLUSTER MIGRATESLOTS that it need not refuse it because of us: what
/// comes with a slot is recognised ([`Ctx::imports_slot`]).
///
/// # Safety
/// `get` must be the server's GetApi, and `ctx` a context of it.
unsafe fn take_part_in_migration(get: GetApi, ctx: Raw) {
    type KnownOptions = unsafe extern "C" fn() -> c_int;
    type SetOptions = unsafe extern "C" fn(Raw, c_int);
    const HANDLE_ATOMIC_SLOT_MIGRATION: c_int = 1 << 5;
    let (mut known, mut set): (*mut c_void, *mut c_void) = (null_mut(), null_mut());
    // SAFETY: the caller's promise; only Valkey has functions of these names, with these
    // signatures. Redis may mean something else by that option.
    unsafe {
        get(c"ValkeyModule_GetModuleOptionsAll".as_ptr(), (&raw mut known).cast());
        get(c"ValkeyModule_SetModuleOptions".as_ptr(), (&raw mut set).cast());
        if known.is_null() || set.is_null() {
            return;
        }
        let known = std::mem::transmute::<*mut c_void, KnownOptions>(known);
        if known() & HANDLE_ATOMIC_SLOT_MIGRATION != 0 {
            let set = std::mem::transmute::<*mut c_void, SetOptions>(set);
            set(ctx, HANDLE_ATOMIC_SLOT_MIGRATION);
        }
    }
}

/// Says which server is needed, to the log of one that lacks a function.
///
/// # Safety
/// `get` must be the server's GetApi, and `ctx` a context of it.
unsafe fn refuse_old_server(get: GetApi, ctx: Raw, lacking: &str) {
    type Attribs = unsafe extern "C" fn(Raw, *const c_char, c_int, c_int);
    type Log = unsafe extern "C" fn(Raw, *const c_char, *const c_char, ...);
    let (mut attribs, mut log): (*mut c_void, *mut c_void) = (null_mut(), null_mut());
    // SAFETY: the caller's promise; both functions are there since the first modules, with
    // these signatures. The server logs nothing of a module that has not said its name.
    unsafe {
        get(c"RedisModule_SetModuleAttribs".as_ptr(), (&raw mut attribs).cast());
        get(c"RedisModule_Log".as_ptr(), (&raw mut log).cast());
        if attribs.is_null() || log.is_null() {
            return;
        }
        std::mem::transmute::<*mut c_void, Attribs>(attribs)(ctx, NAME.as_ptr(), 1, API_VERSION);
        let text = c_text(&format!("{}{lacking}{}", TOO_OLD.0, TOO_OLD.1));
        let log = std::mem::transmute::<*mut c_void, Log>(log);
        log(ctx, c"warning".as_ptr(), c"%s".as_ptr(), text.as_ptr());
    }
}

const TOO_OLD: (&str, &str) = (
    "this server has no ",
    ": keys derived from others could not follow what expires. Keyward needs Redis 7.2, Valkey \
     7.2 or later",
);
