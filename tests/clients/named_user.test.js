// node-redis and ioredis as a named user with few rights, over TCP, or TLS where the runner
// says so: KEYWARD_TEST_TLS_PORT and KEYWARD_TEST_TLS_CA (a file of the authority) have the
// user's connections made by TLS.
'use strict';
const { after, before, beforeEach, describe, test } = require('node:test');
const assert = require('node:assert/strict');
const { readFileSync } = require('node:fs');
const Redis = require('ioredis');
const { createClient } = require('redis');

const port = Number(process.env.KEYWARD_TEST_PORT);
const tlsPort = Number(process.env.KEYWARD_TEST_TLS_PORT);
const ca = tlsPort ? readFileSync(process.env.KEYWARD_TEST_TLS_CA) : undefined;
const username = 'clerk-js';
const password = 'a secret';
const RULES = [
  'reset', 'on', `>${password}`, '~order:*', '%R~price:*', '&news:*', '+@read', '+@write', '+@connection',
  '+@transaction', '+@pubsub', '+@scripting', '-@dangerous', '+acl|whoami',
  // What ioredis asks a server that it has connected to.
  '+info',
];
const admin = new Redis(port);

beforeEach(async () => {
  await admin.flushall();
  await admin.acl('SETUSER', username, ...RULES);
  await admin.set('price:1', '5');
});
after(async () => {
  await admin.acl('DELUSER', username);
  await admin.quit();
});

describe('ioredis', () => {
  const connect = (options) => new Redis({
    port: tlsPort || port, username, password, ...(ca && { tls: { ca, servername: 'localhost' } }), ...options,
  });
  let user;
  before(async () => {
    await admin.acl('SETUSER', username, ...RULES);
    user = connect();
  });
  after(() => user.disconnect());

  test('what is allowed', async () => {
    assert.equal(await user.acl('WHOAMI'), username);
    assert.equal(await user.set('order:1', 'x'), 'OK');
    assert.deepEqual(await user.mget('order:1', 'price:1'), ['x', '5']);
    assert.deepEqual(await user.multi().incr('order:count').get('price:1').exec(), [[null, 1], [null, '5']]);
    assert.equal(await user.eval_ro("return redis.call('GET', KEYS[1])", 1, 'price:1'), '5');
    const id = await user.xadd('order:log', '*', 'id', '1');
    assert.deepEqual(await user.xrange('order:log', '-', '+'), [[id, ['id', '1']]]);
  });

  test('what is denied', async () => {
    await assert.rejects(user.set('price:1', '0'), /^ReplyError: NOPERM .*keys/);
    await assert.rejects(user.get('salary:1'), /NOPERM/);
    await assert.rejects(user.flushall(), /^ReplyError: NOPERM .*flushall/);
    await assert.rejects(user.publish('rumours:1', 'x'), /NOPERM .*channels/);
    await assert.rejects(user.multi().set('order:1', 'x').set('price:1', '0').exec(), /EXECABORT/);
    assert.deepEqual(await admin.mget('order:1', 'price:1'), [null, '5']);
  });

  test('channels, and a wrong password', async () => {
    const listener = connect();
    const heard = new Promise((resolve) => listener.on('message', (_, message) => resolve(message)));
    assert.equal(await listener.subscribe('news:1'), 1);
    await admin.publish('news:1', 'hello');
    assert.equal(await heard, 'hello');
    listener.disconnect();
    const stranger = connect({ password: 'no', lazyConnect: true, retryStrategy: () => null });
    const error = new Promise((resolve) => stranger.on('error', resolve));
    await stranger.connect().catch(() => {});
    assert.match(String(await error), /WRONGPASS/);
    stranger.disconnect();
  });
});

for (const RESP of [2, 3]) {
  describe(`node-redis, RESP${RESP}`, () => {
    const connect = (options) => createClient({
      username,
      password,
      RESP,
      socket: { host: '127.0.0.1', port: tlsPort || port, ...(ca && { tls: true, ca, servername: 'localhost' }), reconnectStrategy: false },
      ...options,
    });
    let user;
    before(async () => {
      await admin.acl('SETUSER', username, ...RULES);
      user = await connect().connect();
    });
    after(() => user.destroy());

    test('what is allowed', async () => {
      assert.equal(await user.aclWhoAmI(), username);
      assert.equal(await user.set('order:1', 'x'), 'OK');
      assert.deepEqual(await user.mGet(['order:1', 'price:1']), ['x', '5']);
      assert.deepEqual(await user.multi().incr('order:count').get('price:1').exec(), [1, '5']);
      assert.equal(await user.evalRo("return redis.call('GET', KEYS[1])", { keys: ['price:1'] }), '5');
      const id = await user.xAdd('order:log', '*', { id: '1' });
      const entries = await user.xRange('order:log', '-', '+');
      assert.deepEqual(entries.map((entry) => [entry.id, { ...entry.message }]), [[id, { id: '1' }]]);
    });

    test('what is denied', async () => {
      await assert.rejects(user.set('price:1', '0'), /NOPERM/);
      await assert.rejects(user.get('salary:1'), /NOPERM/);
      await assert.rejects(user.flushAll(), /NOPERM .*flushall/);
      await assert.rejects(user.publish('rumours:1', 'x'), /NOPERM .*channels/);
      await assert.rejects(user.multi().set('order:1', 'x').set('price:1', '0').exec());
      assert.deepEqual(await admin.mget('order:1', 'price:1'), [null, '5']);
    });

    test('channels, and a wrong password', async () => {
      const listener = await connect().connect();
      const heard = new Promise((resolve) => { listener.subscribe('news:1', resolve).then(() => admin.publish('news:1', 'hello')); });
      assert.equal(await heard, 'hello');
      listener.destroy();
      const stranger = connect({ password: 'no' });
      stranger.on('error', () => {});
      await assert.rejects(stranger.connect(), /WRONGPASS/);
    });
  });
}
