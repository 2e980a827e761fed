// social from its first write to its last expiry.
//
// The document's keys first, with the lifetimes that it gives them; then every operation,
// many users at once; then drainers that die; then time passes, until only what is
// persistent is left.
'use strict';
const { fork } = require('node:child_process');
const { once } = require('node:events');
const {
  DAY, HOUR, MINUTE, REDIS, SECOND, advance, allKeys, assert, begin, call, connect, count, lives,
  livesForEver, now, parts, passUntil, play, range, refusal, tell,
} = require('../stage.js');
const beside = require('./beside.js');

const DB = 1;
const AT = '2025-12-04T15:30:00Z';

// Runs all of these at once, spread over some connections; answers what they answered.
async function atOnce(calls) {
  const connections = range(20).map(() => connect(DB));
  const answers = await Promise.all(
    calls.map((run, place) => run(connections[place % connections.length])));
  await Promise.all(connections.map((redis) => redis.quit()));
  return answers;
}

// The calls in an order of chance that is the same each time.
function shuffled(calls) {
  let state = 7;
  const mixed = [...calls];
  for (let place = mixed.length - 1; place > 0; place -= 1) {
    state = (state * 1103515245 + 12345) % 2147483648;
    const other = state % (place + 1);
    [mixed[place], mixed[other]] = [mixed[other], mixed[place]];
  }
  return mixed;
}

// Takes a batch of a queue for so many seconds, and confirms one.
const drainQueue = async (redis, queue, name, count, seconds) => {
  const keys = [queue, `${queue}:leases`, `${queue}:batch:${name}`];
  return parts(await call(redis, 'drain_queue', keys, count, seconds));
};
const confirmDrained = (redis, queue, name) =>
  call(redis, 'confirm_drained', [`${queue}:leases`, `${queue}:batch:${name}`]);

const follow = (user, target) => (redis) =>
  call(redis, 'follow', [`user:${user}:following`, `user:${target}:followers`]);
const unfollow = (user, target) => (redis) =>
  call(redis, 'unfollow', [`user:${user}:following`, `user:${target}:followers`]);
const like = (key, user) => (redis) =>
  call(redis, 'like', [`${key}:likes`, 'queue:sync:likes'], user, AT);
const unlike = (key, user) => (redis) =>
  call(redis, 'unlike', [`${key}:likes`, 'queue:sync:likes'], user, AT);
const view = (key, user, at) => (redis) =>
  call(redis, 'view', [`viewed:${user}:${key}`, `${key}:views`, 'queue:sync:views'], at);
const viewByDay = (key, user, at) => (redis) => {
  const keys = [`viewed:${user}:${key}`, `${key}:views`, `${key}:views:${at.slice(0, 10)}`];
  return call(redis, 'view_by_day', [...keys, 'queue:sync:views'], at);
};
const comment = (id, key, user) => (redis) => {
  const keys = [`comment:${id}`, `${key}:comments`, 'queue:sync:comments'];
  return call(redis, 'comment_on', keys, user, `comment ${id}`, AT);
};
const reply = (id, parent, user) => (redis) => {
  const keys = [`comment:${id}`, `comment:${parent}`, `comment:${parent}:replies`];
  return call(redis, 'reply_to', [...keys, 'queue:sync:comments'], user, `reply ${id}`, AT);
};

