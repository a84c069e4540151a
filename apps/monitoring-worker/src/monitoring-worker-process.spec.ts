import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { NewIssuance } from '@certwright/ct-index';
import { registeredDomain } from '@certwright/dns-names';
import { MonitoredDomainIndex } from '@certwright/monitored-domains';
import { type Child, eventually, otlpCollector, startChild } from '@certwright/testing';
import { certificateFor, WorkerFixture } from './testing/worker-fixture';

const workspaceRoot = path.join(__dirname, '../../..');
const main = path.join(workspaceRoot, 'dist/apps/monitoring-worker/main.js');
const patience = { withinMs: 90_000 };

jest.setTimeout(240_000);

let worker: WorkerFixture;
const children: Child[] = [];

beforeAll(async () => {
  execFileSync(process.execPath, ['tools/build/build.mjs', 'apps/monitoring-worker'], { cwd: workspaceRoot });
  worker = await WorkerFixture.open();
}, 120_000);
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.signal('SIGKILL');
    await child.ended;
  }
});
afterAll(async () => await worker.close());

async function start(also: Readonly<Record<string, string>> = {}): Promise<Child> {
  const child = await startChild(process.execPath, {
    args: [main],
    env: { ...worker.env, LEASE_TIME: '1s', ...also },
  });
  children.push(child);
  return child;
}

/** Waits until it has no open transaction: one would block others until PostgreSQL ends it. */
async function freeze(child: Child): Promise<void> {
  await eventually(async () => {
    child.signal('SIGSTOP');
    let busy = 0;
    for (const database of [worker.core, worker.ct]) {
      const [row] = await database.query<[{ busy: number }]>(
        `SELECT count(*)::int AS busy FROM pg_stat_activity
         WHERE application_name = 'monitoring-worker' AND datname = current_database() AND state <> 'idle'`,
      );
      busy += row.busy;
    }
    if (busy > 0) child.signal('SIGCONT');
    expect(busy).toBe(0);
  }, patience);
}

/** The names of the certificates of a real log. */
const realNames = readFileSync(
  path.join(workspaceRoot, 'libs/ct/src/testing/data/navigli2025h2-000.names.jsonl'),
  'utf8',
)
  .trim()
  .split('\n')
  .map((line) => (JSON.parse(line) as { readonly DNS?: readonly string[] }).DNS ?? [])
  .filter((names) => names.length > 0);

const accounts = ['1', '2', '3'];

/** Some hundred domains, of which some exclude names of others. */
const initialDomains = [...new Set(realNames.flat())]
  .filter((_, nth) => nth % 3 === 0)
  .flatMap((name, nth) => {
    const bare = name.replace(/^\*\./, '');
    const domain = [bare, `.${registeredDomain(bare) ?? bare}`, `.${bare}`][nth % 3] ?? bare;
    return [
      { account: accounts[nth % 7 === 0 ? 0 : nth % 3] ?? '1', name: domain, isEnabled: nth % 5 !== 0 },
    ];
  })
  .filter(({ name }) => /^[.]?[a-z0-9_-]+([.][a-z0-9_-]+)+$/.test(name))
  .slice(0, 300);

/** `account tbs`, of what the domains would find. */
function expected(
  domains: Iterable<{ readonly account: string; readonly name: string; readonly isEnabled: boolean }>,
  logged: readonly NewIssuance[],
): string[] {
  const index = new MonitoredDomainIndex();
  for (const { account, name, isEnabled } of domains) index.set(account, name, isEnabled);
  return logged
    .flatMap(({ dnsNames, tbsSha256 }) =>
      index.match(dnsNames).accounts.map(({ account }) => `${account} ${tbsSha256}`),
    )
    .sort();
}

const allDone = async () =>
  await eventually(async () => {
    expect(await worker.followedTo()).toBe(await worker.end());
    const open = (await worker.backfills()).filter(({ state }) => !['done', 'canceled'].includes(state));
    expect(open).toEqual([]);
    const [{ left }] = await worker.core.query<[{ left: number }]>(
      `SELECT count(*)::int AS left FROM monitoring_change, monitoring_follower AS follower
       WHERE (transaction_id, id) > (follower.change_transaction_id, follower.change_id)`,
    );
    expect(left).toBe(0);
  }, patience);

