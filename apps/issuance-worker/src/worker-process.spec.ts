import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { coreDataSource, Outbox, Transactions } from '@certwright/core-schema';
import { Delegations } from '@certwright/approvals';
import { Issuances, Plans } from '@certwright/ordering';
import { type DnsName, DnsServer, parseName, type RecordSource } from '@certwright/dns-authority';
import {
  type Child,
  eventually,
  freePort,
  startChild,
  testDatabase,
  testRedis,
  type TestRedis,
} from '@certwright/testing';
import type { DataSource } from 'typeorm';
import { openIssuance, opensslCsr } from './testing/opened-issuance';

const workspaceRoot = path.join(__dirname, '../../..');
const approvalZone = 'approval.example.net';
const dnsNames = ['a.example.com'];

let database: DataSource;
let redis: TestRedis;
let resolver: DnsServer;
let environment: Record<string, string>;
let csr: Buffer;
const undo: (() => Promise<unknown> | void)[] = [];

beforeAll(async () => {
  execFileSync(process.execPath, ['tools/build/build.mjs', 'apps/issuance-worker'], { cwd: workspaceRoot });
  const test = await testDatabase();
  undo.push(test.dispose);
  redis = await testRedis();
  undo.push(redis.dispose);
  database = coreDataSource({
    url: test.url,
    applicationName: 'spec',
    poolSize: 5,
    statementTimeoutMs: 10_000,
  });
  await database.initialize();
  undo.push(async () => await database.destroy());
  resolver = new DnsServer({ host: '127.0.0.1', port: 0, source: standingRecords() });
  const { host, port } = await resolver.listen();
  undo.push(async () => await resolver.close());
  const folder = mkdtempSync(path.join(tmpdir(), 'certwright-worker-'));
  undo.push(() => rmSync(folder, { recursive: true }));
  environment = {
    CERTWRIGHT_MODE: 'sandbox',
    DATABASE_URL: test.urlOf('issuance-worker'),
    REDIS_URL: redis.url,
    DNS_RESOLVER: `${host}:${port}`,
    APPROVAL_ZONE: approvalZone,
    BUILT_IN_CA_DIR: path.join(folder, 'ca'),
    CA_PUBLICATION_URL: 'http://127.0.0.1:4310/ca',
    OPS_PORT: '0',
  };
  csr = opensslCsr(dnsNames);
}, 60_000);

afterAll(async () => {
  for (const step of undo.reverse()) await step();
});

/** A resolver that returns the standing record with the newest label of a.example.com. */
function standingRecords(): RecordSource {
  const apex = parseName('example.com') as DnsName;
  return {
    read: async () => {
      const [row] = await database.query<{ label: string }[]>(`SELECT label FROM delegation LIMIT 1`);
      const target = parseName(`${row?.label}.${approvalZone}`) as DnsName;
      const name = parseName('_acme-challenge.a.example.com') as DnsName;
      return {
        apex,
        recordsAt: (at) => (at === name ? [{ name, type: 'CNAME', ttl: 1, data: target }] : []),
      };
    },
  };
}

async function startWorker(also: Record<string, string> = {}): Promise<Child> {
  const args = [path.join(workspaceRoot, 'dist/apps/issuance-worker/main.js')];
  const child = await startChild(process.execPath, { args, env: { ...environment, ...also } });
  await child.says(/"started"/, 30_000);
  return child;
}

/** A certificate and its key in one text. */
function selfSigned(): string {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', '-'];
  const args = ['req', '-x509', ...key, '-out', '-', '-subj', '/CN=gateway', '-days', '10'];
  return execFileSync('openssl', args, { encoding: 'utf8', stdio: 'pipe' });
}

async function openIssuances(count: number): Promise<string[]> {
  const repositories = {
    transactions: new Transactions(database),
    plans: new Plans(),
    issuances: new Issuances(database, new Outbox(database)),
    delegations: new Delegations(database),
  };
  const plans: string[] = [];
  for (let opened = 0; opened < count; opened += 1) {
    plans.push((await openIssuance(repositories, dnsNames, csr)).planId);
  }
  return plans;
}

