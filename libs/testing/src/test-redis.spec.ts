import { Redis } from 'ioredis';
import { type TestRedis, testRedis } from './test-redis';

let mine: TestRedis;
let other: TestRedis;
let connection: Redis;

beforeAll(async () => {
  [mine, other] = await Promise.all([testRedis(), testRedis()]);
  connection = new Redis(mine.url);
});
afterAll(async () => {
  connection.disconnect();
  await Promise.all([mine.dispose(), other.dispose()]);
});

it('has a database and a prefix of its own', () => {
  expect(mine.url).not.toBe(other.url);
  expect(mine.prefix).not.toBe(other.prefix);
});

it('flushes only its own keys', async () => {
  const neighbour = new Redis(other.url);
  await connection.set('key', 'mine');
  await neighbour.set('key', 'other');
  await mine.flush();
  expect(await connection.get('key')).toBeNull();
  expect(await neighbour.get('key')).toBe('other');
  neighbour.disconnect();
});

it('is empty when its number is given out again', async () => {
  const first = await testRedis();
  const writer = new Redis(first.url);
  await writer.set('key', 'left behind');
  await first.dispose();
  expect(await writer.dbsize()).toBe(0);
  writer.disconnect();
});
