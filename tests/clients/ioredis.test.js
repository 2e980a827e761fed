// ioredis: commands, pipelines, transactions, scripts of one's own, pub/sub, reconnection.
'use strict';
const { after, beforeEach, test } = require('node:test');
const assert = require('node:assert/strict');
const Redis = require('ioredis');

const port = Number(process.env.KEYWARD_TEST_PORT);
const redis = new Redis(port);

beforeEach(() => redis.flushall());
after(() => redis.quit());

test('every type', async () => {
  assert.equal(await redis.set('s', 'v', 'EX', 100, 'NX'), 'OK');
  assert.equal(await redis.set('s', 'w', 'NX'), null);
  assert.equal(await redis.get('s'), 'v');
  assert.equal(await redis.hset('h', { a: 1, b: 2 }), 2);
  assert.deepEqual({ ...(await redis.hgetall('h')) }, { a: '1', b: '2' });
  assert.equal(await redis.rpush('l', 'a', 'b'), 2);
  assert.deepEqual(await redis.lrange('l', 0, -1), ['a', 'b']);
  assert.equal(await redis.sadd('u', 'x', 'y', 'x'), 2);
  assert.equal(await redis.zadd('z', 1, 'one', 2, 'two'), 2);
  assert.deepEqual(await redis.zrange('z', 0, -1, 'WITHSCORES'), ['one', '1', 'two', '2']);
});

test('binary values come back as they were', async () => {
  const value = Buffer.from([0, 13, 10, 255, 128]);
  await redis.set('b', value);
  assert.deepEqual(await redis.getBuffer('b'), value);
});

test('a pipeline answers each command, errors too', async () => {
  const results = await redis.pipeline().set('a', 'x').incr('a').get('a').exec();
  assert.equal(results[0][1], 'OK');
  assert.match(results[1][0].message, /^ERR value is not an integer/);
  assert.deepEqual(results[2], [null, 'x']);
});

test('commands of one tick share a pipeline', async () => {
  const automatic = new Redis({ port, enableAutoPipelining: true });
  const numbers = await Promise.all(Array.from({ length: 500 }, () => automatic.incr('n')));
  assert.deepEqual(numbers, Array.from({ length: 500 }, (_, index) => index + 1));
  await automatic.quit();
});

test('a transaction that is disturbed gives nothing', async () => {
  const other = redis.duplicate();
  await redis.watch('n');
  await other.set('n', '1');
  assert.equal(await redis.multi().incr('n').exec(), null);
  assert.deepEqual(await redis.multi().incr('n').incr('n').exec(), [[null, 2], [null, 3]]);
  await other.quit();
});

test('a command of one\'s own is a script', async () => {
  redis.defineCommand('swap', {
    numberOfKeys: 2,
    lua: `local a, b = redis.call('GET', KEYS[1]), redis.call('GET', KEYS[2])
          redis.call('MSET', KEYS[1], b, KEYS[2], a)
          return {a, b, ARGV[1]}`,
  });
  await redis.mset('a', '1', 'b', '2');
  await redis.script('FLUSH');
  assert.deepEqual(await redis.swap('a', 'b', 'done'), ['1', '2', 'done']);
  assert.deepEqual(await redis.mget('a', 'b'), ['2', '1']);
});

test('a stream of scanned keys', async () => {
  await redis.mset(Array.from({ length: 500 }, (_, index) => [`k:${index}`, 'v']).flat());
  const seen = new Set();
  for await (const keys of redis.scanStream({ match: 'k:*', count: 50 })) {
    keys.forEach((key) => seen.add(key));
  }
  assert.equal(seen.size, 500);
});

test('waiting for an element of another list', async () => {
  const waiter = redis.duplicate();
  const found = waiter.blmove('from', 'to', 'LEFT', 'RIGHT', 20);
  await redis.rpush('from', 'x');
  assert.equal(await found, 'x');
  assert.deepEqual(await redis.lrange('to', 0, -1), ['x']);
  await waiter.quit();
});

test('a killed connection comes back with its database', async () => {
  const victim = new Redis({ port, db: 4 });
  await victim.set('k', 'in four');
  const id = await victim.client('ID');
  const isBack = new Promise((resolve) => { victim.once('close', () => victim.once('ready', resolve)); });
  assert.equal(await redis.client('KILL', 'ID', id), 1);
  await isBack;
  assert.equal(await victim.get('k'), 'in four');
  await victim.quit();
});

test('messages, patterns, and a subscription that outlives its connection', async () => {
  const subscriber = redis.duplicate();
  assert.equal(await subscriber.subscribe('news'), 1);
  assert.equal(await subscriber.psubscribe('we*'), 2);
  const message = new Promise((resolve) => { subscriber.once('message', (...all) => resolve(all)); });
  const matched = new Promise((resolve) => { subscriber.once('pmessage', (...all) => resolve(all)); });
  assert.equal(await redis.publish('news', 'one'), 1);
  assert.equal(await redis.publish('weather', 'two'), 1);
  assert.deepEqual(await message, ['news', 'one']);
  assert.deepEqual(await matched, ['we*', 'weather', 'two']);
  await redis.client('KILL', 'TYPE', 'pubsub');
  const again = new Promise((resolve) => { subscriber.once('message', (...all) => resolve(all)); });
  while (await redis.publish('news', 'three') === 0);
  assert.deepEqual(await again, ['news', 'three']);
  await subscriber.quit();
});
