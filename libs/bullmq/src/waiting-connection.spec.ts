import type { RedisClient } from '@certwright/redis-client';
import { eventually, freePort, startRedisServer, testRedis, type TestRedis } from '@certwright/testing';
import { WaitingConnection } from './waiting-connection';

let redis: TestRedis;
let opened: RedisClient[];
let errors: Error[];
let waiting: WaitingConnection;

beforeAll(async () => (redis = await testRedis()));
beforeEach(async () => {
  await redis.flush();
  waiting = waitingOn(redis.access);
});
afterEach(() => {
  waiting.interrupt();
  for (const client of opened) client.disconnect();
});
afterAll(async () => await redis.dispose());

function waitingOn(access: TestRedis['access']): WaitingConnection {
  [opened, errors] = [[], []];
  return new WaitingConnection(
    () => {
      const client = access.open({ kind: 'worker', name: 'spec' });
      opened.push(client);
      return client;
    },
    (error) => errors.push(error),
  );
}
const add = async (member: string) => {
  const client = redis.access.open({ kind: 'worker', name: 'spec-marker' });
  await client.zadd('marker', 7, member);
  client.disconnect();
};

it('keeps its connection while Redis responds', async () => {
  const waits = waiting.pop('marker', 5);
  await add('first');
  expect(await waits).toEqual({ member: 'first', score: 7 });
  expect(await waiting.pop('marker', 0.01)).toBeNull();
  expect(opened).toHaveLength(1);
});

it('opens another connection when Redis does not respond in time', async () => {
  const server = await startRedisServer(await freePort());
  waiting = waitingOn(redis.accessAt(`redis://127.0.0.1:${server.port}`));
  expect(await waiting.pop('marker', 0.01)).toBeNull();
  server.freeze();
  expect(await waiting.pop('marker', 0.01)).toBeNull();
  server.resume();
  expect(await waiting.pop('marker', 0.01)).toBeNull();
  expect(opened.map(({ status }) => status)).toEqual(['end', 'ready']);
  expect(errors).toEqual([]);
});

it('opens another connection after an error', async () => {
  const client = redis.access.open({ kind: 'worker', name: 'spec-marker' });
  await client.set('marker', 'no sorted set');
  await expect(waiting.pop('marker', 5)).rejects.toThrow('WRONGTYPE');
  await client.del('marker');
  client.disconnect();
  expect(await waiting.pop('marker', 0.01)).toBeNull();
  expect(opened).toHaveLength(2);
});

it('rejects when it is interrupted, so that a runner that closes takes no other job', async () => {
  const waits = waiting.pop('marker', 5);
  await eventually(() => expect(opened.map(({ status }) => status)).toEqual(['ready']));
  waiting.interrupt();
  await expect(waits).rejects.toThrow('Connection is closed');
  await add('first');
  expect(await waiting.pop('marker', 5)).toMatchObject({ member: 'first' });
});
