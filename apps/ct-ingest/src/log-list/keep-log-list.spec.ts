import { FailingDatabase } from '@certwright/core-testing';
import { type LogList, readLogList } from '@certwright/ct';
import { type CtLogEntity, ctDataSource } from '@certwright/ct-schema';
import { CtLogs } from '../logs/ct-logs';
import { type TestDatabase, testDatabase } from '@certwright/testing';
import type { DataSource } from 'typeorm';
import { sha256 } from '../testing/forged-entries';
import { WantedLogs } from './followed-logs';
import { KeepLogList } from './keep-log-list';

let test: TestDatabase;
let database: DataSource;
let logs: CtLogs;
beforeAll(async () => {
  test = await testDatabase();
  const connection = { applicationName: 'spec', poolSize: 2, statementTimeoutMs: 10_000 };
  database = ctDataSource({ url: test.url, ...connection });
  await database.initialize();
  await database.runMigrations({ transaction: 'each' });
  logs = new CtLogs(database);
}, 30_000);
afterAll(async () => {
  await database.destroy();
  await test.dispose();
});
beforeEach(async () => await database.query('TRUNCATE ct_log, ct_odd_entry RESTART IDENTITY'));

const listed = (name: string, more: object = {}) => ({
  description: name,
  key: Buffer.from(name).toString('base64'),
  log_id: sha256(Buffer.from(name)).toString('base64'),
  url: `https://${name}.example/`,
  state: { usable: {} },
  ...more,
});
const tiled = (name: string, host: string) =>
  listed(name, {
    url: undefined,
    submission_url: `https://${host}.example/`,
    monitoring_url: `https://mon.${host}.example/`,
  });

let said: LogList | Error;
const reported: string[] = [];
const list = (rfc6962: object[], static_: object[] = []) => {
  const read = readLogList({ operators: [{ name: 'Operator', logs: rfc6962, tiled_logs: static_ }] });
  if (read === null) throw new Error('no list');
  said = read;
};
/** Like one process that reads lists one after another. */
const keeping = ({ wanted = ['usable', 'readonly'], stored = logs } = {}) =>
  new KeepLogList(
    stored,
    async () => (said instanceof Error ? await Promise.reject(said) : said),
    new WantedLogs(wanted),
    {
      kept: (followed, all) => void reported.push(`${followed} of ${all}`),
      faulty: () => undefined,
      unknown: (name) => void reported.push(`unknown: ${name}`),
    },
    Date.now,
  );
const row = async (name: string): Promise<Partial<CtLogEntity> | undefined> =>
  (await logs.all()).find(({ keyDer }) => keyDer.equals(Buffer.from(name)));

describe('a log whose list entry does not fit the database', () => {
  it.each<[string, object, object]>([
    ['half a second of delay', { mmd: 86_400.5 }, { mmdS: 86_400 }],
    ['a delay of ages', { mmd: 1e300 }, { mmdS: 86_400 }],
    ['a delay of more than an integer', { mmd: 2 ** 31 }, { mmdS: 86_400 }],
    ['the longest delay', { mmd: 2 ** 31 - 1 }, { mmdS: 2 ** 31 - 1 }],
    ['NUL in its description', { description: 'od\0d' }, { description: 'od d' }],
    [
      'what a terminal would do in its description',
      { description: '\u001b[2Jodd\u009b\n' },
      { description: '[2Jodd' },
    ],
    ['half a character', { description: 'odd \ud800' }, { description: 'odd \ufffd' }],
    ['nothing but NUL', { description: '\0' }, { description: 'https://odd.example/' }],
    ['a book', { description: 'x'.repeat(1_000_000) }, { description: 'x'.repeat(200) }],
    [
      'an interval from year 0 to year 10,000',
      {
        temporal_interval: {
          start_inclusive: '0000-01-01T00:00:00Z',
          end_exclusive: '9999-12-31T23:59:59-23:59',
        },
      },
      { intervalEnd: new Date('+010000-01-01T23:58:59Z') },
    ],
  ])('%s, is followed with the others', async (_what, members, kept) => {
    list([listed('one'), listed('odd', members), listed('other')]);
    await keeping().run();
    expect((await logs.all()).map(({ enabled }) => enabled)).toEqual([true, true, true]);
    expect(await row('odd')).toMatchObject(kept);
  });

  it('is followed when only its operator is invalid', async () => {
    said = { ...(readLogList({ operators: [{ name: 'Ope\0rator', logs: [listed('one')] }] }) as LogList) };
    await keeping().run();
    expect(await row('one')).toMatchObject({ operator: 'Ope rator' });
  });
});