// Every key of the document takes what it describes, and lives as long as it says.
async function theDocument(redis) {
  const cached = {
    user: 30 * MINUTE, team: 10 * MINUTE, snap: 10 * MINUTE, shout: 5 * MINUTE,
    blog: 15 * MINUTE, thread: 10 * MINUTE, news: 15 * MINUTE,
  };
  for (const [entity, lifetime] of Object.entries(cached)) {
    const row = { name: `a ${entity}`, anything: 'at all' };
    await lives(redis, `${entity}:7`, lifetime, () => redis.hset(`${entity}:7`, row));
    assert.deepEqual({ ...(await redis.hgetall(`${entity}:7`)) }, row);
    await redis.rpush(`${entity}:7:comments`, '1001', '1002');
    await livesForEver(redis, `${entity}:7:comments`);
    if (entity === 'user') continue;
    await redis.sadd(`${entity}:7:likes`, '42', '43');
    await livesForEver(redis, `${entity}:7:likes`);
  }
  // "Optional": none unless the writer gives one, and then any.
  const views = ['team', 'snap', 'shout', 'news'].map((entity) => `${entity}:7:views`);
  for (const key of [...views, 'team:7:views:2025-12-04', 'news:7:views:2025-12-04']) {
    assert.equal(await redis.incr(key), 1);
  }
  const optional = [...views, 'team:7:views:2025-12-04', 'news:7:views:2025-12-04', 'user:7:comments'];
  for (const key of optional) {
    await livesForEver(redis, key);
    for (const seconds of [60, 3 * 365 * 86400]) assert.equal(await redis.expire(key, seconds), 1);
    assert.equal(await redis.persist(key), 1);
  }
  // "General entity fields" and nested ones are strings.
  for (const key of ['team:7:motto', 'snap:7:views:2025-12-04', 'planet:9:name', 'planet:9:name:en']) {
    assert.equal(await refusal(redis.sadd(key, '1')), 'SCHEMA');
    assert.equal(await redis.set(key, 'any text'), 'OK');
    assert.equal(await redis.get(key), 'any text');
  }
  await redis.sadd('user:7:followers', '42');
  await redis.sadd('user:7:following', '43');
  assert.deepEqual(await redis.smembers('user:42:following'), ['7']);
  assert.deepEqual(await redis.smembers('user:43:followers'), ['7']);
  await redis.sadd('shout:7:retweets', '42');
  await redis.hset('comment:1001', { author: '43', body: 'Well caught!' });
  await redis.rpush('comment:1001:replies', '1003');
  await livesForEver(redis, 'user:7:followers', 'user:7:following', 'shout:7:retweets',
    'comment:1001', 'comment:1001:replies');

  // "Set with EXPIRE 86400": it is set so by itself, and no EXPIRE extends it.
  const viewed = 'viewed:42:team:7';
  await lives(redis, viewed, DAY, () => redis.set(viewed, '1'));
  await advance(redis, HOUR);
  assert.equal(await redis.expire(viewed, 86400), 0, 'a window is not extended');
  await lives(redis, 'viewed:42:planet:7', DAY, () => redis.set('viewed:42:planet:7', 'yes'));

  // "Push batched": what an item looks like is not said, and each is drained as it was pushed.
  const queued = {
    likes: ['{"entity":"team","id":7,"change":"love"}', '[{"team":7,"likes":["42","43"]}]', 'team:7:42'],
    views: ['{"team:7":12,"news:9":3}', 'team:7'],
    comments: [JSON.stringify({ comment_id: '1000', text: 'Well caught!', at: AT }), '{}'],
  };
  for (const [name, items] of Object.entries(queued)) {
    const queue = `queue:sync:${name}`;
    assert.equal(await redis.rpush(queue, ...items), items.length);
    await livesForEver(redis, queue);
    const drained = await drainQueue(redis, queue, 'open', 10, 30);
    assert.deepEqual(drained.items, items);
    assert.equal(await confirmDrained(redis, queue, drained.batch), 'confirmed');
    // A view joins none but the update that is its own form.
    await redis.rpush(queue, ...items);
  }
  assert.equal(await view('snap:7', '42', AT)(redis), 'counted');
  assert.deepEqual((await redis.lrange('queue:sync:views', 0, -1)).slice(0, -1), queued.views);
  await redis.flushdb();
  tell("every key of the document takes what it describes, and lives as long as it says");
}

