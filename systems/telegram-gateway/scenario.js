// telegram-gateway from its first write to its last expiry.
//
// The document's own code first, as it stands there; then a feed and two pollers at once;
// then time passes, and memory runs short.
'use strict';
const {
  HOUR, MINUTE, REDIS, advance, allKeys, assert, begin, call, connect, count, lives, livesForEver,
  now, parts, passUntil, pause, play, range, refusal, tell,
} = require('../stage.js');
const beside = require('./beside.js');

const DB = 3;
const CHANNEL = '-1001649127710';
const recent = (channel) => `telegram:channel:${channel}:recent`;
const open = (channel) => `telegram:channel:${channel}:open`;
const taken = (channel) => `telegram:channel:${channel}:taken`;
const messageKey = (channel, id) => `telegram:msg:${channel}:${id}`;
const flagKey = (channel, id) => `telegram:dedup:${channel}:${id}`;

const receive = (redis, channel, id, message, at) => {
  const keys = [messageKey(channel, id), flagKey(channel, id), recent(channel)];
  return call(redis, 'receive_message', keys, JSON.stringify(message), at);
};
const setStatus = (redis, channel, id, status, ...from) =>
  call(redis, 'set_message_status', [messageKey(channel, id)], status, ...from);
const poll = async (redis, channel, status, limit) => {
  const keys = [recent(channel), open(channel), taken(channel)];
  return (await redis.fcall_ro('poll_messages', 3, ...keys, status, limit)).map(parts);
};

// Write path, read path, duplicate check, clean-up and batch of the document.
async function document(redis) {
  const message = {
    channel_id: '-1001649127710',
    message_id: '123456',
    text: 'BUY PETR4 8.50-8.55 / T1 8.70 / S 8.30',
    received_at: '2025-11-03T10:30:00.000Z'
  };
  await lives(redis, 'telegram:msg:-1001649127710:123456', HOUR, async () => {
    const pipeline = redis.pipeline();
    pipeline.setex(
      'telegram:msg:-1001649127710:123456',
      3600,
      JSON.stringify(message)
    );
    pipeline.zadd(
      'telegram:channel:-1001649127710:recent',
      Date.now(),
      '123456'
    );
    pipeline.setex(
      'telegram:dedup:-1001649127710:123456',
      7200,
      '1'
    );
    assert.deepEqual(await pipeline.exec(), [[null, 'OK'], [null, 1], [null, 'OK']]);
  });
  await lives(redis, 'telegram:msg:-1001649127710:123457', HOUR, () => redis.call(
    'SET', 'telegram:msg:-1001649127710:123457', '{"text":"BUY PETR4...","status":"received"}', 'EX', '3600'));
  await lives(redis, 'telegram:dedup:-1001649127710:123457', 2 * HOUR, () =>
    redis.call('SET', 'telegram:dedup:-1001649127710:123457', '1', 'EX', '7200'));
  await lives(redis, 'telegram:msg:-1001649127710:123458', HOUR, () =>
    redis.set('telegram:msg:-1001649127710:123458', JSON.stringify({ ...message, status: 'received' })));
  await redis.zadd('telegram:channel:-1001649127710:recent', 1730649600000, 123456);
  await redis.zadd('telegram:channel:-1001649127710:recent', 1730649605000, 123457);
  await redis.zadd('telegram:channel:-1001649127710:recent', 1730649610000, 123458);
  await livesForEver(redis, 'telegram:channel:-1001649127710:recent');
  // Nothing is indexed that is not there.
  assert.equal(await refusal(redis.zadd(recent(CHANNEL), 1730649615000, 123459)), 'SCHEMA');

  const messageIds = await redis.zrange(
    'telegram:channel:-1001649127710:recent',
    0,
    99  // Limit 100
  );
  const pipeline = redis.pipeline();
  messageIds.forEach(msgId => {
    pipeline.get(`telegram:msg:-1001649127710:${msgId}`);
  });
  const results = await pipeline.exec();
  const messages = results
    .map(([err, data]) => data ? JSON.parse(data) : null)
    .filter(msg => msg && msg.status === 'received');
  assert.deepEqual(messageIds, ['123456', '123457', '123458']);
  assert.equal(messages.length, 2, 'its write path sends no status');
  assert.deepEqual((await poll(redis, CHANNEL, 'received', 100)).map((m) => m.message_id), messageIds);

  assert.deepEqual(await redis.zrange(open(CHANNEL), 0, -1), messageIds, 'none is processed');

  assert.equal(await redis.get('telegram:msg:-1001649127710:123457'), '{"text":"BUY PETR4...","status":"received"}');
  assert.equal(await redis.exists('telegram:msg:-1001649127710:123456'), 1);
  assert.equal(await redis.exists('telegram:msg:-1001649127710:999999'), 0);
  assert.equal((await batch(redis)).length, 3);

  const isDuplicate = await redis.exists(
    'telegram:dedup:-1001649127710:123456'
  );
  assert.equal(isDuplicate, 1);
  assert.equal(await redis.exists('telegram:dedup:-1001649127710:999999'), 0);

  const [after, upTo] = [1730649605000, 1730649607000];
  assert.deepEqual(await redis.zrangebyscore(recent(CHANNEL), after, '+inf'), ['123457', '123458']);
  assert.equal(await redis.zcard(recent(CHANNEL)), 3);
  const removed = await redis.zremrangebyscore(
    'telegram:channel:-1001649127710:recent',
    0,
    upTo
  );
  assert.equal(removed, 2, 'the clean-up still works');
  assert.equal(await cleanUp(redis), 1, 'the last one is of a year ago, too');
  await redis.flushdb();
  tell("the document's code runs as it stands");
}

