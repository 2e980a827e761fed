// What the scenarios in JavaScript share: connections, a clock that moves, expectations.
//
// A scenario is run as `KEYWARD_TEST_PORT=7000 node systems/NAME/scenario.js`, against a
// server that was started with the system's schema and `--enable-debug-command yes`, and
// is empty. It ends with 0 if everything was as expected.
'use strict';
const assert = require('node:assert/strict');
const Redis = require('ioredis');

const port = Number(process.env.KEYWARD_TEST_PORT ?? 6379);

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

// A connection of its own to a database.
const connect = (db) => new Redis({ port, db, maxRetriesPerRequest: 0 });

// Calls a function: `call(redis, 'follow', [keys…], args…)`.
const call = (redis, name, keys, ...args) => redis.fcall(name, keys.length, ...keys, ...args);

// The code of the error that a call ends with; the first word.
const refusal = async (promise) => {
  const error = await promise.then(
    (reply) => assert.fail(`not refused: ${JSON.stringify(reply)}`),
    (error) => error,
  );
  return error.message.split(' ')[0];
};

// An answer of several parts, names and values in turn.
const parts = (reply) => {
  const found = {};
  for (let place = 0; place < reply.length; place += 2) found[reply[place]] = reply[place + 1];
  return found;
};

// The server's time, which DEBUG CLOCK moves.
const now = async (redis) => {
  const [seconds, microseconds] = await redis.time();
  return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
};

// Lets time pass.
const advance = async (redis, milliseconds) =>
  assert.equal(await redis.call('DEBUG', 'CLOCK', 'ADVANCE', milliseconds), 'OK');

// Lets time pass until a key with this deadline has ended: the millisecond after it.
const passUntil = async (redis, deadline) => advance(redis, deadline + 1 - (await now(redis)));

// Does something that gives the keys exactly this lifetime.
const lives = async (redis, keys, milliseconds, action) => {
  const before = await now(redis);
  const reply = await action();
  const after = await now(redis);
  for (const key of [keys].flat()) {
    const deadline = await redis.pexpiretime(key);
    const isRight = before + milliseconds <= deadline && deadline <= after + milliseconds;
    assert(isRight, `${key} lives ${deadline - after} ms instead of ${milliseconds}`);
  }
  return reply;
};

const livesForEver = async (redis, ...keys) => {
  for (const key of keys) assert.equal(await redis.pttl(key), -1, `the lifetime of ${key}`);
};

const count = (items, item) => items.filter((other) => other === item).length;

const range = (length) => Array.from({ length }, (_, place) => place);

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const allKeys = async (redis) => (await redis.keys('*')).sort();

const tell = (words) => console.log(words);

// Runs a scenario to its end, and ends the process with what became of it.
const play = (scenario) =>
  scenario().then(
    () => process.exit(0),
    (error) => {
      console.error(error);
      process.exit(1);
    },
  );

module.exports = {
  SECOND, MINUTE, HOUR, DAY, advance, allKeys, assert, call, connect, count, lives,
  livesForEver, now, parts, passUntil, pause, play, range, refusal, tell,
};