/** Leases of dead workers expire; the test moves the clock instead of waiting. */
const endLeases = async () =>
  await database.query(
    `UPDATE issuance SET leased_until = now(), due_at = least(due_at, now()) WHERE state = 'open'`,
  );

async function certificateCounts(planIds: readonly string[]): Promise<number[]> {
  const rows = await database.query<{ count: number }[]>(
    `SELECT count(certificate.id)::int AS count FROM unnest($1::bigint[]) AS plan (id)
     LEFT JOIN certificate ON certificate.plan_id = plan.id GROUP BY plan.id`,
    [planIds],
  );
  return rows.map(({ count }) => count);
}

const once = (planIds: readonly string[]) => planIds.map(() => 1);

describe('the worker as a process', () => {
  it('issues one certificate per issuance despite repeated kills', async () => {
    const plans = await openIssuances(60);
    for (let kill = 0; kill < 3; kill += 1) {
      const worker = await startWorker();
      const before = (await certificateCounts(plans)).filter((count) => count > 0).length;
      await endLeases();
      await eventually(async () => {
        const now = (await certificateCounts(plans)).filter((count) => count > 0).length;
        expect(now === plans.length || now > before + 2 * kill).toBe(true);
      });
      worker.signal('SIGKILL');
      await worker.ended;
    }
    const last = await startWorker();
    await eventually(
      async () => {
        await endLeases();
        expect(await certificateCounts(plans)).toEqual(once(plans));
      },
      { withinMs: 30_000, everyMs: 500 },
    );
    expect((await last.stop()).code).toBe(0);
  }, 120_000);

  it('loses nothing when Redis loses its data', async () => {
    const plans = await openIssuances(30);
    await database.query('DELETE FROM outbox');
    await redis.flush();
    const worker = await startWorker();
    await redis.flush();
    await eventually(async () => expect(await certificateCounts(plans)).toEqual(once(plans)), {
      withinMs: 30_000,
    });
    await worker.stop();
  }, 60_000);

  it('writes nothing when it was frozen past its lease and another worker continued', async () => {
    const frozen = await startWorker();
    const plans = await openIssuances(40);
    await eventually(async () => expect(Math.max(...(await certificateCounts(plans)))).toBe(1), {
      everyMs: 2,
    });
    frozen.signal('SIGSTOP');
    const other = await startWorker();
    await eventually(
      async () => {
        await endLeases();
        expect(await certificateCounts(plans)).toEqual(once(plans));
      },
      { withinMs: 30_000, everyMs: 500 },
    );
    frozen.signal('SIGCONT');
    expect((await frozen.stop()).code).toBe(0);
    expect(await certificateCounts(plans)).toEqual(once(plans));
    const states = await database.query<{ state: string }[]>(
      `SELECT DISTINCT state FROM issuance WHERE plan_id = ANY($1::bigint[])`,
      [plans],
    );
    expect(states).toEqual([{ state: 'issued' }]);
    await other.stop();
  }, 90_000);

  it('sends due integration changes to a configured gateway, and reports errors', async () => {
    await openIssuances(1);
    await database.query(
      `INSERT INTO dns_integration (id, account_id, provider, description, handle, state, zones_due_at)
       SELECT 1, id, 'desec', '', 'planted-handle', 'ok', now() FROM account LIMIT 1`,
    );
    const pem = selfSigned();
    const material = { GATEWAY_CA: pem, GATEWAY_CERTIFICATE: pem, GATEWAY_KEY: pem };
    const worker = await startWorker({ ...material, GATEWAY_URL: `https://127.0.0.1:${await freePort()}` });
    await eventually(async () => {
      const rows = await database.query<object[]>(`SELECT problem, failures FROM dns_integration`);
      expect(rows).toEqual([
        { failures: 1, problem: expect.stringMatching(/^The DNS gateway cannot be reached/) },
      ]);
    });
    expect((await worker.stop()).code).toBe(0);
    expect(worker.output()).toContain('zones could not be listed');
    expect(worker.output()).not.toMatch(/planted-|PRIVATE KEY/);
  }, 60_000);
});