// The document's "Batch Operations", as they stand there.
async function batch(redis) {
  const messageIds = ['123456', '123457', '123458'];
  const pipeline = redis.pipeline();

  messageIds.forEach(id => {
    pipeline.get(`telegram:msg:-1001649127710:${id}`);
  });

  const results = await pipeline.exec();
  const messages = results.map(([err, data]) => JSON.parse(data));
  return messages;
}

// The document's "Cache Cleanup (Daily Cron)", as it stands there.
async function cleanUp(redis) {
  const cutoff = Date.now() - (3600 * 1000);
  const removed = await redis.zremrangebyscore(
    'telegram:channel:-1001649127710:recent',
    0,
    cutoff
  );
  return removed;
}

// A message is what the feed sends: without a text, with more than the document lists, its
// ids as numbers. In a transaction the index may come before its message.
async function asTheyCome(redis) {
  const photo = {
    channel_id: -1001649127710, message_id: 123460, photo: [{ file_id: 'AgACAgQ', width: 90 }], views: 3,
  };
  assert.equal(await receive(redis, CHANNEL, 123460, photo, 1730649620000), 'stored');
  const written = JSON.stringify(photo);
  assert.equal(await redis.get(messageKey(CHANNEL, 123460)), `${written.slice(0, -1)},"status":"received"}`);
  // What says its status comes back byte for byte, however it is written.
  const odd = '{ "views" : 3.10,"status":"failed: no price",  "text":"\\u0042UY" ,"status_at":1e3}';
  const keys = [messageKey(CHANNEL, 123459), flagKey(CHANNEL, 123459), recent(CHANNEL)];
  assert.equal(await call(redis, 'receive_message', keys, odd, 1730649615000), 'stored');
  assert.equal(await redis.get(keys[0]), odd);
  const failed = await poll(redis, CHANNEL, 'failed: no price', 9);
  assert.deepEqual(failed.map((m) => m.message), [odd]);
  const replies = await redis.multi()
    .zadd(recent(CHANNEL), 1730649625000, '123461')
    .setex(flagKey(CHANNEL, 123461), 7200, '1')
    .setex(messageKey(CHANNEL, 123461), 3600, '{"text":null,"status":null,"telegram_date":null,"metadata":null}')
    .exec();
  assert.deepEqual(replies, [[null, 1], [null, 'OK'], [null, 'OK']]);
  assert.deepEqual((await poll(redis, CHANNEL, 'received', 9)).map((m) => m.message_id), ['123460', '123461']);
  // One whose message never comes is undone whole.
  const half = redis.multi().setex(flagKey(CHANNEL, 123462), 7200, '1').zadd(recent(CHANNEL), 1, '123462');
  assert.equal(await refusal(half.exec()), 'EXECABORT');
  assert.equal(await redis.exists(flagKey(CHANNEL, 123462)), 0);
  await redis.flushdb();
  tell('messages are taken as they come, and a transaction is judged at its end');
}