it('records a span for each round of a task whose lease it has', async () => {
  const collector = await otlpCollector();
  try {
    const child = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    await eventually(() => {
      const rounds = new Set(collector.spans().map(({ name }) => name));
      expect([...rounds]).toEqual(expect.arrayContaining(['round following', 'round own-issuance']));
    }, patience);
    expect((await child.stop()).code).toBe(0);
    for (const { service, parentSpanId, name } of collector
      .spans()
      .filter((span) => span.name.startsWith('round ')))
      expect({ service, parentSpanId, name }).toMatchObject({
        service: 'monitoring-worker',
        parentSpanId: null,
      });
  } finally {
    await collector.close();
  }
});

it('finds each certificate exactly once while it is killed, frozen and doubled, and the index is restored', async () => {
  for (const account of accounts) await worker.account(account);
  const domains = new Map<string, { account: string; name: string; isEnabled: boolean }>();
  const change = async (account: string, name: string, isEnabled: boolean | null) => {
    await worker.change(account, name, isEnabled);
    if (isEnabled === null) domains.delete(`${account} ${name}`);
    else domains.set(`${account} ${name}`, { account, name, isEnabled });
  };
  let next = 0;
  const someCertificates = (count: number) =>
    Array.from({ length: count }, () => certificateFor(...(realNames[(next += 1) % realNames.length] ?? [])));
  const logged: NewIssuance[] = [];
  const log = async (certificates: readonly NewIssuance[]) => {
    await worker.log(certificates);
    logged.push(...certificates);
  };

  await log(someCertificates(200));
  for (const { account, name, isEnabled } of initialDomains.slice(0, 200))
    await change(account, name, isEnabled);
  let running = await start();
  let frozen: Child | null = null;
  await eventually(async () => expect(await worker.followedTo()).not.toBeNull(), patience);

  const toggled = initialDomains.slice(0, 12).filter(({ isEnabled }) => isEnabled);
  const added = initialDomains.slice(200);
  for (let round = 0; round < 12; round += 1) {
    await log(someCertificates(60));
    for (const { account, name, isEnabled } of added.splice(0, 8)) await change(account, name, isEnabled);
    const domain = toggled[round % toggled.length];
    if (domain !== undefined) {
      await change(domain.account, domain.name, round % 2 === 0 ? null : false);
      await log(someCertificates(20));
      await change(domain.account, domain.name, true);
    }
    if ([1, 3, 5, 8].includes(round)) {
      running.signal('SIGKILL');
      await running.ended;
      running = await start();
    }
    if (round === 6) await worker.flushRedis();
    if (round === 7) {
      // What was logged after the backup is logged again, at other positions, after something else.
      const position = await worker.end();
      const lost = someCertificates(40);
      await worker.log(lost);
      await eventually(async () => expect(await worker.followedTo()).toBe(await worker.end()), patience);
      await worker.restoreIndex(position);
      await log([...someCertificates(30), ...lost]);
      await running.says(/"alarm":"index_restored".*ALARM/, patience.withinMs);
    }
    if (round === 9) {
      // It has the lease.
      await eventually(async () => expect(await worker.followedTo()).toBe(await worker.end()), patience);
      const other = await start();
      await freeze(running);
      await log(someCertificates(50));
      await eventually(async () => expect(await worker.followedTo()).toBe(await worker.end()), patience);
      running.signal('SIGCONT');
      frozen = running;
      await log(someCertificates(50));
      running = other;
    }
  }
  await allDone();

  const found = (await worker.findings()).map(({ account, tbs }) => `${account} ${tbs}`).sort();
  // Each domain that was toggled is enabled in the end, so that a backfill finds what was logged meanwhile.
  const ever = [...domains.values()];
  expect(found).toEqual(expected(ever, logged));
  expect(found.length).toBeGreaterThan(200);
  const enabled = new Set(ever.filter(({ isEnabled }) => isEnabled).map(({ name }) => name));
  await eventually(async () => {
    const names = await worker.ct.query<{ name: string }[]>(`SELECT name FROM ct_watched_name`);
    expect(names.map(({ name }) => name).sort()).toEqual([...enabled].sort());
  }, patience);
  const ends = await Promise.all([running, frozen].map(async (child) => await child?.stop()));
  expect(ends.map((end) => end?.code)).toEqual([0, 0]);
});
