// social on Keyward and on a stock Redis: the same users, and what was not kept.
//
// On Redis the platform sends the commands that the document's types and lifetimes ask for: SADD
// on either side, RPUSH to a queue, SET and EXPIRE, LPOP of a batch. On Keyward it calls the
// functions, and leaves lifetimes and the other side to the schema. Works are generators that
// yield between their commands, so that both servers see the same callers at once, and the same
// callers die.
'use strict';
const {
  DAY, REDIS, SECOND, advance, assert, call, immortal, inTurn, interleaved, parts, range,
  tellUnkept,
} = require('../stage.js');

const DB = 1;
const AT = '2025-12-04T15:30:00Z';
const [LIKES, VIEWS, COMMENTS] = ['likes', 'views', 'comments'].map((name) => `queue:sync:${name}`);

const follow = (user, target) => async function* work(redis) {
  const [following, followers] = [`user:${user}:following`, `user:${target}:followers`];
  if (!REDIS) return call(redis, 'follow', [following, followers]);
  await redis.sadd(following, target);
  yield;
  return redis.sadd(followers, user);
};

const like = (key, user) => async function* work(redis) {
  if (!REDIS) return call(redis, 'like', [`${key}:likes`, LIKES], user, AT);
  const isNew = await redis.sadd(`${key}:likes`, user);
  yield;
  const [entity, id] = key.split(':');
  const item = { entity, id, user_id: user, change: 'like', at: AT };
  return isNew && redis.rpush(LIKES, JSON.stringify(item));
};

// A view counts once per user and day: a flag, which is set with EXPIRE 86400.
const view = (key, user) => async function* work(redis) {
  const flag = `viewed:${user}:${key}`;
  if (!REDIS) return call(redis, 'view', [flag, `${key}:views`, VIEWS], AT);
  if (await redis.exists(flag)) return 'duplicate';
  yield;
  await redis.set(flag, '1');
  yield;
  await redis.expire(flag, 86400);
  yield;
  await redis.incr(`${key}:views`);
  yield;
  const [entity, id] = key.split(':');
  return redis.rpush(VIEWS, JSON.stringify({ entity, id, count: 1, at: AT }));
};

const comment = (id, key, user) => async function* work(redis) {
  const keys = [`comment:${id}`, `${key}:comments`, COMMENTS];
  if (!REDIS) return call(redis, 'comment_on', keys, user, 'Well caught!', AT);
  await redis.hset(keys[0], { user_id: user, text: 'Well caught!', created_at: AT });
  yield;
  await redis.rpush(keys[1], id);
  yield;
  return redis.rpush(COMMENTS, JSON.stringify({ comment_id: id, text: 'Well caught!', at: AT }));
};

const profile = (user) => async function* work(redis) {
  await redis.hset(`user:${user}`, { username: 'misty' });
  yield;
  return redis.expire(`user:${user}`, 1800);
};

// Takes a batch of 7 to PostgreSQL; what reached it is answered by the number of items.
const drain = (name) => async function* work(redis) {
  if (REDIS) {
    const items = (await redis.lpop(LIKES, 7)) ?? [];
    yield;
    return items.length;
  }
  const batch = (known) => `${LIKES}:batch:${known}`;
  const taken = parts(await call(redis, 'drain_queue', [LIKES, `${LIKES}:leases`, batch(name)], 7, 30));
  yield;
  if (taken.batch === null) return 0;
  await call(redis, 'confirm_drained', [`${LIKES}:leases`, batch(taken.batch)]);
  return taken.items.length;
};

// The platform's users, the same on both servers; then time passes.
async function play(redis) {
  const counts = {};
  await inTurn(DB, range(10).map((user) => follow(`a${user}`, 'misty')));
  await interleaved(DB, range(5).map((user) => follow(`b${user}`, 'misty')), 1);
  counts['follows that only one side knows'] = await oneSided(redis);

  await inTurn(DB, range(20).map((user) => like('team:7', `a${user}`)));
  await interleaved(DB, range(5).map((user) => like('team:7', `b${user}`)), 1);
  const queued = await redis.llen(LIKES);
  assert.equal(await redis.scard('team:7:likes'), 25);
  counts['likes that were never queued'] = 25 - queued;

  // One drainer dies with a batch in its hands; half a minute later another drains the rest.
  await interleaved(DB, [drain('first')], 1);
  await advance(redis, 31 * SECOND);
  const drained = await inTurn(DB, range(6).map((number) => drain(`then-${number}`)));
  assert.equal(await redis.llen(LIKES), 0);
  const stored = drained.reduce((sum, number) => sum + number, 0);
  assert(stored > 0, 'batches were stored');
  counts['queued likes that a drainer took along when it died'] = queued - stored;

  const twice = range(4).flatMap(() => ['42', '43', '44'].map((user) => view('snap:8', user)));
  await interleaved(DB, twice);
  const views = Number(await redis.get('snap:8:views'));
  assert(views >= 3, 'all three were counted');
  counts['views that were counted again within the day'] = views - 3;
  await interleaved(DB, range(5).map((user) => view('snap:9', `b${user}`)), 2);
  assert.equal((await redis.keys('viewed:*:snap:9')).length, 5);
  counts['viewers whose view was not counted'] = 5 - Number(await redis.get('snap:9:views'));

  await inTurn(DB, range(3).map((id) => comment(`${1000 + id}`, 'blog:7', '43')));
  await interleaved(DB, range(4).map((id) => comment(`${2000 + id}`, 'blog:7', '43')), 1);
  assert.equal((await redis.keys('comment:*')).length, 7);
  counts['comments that stand under nothing'] = 7 - (await redis.llen('blog:7:comments'));

  await interleaved(DB, range(3).map((user) => profile(user)), 1);
  assert.equal((await redis.keys('user:?')).length, 3);
  await advance(redis, DAY + SECOND);
  counts['cached profiles and flags that never end'] = await immortal(redis, /^user:[^:]+$|^viewed:/);
  await tellUnkept(redis, counts);
}

// Follows of misty that stand on one side and not on the other.
async function oneSided(redis) {
  const followers = new Set(await redis.smembers('user:misty:followers'));
  const users = (await redis.keys('user:*:following')).map((key) => key.split(':')[1]);
  assert.equal(users.length, 15, 'who follows, by their own side');
  return users.filter((user) => !followers.has(user)).length;
}

module.exports = { play };
