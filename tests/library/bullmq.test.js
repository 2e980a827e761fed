// BullMQ with workers: delays, schedulers, priorities, retries, flows, rate limits, events,
// pauses, deduplication, stalled jobs, metrics, cleaning up.
'use strict';
const { after, afterEach, beforeEach, test } = require('node:test');
const assert = require('node:assert/strict');
const { FlowProducer, Queue, QueueEvents, QueueEventsProducer, Worker, WaitingChildrenError } = require('bullmq');
const Redis = require('ioredis');
const checkVersions = require('./versions.js');

const port = Number(process.env.KEYWARD_TEST_PORT);
const connection = { port };
const redis = new Redis(port);
const PATIENCE_MS = 20_000;
let opened = [];
let name;
let queue;
let events;
let number = 0;

const open = (Kind, ...rest) => {
  const one = new Kind(...rest);
  one.on('error', (error) => { throw error; });
  opened.push(one);
  return one;
};
const work = (process, options = {}, of = name) => open(Worker, of, process, { connection, drainDelay: 1, ...options });
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const eventually = async (check) => {
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await check())) {
    assert.ok(Date.now() < deadline, `never: ${check}`);
    await pause(20);
  }
};
const finished = (job) => job.waitUntilFinished(events, PATIENCE_MS);

beforeEach(async () => {
  number += 1;
  name = `work-${number}`;
  queue = open(Queue, name, { connection });
  events = open(QueueEvents, name, { connection });
  await events.waitUntilReady();
});
afterEach(async () => {
  await Promise.all(opened.map((one) => one.close()));
  opened = [];
});
after(() => redis.quit());

test('the library names this version', () => checkVersions('bullmq.toml', ['BullMQ', 'bullmq']));

test('jobs are done, with progress, logs and results', async () => {
  const heard = [];
  events.on('progress', ({ data }) => heard.push(data));
  const jobs = await queue.addBulk([1, 2, 3].map((value) => ({ name: 'double', data: { number: value } })));
  jobs.push(await queue.add('double', { number: 4 }, { lifo: true }));
  work(async (job) => {
    await job.updateProgress({ done: 50 });
    await job.log(`number ${job.data.number}`);
    await job.updateData({ number: job.data.number, seen: true });
    return job.data.number * 2;
  }, { concurrency: 2, name: 'ann' });
  assert.deepEqual(await Promise.all(jobs.map(finished)), [2, 4, 6, 8]);
  assert.deepEqual((await queue.getJobLogs(jobs[0].id)).logs, ['number 1']);
  const job = await queue.getJob(jobs[0].id);
  assert.deepEqual([job.progress, job.processedBy, job.data.seen], [{ done: 50 }, 'ann', true]);
  await eventually(() => heard.length === 4);
  const stored = await redis.xrange(`bull:${name}:events`, '-', '+');
  assert.ok(stored.some(([, fields]) => fields.includes('completed')));
});

test('values of every kind are returned', async () => {
  const values = [null, 0, '', 'text', [1], { a: { b: [] } }, 1.5, true];
  work(async (job) => values[job.data]);
  const jobs = await Promise.all(values.map((_, place) => queue.add('value', place)));
  assert.deepEqual(await Promise.all(jobs.map(finished)), values);
  work(async () => undefined, {}, `${name}-nothing`);
  const nothing = open(Queue, `${name}-nothing`, { connection });
  const job = await nothing.add('nothing', {});
  await eventually(async () => (await nothing.getJob(job.id)).finishedOn);
});

test('priorities, delays and promotion', async () => {
  await queue.pause();
  const jobs = [];
  for (const priority of [3, 1, 2, 1]) jobs.push(await queue.add('job', { priority }, { priority }));
  const order = [];
  work(async (job) => { order.push(job.data.priority); });
  await queue.resume();
  await Promise.all(jobs.map(finished));
  assert.deepEqual(order, [1, 1, 2, 3]);
  const began = Date.now();
  await finished(await queue.add('later', { priority: 0 }, { delay: 300 }));
  assert.ok(Date.now() - began >= 300);
  const hour = await queue.add('hour', { priority: 0 }, { delay: 3_600_000, priority: 5 });
  assert.equal(await hour.getState(), 'delayed');
  await hour.changeDelay(7_200_000);
  await hour.changePriority({ priority: 6 });
  await hour.promote();
  await finished(hour);
});