// What the document watches, by its own commands, and that nothing lives longer than it says.
async function monitoring(redis) {
  const figure = async (section, name) =>
    new RegExp(`^${name}:(.*)\r$`, 'm').exec(await redis.info(section))[1];
  const rates = () => Promise.all(['keyspace_hits', 'keyspace_misses'].map((name) => figure('stats', name)));
  for (const id of [1, 2, 3]) await receive(redis, CHANNEL, id, { text: 'x' }, id);
  await redis.config('RESETSTAT');
  await Promise.all([1, 2, 3, 4].map((id) => redis.get(messageKey(CHANNEL, id))));
  assert.deepEqual((await rates()).map(Number), [3, 1], 'a hit rate of 75 %');
  assert.match(await figure('memory', 'used_memory_human'), /^[\d.]+[KMG]$/);
  for (const kind of ['msg', 'dedup']) {
    const [, keys] = await redis.scan(0, 'MATCH', `telegram:${kind}:*`, 'COUNT', 1000);
    assert.equal(keys.length, 3, kind);
  }
  const stats = parts(await redis.call('KEYWARD', 'STATS', messageKey(CHANNEL, 1)));
  assert.equal(stats.keys, 3);
  assert.equal(stats.hit_ratio, (stats.hits / (stats.hits + stats.misses)).toFixed(4));
  assert(stats.hits >= 3 && stats.misses >= 1, 'of its pattern');
  assert.equal(await refusal(redis.persist(messageKey(CHANNEL, 1))), 'SCHEMA');
  assert.equal(await refusal(redis.setex(messageKey(CHANNEL, 1), 3601, '{}')), 'SCHEMA');
  assert.equal(await refusal(redis.setex(flagKey(CHANNEL, 1), 86400, '1')), 'SCHEMA');
  await redis.flushdb();
  tell('hits, misses, memory and keys are counted as the document reads them');
}