// Thirty users follow and unfollow each other, by function and by plain commands on
// either side: the two sides stay one fact.
async function follows(redis) {
  const users = range(30).map((place) => String(100 + place));
  const pairs = users.flatMap((user) => users.map((target) => [user, target]));
  const others = pairs.filter(([user, target]) => user !== target);
  assert.equal(await refusal(follow('100', '100')(redis)), 'FOLLOW_SELF');

  const doubled = shuffled([...others, ...others]);
  const told = await atOnce(doubled.map(([user, target]) => follow(user, target)));
  assert.equal(count(told, 'followed'), others.length);
  assert.equal(count(told, 'duplicate'), others.length);

  const ending = others.filter((_, place) => place % 3 === 0);
  const plain = others.filter((_, place) => place % 3 === 1);
  const answers = await atOnce(shuffled([
    ...ending.map(([user, target]) => unfollow(user, target)),
    ...ending.map(([user, target]) => unfollow(user, target)),
    ...plain.map(([user, target], place) => (one) => (place % 2 === 0
      ? one.srem(`user:${user}:following`, target)
      : one.srem(`user:${target}:followers`, user))),
  ]));
  assert.equal(count(answers, 'unfollowed'), ending.length);
  assert.equal(count(answers, 'absent'), ending.length);
  assert.equal(count(answers, 1), plain.length);

  const left = others.filter((_, place) => place % 3 === 2);
  for (const user of users) {
    const following = left.filter(([who]) => who === user).map(([, target]) => target);
    const followers = left.filter(([, target]) => target === user).map(([who]) => who);
    assert.deepEqual((await redis.smembers(`user:${user}:following`)).sort(), following.sort());
    assert.deepEqual((await redis.smembers(`user:${user}:followers`)).sort(), followers.sort());
  }
  tell(`${told.length + answers.length} changes of follows at once: both sides are one fact`);
}

// Retweets and likes count once per user; each change of a like is queued once.
async function retweetsAndLikes(redis) {
  const users = range(100).map(String);
  const retweet = (user) => (one) => call(one, 'retweet', ['shout:9:retweets'], user);
  const undo = (user) => (one) => call(one, 'undo_retweet', ['shout:9:retweets'], user);
  let told = await atOnce(shuffled([...users, ...users].map(retweet)));
  assert.equal(count(told, 'retweeted'), 100);
  told = await atOnce([...users.slice(0, 30), ...users.slice(0, 30)].map(undo));
  assert.equal(count(told, 'undone'), 30);
  assert.equal(count(told, 'absent'), 30);
  assert.deepEqual((await redis.smembers('shout:9:retweets')).sort(), users.slice(30).sort());

  const likeable = ['team', 'snap', 'shout', 'blog', 'thread', 'news'].map((entity) => `${entity}:9`);
  const likes = likeable.flatMap((key) => users.slice(0, 40).map((user) => [key, user]));
  told = await atOnce(shuffled([
    ...range(3).flatMap(() => likes.map(([key, user]) => like(key, user))),
    ...likes.map(([key, user]) => unlike(key, user)),
  ]));
  const [liked, unliked] = [count(told, 'liked'), count(told, 'unliked')];
  assert.equal(liked + unliked + count(told, 'duplicate') + count(told, 'absent'), told.length);

  // The queue tells the same history: one change after the other, to the state at the end.
  const queued = (await redis.lrange('queue:sync:likes', 0, -1)).map((item) => JSON.parse(item));
  assert.equal(queued.length, liked + unliked, 'each change is queued once');
  const likers = new Map(likeable.map((key) => [key, new Set()]));
  for (const { entity, id, user_id: user, change } of queued) {
    const set = likers.get(`${entity}:${id}`);
    assert.equal(set.has(user), change === 'unlike', 'a change changes something');
    if (change === 'like') set.add(user); else set.delete(user);
  }
  for (const key of likeable) {
    assert.deepEqual((await redis.smembers(`${key}:likes`)).sort(), [...likers.get(key)].sort());
  }

  // A drainer that lives gets every item once, in order.
  const queue = 'queue:sync:likes';
  for (let drained = 0; drained < queued.length;) {
    const { batch, items } = await drainQueue(redis, queue, `from-${drained}`, 100, 30);
    assert.deepEqual(items.map((item) => JSON.parse(item)), queued.slice(drained, drained + 100));
    assert.equal(await confirmDrained(redis, queue, batch), 'confirmed');
    drained += items.length;
  }
  assert.deepEqual(await redis.keys('queue:sync:*'), []);
  tell(`${told.length} likes and unlikes at once: ${queued.length} changes, each queued once`);
}