describe('when the list changes', () => {
  const followedTo = async (position: number) =>
    await database.query(`UPDATE ct_log SET position = $1, head_size = $1`, [position]);

  it('continues from its position for a log that moved, or has another interface', async () => {
    const keep = keeping();
    list([listed('moves')], [tiled('tiled', 'before')]);
    await keep.run();
    await followedTo(5);
    list([listed('moves', { url: 'https://new.example/2027' })], [tiled('tiled', 'after')]);
    await keep.run();
    expect(await row('moves')).toMatchObject({ url: 'https://new.example/2027/', position: '5', id: 1 });
    const { url, origin, position } = (await row('tiled')) ?? {};
    expect([url, origin, position]).toEqual(['https://mon.after.example/', 'after.example', '5']);
    list([], [tiled('moves', 'tiles')]);
    await keep.run();
    const moved = { kind: 'static', url: 'https://mon.tiles.example/', origin: 'tiles.example' };
    expect(await row('moves')).toMatchObject({ ...moved, position: '5', enabled: true });
  });

  it('starts and stops following a log in each of the states', async () => {
    const keep = keeping();
    const states = ['pending', 'qualified', 'usable', 'readonly', 'retired', 'rejected', 'usable'];
    const enabled: (boolean | undefined)[] = [];
    for (const state of states) {
      list([listed('log', { state: { [state]: {} } })]);
      await keep.run();
      enabled.push((await row('log'))?.enabled);
    }
    expect(enabled).toEqual([false, false, true, true, false, false, true]);
  });

  it('changes nothing when the list is unavailable', async () => {
    const keep = keeping();
    list([listed('one')]);
    await keep.run();
    const before = await logs.all();
    said = new Error('unavailable');
    await expect(keep.run()).rejects.toThrow('unavailable');
    expect(await logs.all()).toEqual(before);
  });

  it.each(['before', 'after'] as const)(
    'is applied as a whole when a process is killed %s a statement or COMMIT',
    async (when) => {
      const followed = async () =>
        (await logs.all())
          .map(({ description, url, position, enabled }) => [description, url, position, enabled])
          .sort();
      let nth = 1;
      for (let isKilled = true; isKilled; nth += 1) {
        await database.query('TRUNCATE ct_log, ct_odd_entry RESTART IDENTITY');
        list([listed('ends'), listed('moves')]);
        await keeping().run();
        await followedTo(5);
        const before = await followed();
        list([listed('moves', { url: 'https://new.example/' }), listed('begins')]);
        const failing = new FailingDatabase(database, nth, when);
        await keeping({ stored: new CtLogs(failing.source) })
          .run()
          .catch((error: unknown) => {
            if (!failing.struck) throw error;
          });
        isKilled = failing.struck;
        const killed = await followed();
        await keeping().run();
        const after = await followed();
        expect({ nth, after }).toEqual({
          nth,
          after: [
            ['begins', 'https://begins.example/', '0', true],
            ['ends', 'https://ends.example/', '5', false],
            ['moves', 'https://new.example/', '5', true],
          ],
        });
        expect([before, after]).toContainEqual(killed);
      }
      expect(nth).toBeGreaterThan(4);
    },
  );

  it('reports each change once', async () => {
    const keep = keeping();
    reported.length = 0;
    for (const names of [['one'], ['one'], ['one', 'two']]) {
      list(names.map((name) => listed(name)));
      await keep.run();
    }
    expect(reported).toEqual(['1 of 1', '2 of 2']);
  });
});

describe('LOGS', () => {
  it.each([[['nonsense']], [['usabel', 'https://nowhere.example/']]])(
    'that selects no log ends the start, and the message lists what is allowed: %p',
    async (wanted) => {
      list([listed('one')]);
      const allowed = 'states (pending, qualified, usable, readonly, retired, rejected, unknown)';
      await expect(keeping({ wanted }).check()).rejects.toThrow(
        `LOGS selects no log of LOG_LIST: allowed are ${allowed}, and descriptions and URLs of its logs`,
      );
    },
  );

  it.each([[['rejected']], [['nonsense', 'ONE']], [['https://one.example']]])(
    'with a state or the name of a log does not: %p',
    async (wanted) => {
      list([listed('one')]);
      await keeping({ wanted }).check();
    },
  );

  it('with the name of a log that is listed no more, or while the list is unavailable, does not', async () => {
    list([listed('one')]);
    await keeping().run();
    list([listed('other')]);
    await keeping({ wanted: ['one'] }).check();
    said = new Error('unavailable');
    await keeping({ wanted: ['nonsense'] }).check();
  });

  it('reports names that no log has, once per change', async () => {
    list([listed('one')]);
    reported.length = 0;
    const keep = keeping({ wanted: ['one', 'nonsense'] });
    for (let read = 0; read < 2; read += 1) await keep.run();
    expect(reported).toEqual(['1 of 1', 'unknown: nonsense']);
  });
});
