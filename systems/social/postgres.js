// social with its PostgreSQL: what is pushed to its queues is in tables, each item once.
//
// KEYWARD_TEST_PORT=7000 KEYWARD_TEST_POSTGRES='host=… user=… dbname=…' \
//     node systems/social/postgres.js
//
// against a server that was started with `systems/social/postgres.toml` and
// `--enable-debug-command yes`, and a database, both empty. KEYWARD_TEST_PROGRAM and
// KEYWARD_TEST_PSQL name the programs, if they are not `keyward` and `psql`.
'use strict';
const { execFileSync } = require('node:child_process');
const path = require('node:path');
const {
  DAY, advance, assert, begin, call, connect, now, parts, play, range, refusal, tell,
} = require('../stage.js');

const DB = 1;
const SCHEMA = path.join(__dirname, 'postgres.toml');
const POSTGRES = process.env.KEYWARD_TEST_POSTGRES;
const KEYWARD = process.env.KEYWARD_TEST_PROGRAM ?? 'keyward';
const PSQL = process.env.KEYWARD_TEST_PSQL ?? 'psql';
const SOURCE = `127.0.0.1:${process.env.KEYWARD_TEST_PORT ?? '6379'}`;

const run = (program, ...words) =>
  execFileSync(program, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
const sync = () => run(KEYWARD, 'sync', '--once', '--postgres', POSTGRES, '--source', SOURCE, SCHEMA);
// What a statement returns: an array for each row.
const query = (statement) => {
  const told = run(PSQL, '-X', '-A', '-t', '-q', '-v', 'ON_ERROR_STOP=1', POSTGRES, '-c', statement);
  return told.split('\n').filter((line) => line !== '').map((line) => line.split('|'));
};

// The server's time as text.
const timestamp = async (redis) => new Date(await now(redis)).toISOString().replace(/\.\d+/, '');

// Runs all of these at once, spread over some connections.
async function atOnce(calls) {
  const connections = range(10).map(() => connect(DB));
  await Promise.all(calls.map((run, place) => run(connections[place % connections.length])));
  await Promise.all(connections.map((redis) => redis.quit()));
}

// Each change of a like is a row; those who like something now are its likes without the others.
async function likes(redis) {
  const at = await timestamp(redis);
  const keys = (thing) => [`${thing}:likes`, 'queue:sync:likes'];
  const things = ['team:7', 'snap:8', 'news:12'];
  const like = (thing, user) => (one) => call(one, 'like', keys(thing), `u${user}`, at);
  const unlike = (thing, user) => (one) => call(one, 'unlike', keys(thing), `u${user}`, at);
  // Twice each: the second is a duplicate, and queues nothing.
  await atOnce(things.flatMap((thing) => range(60).map((user) => like(thing, user % 30))));
  await atOnce(range(10).map((user) => unlike('team:7', user)));
  sync();
  assert.deepEqual(query('SELECT count(*) FROM likes'), [['100']]);
  const now = query(
    "SELECT entity || ':' || id, count(*) FILTER (WHERE change = 'like') " +
    "- count(*) FILTER (WHERE change = 'unlike') FROM likes GROUP BY 1 ORDER BY 1");
  for (const [thing, count] of now) {
    assert.equal(await redis.scard(`${thing}:likes`), Number(count), thing);
  }
  assert.equal(now.length, 3);
  tell('likes are rows');
}

// Views of one thing are one row, whose count is that of the server.
async function views(redis) {
  const view = (thing, user, at) => (one) => {
    const [entity] = thing.split(':');
    const keys = [`viewed:${user}:${thing}`, `${thing}:views`];
    if (entity === 'snap') return call(one, 'view', [...keys, 'queue:sync:views'], at);
    const day = `${thing}:views:${at.slice(0, 10)}`;
    return call(one, 'view_by_day', [...keys, day, 'queue:sync:views'], at);
  };
  const things = ['snap:8', 'team:7', 'news:12'];
  for (const day of range(3)) {
    const at = await timestamp(redis);
    await atOnce(things.flatMap((thing) => range(40).map((user) => view(thing, `u${user % 20}`, at))));
    if (day === 1) sync();
    await advance(redis, DAY + 1000);
  }
  sync();
  const counted = query("SELECT entity || ':' || id, count FROM views ORDER BY 1");
  assert.deepEqual(counted, [['news:12', '60'], ['snap:8', '60'], ['team:7', '60']]);
  for (const [thing, count] of counted) assert.equal(await redis.get(`${thing}:views`), count);
  tell('views are added up');
}

// Each comment is a row with its text.
async function comments(redis) {
  const at = await timestamp(redis);
  const comment = (id) => (one) => {
    const keys = [`comment:${id}`, 'snap:8:comments', 'queue:sync:comments'];
    return call(one, 'comment_on', keys, 'u1', `"well", 'caught' ${id}\n`, at);
  };
  await atOnce(range(50).flatMap((id) => [comment(id), comment(id)]));
  const keys = ['comment:r1', 'comment:7', 'comment:7:replies', 'queue:sync:comments'];
  assert.equal(await call(redis, 'reply_to', keys, 'u2', 'Thanks!', at), 'written');
  sync();
  assert.deepEqual(query('SELECT count(*) FROM comments'), [['51']]);
  const text = "SELECT text = E'\"well\", ''caught'' 7\\n', entity, id FROM comments WHERE comment_id = '7'";
  assert.deepEqual(query(text), [['t', 'snap', '8']]);
  assert.deepEqual(query("SELECT entity, id, text FROM comments WHERE comment_id = 'r1'"),
    [['comment', '7', 'Thanks!']]);
  tell('comments are rows');
}

// The queues keep nothing, and whoever drains them by the function finds nothing.
async function queues(redis) {
  for (const queue of ['likes', 'views', 'comments']) {
    const key = `queue:sync:${queue}`;
    assert.equal(await redis.llen(key), 0);
    const keys = [key, `${key}:leases`, `${key}:batch:b1`];
    assert.deepEqual(parts(await call(redis, 'drain_queue', keys, 10, 30)), { batch: null, items: [] });
    assert.equal(await refusal(redis.rpush(key, 'any text')), 'SCHEMA');
  }
  assert.equal(await redis.xlen('keyward:changefeed:social'), 0, 'all is stored');
  // A comment that the database refuses is in the dead letters, and holds nobody up.
  const at = await timestamp(redis);
  const again = JSON.stringify({ comment_id: '7', entity: 'snap', id: '8', user_id: 'u1', text: 'x', at });
  const fresh = again.replace('"7"', '"99"');
  await redis.rpush('queue:sync:comments', again, fresh);
  sync();
  assert.deepEqual(query('SELECT count(*) FROM comments'), [['52']]);
  const dead = query("SELECT reason LIKE '%comments_pkey%' FROM keyward_dead_letters");
  assert.deepEqual(dead, [['t']]);
}

async function main() {
  run(KEYWARD, 'sql', '--check', POSTGRES, '--apply', SCHEMA);
  const redis = await begin(DB);
  await likes(redis);
  await views(redis);
  await comments(redis);
  await queues(redis);
  await redis.quit();
}

play(main);