// A feed of 50 messages a second that delivers every fifth twice, and two pollers: each
// message is stored once and processed once.
async function feedAndPollers() {
  const FED = 200;
  const [feed, again] = [connect(DB), connect(DB)];
  const sent = range(FED).map((place) => String(200001 + place));
  const start = await now(feed);
  let isFeeding = true;

  const send = async () => {
    const answers = [];
    const begun = performance.now();
    for (const [place, id] of sent.entries()) {
      await pause(Math.max(0, begun + place * 20 - performance.now()));
      const message = { text: `signal ${id}`, received_at: new Date(start + place).toISOString(), note: '' };
      message.note = 'x'.repeat(500 - JSON.stringify(message).length);
      const copies = [receive(feed, CHANNEL, id, message, start + place)];
      if (place % 5 === 0) copies.push(receive(again, CHANNEL, id, message, start + place));
      const told = await Promise.all(copies);
      assert.equal(count(told, 'stored'), 1, id);
      answers.push(...told);
    }
    isFeeding = false;
    return answers;
  };

  // Who takes a message from `received` to `processing` has it.
  const work = async () => {
    const redis = connect(DB);
    const done = [];
    for (;;) {
      const isLast = !isFeeding;
      const messages = await poll(redis, CHANNEL, 'received', 10);
      for (const { message_id: id, message } of messages) {
        assert.equal(JSON.parse(message).text, `signal ${id}`);
        if ((await setStatus(redis, CHANNEL, id, 'processing', 'received')) !== 'updated') continue;
        done.push(id);
        assert.equal(await setStatus(redis, CHANNEL, id, 'processed'), 'updated');
      }
      if (messages.length === 0 && isLast) break;
    }
    await redis.quit();
    return done;
  };

  const [answers, first, second] = await Promise.all([send(), work(), work()]);
  assert.equal(count(answers, 'stored'), FED);
  assert.equal(count(answers, 'duplicate'), FED / 5);
  assert.deepEqual([...first, ...second].sort(), sent, 'nothing lost, nothing doubled');
  assert.deepEqual((await poll(feed, CHANNEL, 'received', FED)).length, 0);
  assert.equal(await feed.exists(open(CHANNEL)), 0, 'nothing is open');
  const processed = await poll(feed, CHANNEL, 'processed', FED + 1);
  assert.deepEqual(processed.map((m) => m.message_id), sent, 'oldest first');
  const scores = await feed.zrange(recent(CHANNEL), 0, -1, 'WITHSCORES');
  assert.deepEqual(scores, sent.flatMap((id, place) => [id, String(start + place)]));
  const newest = (await feed.fcall_ro('newest_messages', 1, recent(CHANNEL))).map(parts);
  assert.deepEqual(newest.map((m) => m.message_id), sent.slice(-100), 'oldest first');
  await Promise.all([feed.quit(), again.quit()]);
  tell(`${FED} messages fed, two pollers: ${first.length} and ${second.length} processed, each once`);
}

// However many messages are processed or wait, a poll answers the oldest that wait.
async function backlog(redis) {
  const ids = range(400).map((place) => String(400001 + place));
  const channel = '43';
  await Promise.all(ids.map((id, place) => receive(redis, channel, id, { text: id }, 1000 + place)));
  const polled = async (limit) =>
    (await poll(redis, channel, 'received', limit)).map((message) => message.message_id);
  assert.deepEqual(await polled(1000), ids, 'all wait');
  // Processed in no order, until few are left: what waits is always polled oldest first.
  const left = new Set(ids);
  for (const [step, id] of range(400).map((place) => ids[(place * 263) % 400]).entries()) {
    assert.equal(await setStatus(redis, channel, id, 'processed'), 'updated');
    left.delete(id);
    if (step % 20 === 0) {
      assert.deepEqual(await polled(30), ids.filter((other) => left.has(other)).slice(0, 30));
    }
  }
  assert.deepEqual(await polled(30), []);
  tell('a backlog of 400 messages is polled oldest first, whatever is processed in between');
}

// Messages end after an hour and leave the index with it, flags after two.
async function lifetimes(redis) {
  const ids = range(20).map((place) => String(300001 + place));
  const start = await now(redis);
  const channel = '42';
  for (const id of ids.slice(0, 10)) {
    await lives(redis, messageKey(channel, id), HOUR, () =>
      receive(redis, channel, id, { text: id }, start));
    assert(await redis.pttl(flagKey(channel, id)) > HOUR, 'the flag outlives its message');
  }
  const firstEnds = await redis.pexpiretime(messageKey(channel, ids[9]));
  await advance(redis, 30 * MINUTE);
  for (const id of ids.slice(10)) {
    await lives(redis, flagKey(channel, id), 2 * HOUR, () =>
      receive(redis, channel, id, { text: id }, start + 1));
  }
  // A status keeps the remaining lifetime.
  const deadline = await redis.pexpiretime(messageKey(channel, ids[0]));
  assert.equal(await setStatus(redis, channel, ids[0], 'processed'), 'updated');
  assert.equal(await redis.pexpiretime(messageKey(channel, ids[0])), deadline);

  await passUntil(redis, firstEnds);
  assert.deepEqual(await redis.zrange(recent(channel), 0, -1), ids.slice(10), 'the index follows');
  assert.deepEqual(await redis.zrange(open(channel), 0, -1), ids.slice(10));
  assert.equal(await refusal(setStatus(redis, channel, ids[0], 'late')), 'MESSAGE_UNKNOWN');
  assert.equal(await receive(redis, channel, ids[0], { text: 'again' }, start), 'duplicate');
  await passUntil(redis, await redis.pexpiretime(messageKey(channel, ids[19])));
  assert.equal(await redis.exists(recent(channel), open(channel)), 0, 'an empty index is none');
  assert.equal(await redis.exists(...ids.map((id) => flagKey(channel, id))), 20);
  await passUntil(redis, await redis.pexpiretime(flagKey(channel, ids[9])));
  assert.equal(await receive(redis, channel, ids[0], { text: 'again' }, start), 'stored');
  assert.equal(await receive(redis, channel, ids[19], { text: 'again' }, start), 'duplicate');
  await advance(redis, 2 * HOUR + 1);
  assert.deepEqual(await allKeys(redis), [], 'everything ends');
  tell('messages leave the index as they end, and their flags outlive them');
}