test('failures are tried again, and again by hand', async () => {
  let attempts = 0;
  work(async (job) => {
    attempts += 1;
    if (attempts <= job.data.failures) throw new Error(`attempt ${attempts}`);
    return 'well';
  }, { settings: { backoffStrategy: () => 10 } });
  const backoffs = [20, { type: 'exponential', delay: 10, jitter: 0.5 }, { type: 'mine' }, 0];
  for (const backoff of backoffs) {
    attempts = 0;
    const job = await queue.add('flaky', { failures: 2 }, { attempts: 3, backoff });
    assert.equal(await finished(job), 'well');
    assert.equal(attempts, 3);
  }
  attempts = 0;
  const hopeless = await queue.add('hopeless', { failures: 1 });
  await assert.rejects(finished(hopeless), /attempt 1/);
  assert.equal((await queue.getJob(hopeless.id)).failedReason, 'attempt 1');
  const retried = new Promise((resolve) => events.once('completed', resolve));
  await (await queue.getJob(hopeless.id)).retry();
  assert.equal((await retried).jobId, hopeless.id);
  attempts = 0;
  await assert.rejects(finished(await queue.add('again', { failures: 1 })));
  await queue.retryJobs();
  await eventually(async () => (await queue.getFailedCount()) === 0);
});

test('schedulers make jobs', async () => {
  let runs = 0;
  work(async (job) => {
    if (job.name !== 'tick') return;
    await job.log('tick');
    runs += 1;
  });
  await queue.upsertJobScheduler('ticker', { every: 100 }, { name: 'tick', data: { a: 1 }, opts: { attempts: 2 } });
  await queue.upsertJobScheduler('clock', { pattern: '* * * * * *', tz: 'Europe/Paris', limit: 2 }, { name: 'cron' });
  await queue.upsertJobScheduler('season', {
    every: 3_600_000, startDate: Date.now() + 60_000, endDate: Date.now() + 86_400_000,
  });
  await eventually(() => runs >= 3);
  assert.equal((await queue.getJobScheduler('ticker')).every, 100);
  assert.equal((await queue.getJobSchedulers()).length >= 2, true);
  await queue.upsertJobScheduler('ticker', { every: 200 }, { name: 'tick' });
  for (const { key } of await queue.getJobSchedulers()) await queue.removeJobScheduler(key);
  assert.deepEqual(await queue.getJobSchedulers(), []);
});

test('parents wait for their children', async () => {
  const flow = open(FlowProducer, { connection });
  work(async (job) => {
    await job.log(job.name);
    if (job.name === 'bad') throw new Error('on purpose');
    if (job.name !== 'sum') return job.data;
    const sum = Object.values(await job.getChildrenValues()).reduce((one, other) => one + other, 0);
    return { sum, ignored: Object.values(await job.getIgnoredChildrenFailures()) };
  });
  const one = (value) => ({ name: 'leaf', queueName: name, data: value });
  const ignored = { name: 'bad', queueName: name, data: 0, opts: { ignoreDependencyOnFailure: true } };
  const tree = await flow.add({
    name: 'sum', queueName: name, data: {}, opts: { priority: 2 }, children: [one(1), one(2), ignored],
  });
  assert.deepEqual(await finished(tree.job), { sum: 3, ignored: ['on purpose'] });
  assert.equal((await tree.job.getDependenciesCount()).processed, 2);
  const failing = await flow.add({
    name: 'sum', queueName: name, data: {},
    children: [one(1), { name: 'bad', queueName: name, data: 0, opts: { failParentOnFailure: true } }],
  });
  await assert.rejects(finished(failing.job), /failed/);
  assert.equal((await flow.getFlow({ id: tree.job.id, queueName: name })).children.length > 0, true);
  await tree.job.remove();
});

test('a job gives itself children', async () => {
  const parents = `${name}-parents`;
  const parent = open(Queue, parents, { connection });
  work(async (job) => { if (job.data.fails) throw new Error('on purpose'); return job.data.number; });
  work(async (job, token) => {
    if (!job.data.begun) {
      await job.updateData({ begun: true });
      const opts = { parent: { id: job.id, queue: job.queueQualifiedName } };
      await queue.add('child', { number: 7 }, opts);
      await queue.add('child', { fails: true }, { ...opts, ignoreDependencyOnFailure: true });
      await queue.add('child', { fails: true }, { ...opts, failParentOnFailure: job.name === 'doomed' });
      if (await job.moveToWaitingChildren(token)) throw new WaitingChildrenError();
    }
    return Object.values(await job.getChildrenValues());
  }, {}, parents);
  const heard = open(QueueEvents, parents, { connection });
  await heard.waitUntilReady();
  const doomed = await parent.add('doomed', {});
  await assert.rejects(doomed.waitUntilFinished(heard, PATIENCE_MS));
  await parent.upsertJobScheduler('daily', { every: 86_400_000 }, { name: 'doomed', data: {} });
  await eventually(async () => (await parent.getFailedCount()) === 2);
});

