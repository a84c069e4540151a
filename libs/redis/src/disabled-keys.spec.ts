import { randomBytes } from 'node:crypto';
import { eventually, testRedis, type TestRedis } from '@certwright/testing';
import type { Redis } from '@certwright/redis-client';
import { disabledKeysChannel, followDisabledKeys } from './disabled-keys';

let redis: TestRedis;
let publisher: Redis;
/** Of this spec alone: others use the same Redis. */
let channel: string;
let name: string;
let following: { close(): Promise<void> };
const keys = { clear: jest.fn(), forget: jest.fn() };

beforeEach(async () => {
  redis = await testRedis();
  publisher = redis.connect();
  channel = disabledKeysChannel(redis.access);
  name = `${redis.prefix}reader`;
  const log = { warn: () => undefined, info: () => undefined };
  following = followDisabledKeys(redis.access, { name, keys, log });
  // No receivers: the subscription is not active yet.
  await eventually(async () => expect(await publish('{}')).toBe(1));
  // Once for the connection, once for the news.
  await eventually(() => expect(keys.clear).toHaveBeenCalledTimes(2));
  keys.clear.mockClear();
});
afterEach(async () => {
  await following.close();
  await redis.dispose();
  jest.clearAllMocks();
});

const publish = async (news: string) => await publisher.publish(channel, news);

it('forgets the key that was disabled, and no other', async () => {
  const secretSha256 = randomBytes(32);
  const data = { secretSha256: secretSha256.toString('hex') };
  await publish(JSON.stringify({ pattern: channel, data }));
  await eventually(() => expect(keys.forget).toHaveBeenCalledWith(secretSha256));
  expect(keys.clear).not.toHaveBeenCalled();
});

it.each([
  '',
  'null',
  '[]',
  '{"data":null}',
  '{"data":{"secretSha256":"ff"}}',
  '{"data":{"secretSha256":[1]}}',
])('forgets everything when the news says %j', async (news) => {
  await publish(news);
  await eventually(() => expect(keys.clear).toHaveBeenCalled());
  expect(keys.forget).not.toHaveBeenCalled();
});

it('forgets everything when the connection is made again: what was said meanwhile is lost', async () => {
  const clients = String(await publisher.client('LIST')).split('\n');
  const own = clients.find((client) => client.includes(` name=${name}-disabled-keys `));
  await publisher.client('KILL', 'ID', /^id=(\d+)/.exec(own ?? '')?.[1] ?? 'none');
  await eventually(() => expect(keys.clear).toHaveBeenCalled());
  await eventually(async () => expect(await publish('{}')).toBe(1));
});
