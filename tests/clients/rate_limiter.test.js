// rate-limiter-flexible: windows that live in Lua scripts and lifetimes, on both clients.
'use strict';
const { test } = require('node:test');
const assert = require('node:assert/strict');
const Redis = require('ioredis');
const { createClient } = require('redis');
const { RateLimiterRedis } = require('rate-limiter-flexible');

const port = Number(process.env.KEYWARD_TEST_PORT);

async function checkLimit(storeClient) {
  const limiter = new RateLimiterRedis({
    storeClient,
    useRedisPackage: !(storeClient instanceof Redis),
    points: 3,
    duration: 100,
  });
  const remaining = [];
  for (let point = 0; point < 3; point += 1) {
    remaining.push((await limiter.consume('user')).remainingPoints);
  }
  assert.deepEqual(remaining, [2, 1, 0]);
  const refusal = await limiter.consume('user').then(() => null, (refused) => refused);
  assert.equal(refusal.remainingPoints, 0);
  assert.ok(refusal.msBeforeNext > 90_000, `${refusal.msBeforeNext} ms`);
  await limiter.delete('user');
  assert.equal((await limiter.consume('user')).remainingPoints, 2);
}

test('on ioredis', async () => {
  const redis = new Redis(port);
  await redis.flushall();
  await checkLimit(redis);
  await redis.quit();
});

test('on node-redis', async () => {
  const client = createClient({ url: `redis://127.0.0.1:${port}` });
  await client.connect();
  await client.flushAll();
  await checkLimit(client);
  await client.close();
});
