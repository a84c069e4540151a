import { eventually, testRedis, type TestRedis } from '@certwright/testing';
import { AddressOccupancy } from './address-occupancy';
import { connectRedis, type RedisConnection } from './redis-connection';

let redis: TestRedis;
let connections: readonly RedisConnection[];
let prefixes = 0;

beforeAll(async () => {
  redis = await testRedis();
  const log = { warn: () => undefined, info: () => undefined };
  connections = [1, 2].map(() => connectRedis(redis.access, { name: 'spec', log, commandTimeoutMs: 20_000 }));
  for (const connection of connections) await eventually(() => connection.ping());
});
afterAll(async () => {
  for (const connection of connections) await connection.close();
  await redis.dispose();
});

const client = () => (connections[0] as RedisConnection).client;
/** Of two processes, on keys of their own. */
function processes(more = {}) {
  const prefix = `spec-${prefixes++}`;
  const options = { maxPerNetwork: 3, lifetimeMs: 600_000, patienceMs: 600_000, ...more };
  const [one, other] = connections.map(
    (each) => new AddressOccupancy({ client: each.client, prefix }, options),
  );
  return { one: one as AddressOccupancy, other: other as AddressOccupancy, prefix };
}
const occupant = (token: string, address: string, network = 'a') => ({ token, address, network });

describe('an address', () => {
  it('has one connection at a time, whichever process makes it', async () => {
    const { one, other } = processes();
    expect(await one.occupy(occupant('t1', '192.0.2.1'))).toBe(true);
    expect(await one.occupy(occupant('t1', '192.0.2.1'))).toBe(true);
    expect(await other.occupy(occupant('t2', '192.0.2.1'))).toBe(false);
    expect(await other.occupy(occupant('t3', '192.0.2.2'))).toBe(true);
    await other.vacate(occupant('t2', '192.0.2.1'));
    expect(await other.occupy(occupant('t4', '192.0.2.1'))).toBe(false);
    await one.vacate(occupant('t1', '192.0.2.1'));
    expect(await other.occupy(occupant('t4', '192.0.2.1'))).toBe(true);
  });

  it('is free again after the lifetime of a connection whose process died', async () => {
    const { one, other, prefix } = processes({ lifetimeMs: 1 });
    expect(await one.occupy(occupant('t1', '192.0.2.1'))).toBe(true);
    await eventually(async () => expect(await other.occupy(occupant('t2', '192.0.2.1'))).toBe(true));
    const late = processes({ lifetimeMs: 600_000 });
    expect(await late.one.occupy(occupant('t1', '192.0.2.1'))).toBe(true);
    await eventually(async () => expect(await client().exists(`${prefix}:connections:{a}:occupied`)).toBe(0));
    expect(await client().pttl(`${late.prefix}:connections:{a}:occupied`)).toBeGreaterThan(500_000);
  });

  it('goes to those who wait in the order in which they came', async () => {
    const { one, other } = processes();
    await one.occupy(occupant('t1', '192.0.2.1'));
    for (const token of ['t2', 't3']) expect(await other.occupy(occupant(token, '192.0.2.1'))).toBe(false);
    await one.vacate(occupant('t1', '192.0.2.1'));
    for (const token of ['t4', 't3']) expect(await one.occupy(occupant(token, '192.0.2.1'))).toBe(false);
    expect(await other.occupy(occupant('t2', '192.0.2.1'))).toBe(true);
    await other.vacate(occupant('t2', '192.0.2.1'));
    expect(await one.occupy(occupant('t4', '192.0.2.1'))).toBe(false);
    expect(await one.occupy(occupant('t3', '192.0.2.1'))).toBe(true);
  });

  it('is not kept for those who wait no longer', async () => {
    const { one, other } = processes({ patienceMs: 1 });
    await one.occupy(occupant('t1', '192.0.2.1'));
    expect(await other.occupy(occupant('t2', '192.0.2.1'))).toBe(false);
    await one.vacate(occupant('t1', '192.0.2.1'));
    await eventually(async () => expect(await one.occupy(occupant('t3', '192.0.2.1'))).toBe(true));
  });
});

describe('a network', () => {
  it('has a maximum of connections, and others are not affected', async () => {
    const { one, other } = processes();
    for (const last of [1, 2, 3]) {
      expect(await one.occupy(occupant(`t${last}`, `192.0.2.${last}`))).toBe(true);
    }
    expect(await other.occupy(occupant('t4', '192.0.2.4'))).toBe(false);
    expect(await other.occupy(occupant('t5', '198.51.100.1', 'b'))).toBe(true);
    await one.vacate(occupant('t2', '192.0.2.2'));
    expect(await one.occupy(occupant('t6', '192.0.2.6'))).toBe(false);
    expect(await other.occupy(occupant('t4', '192.0.2.4'))).toBe(true);
  });

  it('has room for others while one waits for an address that is occupied', async () => {
    const { one, other } = processes();
    await one.occupy(occupant('t1', '192.0.2.1'));
    for (const token of ['t2', 't3', 't4', 't5']) await other.occupy(occupant(token, '192.0.2.1'));
    expect(await one.occupy(occupant('t6', '192.0.2.2'))).toBe(true);
    expect(await one.occupy(occupant('t7', '192.0.2.3'))).toBe(true);
  });

  it('leaves nothing in Redis when all connections are closed', async () => {
    const { one, other, prefix } = processes();
    await one.occupy(occupant('t1', '192.0.2.1'));
    await other.occupy(occupant('t2', '192.0.2.1'));
    await one.vacate(occupant('t1', '192.0.2.1'));
    await other.vacate(occupant('t2', '192.0.2.1'));
    expect(await client().keys(`${prefix}:*`)).toEqual([]);
  });

  it('keeps its maximum however many occupy at once', async () => {
    const { one, other } = processes();
    const attempts = Array.from({ length: 60 }, (_, nth) =>
      (nth % 2 === 0 ? one : other).occupy(occupant(`t${nth}`, `192.0.2.${nth % 10}`)),
    );
    expect((await Promise.all(attempts)).filter(Boolean)).toHaveLength(3);
  });
});