// A view counts once per user and rolling 24 hours.
async function views(redis) {
  const users = range(50).map(String);
  const day = async () => `${new Date(await now(redis)).toISOString().slice(0, 19)}Z`;
  const viewAll = async (at) => atOnce(shuffled(range(3).flatMap(() => users.flatMap((user) => [
    view('snap:9', user, at), view('shout:9', user, at),
    viewByDay('team:9', user, at), viewByDay('news:9', user, at),
  ]))));
  const totals = () =>
    redis.mget('snap:9:views', 'shout:9:views', 'team:9:views', 'news:9:views');

  const first = await day();
  let told = await viewAll(first);
  assert.equal(count(told, 'counted'), 200);
  assert.equal(count(told, 'duplicate'), 400);
  assert.deepEqual(await totals(), ['50', '50', '50', '50']);
  const daily = [`team:9:views:${first.slice(0, 10)}`, `news:9:views:${first.slice(0, 10)}`];
  assert.deepEqual(await redis.mget(...daily), ['50', '50']);

  // Some hours later it is the same view, and asking does not make the window longer.
  const viewed = users.flatMap((user) =>
    ['snap', 'shout', 'team', 'news'].map((entity) => `viewed:${user}:${entity}:9`));
  const ends = await Promise.all(viewed.map((key) => redis.pexpiretime(key)));
  await advance(redis, 23 * HOUR);
  told = await viewAll(await day());
  assert.equal(count(told, 'duplicate'), 600);
  assert.deepEqual(await Promise.all(viewed.map((key) => redis.pexpiretime(key))), ends);
  await passUntil(redis, Math.max(...ends));
  assert.equal(await redis.exists(...viewed), 0, 'the window is over');
  const second = await day();
  told = await viewAll(second);
  assert.equal(count(told, 'counted'), 200);
  assert.deepEqual(await totals(), ['100', '100', '100', '100']);
  assert.deepEqual(await redis.mget(...daily), ['50', '50'], 'the day before stays as it was');
  assert.equal(await redis.get(`team:9:views:${second.slice(0, 10)}`), '50');
  const updates = (await redis.lrange('queue:sync:views', 0, -1)).map((item) => JSON.parse(item));
  const queued = {};
  for (const { entity, at, count: views } of updates) {
    const name = `${entity} ${at}`;
    queued[name] = (queued[name] ?? 0) + views;
  }
  const wanted = ['snap', 'shout', 'team', 'news'].flatMap((entity) =>
    [first, second].map((at) => [`${entity} ${at}`, 50]));
  assert.deepEqual(queued, Object.fromEntries(wanted), 'each counted view is in one update');
  const wrong = [`viewed:1:news:8`, 'news:8:views', 'news:8:views:2025-12-05', 'queue:sync:views'];
  assert.equal(await refusal(call(redis, 'view_by_day', wrong, AT)), 'DAY_MISMATCH');
  tell('1800 views at once, of which 400 count: in total, by day and in the queue');
}

