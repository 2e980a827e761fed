// Bull with workers: delays, repeats, priorities, retries, rate limits, pauses, stalled jobs.
'use strict';
const { after, afterEach, beforeEach, test } = require('node:test');
const assert = require('node:assert/strict');
const Queue = require('bull');
const Redis = require('ioredis');
const checkVersions = require('./versions.js');

const port = Number(process.env.KEYWARD_TEST_PORT);
const redis = new Redis(port);
const PATIENCE_MS = 20_000;
let queue;
let number = 0;

const open = (name, options) => new Queue(name, { redis: { port }, settings: { guardInterval: 50 }, ...options });
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const eventually = async (check) => {
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await check())) {
    assert.ok(Date.now() < deadline, `never: ${check}`);
    await pause(20);
  }
};

beforeEach(async () => {
  number += 1;
  queue = open(`work-${number}`);
  await queue.isReady();
});
afterEach(() => queue.close());
after(() => redis.quit());

test('the library names this version', () => checkVersions('bull.toml', ['Bull', 'bull']));

test('jobs are done, with progress, logs and results', async () => {
  queue.process(2, async (job) => {
    await job.progress({ done: 50 });
    await job.log(`number ${job.data.number}`);
    await job.update({ number: job.data.number, seen: true });
    return job.data.number * 2;
  });
  const jobs = await queue.addBulk([1, 2, 3].map((value) => ({ data: { number: value } })));
  jobs.push(await queue.add({ number: 4 }, { lifo: true }));
  assert.deepEqual(await Promise.all(jobs.map((job) => job.finished())), [2, 4, 6, 8]);
  assert.deepEqual((await queue.getJobLogs(jobs[0].id)).logs, ['number 1']);
  assert.deepEqual((await queue.getJob(jobs[0].id)).progress(), { done: 50 });
});

test('values of every kind are returned', async () => {
  const values = [null, 0, '', 'text', [1], { a: { b: [] } }, 1.5, true];
  queue.process(async (job) => values[job.data]);
  const jobs = await Promise.all(values.map((_, place) => queue.add(place)));
  const found = await Promise.all(jobs.map((job) => job.finished()));
  assert.deepEqual(found.map((value) => value ?? null), values);
  queue.process('nothing', async () => undefined);
  assert.equal((await (await queue.add('nothing', {})).finished()) ?? null, null);
});

test('priorities, delays and promotion', async () => {
  await queue.pause();
  const jobs = [];
  for (const priority of [3, 1, 2, 1]) jobs.push(await queue.add({ priority }, { priority }));
  const order = [];
  queue.process(async (job) => { order.push(job.data.priority); });
  await queue.resume();
  await Promise.all(jobs.map((job) => job.finished()));
  assert.deepEqual(order, [1, 1, 2, 3]);
  const began = Date.now();
  const later = await queue.add({ priority: 0 }, { delay: 300 });
  await later.finished();
  assert.ok(Date.now() - began >= 300);
  const hour = await queue.add({ priority: 0 }, { delay: 3_600_000, priority: 5 });
  assert.equal(await hour.getState(), 'delayed');
  await hour.promote();
  await hour.finished();
});

test('failures are tried again, and again by hand', async () => {
  let attempts = 0;
  queue.process(async (job) => {
    attempts += 1;
    if (attempts <= job.data.failures) throw new Error(`attempt ${attempts}`);
    return 'well';
  });
  const job = await queue.add({ failures: 2 }, { attempts: 3, backoff: { type: 'exponential', delay: 10 } });
  assert.equal(await job.finished(), 'well');
  attempts = 0;
  const hopeless = await queue.add({ failures: 1 }, { attempts: 1 });
  await assert.rejects(hopeless.finished(), /attempt 1/);
  assert.equal(await queue.getFailedCount(), 1);
  await (await queue.getJob(hopeless.id)).retry();
  assert.equal(await hopeless.finished(), 'well');
  attempts = 0;
  const again = await queue.add({ failures: 1 });
  await assert.rejects(again.finished());
  await queue.retryJobs();
  await eventually(async () => (await queue.getFailedCount()) === 0);
});

