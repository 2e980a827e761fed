// Bull: a queue that lives in Lua scripts; jobs, delays, retries, priorities, workers, events.
'use strict';
const { after, beforeEach, afterEach, test } = require('node:test');
const assert = require('node:assert/strict');
const Queue = require('bull');
const Redis = require('ioredis');

const port = Number(process.env.KEYWARD_TEST_PORT);
const redis = new Redis(port);
let queue;

beforeEach(async () => {
  await redis.flushall();
  queue = new Queue('work', { redis: { port }, settings: { guardInterval: 50 } });
  await queue.isReady();
});
afterEach(() => queue.close());
after(() => redis.quit());

test('jobs are done and their results kept', async () => {
  queue.process(2, async (job) => {
    await job.progress(50);
    return job.data.number * 2;
  });
  const jobs = await Promise.all([1, 2, 3, 4, 5].map((number) => queue.add({ number })));
  const results = await Promise.all(jobs.map((job) => job.finished()));
  assert.deepEqual(results, [2, 4, 6, 8, 10]);
  const counts = await queue.getJobCounts();
  assert.deepEqual([counts.completed, counts.waiting, counts.active], [5, 0, 0]);
});

test('the most urgent job comes first', async () => {
  await queue.pause();
  const jobs = [];
  for (const priority of [3, 1, 2, 1]) {
    jobs.push(await queue.add({ priority }, { priority }));
  }
  const order = [];
  queue.process(async (job) => { order.push(job.data.priority); });
  await queue.resume();
  await Promise.all(jobs.map((job) => job.finished()));
  assert.deepEqual(order, [1, 1, 2, 3]);
});

test('a delayed job waits', async () => {
  queue.process(async () => Date.now());
  const start = Date.now();
  const job = await queue.add({}, { delay: 300 });
  assert.equal(await job.getState(), 'delayed');
  const ran = await job.finished();
  assert.ok(ran - start >= 300, `it ran after ${ran - start} ms`);
});

test('a failed job is tried again, and fails in the end', async () => {
  let attempts = 0;
  queue.process(async (job) => {
    attempts += 1;
    if (job.data.hopeless || attempts < 3) throw new Error(`attempt ${attempts}`);
    return 'well';
  });
  const job = await queue.add({}, { attempts: 3, backoff: 20 });
  assert.equal(await job.finished(), 'well');
  assert.equal(attempts, 3);
  const hopeless = await queue.add({ hopeless: true }, { attempts: 2 });
  await assert.rejects(hopeless.finished(), /attempt 5/);
  assert.equal(await queue.getFailedCount(), 1);
});

test('a repeated job, and cleaning up', async () => {
  let runs = 0;
  const isRepeated = new Promise((resolve) => {
    queue.process(async () => { runs += 1; if (runs === 3) resolve(); });
  });
  await queue.add({}, { repeat: { every: 50 } });
  await isRepeated;
  const [repeated] = await queue.getRepeatableJobs();
  await queue.removeRepeatableByKey(repeated.key);
  await queue.obliterate({ force: true });
  assert.deepEqual(await redis.keys('bull:work:wait'), []);
});
