import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { CtLogs } from '../../apps/ct-ingest/src/logs/ct-logs';
import { ctDataSource } from '@certwright/ct-schema';
import type { DataSource } from 'typeorm';
import { ctLogCommands } from './ct-logs';
import { adminFixture } from './testing/admin-fixture';

const admin = adminFixture(ctDataSource);
let database: DataSource;
let logs: CtLogs;

const evidence = {
  head: { size: 9n, root: Buffer.alloc(32, 8), at: new Date(0), signed: Buffer.from('another signed') },
  keptSigned: Buffer.from('signed'),
  computed: null,
  proof: [Buffer.alloc(32, 7)],
};

beforeAll(() => {
  database = admin.database;
  logs = new CtLogs(database);
});

const listed = (nth: number, description: string) => ({
  ...{ logId: Buffer.alloc(32, nth), keyDer: Buffer.from('30', 'hex'), operator: 'Spec', description },
  ...{ kind: 'static' as const, url: `https://log${nth}.example/`, mmdS: 60, listState: 'usable' },
  ...{ enabled: true, intervalStart: null, intervalEnd: null },
});

/** Two logs with one description, both stopped; and one that is followed. */
beforeEach(async () => {
  await database.query('TRUNCATE ct_log, ct_odd_entry, ct_log_evidence RESTART IDENTITY');
  await logs.keep([listed(1, 'twin'), listed(2, 'twin'), listed(3, 'followed')]);
  for (let left = 3; left > 0; left -= 1) {
    const leased = await logs.lease(60_000);
    if (leased === null) throw new Error('not leased');
    await logs.saveHead(leased.lease, {
      ...{ size: 9n, root: Buffer.alloc(32, 9), at: new Date(), signed: Buffer.from('signed') },
    });
    if (leased.log.description === 'twin') await logs.stop(leased.lease, 'fork', 'two roots', evidence);
  }
});

/** Runs `npm run admin -- ct logs …`. @returns the printed lines */
const run = async (...args: string[]) => await admin.run([ctLogCommands], 'logs', ...args);
const log = async (id: number) => (await logs.all()).find((each) => each.id === id);

it('lists logs with their positions, and the reason why one was stopped', async () => {
  const lines = (await run('list')).map((line) => JSON.parse(line) as object);
  expect(lines).toHaveLength(3);
  expect(lines[0]).toEqual({
    ...{ id: 1, description: 'twin', url: 'https://log1.example/', kind: 'static', listState: 'usable' },
    ...{ enabled: true, startIndex: '0', position: '0', headSize: '9', verifiedSize: '0', lastError: null },
    ...{ stoppedAt: expect.any(String) as string, stoppedReason: 'fork: two roots' },
    evidence: ['fork'],
  });
});

it.each(['1', 'https://log1.example/', Buffer.alloc(32, 1).toString('base64'), '01'.repeat(32)])(
  'resumes the log %s',
  async (name) => {
    expect(await run('resume', name)).toEqual(['log 1 (twin) resumes at 0']);
    expect([(await log(1))?.stoppedAt, (await log(2))?.stoppedReason]).toEqual([null, 'fork: two roots']);
  },
);

it('prints the evidence against a log, so that others can verify it', async () => {
  const lines = (await run('evidence', '2')).map((line) => JSON.parse(line) as object);
  expect(lines).toEqual([
    {
      ...{ id: expect.any(String) as string, kind: 'fork', problem: 'two roots', log: 'twin', key: 'MA==' },
      ...{ url: 'https://log2.example/', foundAt: expect.any(String) as string },
      ...{ head: 'another signed', keptHead: 'signed', computed: null },
      proof: [Buffer.alloc(32, 7).toString('base64')],
    },
  ]);
  expect(await run('evidence', '3')).toEqual([]);
});

it('restarts a log, and prints the deleted state', async () => {
  expect(await run('restart', '2', '--from', '5')).toEqual([
    'log 2 (twin) restarts at 5',
    `deleted state: entries 0 to 0; head: 9 entries, root ${Buffer.alloc(32, 9).toString('base64')}`,
  ]);
  expect(await log(2)).toMatchObject({ position: '5', headRoot: null, stoppedAt: null });
  expect(await run('restart', '2', '--from', '0')).toContain('deleted state: entries 5 to 5; head: none');
});

it('ends the pause of a log, and keeps its state', async () => {
  const leased = await logs.lease(60_000);
  expect(leased).toBeNull();
  await database.query(
    `UPDATE ct_log SET leased_until = NULL, failures = 3, last_error = 'The log returned 429.', due_at = now() + interval '1 hour'
     WHERE id = 3`,
  );
  expect(await logs.lease(60_000)).toBeNull();
  expect(await run('wake', 'followed')).toEqual(['log 3 (followed) is due now; the pause had 60 min left']);
  expect(await log(3)).toMatchObject({ failures: 0, lastError: 'The log returned 429.', headSize: '9' });
  expect((await logs.lease(60_000))?.log.id).toBe(3);
});

it.each([
  ['a log that was stopped', ['wake', '1'], 'Log 1 (twin) is stopped: see `ct logs resume`.'],
  ['a log that is being followed', ['wake', '3'], 'Log 3 (followed) is being followed at the moment.'],
  ['a name that two logs have', ['resume', 'twin'], '2 logs match twin: give the id of one.'],
  ['an unknown log', ['resume', 'constructor'], 'There is no log constructor: see `ct logs list`.'],
  ['a log that is not stopped', ['resume', '3'], 'Log 3 (followed) is not stopped.'],
  [
    'a log that is followed',
    ['restart', 'followed', '--from', '0'],
    'Log 3 (followed) is being followed at the moment.',
  ],
  ['a negative index', ['restart', '1', '--from', '-1'], 'Expected the index of an entry'],
  ['a missing index', ['restart', '1'], "required option '--from <index>' not specified"],
])('refuses %s, and changes nothing', async (_, args, said) => {
  const before = await logs.all();
  await expect(run(...args)).rejects.toThrow(said);
  expect(await logs.all()).toEqual(before);
});

it('is documented with the options that its commands require', () => {
  const root = path.join(__dirname, '../..');
  const documents = globSync('docs/**/*.md', { cwd: root }).map((file) =>
    readFileSync(path.join(root, file), 'utf8'),
  );
  const lines = documents.flatMap((text) => [...text.matchAll(/npm run admin -- ct logs (\w+)([^`\n]*)/g)]);
  const { commands } = ctLogCommands(async () => await Promise.reject(new Error('not run')));
  const lacking = lines.flatMap(([line, name, rest = '']) => {
    const command = commands.find((each) => each.name() === name);
    const required = command?.options.filter(({ mandatory }) => mandatory).map(({ long }) => long ?? '');
    return required?.every((option) => rest.includes(option)) === true ? [] : [line];
  });
  expect(lines.length).toBeGreaterThan(3);
  expect(lacking).toEqual([]);
});