test('jobs are repeated', async () => {
  let runs = 0;
  queue.process('tick', async (job) => {
    await job.log('tick');
    runs += 1;
  });
  queue.process('cron', async () => {});
  await queue.add('tick', {}, { repeat: { every: 100 } });
  await queue.add('cron', {}, { repeat: { cron: '* * * * * *', limit: 2 }, jobId: 'clock' });
  await eventually(() => runs >= 3);
  for (const repeated of await queue.getRepeatableJobs()) await queue.removeRepeatableByKey(repeated.key);
  assert.deepEqual(await queue.getRepeatableJobs(), []);
});

test('rates are limited, by group too', async () => {
  for (const limiter of [{ max: 2, duration: 200 }, { max: 1, duration: 200, groupKey: 'user.id' }]) {
    const limited = open(`limited-${limiter.max}`, { limiter });
    limited.process(async (job) => {
      await job.log('begun');
      return Date.now();
    });
    const began = Date.now();
    const jobs = await Promise.all([1, 2, 3, 4].map(() => limited.add({ user: { id: 'ann' } })));
    const times = await Promise.all(jobs.map((job) => job.finished()));
    assert.ok(Math.max(...times) - began >= 150, `${times.map((time) => time - began)}`);
    await limited.close();
  }
});

test('of jobs that are alike one is kept', async () => {
  const options = { debounce: { id: 'mail:ann', ttl: 1000 } };
  const [one, other] = [await queue.add({}, options), await queue.add({}, options)];
  assert.equal(one.id, other.id);
  const [third, fourth] = [await queue.add({}, { debounce: { id: 'bob' } }), await queue.add({}, { debounce: { id: 'bob' } })];
  assert.equal(third.id, fourth.id);
  assert.notEqual(third.id, one.id);
});

test('a stalled job goes back', async () => {
  const name = `stalled-${process.pid}`;
  const settings = { lockDuration: 200, stalledInterval: 200, guardInterval: 50 };
  const lost = open(name, { settings });
  await lost.add({ number: 1 });
  assert.equal((await lost.getNextJob()).data.number, 1);
  await lost.close();
  const other = open(name, { settings });
  const done = new Promise((resolve) => other.process(async (job) => resolve(job.data.number)));
  assert.equal(await done, 1);
  await eventually(async () => (await other.getCompletedCount()) === 1);
  await other.close();
});

test('metrics count minutes', async () => {
  const metered = open('metered', { metrics: { maxDataPoints: 5 } });
  metered.process(async (job) => { if (job.data.fails) throw new Error('on purpose'); });
  for (const fails of [false, true]) {
    const key = `bull:metered:metrics:${fails ? 'failed' : 'completed'}`;
    await metered.add({ fails });
    await eventually(() => redis.exists(key));
    await redis.hset(key, 'prevTS', Date.now() - 180_000);
    await metered.add({ fails });
    await eventually(() => redis.exists(`${key}:data`));
  }
  assert.equal((await metered.getMetrics('completed')).count, 3);
  await metered.close();
});

test('jobs are kept, cleaned and removed', async () => {
  queue.process(async () => {});
  const kept = await queue.add({}, { removeOnComplete: 1 });
  await kept.finished();
  await (await queue.add({}, { removeOnComplete: true })).finished().catch(() => {});
  await eventually(async () => (await queue.getCompletedCount()) >= 1);
  await queue.clean(0, 'completed');
  assert.equal(await queue.getCompletedCount(), 0);
  await queue.pause();
  for (let count = 0; count < 3; count += 1) await queue.add({});
  await queue.clean(0, 'paused');
  await queue.add({});
  await queue.removeJobs('*');
  await queue.add({});
  await queue.empty();
  await queue.obliterate({ force: true });
  assert.deepEqual((await redis.keys(`bull:work-${number}:*`)).sort(), []);
});

test('another prefix, and ids of the application', async () => {
  const orders = open('orders', { prefix: '{shop}' });
  orders.process(async (job) => { if (job.data.fails) throw new Error('on purpose'); });
  const job = await orders.add({}, { jobId: 'order-42' });
  await job.finished();
  assert.equal(await redis.type('{shop}:orders:order-42'), 'hash');
  await orders.add({}, { jobId: 'order-42' });
  await assert.rejects((await orders.add({ fails: true }, { jobId: 'order-43' })).finished());
  await orders.close();
});