test('rates are limited', async () => {
  const times = [];
  work(async () => { times.push(Date.now()); }, { limiter: { max: 2, duration: 200 } });
  const began = Date.now();
  await Promise.all((await Promise.all([1, 2, 3, 4].map(() => queue.add('job', {})))).map(finished));
  assert.ok(Math.max(...times) - began >= 150, `${times.map((time) => time - began)}`);
  await queue.setGlobalConcurrency(1);
  await queue.setGlobalRateLimit(10, 100);
  await queue.rateLimit(200);
  assert.ok((await queue.getRateLimitTtl()) > 0);
  await finished(await queue.add('job', {}));
  await queue.removeGlobalConcurrency();
  await queue.removeGlobalRateLimit();
});

test('of jobs that are alike one is kept', async () => {
  const add = (deduplication, more = {}) => queue.add('mail', {}, { deduplication, ...more });
  const [one, other] = [await add({ id: 'mail:ann', ttl: 1000 }), await add({ id: 'mail:ann', ttl: 1000 })];
  assert.equal(one.id, other.id);
  const later = { id: 'bob', ttl: 5000, extend: true, replace: true };
  const [third, fourth] = [await add(later, { delay: 5000 }), await add(later, { delay: 5000 })];
  assert.notEqual(third.id, fourth.id);
  let release;
  const isHeld = new Promise((resolve) => { release = resolve; });
  work(async (job) => { if (job.opts.deduplication?.id === 'eve') await isHeld; });
  const held = await add({ id: 'eve', keepLastIfActive: true });
  await eventually(async () => (await held.getState()) === 'active');
  await add({ id: 'eve', keepLastIfActive: true });
  assert.equal(await redis.exists(`bull:${name}:dn:eve`), 1);
  release();
  await eventually(async () => (await queue.getCompletedCount()) === 3);
});

test('a stalled job goes back', async () => {
  const settings = { lockDuration: 200, stalledInterval: 200 };
  const lost = work(null, { ...settings, skipLockRenewal: true, skipStalledCheck: true });
  await queue.add('job', { number: 1 });
  assert.equal((await lost.getNextJob('token')).data.number, 1);
  const done = new Promise((resolve) => work(async (job) => resolve(job.data.number), settings));
  assert.equal(await done, 1);
  await eventually(async () => (await queue.getCompletedCount()) === 1);
});

test('metrics count minutes', async () => {
  work(async (job) => { if (job.data.fails) throw new Error('on purpose'); }, { metrics: { maxDataPoints: 5 } });
  for (const fails of [false, true]) {
    const key = `bull:${name}:metrics:${fails ? 'failed' : 'completed'}`;
    await queue.add('job', { fails });
    await eventually(() => redis.exists(key));
    await redis.hset(key, 'prevTS', Date.now() - 180_000);
    await queue.add('job', { fails });
    await eventually(() => redis.exists(`${key}:data`));
  }
  assert.equal((await queue.getMetrics('completed')).count, 3);
});

test('events of the application, trimmed', async () => {
  const producer = open(QueueEventsProducer, name, { connection });
  const heard = new Promise((resolve) => events.once('paid', resolve));
  await producer.publishEvent({ eventName: 'paid', order: '7' });
  assert.equal((await heard).order, '7');
  for (let count = 0; count < 250; count += 1) await producer.publishEvent({ eventName: 'more' });
  assert.ok((await queue.trimEvents(5)) > 0);
});

test('jobs are kept, cleaned and removed', async () => {
  work(async () => {});
  for (const removeOnComplete of [1, true, { age: 3600, count: 5 }]) {
    await queue.add('job', {}, { removeOnComplete });
  }
  await eventually(async () => (await queue.getJobCountByTypes('wait', 'active')) === 0);
  await queue.clean(0, 100, 'completed');
  assert.equal(await queue.getCompletedCount(), 0);
  await queue.pause();
  for (let count = 0; count < 3; count += 1) await queue.add('job', {});
  await queue.clean(0, 2, 'paused');
  await (await queue.add('job', {})).remove();
  await queue.add('job', {}, { delay: 60_000 });
  await queue.drain(true);
  await queue.add('job', {});
  await queue.obliterate({ force: true });
  await Promise.all(opened.splice(1).map((one) => one.close()));
  assert.deepEqual((await redis.keys(`bull:${name}:*`)).sort(), []);
});

test('another prefix, and ids of the application', async () => {
  const options = { connection, prefix: '{shop}' };
  const orders = open(Queue, 'orders', options);
  work(async (job) => { if (job.data.fails) throw new Error('on purpose'); }, { prefix: '{shop}', skipStalledCheck: true }, 'orders');
  await orders.add('order', {}, { jobId: 'order-42' });
  await eventually(async () => (await orders.getCompletedCount()) === 1);
  assert.equal(await redis.type('{shop}:orders:order-42'), 'hash');
  await orders.add('order', {}, { jobId: 'order-42' });
  await orders.add('order', { fails: true }, { jobId: 'order-43' });
  await eventually(async () => (await orders.getFailedCount()) === 1);
});
