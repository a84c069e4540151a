import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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
  rawRedis,
  startChild,
  startRedisServer,
  testDatabase,
  testRedis,
  type TestRedis,
} from '@certwright/testing';
import { SealingKeys } from '@certwright/sealing';
import type { DataSource } from 'typeorm';
import type { CaKeys } from './certificate-authorities/built-in/keys/ca-key';
import { KeyFiles } from './certificate-authorities/built-in/keys/key-files';
import { SealedKeys } from './certificate-authorities/built-in/keys/sealed-keys';
import { missingForTokens, SoftToken } from './certificate-authorities/built-in/keys/testing/soft-token';
import { createCaIn, openBuiltInCa } from './testing/built-in-ca';
import { openIssuance, opensslCsr } from './testing/opened-issuance';

const workspaceRoot = path.join(__dirname, '../../..');
const approvalZone = 'approval.example.net';
const dnsNames = ['a.example.com'];

let database: DataSource;
let redis: TestRedis;
let resolver: DnsServer;
let environment: Record<string, string>;
let csr: Buffer;
let folder: string;
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
  folder = mkdtempSync(path.join(tmpdir(), 'certwright-worker-'));
  undo.push(() => rmSync(folder, { recursive: true }));
  await createCaIn(path.join(folder, 'ca'), database);
  environment = {
    CERTWRIGHT_MODE: 'sandbox',
    DATABASE_URL: test.urlOf('issuance-worker'),
    ...redis.environment,
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

  it('is not ready while Redis refuses writes, and issues what waited as soon as Redis accepts them', async () => {
    const dataFolder = path.join(folder, 'redis');
    mkdirSync(dataFolder);
    const server = await startRedisServer(await freePort(), ['--dir', dataFolder]);
    const url = `redis://127.0.0.1:${server.port}`;
    const admin = rawRedis(url);
    undo.push(async () => {
      admin.disconnect();
      await server.kill();
    });
    const refusals = [
      {
        error: 'OOM',
        begin: async () => await admin.config('SET', 'maxmemory', '1'),
        end: async () => await admin.config('SET', 'maxmemory', '0'),
      },
      {
        error: 'READONLY',
        begin: async () => await admin.replicaof('127.0.0.1', 1),
        end: async () => await admin.replicaof('NO', 'ONE'),
      },
      {
        error: 'MISCONF',
        begin: async () => {
          rmSync(dataFolder, { recursive: true });
          await admin.config('SET', 'save', '3600 1');
          await admin.bgsave();
        },
        end: async () => await admin.config('SET', 'save', ''),
      },
    ];
    const port = String(await freePort());
    const worker = await startWorker({ REDIS_URL: url, OPS_PORT: port });
    const ready = async () => {
      const response = await fetch(`http://127.0.0.1:${port}/readyz`);
      return { status: response.status, text: await response.text() };
    };
    await eventually(async () => expect(await ready()).toMatchObject({ status: 200 }));
    for (const { error, begin, end } of refusals) {
      await begin();
      await eventually(async () => {
        const notReady = { status: 503, text: expect.stringContaining('redis') };
        expect(await ready()).toMatchObject(notReady);
      });
      expect(worker.output()).toContain(error);
      const plans = await openIssuances(3);
      await end();
      await eventually(async () => expect(await certificateCounts(plans)).toEqual(once(plans)), {
        withinMs: 30_000,
      });
      await eventually(async () => expect(await ready()).toMatchObject({ status: 200 }));
    }
    expect((await worker.stop()).code).toBe(0);
  }, 120_000);

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

describe('keys of the built-in CA, in two copies without a shared folder', () => {
  const sealing = randomBytes(32);
  const token = missingForTokens.length === 0 ? SoftToken.create('worker') : null;
  const copies = (place: string) => ['one', 'other'].map((copy) => path.join(folder, `${place}-${copy}`));
  beforeAll(() => void Object.assign(process.env, token?.environment));
  afterAll(() => token?.dispose());

  /** A root key that would stop a worker which reads it: others may change it, and it is none. */
  function leaveRootKey(keyFolder: string): void {
    mkdirSync(keyFolder, { recursive: true });
    writeFileSync(path.join(keyFolder, 'root.key'), 'no key', { mode: 0o666 });
    chmodSync(path.join(keyFolder, 'root.key'), 0o666);
  }

  /** The CA that the earlier tests used is replaced. */
  async function createCa(keys: CaKeys): Promise<void> {
    await database.query(
      `DELETE FROM ca_issuer; DELETE FROM ca_key; UPDATE ca_signing SET revoked_at = NULL`,
    );
    await openBuiltInCa({ owner: database, worker: database, keys });
    await keys.close();
  }

  const places: readonly [string, () => CaKeys, () => Record<string, string>][] = [
    ['files', () => new KeyFiles(copies('files')[0] ?? ''), () => ({})],
    [
      'sealed',
      () => new SealedKeys(database, new SealingKeys([sealing])),
      () => ({ BUILT_IN_CA_KEYS: 'sealed', CA_ACCOUNT_KEYS: sealing.toString('base64') }),
    ],
    [
      'pkcs11',
      () => (token as SoftToken).keys('worker', { keys: ['certwright-intermediate'] }),
      () => (token as SoftToken).workerSettings('worker'),
    ],
  ];

  it.each(places.filter(([place]) => place !== 'pkcs11' || token !== null))(
    'with BUILT_IN_CA_KEYS=%s both copies issue, and neither reads a root key',
    async (place, keys, settings) => {
      await createCa(keys());
      const folders = copies(place);
      if (place === 'files') cpSync(folders[0] ?? '', folders[1] ?? '', { recursive: true });
      for (const each of folders) leaveRootKey(each);
      for (const keyFolder of folders) {
        const plans = await openIssuances(4);
        const worker = await startWorker({ ...settings(), BUILT_IN_CA_DIR: keyFolder });
        await eventually(async () => expect(await certificateCounts(plans)).toEqual(once(plans)), {
          withinMs: 30_000,
        });
        expect((await worker.stop()).code).toBe(0);
        expect(worker.output()).not.toContain('ALARM');
        expect(worker.output().includes('the root key is in BUILT_IN_CA_DIR')).toBe(place === 'files');
      }
    },
    90_000,
  );

  it('a copy with another key is not ready, names the setting once, and issues as soon as the key is right', async () => {
    const [right = '', wrong = ''] = copies('corrected');
    const keys = new KeyFiles(right);
    await createCa(keys);
    await new KeyFiles(wrong).create('intermediate');
    const port = String(await freePort());
    const worker = await startWorker({ BUILT_IN_CA_DIR: wrong, OPS_PORT: port });
    await worker.says(/ALARM: the built-in CA cannot sign/);
    const ready = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status;
    expect(await ready()).toBe(503);
    expect(worker.output().match(/ALARM.*/g)).toHaveLength(1);
    expect(worker.output()).toMatch(
      /"error":"BUILT_IN_CA_DIR: [^"]*another key than that of the certificate/,
    );
    expect(worker.output()).not.toMatch(/PRIVATE KEY/);
    cpSync(path.join(right, 'intermediate.key'), path.join(wrong, 'intermediate.key'));
    await worker.says(/the built-in CA can sign/, 30_000);
    await eventually(async () => expect(await ready()).toBe(200));
    expect((await worker.stop()).code).toBe(0);
  }, 90_000);

  it.each([
    ['sealed', { BUILT_IN_CA_KEYS: 'sealed' }, /CA_ACCOUNT_KEYS \(or CA_ACCOUNT_KEYS_FILE\) is missing/],
    [
      'pkcs11',
      { BUILT_IN_CA_KEYS: 'pkcs11' },
      /BUILT_IN_CA_PKCS11_TOKEN is missing, and BUILT_IN_CA_KEYS is pkcs11/,
    ],
  ])('with %s and without its settings it does not start, and lists them', async (_place, settings, line) => {
    const child = await startChild(process.execPath, {
      args: [path.join(workspaceRoot, 'dist/apps/issuance-worker/main.js')],
      env: { ...environment, ...settings },
    });
    expect((await child.ended).code).toBe(1);
    expect(child.output()).toMatch(line);
  });
});