// Each comment is written once, stands once in its parent's list, and is queued once.
async function comments(redis) {
  const parents = ['user', 'team', 'snap', 'shout', 'blog', 'thread', 'news'].map((e) => `${e}:9`);
  const written = parents.flatMap((key, place) =>
    range(15).map((number) => [String(5000 + place * 100 + number), key]));
  const twice = shuffled([...written, ...written]);
  let told = await atOnce(twice.map(([id, key]) => comment(id, key, '42')));
  assert.equal(count(told, 'written'), written.length);
  assert.equal(count(told, 'duplicate'), written.length);
  for (const key of parents) {
    const ids = written.filter(([, parent]) => parent === key).map(([id]) => id);
    assert.deepEqual((await redis.lrange(`${key}:comments`, 0, -1)).sort(), ids.sort());
    const row = await redis.hgetall(`comment:${ids[0]}`);
    const [entity, entity_id] = key.split(':');
    const expected = { user_id: '42', text: `comment ${ids[0]}`, entity, entity_id, created_at: AT };
    assert.deepEqual({ ...row }, expected);
  }

  const replies = written.slice(0, 50).map(([parent]) => [`9${parent}`, parent]);
  told = await atOnce(shuffled([...replies, ...replies]).map(([id, parent]) => reply(id, parent, '43')));
  assert.equal(count(told, 'written'), replies.length);
  assert.equal(await refusal(reply('1', '404', '43')(redis)), 'COMMENT_UNKNOWN');
  assert.equal(await redis.exists('comment:1', 'comment:404:replies'), 0);
  for (const [id, parent] of replies) {
    assert.deepEqual(await redis.lrange(`comment:${parent}:replies`, 0, -1), [id]);
  }
  const queued = (await redis.lrange('queue:sync:comments', 0, -1)).map((i) => JSON.parse(i).comment_id);
  assert.deepEqual(queued.sort(), [...written, ...replies].map(([id]) => id).sort());
  tell(`${written.length} comments and ${replies.length} replies, each sent twice, written and queued once`);
}

// A drainer of a queue: takes a batch, has it stored by its parent, and confirms.
async function drain(queue) {
  const redis = connect(DB);
  for (let number = 0; ; number += 1) {
    const taken = await drainQueue(redis, queue, `${process.pid}-${number}`, 7, 30);
    process.send(taken);
    const [answer] = await once(process, 'message');
    if (answer === 'end') process.exit(0);
    if (taken.batch) assert.equal(await confirmDrained(redis, queue, taken.batch), 'confirmed');
  }
}

// PostgreSQL: it writes the name of a batch down in the same transaction as its items.
class Store {
  constructor() {
    this.names = new Set();
    this.items = [];
  }

  // Whether the batch was new.
  store({ batch, items }) {
    if (this.names.has(batch)) return false;
    this.names.add(batch);
    this.items.push(...items);
    return true;
  }
}

// Drains a queue while users add to it. Drainers are killed with a batch in their hands,
// every other time after PostgreSQL has it. Each batch comes again when its lease is over:
// nothing is lost, nothing counts twice.
async function drainers(redis, name, addMore) {
  const queue = `queue:sync:${name}`;
  const before = await redis.lrange(queue, 0, -1);
  const store = new Store();
  let [deaths, batches, again, isAdding] = [0, 0, 0, true];
  const adding = addMore().then((items) => {
    isAdding = false;
    return items;
  });
  for (let isOver = false; !isOver;) {
    const drainer = fork(__filename, ['drain', queue]);
    for (;;) {
      const isLast = !isAdding;
      const [taken] = await once(drainer, 'message');
      batches += 1;
      const dies = taken.batch !== null && batches % 11 === 0;
      if (taken.batch !== null && (!dies || deaths % 2 === 0) && !store.store(taken)) again += 1;
      if (dies) {
        deaths += 1;
        drainer.kill('SIGKILL');
        await once(drainer, 'exit');
        await advance(redis, 31 * SECOND);
        break;
      }
      isOver = taken.batch === null && isLast;
      drainer.send(isOver ? 'end' : 'stored');
      if (isOver) {
        assert.deepEqual(await once(drainer, 'exit'), [0, null]);
        break;
      }
    }
  }
  assert(deaths > 1, 'drainers died');
  const expected = [...before, ...(await adding)];
  assert.equal(again, Math.ceil(deaths / 2), 'batches that came again though they were stored');
  assert.deepEqual([...store.items].sort(), [...expected].sort(), 'nothing lost, nothing twice');
  assert.deepEqual(store.items.slice(0, before.length), before, 'oldest first');
  assert.deepEqual(await redis.keys(`${queue}*`), []);
  tell(`${expected.length} items of ${name} drained once each, though ${deaths} drainers died`);
}

