import { randomUUID } from 'node:crypto';
import { databaseOutage } from '@certwright/errors';
import type { DataSource } from 'typeorm';
import { coreDataSource } from '../core-data-source';
import { CoreDatabaseFixture } from '@certwright/core-testing';
import { currentDatabaseTime, withinDatabaseTime } from './database-time';
import { WriteConnections } from './write-connections';

let core: CoreDatabaseFixture;
let database: DataSource;
beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
});
afterAll(async () => await core.close());
beforeEach(async () => {
  const { url } = core;
  database = coreDataSource({ url, applicationName: 'spec', poolSize: 3, statementTimeoutMs: 60_000 });
  await database.initialize();
});
afterEach(async () => await database.destroy());

/** A transaction that stays open until it is released. */
class Held {
  release: () => void = () => undefined;
  hasBegun = false;
  readonly ended: Promise<void>;

  constructor(
    writes: WriteConnections,
    timeMs = 60_000,
    within: () => Promise<unknown> = async () => undefined,
    account: string = randomUUID(),
  ) {
    this.ended = withinDatabaseTime(timeMs, async () => {
      const end = writes.begin(account);
      try {
        await database.transaction(async (tx) => {
          await tx.query('SELECT 1');
          await within();
          this.hasBegun = true;
          await new Promise<void>((resolve) => (this.release = resolve));
        });
      } finally {
        end?.();
      }
    });
  }
}

const settled = async (...helds: readonly Held[]) => {
  while (!helds.every(({ hasBegun }) => hasBegun)) await new Promise((resolve) => setTimeout(resolve, 10));
};
const read = async () =>
  await withinDatabaseTime(60_000, async () => await database.query('SELECT 1 AS one'));

describe('connections for writes', () => {
  it('leave the rest of the pool to reads, and go to the writes in their order', async () => {
    const writes = new WriteConnections(2);
    const [first, second] = [new Held(writes), new Held(writes)];
    await settled(first, second);
    const third = new Held(writes);
    for (let each = 0; each < 5; each += 1) expect(await read()).toEqual([{ one: 1 }]);
    expect(third.hasBegun).toBe(false);
    first.release();
    await settled(third);
    for (const held of [second, third]) held.release();
    await Promise.all([first.ended, second.ended, third.ended]);
  });

  it('refuse a write when too many wait for one, until one of them has ended', async () => {
    const writes = new WriteConnections(1);
    const ends = Array.from({ length: 20 }, (_, at) => writes.begin(String(at)));
    expect(ends).not.toContain(null);
    expect(writes.begin('1')).toBeNull();
    ends[0]?.();
    ends[0]?.();
    expect(writes.begin('1')).not.toBeNull();
    expect(writes.begin('1')).toBeNull();
  });

  it('are left to other accounts when the writes of one wait for each other', async () => {
    const writes = new WriteConnections(2);
    const of = (account: string) => new Held(writes, 60_000, undefined, account);
    const [first, second] = [of('1'), of('1')];
    await settled(first);
    const other = of('2');
    await settled(other);
    expect(second.hasBegun).toBe(false);
    other.release();
    await other.ended;
    expect(second.hasBegun).toBe(false);
    first.release();
    await settled(second);
    second.release();
    await Promise.all([first.ended, second.ended]);
  });

  it('refuse a write when too many of its account wait, and none of another account', () => {
    const writes = new WriteConnections(2);
    const ends = Array.from({ length: 20 }, () => writes.begin('1'));
    expect(ends).not.toContain(null);
    expect(writes.begin('1')).toBeNull();
    expect(writes.begin('2')).not.toBeNull();
    ends[0]?.();
    expect(writes.begin('1')).not.toBeNull();
  });

  it.each(['before', 'while'])(
    'count for their account also when its clients disconnect %s they wait',
    (when) => {
      const writes = new WriteConnections(3);
      const held: (() => void)[] = [];
      const disconnected = (account: string) =>
        withinDatabaseTime(60_000, () => {
          const end = writes.begin(account);
          if (when === 'before') end?.();
          if (end !== null) currentDatabaseTime()?.takePlace((giveBack) => held.push(giveBack));
          end?.();
          return end !== null;
        });
      for (let at = 0; at < 3; at += 1) disconnected('1');
      expect(held).toHaveLength(2);
      disconnected('2');
      expect(held).toHaveLength(3);
      for (let waiting = 1; waiting < 40; waiting += 1) expect(disconnected('1')).toBe(true);
      expect(disconnected('1')).toBe(false);
      held[0]?.();
      expect(held).toHaveLength(4);
      expect(disconnected('1')).toBe(true);
    },
  );

  it('go first to a write that has had one before', () => {
    const writes = new WriteConnections(1);
    const write = () =>
      withinDatabaseTime(60_000, () => {
        writes.begin('1');
        return currentDatabaseTime();
      });
    const [begun, fresh, holder] = [write(), write(), write()];
    const order: string[] = [];
    begun?.takePlace((giveBack) => giveBack());
    let release: () => void = () => undefined;
    holder?.takePlace((giveBack) => (release = giveBack));
    for (const [name, time] of [
      ['fresh', fresh],
      ['begun', begun],
    ] as const) {
      time?.takePlace((giveBack) => {
        order.push(name);
        giveBack();
      });
    }
    release();
    expect(order).toEqual(['begun', 'fresh']);
  });

  it('are not waited for by a write that has one already', async () => {
    const writes = new WriteConnections(1);
    const held = new Held(writes, 60_000, async () => await database.query('SELECT 1'));
    await settled(held);
    held.release();
    await held.ended;
  });

  it('are not lost by a write that times out while it waits', async () => {
    const writes = new WriteConnections(1);
    const first = new Held(writes);
    await settled(first);
    const late: unknown = await new Held(writes, 300).ended.catch((error: unknown) => error);
    expect(databaseOutage(late)).toMatchObject({ code: 'service_outage' });
    first.release();
    await first.ended;
    const next = new Held(writes);
    await settled(next);
    next.release();
    await next.ended;
  });
});
