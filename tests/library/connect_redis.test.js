// connect-redis in a real Express application: sessions over HTTP.
'use strict';
const { after, before, test } = require('node:test');
const assert = require('node:assert/strict');
const express = require('express');
const session = require('express-session');
const { createClient } = require('redis');
const { RedisStore } = require('connect-redis');
const checkVersions = require('./versions.js');

const port = Number(process.env.KEYWARD_TEST_PORT);
const client = createClient({ url: `redis://127.0.0.1:${port}` });
const DAY_S = 86_400;
let address;
let server;
let store;

before(async () => {
  await client.connect();
  store = new RedisStore({ client });
  const app = express();
  app.use(session({ store, secret: 'of a test', resave: false, saveUninitialized: false }));
  app.get('/count', (request, response) => {
    request.session.visits = (request.session.visits ?? 0) + 1;
    if (request.query.hours) request.session.cookie.maxAge = Number(request.query.hours) * 3_600_000;
    response.json({ visits: request.session.visits, id: request.sessionID });
  });
  app.get('/look', (request, response) => response.json({ visits: request.session.visits }));
  app.get('/renew', (request, response) =>
    request.session.regenerate(() => response.json({ id: request.sessionID })));
  app.get('/leave', (request, response) => request.session.destroy(() => response.json({})));
  server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  address = `http://127.0.0.1:${server.address().port}`;
});

after(async () => {
  server.close();
  await client.close();
});

// A visitor with a cookie.
const visitor = () => {
  let cookie = '';
  return async (path) => {
    const response = await fetch(address + path, { headers: { cookie } });
    cookie = response.headers.get('set-cookie')?.split(';')[0] ?? cookie;
    return response.json();
  };
};

const isNear = (found, wanted) => assert.ok(Math.abs(found - wanted) <= 5, `${found}, not ${wanted}`);

test('the library names these versions', () =>
  checkVersions('connect-redis.toml', ['connect-redis', 'connect-redis'], ['express-session', 'express-session']));

test('a session lives from visit to visit', async () => {
  const visit = visitor();
  const { id } = await visit('/count');
  isNear(await client.ttl(`sess:${id}`), DAY_S);
  assert.equal((await visit('/count')).visits, 2);
  await client.expire(`sess:${id}`, 100);
  assert.equal((await visit('/look')).visits, 2);
  isNear(await client.ttl(`sess:${id}`), DAY_S);
});

test('its cookie says how long', async () => {
  const visit = visitor();
  const { id } = await visit('/count?hours=2');
  isNear(await client.ttl(`sess:${id}`), 7200);
  await visit('/count?hours=4000');
  isNear(await client.ttl(`sess:${id}`), 4000 * 3600);
});

test('it is renewed and left', async () => {
  const visit = visitor();
  const { id } = await visit('/count');
  const renewed = await visit('/renew');
  assert.equal(await client.exists(`sess:${id}`), 0);
  await visit('/count');
  assert.equal(await client.exists(`sess:${renewed.id}`), 1);
  await visit('/leave');
  assert.equal(await client.exists(`sess:${renewed.id}`), 0);
});

test('its id is shown to nobody', async () => {
  const { id } = await visitor()('/count');
  const explained = String(await client.sendCommand(['KEYWARD', 'EXPLAIN', 'LPUSH', `sess:${id}`, 'x']));
  assert.match(explained, /sess:\(redacted\)/);
  assert.ok(!explained.includes(id), explained);
});

test('the store lists and clears sessions', async () => {
  await store.clear();
  for (let count = 0; count < 5; count += 1) await visitor()('/count');
  assert.equal(await store.length(), 5);
  assert.equal((await store.ids()).length, 5);
  assert.deepEqual((await store.all()).map((one) => one.visits), [1, 1, 1, 1, 1]);
  await store.clear();
  assert.equal(await store.length(), 0);
});

test('another prefix, and a lifetime of its own', async () => {
  const other = new RedisStore({ client, prefix: 'staff:', ttl: 3600 });
  await other.set('abc', { cookie: {}, name: 'ann' });
  isNear(await client.ttl('staff:abc'), 3600);
  assert.equal((await other.get('abc')).name, 'ann');
  await other.touch('abc', { cookie: {} });
  await other.destroy('abc');
});
