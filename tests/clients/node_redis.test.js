// node-redis: commands, pipelining, transactions, scripts, pools, pub/sub, RESP2 and RESP3.
'use strict';
const { after, before, beforeEach, describe, test } = require('node:test');
const assert = require('node:assert/strict');
const { BasicClientSideCache, createClient, createClientPool, defineScript } = require('redis');

const url = `redis://127.0.0.1:${process.env.KEYWARD_TEST_PORT}`;

for (const RESP of [2, 3]) {
  describe(`RESP${RESP}`, () => {
    const client = createClient({ url, RESP });
    before(() => client.connect());
    beforeEach(() => client.flushAll());
    after(() => client.close());

    test('every type', async () => {
      assert.equal(await client.set('s', 'v', { expiration: { type: 'EX', value: 100 } }), 'OK');
      assert.equal(await client.ttl('s'), 100);
      assert.equal(await client.hSet('h', { a: '1', b: '2' }), 2);
      assert.deepEqual({ ...(await client.hGetAll('h')) }, { a: '1', b: '2' });
      assert.equal(await client.rPush('l', ['a', 'b']), 2);
      assert.deepEqual(await client.lRange('l', 0, -1), ['a', 'b']);
      assert.equal(await client.sAdd('u', ['x', 'y']), 2);
      assert.equal(await client.sIsMember('u', 'x'), 1);
      assert.equal(await client.zAdd('z', [{ value: 'm', score: 1.5 }]), 1);
      assert.deepEqual(
        (await client.zRangeWithScores('z', 0, -1)).map((entry) => ({ ...entry })),
        [{ value: 'm', score: 1.5 }],
      );
      assert.equal(await client.zScore('z', 'm'), 1.5);
    });

    test('commands sent at once are answered in order', async () => {
      const replies = await Promise.all(Array.from({ length: 1000 }, () => client.incr('n')));
      assert.deepEqual(replies, Array.from({ length: 1000 }, (_, index) => index + 1));
    });

    test('a transaction', async () => {
      const replies = await client.multi().set('n', '1').incrBy('n', 4).get('n').exec();
      assert.deepEqual(replies, ['OK', 5, '5']);
    });

    test('scanning with an iterator', async () => {
      await client.mSet(Array.from({ length: 300 }, (_, index) => [`k:${index}`, 'v']));
      const seen = new Set();
      for await (const keys of client.scanIterator({ MATCH: 'k:*', COUNT: 20 })) {
        keys.forEach((key) => seen.add(key));
      }
      assert.equal(seen.size, 300);
    });

    test('errors', async () => {
      await client.rPush('l', 'a');
      await assert.rejects(client.get('l'), /WRONGTYPE/);
      await assert.rejects(client.sendCommand(['NONSENSE']), /unknown command/);
    });

    test('a disturbed transaction of a pool is refused', async () => {
      const pool = await createClientPool({ url, RESP }, { maximum: 4 }).connect();
      await assert.rejects(
        pool.execute(async (isolated) => {
          await isolated.watch('n');
          await client.set('n', '1');
          return isolated.multi().incr('n').exec();
        }),
        /watched keys has been changed/,
      );
      const numbers = await Promise.all(Array.from({ length: 50 }, () => pool.incr('n')));
      assert.equal(Math.max(...numbers), 51);
      await pool.close();
    });

    test('messages', async () => {
      const subscriber = client.duplicate();
      await subscriber.connect();
      const message = new Promise((resolve) => {
        subscriber.subscribe('news', (...all) => resolve(all)).then(() => client.publish('news', 'one'));
      });
      assert.deepEqual(await message, ['one', 'news']);
      const matched = new Promise((resolve) => {
        subscriber.pSubscribe('we*', (...all) => resolve(all)).then(() => client.publish('weather', 'two'));
      });
      assert.deepEqual(await matched, ['two', 'weather']);
      await subscriber.unsubscribe();
      await subscriber.pUnsubscribe();
      assert.equal(String(await subscriber.ping()), 'PONG');
      await subscriber.close();
    });
  });
}

test('a value kept by the client is renewed when it changes', async () => {
  const cache = new BasicClientSideCache();
  const client = createClient({ url, RESP: 3, clientSideCache: cache });
  const writer = client.duplicate({ clientSideCache: undefined });
  await Promise.all([client.connect(), writer.connect()]);
  await writer.set('k', 'old');
  assert.equal(await client.get('k'), 'old');
  assert.equal(await client.get('k'), 'old');
  assert.equal(cache.stats().hitCount, 1);
  await writer.set('k', 'new');
  // The invalidation was sent before the reply to this PING.
  await client.ping();
  assert.equal(await client.get('k'), 'new');
  await Promise.all([client.close(), writer.close()]);
});

test('a script of one\'s own is loaded when needed', async () => {
  const scripts = {
    add: defineScript({
      NUMBER_OF_KEYS: 1,
      SCRIPT: "return redis.call('INCRBY', KEYS[1], ARGV[1])",
      parseCommand(parser, key, number) {
        parser.pushKey(key);
        parser.push(number.toString());
      },
      transformReply: (reply) => reply,
    }),
  };
  const client = createClient({ url, scripts });
  await client.connect();
  await client.scriptFlush();
  await client.del('n');
  assert.equal(await client.add('n', 4), 4);
  assert.equal(await client.add('n', 5), 9);
  await client.close();
});
