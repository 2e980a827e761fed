//! What rows are written with.

pub(crate) use super::id::CommandId;
pub(crate) use crate::argument::{
    block, double, flag, integer, key, one_of, pattern, string, unix_time,
};
pub(crate) use crate::command::Arity::{AtLeast, Exactly};
pub(crate) use crate::command::KeyPositions::{
    After, Behind, HalfAfter, NumKeys, One, Range, Unknown,
};
pub(crate) use crate::command::{Command, Group, spec};
pub(crate) use crate::flags::KeyFlag::*;
