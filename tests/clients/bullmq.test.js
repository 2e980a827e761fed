// BullMQ: queues in Lua scripts whose events are a stream; workers, delays, retries, priorities,
// flows, schedulers. (`tests/library` runs all of it, under its schema.)
'use strict';
const { after, afterEach, beforeEach, test } = require('node:test');
const assert = require('node:assert/strict');
const { FlowProducer, Queue, QueueEvents, Worker } = require('bullmq');
const Redis = require('ioredis');

const connection = { port: Number(process.env.KEYWARD_TEST_PORT), db: 6 };
const PATIENCE_MS = 15_000;
const redis = new Redis(connection);
let opened;
let queue;
let events;

const open = (Kind, ...rest) => {
  const one = new Kind(...rest);
  opened.push(one);
  return one;
};
const work = (process, options) => open(Worker, 'work', process, { connection, drainDelay: 1, ...options });
const finished = (job) => job.waitUntilFinished(events, PATIENCE_MS);

beforeEach(async () => {
  opened = [];
  await redis.flushdb();
  queue = open(Queue, 'work', { connection });
  events = open(QueueEvents, 'work', { connection });
  await events.waitUntilReady();
});
afterEach(() => Promise.all(opened.map((one) => one.close())));
after(() => redis.quit());

test('jobs are done and their results kept', async () => {
  work(async (job) => job.data.number * 2, { concurrency: 2 });
  const jobs = await Promise.all([1, 2, 3, 4, 5].map((number) => queue.add('double', { number })));
  assert.deepEqual(await Promise.all(jobs.map(finished)), [2, 4, 6, 8, 10]);
  const counts = await queue.getJobCounts();
  assert.deepEqual([counts.completed, counts.waiting, counts.active], [5, 0, 0]);
  assert.equal(await redis.type('bull:work:events'), 'stream');
});

test('the most urgent job comes first', async () => {
  await queue.pause();
  const jobs = [];
  for (const priority of [3, 1, 2, 1]) jobs.push(await queue.add('job', { priority }, { priority }));
  const order = [];
  work(async (job) => { order.push(job.data.priority); });
  await queue.resume();
  await Promise.all(jobs.map(finished));
  assert.deepEqual(order, [1, 1, 2, 3]);
});

test('a delayed job waits, a failed one is tried again', async () => {
  let attempts = 0;
  work(async () => {
    attempts += 1;
    if (attempts < 3) throw new Error(`attempt ${attempts}`);
    return Date.now();
  });
  const began = Date.now();
  const ran = await finished(await queue.add('job', {}, { delay: 300, attempts: 3, backoff: 20 }));
  assert.ok(ran - began >= 340, `it ran after ${ran - began} ms`);
  assert.equal(attempts, 3);
});

test('a parent waits for its children', async () => {
  work(async (job) => {
    if (job.name === 'leaf') return job.data;
    return Object.values(await job.getChildrenValues()).reduce((one, other) => one + other, 0);
  });
  const leaf = (data) => ({ name: 'leaf', queueName: 'work', data });
  const flow = open(FlowProducer, { connection });
  const tree = await flow.add({ name: 'sum', queueName: 'work', children: [leaf(1), leaf(2), leaf(3)] });
  assert.equal(await finished(tree.job), 6);
});

test('a scheduler makes jobs, and cleaning up', async () => {
  let runs = 0;
  const isRepeated = new Promise((resolve) => {
    work(async () => { runs += 1; if (runs === 3) resolve(); });
  });
  await queue.upsertJobScheduler('ticker', { every: 50 }, { name: 'tick' });
  await isRepeated;
  await queue.removeJobScheduler('ticker');
  await queue.obliterate({ force: true });
  assert.equal(await redis.exists('bull:work:wait', 'bull:work:completed', 'bull:work:repeat'), 0);
});
