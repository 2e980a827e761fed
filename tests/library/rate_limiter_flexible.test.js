// rate-limiter-flexible: every kind of limiter that keeps its points in Redis.
'use strict';
const { after, test } = require('node:test');
const assert = require('node:assert/strict');
const Redis = require('ioredis');
const { createClient } = require('redis');
const {
  BurstyRateLimiter, RateLimiterMemory, RateLimiterQueue, RateLimiterRedis, RateLimiterUnion,
  RLWrapperBlackAndWhite,
} = require('rate-limiter-flexible');
const checkVersions = require('./versions.js');

const port = Number(process.env.KEYWARD_TEST_PORT);
const redis = new Redis(port);
after(() => redis.quit());

const limiter = (options) =>
  new RateLimiterRedis({ storeClient: redis, points: 3, duration: 100, ...options });
const refusal = (promise) => promise.then(() => assert.fail('not refused'), (refused) => refused);

test('the library names this version', () =>
  checkVersions('rate-limiter-flexible.toml', ['rate-limiter-flexible', 'rate-limiter-flexible']));

test('points are consumed by whatever is limited', async () => {
  const limit = limiter();
  for (const key of ['user', '203.0.113.7', '2001:db8::7', 'login:ann@example.org', 'a b']) {
    const remaining = [];
    for (let point = 0; point < 3; point += 1) remaining.push((await limit.consume(key)).remainingPoints);
    assert.deepEqual(remaining, [2, 1, 0]);
    const refused = await refusal(limit.consume(key));
    assert.ok(refused.msBeforeNext > 90_000, `${refused.msBeforeNext} ms`);
  }
});

test('on node-redis', async () => {
  const client = createClient({ url: `redis://127.0.0.1:${port}` });
  await client.connect();
  const limit = limiter({ storeClient: client, useRedisPackage: true });
  assert.equal((await limit.consume('node', 2)).remainingPoints, 1);
  await limit.block('node', 60);
  assert.equal((await limit.get('node')).remainingPoints, 0);
  await limit.delete('node');
  await client.close();
});

test('penalties, rewards and blocks', async () => {
  const limit = limiter({ blockDuration: 50 });
  assert.equal((await limit.penalty('moves', 2)).consumedPoints, 2);
  assert.equal((await limit.reward('moves', 5)).consumedPoints, -3);
  await limit.set('moves', 3, 10);
  const refused = await refusal(limit.consume('moves'));
  assert.ok(refused.msBeforeNext > 40_000 && refused.msBeforeNext <= 50_000, `${refused.msBeforeNext} ms`);
  assert.equal(await limit.delete('moves'), true);
  assert.equal(await limit.get('moves'), null);
});

test('a window ends', async () => {
  const limit = limiter({ points: 1, duration: 1 });
  await limit.consume('short');
  const refused = await refusal(limit.consume('short'));
  await new Promise((resolve) => setTimeout(resolve, refused.msBeforeNext + 50));
  assert.equal((await limit.consume('short')).remainingPoints, 0);
});

test('limiters that are made of others', async () => {
  const minute = limiter({ keyPrefix: 'minute', points: 5 });
  const union = new RateLimiterUnion(minute, limiter({ keyPrefix: 'hour', duration: 3600 }));
  assert.deepEqual(Object.keys(await union.consume('ann')), ['minute', 'hour']);
  const bursty = new BurstyRateLimiter(limiter({ points: 1 }), limiter({ keyPrefix: 'minute', points: 2 }));
  for (let point = 0; point < 3; point += 1) await bursty.consume('burst');
  await refusal(bursty.consume('burst'));
  const wrapped = new RLWrapperBlackAndWhite({ limiter: limiter(), whiteList: ['friend'], blackList: ['foe'] });
  await wrapped.consume('friend', 100);
  await refusal(wrapped.consume('foe'));
  await wrapped.consume('other');
});

test('a queue and insurance', async () => {
  const queue = new RateLimiterQueue(limiter({ points: 2, duration: 1 }), { maxQueueSize: 5 });
  const began = Date.now();
  await Promise.all([1, 2, 3].map(() => queue.removeTokens(1, 'queued')));
  assert.ok(Date.now() - began >= 500, `${Date.now() - began} ms`);
  const insured = limiter({ insuranceLimiter: new RateLimiterMemory({ points: 3, duration: 100 }), inMemoryBlockOnConsumed: 3 });
  assert.equal((await insured.consume('insured')).remainingPoints, 2);
});
