// What the scenarios in JavaScript share: connections, a clock that moves, expectations.
//
// A scenario is run as `KEYWARD_TEST_PORT=7000 node systems/NAME/scenario.js`, against a
// server that was started with the system's schema and `--enable-debug-command yes`, and
// is empty. It ends with 0 if everything was as expected.
//
// `scenario.js --redis 127.0.0.1:7001` runs the last part alone (`beside.js`), on a stock
// Redis that is empty, by the document's own commands.
'use strict';
const assert = require('node:assert/strict');
const Redis = require('ioredis');

// The address behind `--redis`, if there is one.
const place = process.argv.indexOf('--redis');
const REDIS = place < 0 ? undefined : process.argv[place + 1];
const [, host, port] = /^(?:(.*):)?(\d+)$/.exec(REDIS ?? process.env.KEYWARD_TEST_PORT ?? '6379');

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

// A connection of its own to a database.
const connect = (db) => new Redis({ host, port: Number(port), db, maxRetriesPerRequest: 0 });

// The scenario's own connection. Its database must be empty: it counts every key.
const begin = async (db) => {
  const redis = connect(db);
  assert.equal(await redis.dbsize(), 0, 'keys in the database at the beginning');
  if (REDIS) {
    const isKeyward = (await redis.call('COMMAND', 'LIST')).includes('keyward');
    assert(!isKeyward, 'a stock Redis is wanted, it is Keyward');
  }
  return redis;
};

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
  return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000) + passed;
};

// How much time a stock Redis was told has passed.
let passed = 0;

// Lets time pass.
const advance = async (redis, milliseconds) => {
  if (REDIS) return shorten(redis, milliseconds);
  return assert.equal(await redis.call('DEBUG', 'CLOCK', 'ADVANCE', milliseconds), 'OK');
};

// Lets time pass on a stock Redis, whose clock cannot be moved: every key's remaining
// lifetime is shortened by as much, and what has none left ends.
const shorten = async (redis, milliseconds) => {
  passed += milliseconds;
  const ended = [];
  for (const key of await redis.keys('*')) {
    const left = await redis.pttl(key);
    if (left >= 0) await redis.pexpire(key, Math.max(1, left - milliseconds));
    if (left >= 0 && left <= milliseconds) ended.push(key);
  }
  while (ended.length > 0 && (await redis.exists(...ended)) > 0) await pause(1);
};

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

// Runs works at once, command by command: nobody sends his second before all have sent their
// first. With `commands`, all of them die after so many. A work is an asynchronous generator
// that yields between its commands. Answers what they returned.
const interleaved = async (db, works, commands = Infinity) => {
  const callers = works.map(() => connect(db));
  const running = new Map(works.map((work, place) => [place, work(callers[place])]));
  const returned = works.map(() => undefined);
  for (let sent = 0; sent < commands && running.size > 0; sent += 1) {
    for (const [place, work] of [...running]) {
      const { done, value } = await work.next();
      if (done) {
        returned[place] = value;
        running.delete(place);
      }
    }
  }
  callers.forEach((redis) => redis.disconnect());
  return returned;
};

// Runs works one after the other.
const inTurn = async (db, works) => {
  const returned = [];
  for (const work of works) returned.push(...(await interleaved(db, [work])));
  return returned;
};

// How many keys never end, of patterns that have a lifetime in the document.
const immortal = async (redis, pattern) => {
  const keys = (await redis.keys('*')).filter((key) => pattern.test(key));
  return count(await Promise.all(keys.map((key) => redis.pttl(key))), -1);
};

// Says what the server did not keep: what was counted, by its words.
const tellUnkept = async (redis, counts) => {
  const version = /redis_version:(\S+)/.exec(await redis.info('server'))[1];
  tell(`what ${REDIS ? `Redis ${version}` : 'Keyward'} did not keep:`);
  for (const [words, number] of Object.entries(counts)) tell(`${String(number).padStart(5)}  ${words}`);
};

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
  SECOND, MINUTE, HOUR, DAY, REDIS, advance, allKeys, assert, begin, call, connect, count,
  immortal, inTurn, interleaved, lives, livesForEver, now, parts, passUntil, pause, play, range,
  refusal, tell, tellUnkept,
};
