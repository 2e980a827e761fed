//! From a command's identity to its handler.
//!
//! Owns one exhaustive match: a command of the table that has neither a handler
//! here nor a place among those not served yet does not compile, and a test holds
//! the two lists together. A group's handlers live in its own folder.

use crate::commands::hash;
use crate::commands::latency;
use crate::commands::list;
use crate::commands::pubsub;
use crate::commands::set;
use crate::commands::slowlog;
use crate::commands::tracking;
use crate::commands::zset;
use crate::commands::{connection, generic, keyward, server, string};
use crate::engine::context;
use crate::engine::context::{Ctx, Outcome};
use crate::scripting as script;
use crate::sessions::{monitor, pause, replicas, transaction};
use keyward_commands::CommandId as Id;

/// A command's implementation.
pub(crate) type Handler = fn(&mut Ctx<'_>) -> Outcome;

/// Runs the command of a context.
#[inline]
pub(crate) fn run(ctx: &mut Ctx<'_>) -> Outcome {
    let handler = HANDLERS[ctx.command.id as usize];
    handler.expect("only served commands are resolved")(ctx)
}

static HANDLERS: [Option<Handler>; Id::COUNT] = {
    let mut handlers: [Option<Handler>; Id::COUNT] = [None; Id::COUNT];
    let mut index = 0;
    while index < Id::COUNT {
        handlers[index] = handler(keyward_commands::COMMANDS[index].id);
        index += 1;
    }
    handlers
};

/// The handler of a command; `None` if it is not served yet.
#[rustfmt::skip]
const fn handler(id: Id) -> Option<Handler> {
    let handler: Handler = match id {
        // generic
        Id::Copy => generic::relocate::copy,
        Id::Del => generic::keys::del,
        Id::Dump => generic::dump::dump,
        Id::Exists => generic::keys::exists,
        Id::Expire => generic::lifetime::expire,
        Id::ExpireAt => generic::lifetime::expireat,
        Id::ExpireTime => generic::lifetime::expiretime,
        Id::Keys => generic::scan::keys,
        Id::Migrate => generic::migrate::migrate,
        Id::Move => generic::relocate::move_key,
        Id::Object => context::container,
        Id::ObjectEncoding => generic::object::encoding,
        Id::ObjectFreq => generic::object::freq,
        Id::ObjectHelp => generic::object::help,
        Id::ObjectIdleTime => generic::object::idletime,
        Id::ObjectRefCount => generic::object::refcount,
        Id::Persist => generic::lifetime::persist,
        Id::PExpire => generic::lifetime::pexpire,
        Id::PExpireAt => generic::lifetime::pexpireat,
        Id::PExpireTime => generic::lifetime::pexpiretime,
        Id::PTtl => generic::lifetime::pttl,
        Id::RandomKey => generic::keys::randomkey,
        Id::Rename => generic::relocate::rename,
        Id::Restore => generic::dump::restore,
        Id::RenameNx => generic::relocate::renamenx,
        Id::Scan => generic::scan::scan,
        Id::Sort => generic::sort::sort,
        Id::SortRo => generic::sort::sort_ro,
        Id::Touch => generic::keys::touch,
        Id::Ttl => generic::lifetime::ttl,
        Id::Type => generic::keys::type_of,
        Id::Unlink => generic::keys::unlink,
        Id::Wait => generic::wait::wait,
        // string
        Id::Append => string::ranges::append,
        Id::Decr => string::counters::decr,
        Id::DecrBy => string::counters::decrby,
        Id::Get => string::commands::get,
        Id::GetDel => string::commands::getdel,
        Id::GetEx => string::commands::getex,
        Id::GetRange => string::ranges::getrange,
        Id::GetSet => string::commands::getset,
        Id::Incr => string::counters::incr,
        Id::IncrBy => string::counters::incrby,
        Id::IncrByFloat => string::counters::incrbyfloat,
        Id::Lcs => string::lcs::lcs,
        Id::MGet => string::commands::mget,
        Id::MSet => string::commands::mset,
        Id::MSetNx => string::commands::msetnx,
        Id::PSetEx => string::commands::psetex,
        Id::Set => string::commands::set,
        Id::SetEx => string::commands::setex,
        Id::SetNx => string::commands::setnx,
        Id::SetRange => string::ranges::setrange,
        Id::StrLen => string::ranges::strlen,
        Id::SubStr => string::ranges::getrange,
        // bitmap
        Id::BitCount => string::bits::bitcount,
        Id::BitField => string::bitfield::bitfield,
        Id::BitFieldRo => string::bitfield::bitfield_ro,
        Id::BitOp => string::bits::bitop,
        Id::BitPos => string::bits::bitpos,
        Id::GetBit => string::bits::getbit,
        Id::SetBit => string::bits::setbit,
        // hash
        Id::HDel => hash::hdel,
        Id::HExists => hash::hexists,
        Id::HGet => hash::hget,
        Id::HGetAll => hash::hgetall,
        Id::HIncrBy => hash::counters::hincrby,
        Id::HIncrByFloat => hash::counters::hincrbyfloat,
        Id::HKeys => hash::hkeys,
        Id::HLen => hash::hlen,
        Id::HMGet => hash::hmget,
        Id::HMSet => hash::hmset,
        Id::HRandField => hash::random::hrandfield,
        Id::HScan => hash::hscan,
        Id::HSet => hash::hset,
        Id::HSetNx => hash::hsetnx,
        Id::HStrLen => hash::hstrlen,
        Id::HVals => hash::hvals,
        // list
        Id::BLMove => list::relocate::blmove,
        Id::BLMPop => list::pop::blmpop,
        Id::BLPop => list::pop::blpop,
        Id::BRPop => list::pop::brpop,
        Id::BRPopLPush => list::relocate::brpoplpush,
        Id::LIndex => list::lookup::lindex,
        Id::LInsert => list::change::linsert,
        Id::LLen => list::lookup::llen,
        Id::LMove => list::relocate::lmove,
        Id::LMPop => list::pop::lmpop,
        Id::LPop => list::pop::lpop,
        Id::LPos => list::lookup::lpos,
        Id::LPush => list::push::lpush,
        Id::LPushX => list::push::lpushx,
        Id::LRange => list::lookup::lrange,
        Id::LRem => list::change::lrem,
        Id::LSet => list::change::lset,
        Id::LTrim => list::change::ltrim,
        Id::RPop => list::pop::rpop,
        Id::RPopLPush => list::relocate::rpoplpush,
        Id::RPush => list::push::rpush,
        Id::RPushX => list::push::rpushx,
        // set
        Id::SAdd => set::sadd,
        Id::SCard => set::scard,
        Id::SDiff => set::combine::sdiff,
        Id::SDiffStore => set::combine::sdiffstore,
        Id::SInter => set::combine::sinter,
        Id::SInterCard => set::combine::sintercard,
        Id::SInterStore => set::combine::sinterstore,
        Id::SIsMember => set::sismember,
        Id::SMembers => set::combine::smembers,
        Id::SMIsMember => set::smismember,
        Id::SMove => set::smove,
        Id::SPop => set::random::spop,
        Id::SRandMember => set::random::srandmember,
        Id::SRem => set::srem,
        Id::SScan => set::sscan,
        Id::SUnion => set::combine::sunion,
        Id::SUnionStore => set::combine::sunionstore,
        // sorted set
        Id::BZMPop => zset::pop::bzmpop,
        Id::BZPopMax => zset::pop::bzpopmax,
        Id::BZPopMin => zset::pop::bzpopmin,
        Id::ZAdd => zset::add::zadd,
        Id::ZCard => zset::lookup::zcard,
        Id::ZCount => zset::lookup::zcount,
        Id::ZDiff => zset::combine::zdiff,
        Id::ZDiffStore => zset::combine::zdiffstore,
        Id::ZIncrBy => zset::add::zincrby,
        Id::ZInter => zset::combine::zinter,
        Id::ZInterCard => zset::combine::zintercard,
        Id::ZInterStore => zset::combine::zinterstore,
        Id::ZLexCount => zset::lookup::zlexcount,
        Id::ZMPop => zset::pop::zmpop,
        Id::ZMScore => zset::lookup::zmscore,
        Id::ZPopMax => zset::pop::zpopmax,
        Id::ZPopMin => zset::pop::zpopmin,
        Id::ZRandMember => zset::random::zrandmember,
        Id::ZRange => zset::range::zrange,
        Id::ZRangeByLex => zset::range::zrangebylex,
        Id::ZRangeByScore => zset::range::zrangebyscore,
        Id::ZRangeStore => zset::range::zrangestore,
        Id::ZRank => zset::lookup::zrank,
        Id::ZRem => zset::remove::zrem,
        Id::ZRemRangeByLex => zset::remove::zremrangebylex,
        Id::ZRemRangeByRank => zset::remove::zremrangebyrank,
        Id::ZRemRangeByScore => zset::remove::zremrangebyscore,
        Id::ZRevRange => zset::range::zrevrange,
        Id::ZRevRangeByLex => zset::range::zrevrangebylex,
        Id::ZRevRangeByScore => zset::range::zrevrangebyscore,
        Id::ZRevRank => zset::lookup::zrevrank,
        Id::ZScan => zset::scan::zscan,
        Id::ZScore => zset::lookup::zscore,
        Id::ZUnion => zset::combine::zunion,
        Id::ZUnionStore => zset::combine::zunionstore,
        // pubsub
        Id::PSubscribe => pubsub::psubscribe,
        Id::Publish => pubsub::publish,
        Id::PubSub => context::container,
        Id::PubSubChannels => pubsub::channels,
        Id::PubSubHelp => pubsub::help,
        Id::PubSubNumPat => pubsub::numpat,
        Id::PubSubNumSub => pubsub::numsub,
        Id::PubSubShardChannels => pubsub::shardchannels,
        Id::PubSubShardNumSub => pubsub::shardnumsub,
        Id::PUnsubscribe => pubsub::punsubscribe,
        Id::SPublish => pubsub::spublish,
        Id::SSubscribe => pubsub::ssubscribe,
        Id::Subscribe => pubsub::subscribe,
        Id::SUnsubscribe => pubsub::sunsubscribe,
        Id::Unsubscribe => pubsub::unsubscribe,
        // transactions
        Id::Discard => transaction::discard,
        Id::Exec => transaction::exec,
        Id::Multi => transaction::multi,
        Id::Unwatch => transaction::unwatch,
        Id::Watch => transaction::watch,
        // scripting
        Id::Eval => script::eval::eval,
        Id::EvalRo => script::eval::eval_ro,
        Id::EvalSha => script::eval::evalsha,
        Id::EvalShaRo => script::eval::evalsha_ro,
        Id::FCall => script::function::fcall,
        Id::FCallRo => script::function::fcall_ro,
        Id::Function => context::container,
        Id::FunctionDelete => script::function::function_delete,
        Id::FunctionDump => script::function::function_dump,
        Id::FunctionFlush => script::function::function_flush,
        Id::FunctionHelp => script::function::function_help,
        Id::FunctionKill => script::function::function_kill,
        Id::FunctionList => script::function::function_list,
        Id::FunctionLoad => script::function::function_load,
        Id::FunctionRestore => script::function::function_restore,
        Id::FunctionStats => script::function::function_stats,
        Id::Script => context::container,
        Id::ScriptDebug => script::eval::script_debug,
        Id::ScriptExists => script::eval::script_exists,
        Id::ScriptFlush => script::eval::script_flush,
        Id::ScriptHelp => script::eval::script_help,
        Id::ScriptKill => script::eval::script_kill,
        Id::ScriptLoad => script::eval::script_load,
        // keyward
        Id::Keyward => context::container,
        Id::KeywardExplain => keyward::explain,
        Id::KeywardHelp => keyward::help,
        Id::KeywardMatch => keyward::match_key,
        Id::KeywardMode => keyward::mode,
        Id::KeywardSchema => crate::governed::plan::schema,
        Id::KeywardStats => keyward::stats,
        // connection
        Id::Auth => connection::basics::auth,
        Id::Client => context::container,
        Id::ClientCaching => tracking::caching,
        Id::ClientGetName => connection::client::getname,
        Id::ClientGetRedir => tracking::getredir,
        Id::ClientHelp => connection::client::help,
        Id::ClientId => connection::client::id,
        Id::ClientInfo => connection::client_list::info,
        Id::ClientKill => connection::client::kill,
        Id::ClientList => connection::client_list::list,
        Id::ClientNoEvict => connection::client::no_evict,
        Id::ClientPause => pause::pause,
        Id::ClientReply => connection::client::reply,
        Id::ClientSetName => connection::client::setname,
        Id::ClientTracking => tracking::tracking,
        Id::ClientTrackingInfo => tracking::trackinginfo,
        Id::ClientUnblock => connection::client::unblock,
        Id::ClientUnpause => pause::unpause,
        Id::Echo => connection::basics::echo,
        Id::Hello => connection::basics::hello,
        Id::Ping => connection::basics::ping,
        Id::Quit => connection::basics::quit,
        Id::Reset => connection::basics::reset,
        Id::Select => generic::databases::select,
        // server
        Id::Command => server::command::all,
        Id::CommandCount => server::command::count,
        Id::CommandDocs => server::command::docs,
        Id::CommandGetKeys => server::command::getkeys,
        Id::CommandGetKeysAndFlags => server::command::getkeysandflags,
        Id::CommandHelp => server::command::help,
        Id::CommandInfo => server::command::info,
        Id::CommandList => server::command::list,
        Id::Config => context::container,
        Id::ConfigGet => server::config::get,
        Id::ConfigHelp => server::config::help,
        Id::ConfigResetStat => server::config::resetstat,
        Id::ConfigRewrite => server::config::rewrite,
        Id::ConfigSet => server::config::set,
        Id::DbSize => generic::databases::dbsize,
        Id::FlushAll => generic::databases::flushall,
        Id::FlushDb => generic::databases::flushdb,
        Id::Info => server::info::info,
        Id::Latency => context::container,
        Id::LatencyDoctor => latency::doctor,
        Id::LatencyGraph => latency::graph,
        Id::LatencyHelp => latency::help,
        Id::LatencyHistogram => latency::histogram,
        Id::LatencyHistory => latency::history,
        Id::LatencyLatest => latency::latest,
        Id::LatencyReset => latency::reset,
        Id::Monitor => monitor::monitor,
        Id::SlowLog => context::container,
        Id::SlowLogGet => slowlog::get,
        Id::SlowLogHelp => slowlog::help,
        Id::SlowLogLen => slowlog::len,
        Id::SlowLogReset => slowlog::reset,
        Id::Lolwut => server::process::lolwut,
        Id::ReplConf => replicas::replconf,
        Id::Role => server::process::role,
        Id::Shutdown => server::process::shutdown,
        Id::Memory => context::container,
        Id::MemoryDoctor => server::memory::doctor,
        Id::MemoryHelp => server::memory::help,
        Id::MemoryMallocStats => server::memory::malloc_stats,
        Id::MemoryPurge => server::memory::purge,
        Id::MemoryStats => server::memory::stats,
        Id::MemoryUsage => server::memory::usage,
        Id::SwapDb => generic::databases::swapdb,
        Id::BgSave => server::persistence::bgsave,
        Id::Debug => server::debug::debug,
        Id::BgRewriteAof => server::persistence::bgrewriteaof,
        Id::LastSave => server::persistence::lastsave,
        Id::Save => server::persistence::save,
        Id::Sync => replicas::sync,
        Id::Time => server::info::time,
    };
    Some(handler)
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyward_commands::COMMANDS;

    #[test]
    fn exactly_the_served_commands_have_handlers() {
        for command in &COMMANDS {
            assert_eq!(handler(command.id).is_some(), command.served, "{}", command.name);
        }
    }
}
