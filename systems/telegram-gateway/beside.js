// telegram-gateway on Keyward and on a stock Redis: the same feed, and what was not kept.
//
// On Redis the gateway and its pollers send what their document has: the duplicate check, the
// write path and the read path. On Keyward they call the functions. Works are generators that
// yield between their commands, so that both servers see the same callers at once.
'use strict';
const {
  HOUR, MINUTE, REDIS, advance, assert, call, count, inTurn, interleaved, parts, range,
  tellUnkept,
} = require('../stage.js');

const DB = 3;
const recent = (channel) => `telegram:channel:${channel}:recent`;
const messageKey = (channel, id) => `telegram:msg:${channel}:${id}`;
const flagKey = (channel, id) => `telegram:dedup:${channel}:${id}`;

// Whether a message was new, and so is handed on.
const receive = (channel, id, message) => async function* work(redis) {
  const keys = [messageKey(channel, id), flagKey(channel, id), recent(channel)];
  const text = JSON.stringify(message);
  if (!REDIS) return (await call(redis, 'receive_message', keys, text, 1730649600000 + id)) === 'stored';
  const isDuplicate = await redis.exists(keys[1]);
  yield;
  if (isDuplicate === 1) return false;
  const pipeline = redis.pipeline();
  pipeline.setex(keys[0], 3600, text);
  pipeline.zadd(keys[2], 1730649600000 + id, id);
  pipeline.setex(keys[1], 7200, '1');
  await pipeline.exec();
  return true;
};

// The ids of the messages that a worker finds, at most 100: the document's read path.
const poll = async (redis, channel) => {
  if (!REDIS) {
    const part = (name) => `telegram:channel:${channel}:${name}`;
    const keys = [recent(channel), part('open'), part('taken')];
    const found = await redis.fcall_ro('poll_messages', 3, ...keys, 'received', 100);
    return found.map((message) => parts(message).message_id);
  }
  const messageIds = await redis.zrange(recent(channel), 0, 99);
  const pipeline = redis.pipeline();
  messageIds.forEach((id) => pipeline.get(messageKey(channel, id)));
  const results = await pipeline.exec();
  const bodies = results.map(([, data]) => (data ? JSON.parse(data) : null));
  return messageIds.filter((_, place) => bodies[place] && bodies[place].status === 'received');
};

// Polls, and processes what it found. Answers what it processed.
const work = (channel) => async function* processing(redis) {
  const found = await poll(redis, channel);
  yield;
  const done = [];
  for (const id of found) {
    const key = messageKey(channel, id);
    if (REDIS) {
      await redis.setex(key, 3600, JSON.stringify({ ...message(id), status: 'processed' }));
    } else if ((await call(redis, 'set_message_status', [key], 'processed', 'received')) !== 'updated') {
      continue;
    }
    done.push(id);
  }
  return done;
};

const message = (id) => ({ text: `signal ${id}`, status: 'received' });
const feed = (channel, ids) => inTurn(DB, ids.map((id) => receive(channel, id, message(id))));

// The feed and its pollers, the same on both servers; then time passes, and memory runs short.
async function play(redis) {
  const counts = {};
  const stored = await interleaved(DB, range(5).map(() => receive(1, 7, message(7))));
  assert(stored.includes(true), 'it was handed on');
  counts['messages handed on again, of which copies came at once'] = count(stored, true) - 1;

  // The write path as it stands: its message has no status.
  const plain = range(10).map((id) => receive(2, id, { message_id: id, text: 'BUY PETR4 8.50-8.55' }));
  assert.deepEqual(await inTurn(DB, plain), range(10).map(() => true));
  counts['messages of the write path that no poll finds'] = 10 - (await poll(redis, 2)).length;

  await feed(3, range(20));
  const [first, second] = await interleaved(DB, [work(3), work(3)]);
  assert.equal(new Set([...first, ...second]).size, 20, 'all are processed');
  counts['messages that two pollers processed'] = first.length + second.length - 20;

  await feed(4, range(150));
  const [done] = await inTurn(DB, [work(4)]);
  assert.equal(done.length, 100);
  counts['messages that wait behind a hundred processed ones unseen'] = 50 - (await poll(redis, 4)).length;

  await advance(redis, HOUR + MINUTE);
  const members = await redis.zrange(recent(4), 0, -1);
  const living = await Promise.all(members.map((id) => redis.exists(messageKey(4, id))));
  counts['members of the index that outlived their message'] = count(living, 0);
  counts['channels in which a duplicate passes for new'] = await shortOfMemory(redis);
  await tellUnkept(redis, counts);
}

// Fills a limit that is full of three channels' messages: whether the flags are still there.
async function shortOfMemory(redis) {
  await redis.flushdb();
  const used = Number(/used_memory:(\d+)/.exec(await redis.info('memory'))[1]);
  await redis.config('SET', 'maxmemory', used + 1536 * 1024, 'maxmemory-policy', 'allkeys-lru');
  const text = 'x'.repeat(1500);
  const feeding = (channel) => async function* feed(caller) {
    for (const id of range(1000)) yield* receive(channel, id, { text, status: 'received' })(caller);
  };
  await interleaved(DB, [5, 6, 7].map(feeding));
  await redis.config('SET', 'maxmemory', 0);
  const evicted = Number(/evicted_keys:(\d+)/.exec(await redis.info('stats'))[1]);
  assert(evicted > 0, 'memory was short');
  const flags = [5, 6, 7].map((channel) => range(1000).map((id) => flagKey(channel, id)));
  const left = await Promise.all(flags.map((keys) => redis.exists(...keys)));
  return left.filter((number) => number < 1000).length;
}

module.exports = { play };