// When memory is short messages go, and leave the index; flags never do, nor messages that are
// asked for.
async function shortOfMemory(redis) {
  const FED = 3000;
  const used = Number(/used_memory:(\d+)/.exec(await redis.info('memory'))[1]);
  const limit = ['maxmemory', used + 1536 * 1024, 'maxmemory-policy', 'allkeys-lru'];
  await redis.config('SET', ...limit);
  const text = 'x'.repeat(1500);
  const asked = range(20).map((place) => messageKey(CHANNEL, place * 5));
  const evictedOf = async (key) => Number(parts(await redis.call('KEYWARD', 'STATS', key)).evicted);
  const before = await evictedOf(asked[0]);
  for (const place of range(FED / 100)) {
    const batch = range(100).map((offset) => place * 100 + offset);
    await Promise.all(batch.map((id) => receive(redis, CHANNEL, id, { text }, 1730649600000 + id)));
    // A clock by the second tells what was used last.
    await advance(redis, 1000);
    assert.equal((await redis.mget(asked)).filter(Boolean).length, asked.length, 'what is asked for stays');
  }
  await redis.config('SET', 'maxmemory', 0);
  const keys = await allKeys(redis);
  const messages = keys.filter((key) => key.startsWith('telegram:msg:'));
  const evicted = Number(/evicted_keys:(\d+)/.exec(await redis.info('stats'))[1]);
  assert(evicted > 0, 'memory was short');
  assert.equal(messages.length, FED - evicted);
  assert.equal(await evictedOf(asked[0]) - before, evicted, 'all of that pattern');
  assert.equal(await evictedOf(flagKey(CHANNEL, 0)), 0);
  assert.equal(await redis.exists(...asked), asked.length);
  assert.equal(count(keys.map((key) => key.split(':')[1]), 'dedup'), FED);
  const indexed = await redis.zrange(recent(CHANNEL), 0, -1);
  assert.deepEqual(indexed.map((id) => messageKey(CHANNEL, id)).sort(), messages);
  assert.deepEqual(await redis.zrange(open(CHANNEL), 0, -1), indexed, 'ids rise with time');
  assert.equal(await receive(redis, CHANNEL, 0, { text }, 1730649600000), 'duplicate');
  await advance(redis, 2 * HOUR + 1);
  assert.deepEqual(await allKeys(redis), []);
  tell(`${evicted} of ${FED} messages evicted, and no flag`);
}

play(async () => {
  const redis = await begin(DB);
  if (REDIS) return beside.play(redis);
  await document(redis);
  await asTheyCome(redis);
  await monitoring(redis);
  await feedAndPollers();
  await advance(redis, 2 * HOUR + 1);
  await backlog(redis);
  await advance(redis, 2 * HOUR + 1);
  await lifetimes(redis);
  await shortOfMemory(redis);
  return beside.play(redis);
});