// A drainer stalls, and wakes when others have gone on: it can do no harm to their batches.
async function aStalledDrainer(redis) {
  const queue = 'queue:sync:likes';
  for (const user of range(6)) await like('blog:77', `u${user}`)(redis);
  const items = await redis.lrange(queue, 0, -1);
  const stalled = await drainQueue(redis, queue, 'first', 2, 30);
  assert.deepEqual(stalled, { batch: 'first', items: items.slice(0, 2) });
  const other = await drainQueue(redis, queue, 'second', 2, 3600);
  assert.deepEqual(other, { batch: 'second', items: items.slice(2, 4) }, 'two drain at once');
  await advance(redis, 31 * SECOND);
  const anew = await drainQueue(redis, queue, 'third', 2, 30);
  assert.deepEqual(anew, stalled, 'it comes again, with its name');
  assert.equal(await confirmDrained(redis, queue, 'first'), 'confirmed');
  assert.equal(await confirmDrained(redis, queue, 'first'), 'absent', 'the stalled one wakes');
  assert.deepEqual(await redis.lrange(`${queue}:batch:second`, 0, -1), items.slice(2, 4));
  assert.deepEqual(await redis.lrange(queue, 0, -1), items.slice(4));
  assert.equal(await confirmDrained(redis, queue, 'second'), 'confirmed');
  const last = await drainQueue(redis, queue, 'fourth', 100, 30);
  assert.deepEqual(last, { batch: 'fourth', items: items.slice(4) });
  assert.equal(await confirmDrained(redis, queue, 'fourth'), 'confirmed');
  // No lease without its batch, by no command.
  assert.equal(await refusal(redis.zadd(`${queue}:leases`, 1764862230000, 'none')), 'SCHEMA');
  assert.deepEqual(await redis.keys(`${queue}*`), []);
  tell('a drainer that stalled confirmed nothing of the others');
}

// Cached rows and viewers end; what is persistent stays, and so do counters without a lifetime.
async function theEnd(redis) {
  await lives(redis, 'user:9', 30 * MINUTE, () => redis.hset('user:9', 'username', 'misty'));
  await advance(redis, 20 * MINUTE);
  await redis.hset('user:9', 'bio', 'Water types only.');
  const before = await allKeys(redis);
  await advance(redis, 90 * DAY + 1);
  const isPassing = (key) => /^user:9$|^viewed:/.test(key);
  const passing = before.filter(isPassing);
  assert.equal(passing.length, 1 + 200);
  assert.deepEqual(await allKeys(redis), before.filter((key) => !isPassing(key)));
  for (const key of await allKeys(redis)) await livesForEver(redis, key);
  tell(`${passing.length} rows have ended, ${before.length - passing.length} are persistent`);
}

async function scenario() {
  const redis = await begin(DB);
  if (REDIS) return beside.play(redis);
  await theDocument(redis);
  await follows(redis);
  await retweetsAndLikes(redis);
  await views(redis);
  await comments(redis);
  await drainers(redis, 'comments', async () => {
    const more = range(60).map((place) => String(8000 + place));
    const told = await atOnce(more.map((id) => comment(id, 'thread:9', '44')));
    assert.equal(count(told, 'written'), more.length);
    return more.map((comment_id) => JSON.stringify({
      comment_id, entity: 'thread', id: '9', user_id: '44', text: `comment ${comment_id}`, at: AT,
    }));
  });
  await drainers(redis, 'views', async () => []);
  await aStalledDrainer(redis);
  await theEnd(redis);
  await redis.flushdb();
  return beside.play(redis);
}

if (process.argv[2] === 'drain') drain(process.argv[3]); else play(scenario);
