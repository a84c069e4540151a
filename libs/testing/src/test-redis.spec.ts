import type { Redis } from '@certwright/redis-client';
import { rawRedis, type TestRedis, testRedis } from './test-redis';

let mine: TestRedis;
let other: TestRedis;
let connection: Redis;

beforeAll(async () => {
  [mine, other] = await Promise.all([testRedis(), testRedis()]);
  connection = mine.connect();
});
afterAll(async () => {
  await Promise.all([mine.dispose(), other.dispose()]);
});

it('has a database and a prefix of its own', () => {
  expect(mine.url).not.toBe(other.url);
  expect(mine.prefix).not.toBe(other.prefix);
});

it('flushes only its own keys', async () => {
  const neighbour = other.connect();
  await connection.set('key', 'mine');
  await neighbour.set('key', 'other');
  await mine.flush();
  expect(await connection.get('key')).toBeNull();
  expect(await neighbour.get('key')).toBe('other');
});

it('is empty when its number is given out again', async () => {
  const first = await testRedis();
  const writer = rawRedis(first.url);
  await writer.set('key', 'left behind');
  await first.dispose();
  expect(await writer.dbsize()).toBe(0);
  writer.disconnect();
});
