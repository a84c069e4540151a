import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { type DnsName, DnsServer, type RecordSource, type ZoneRecord } from '@certwright/dns-authority';
import { type Child, eventually, startChild, testRedis } from '@certwright/testing';
import { installedPebbles } from './acme/testing/pebble';
import { AcmeIssuing } from './testing/acme-issuing';
import { CuttingProxy } from './testing/cutting-proxy';
import { type OpenedIssuance, opensslCsr } from './testing/opened-issuance';

const workspaceRoot = path.join(__dirname, '../../..');
const approvalZone = 'approval.example.net';

let acme: AcmeIssuing;
let proxy: CuttingProxy;
let environment: Record<string, string>;
const undo: (() => Promise<unknown> | void)[] = [];

const describeWithPebble = installedPebbles.length > 0 ? describe : describe.skip;

beforeAll(async () => {
  if (installedPebbles.length === 0) return;
  execFileSync(process.execPath, ['tools/build/build.mjs', 'apps/issuance-worker'], { cwd: workspaceRoot });
  acme = await AcmeIssuing.open();
  undo.push(async () => await acme.close());
  const redis = await testRedis();
  undo.push(redis.dispose);
  const dns = new DnsServer({ host: '127.0.0.1', port: 0, source: standingRecords() });
  const { host, port } = await dns.listen();
  undo.push(async () => await dns.close());
  const resolver = `${host}:${port}`;
  const pebble = await acme.pebble('pebble', { resolver });
  proxy = await CuttingProxy.start(pebble.directoryUrl, pebble.tlsRoot);
  undo.push(async () => await proxy.stop());
  await acme.database.query(`UPDATE certificate_authority SET directory_url = $1, tls_roots = $2`, [
    proxy.directoryUrl,
    proxy.tlsRoot,
  ]);
  await acme.authoritiesAre('pebble');
  environment = {
    CERTWRIGHT_MODE: 'sandbox',
    SANDBOX_AUTHORITIES: 'true',
    CA_ACCOUNT_KEYS: randomBytes(32).toString('base64'),
    DATABASE_URL: acme.databaseUrl,
    ...redis.environment,
    DNS_RESOLVER: resolver,
    APPROVAL_RESPONDERS: resolver,
    APPROVAL_ZONE: approvalZone,
    BUILT_IN_CA_DIR: acme.issuing.keyFolder,
    CA_PUBLICATION_URL: 'http://127.0.0.1:4310/ca',
    OPS_PORT: '0',
  };
}, 60_000);

afterAll(async () => {
  for (const step of undo.reverse()) await step();
});

/** The customers' standing records, and our targets with the values that the worker has published. */
function standingRecords(): RecordSource {
  const ttl = 0;
  return {
    read: async (asked) => {
      const apex = asked.split('.').slice(-2).join('.');
      const soa: ZoneRecord = {
        ...{ name: apex, type: 'SOA', ttl },
        data: { mname: apex, rname: apex, serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 0 },
      };
      const records = [...(await targetOf(asked)), ...(await valuesAt(asked))];
      return {
        apex,
        recordsAt: (name) => [...(name === apex ? [soa] : []), ...(name === asked ? records : [])],
      };
    },
  };
}

async function targetOf(name: DnsName): Promise<readonly ZoneRecord[]> {
  const rows = await acme.database.query<{ label: string }[]>(
    `SELECT label FROM delegation WHERE '_acme-challenge.' || dns_name = $1`,
    [name],
  );
  return rows.map(({ label }) => ({ name, type: 'CNAME', ttl: 0, data: `${label}.${approvalZone}` }));
}

async function valuesAt(name: DnsName): Promise<readonly ZoneRecord[]> {
  const rows = await acme.database.query<{ value: string }[]>(
    `SELECT value FROM challenge_record WHERE label || $2 = $1`,
    [name, `.${approvalZone}`],
  );
  return rows.map(({ value }) => ({ name, type: 'TXT', ttl: 0, data: [Buffer.from(value)] }));
}

async function startWorker(): Promise<Child> {
  const args = [path.join(workspaceRoot, 'dist/apps/issuance-worker/main.js')];
  const child = await startChild(process.execPath, { args, env: environment });
  await child.says(/"started"/, 30_000);
  return child;
}

async function openOrders(count: number, prefix: string): Promise<readonly OpenedIssuance[]> {
  const opened: OpenedIssuance[] = [];
  for (let index = 0; index < count; index += 1) {
    const dnsNames = [`${prefix}${index}.example.com`, `*.${prefix}${index}.example.com`];
    opened.push(await acme.order(dnsNames, opensslCsr(dnsNames)));
  }
  return opened;
}

async function counts(opened: readonly OpenedIssuance[]): Promise<number[]> {
  return await Promise.all(opened.map(async (each) => (await acme.certificates(each)).length));
}

/** Total progress of all orders. */
async function progress(): Promise<number> {
  const [row] = await acme.database.query<[{ steps: number }]>(
    `SELECT (count(*) + count(order_url) + count(finalized_at) + count(certificate_url))::int AS steps FROM acme_order`,
  );
  return row.steps;
}

/** Leases of dead workers expire, and so do waits; the test moves the clock instead. */
const endWaits = async () =>
  await acme.database.query(
    `UPDATE issuance SET due_at = least(due_at, now()), leased_until = NULL
     WHERE state = 'open' AND (leased_until IS NOT NULL OR due_at > now())`,
  );

/** A try may fail on a busy machine; the next one would be minutes later. */
const endPauses = async () =>
  await acme.database.query(
    `UPDATE issuance SET due_at = now()
     WHERE state = 'open' AND (leased_until IS NULL OR leased_until < now()) AND due_at > now() + interval '5 s'`,
  );

describeWithPebble('the worker as a process, with a CA that speaks ACME', () => {
  it('gets one certificate for each order despite repeated kills', async () => {
    const opened = await openOrders(16, 'killed');
    for (let kill = 0; kill < 4; kill += 1) {
      const worker = await startWorker();
      const before = await progress();
      await endWaits();
      await eventually(async () => expect((await progress()) - before).toBeGreaterThan(2 * kill), {
        withinMs: 40_000,
        everyMs: 3,
      });
      worker.signal('SIGKILL');
      await worker.ended;
    }
    const last = await startWorker();
    await endWaits();
    await eventually(
      async () => {
        await endPauses();
        expect(await counts(opened)).toEqual(opened.map(() => 1));
      },
      { withinMs: 90_000, everyMs: 500 },
    );
    expect(proxy.finalized).toBe(opened.length);
    expect((await last.stop()).code).toBe(0);
    expect(last.output()).not.toMatch(/PRIVATE KEY|unexpected error/);
  }, 300_000);

  it('writes nothing when it was frozen past its leases and another worker continued', async () => {
    const finalized = proxy.finalized;
    const frozen = await startWorker();
    const before = await progress();
    const opened = await openOrders(12, 'frozen');
    await eventually(async () => expect((await progress()) - before).toBeGreaterThan(6), { everyMs: 2 });
    frozen.signal('SIGSTOP');
    const other = await startWorker();
    await endWaits();
    await eventually(
      async () => {
        await endPauses();
        expect(await counts(opened)).toEqual(opened.map(() => 1));
      },
      { withinMs: 90_000, everyMs: 500 },
    );
    frozen.signal('SIGCONT');
    expect((await frozen.stop()).code).toBe(0);
    expect(await counts(opened)).toEqual(opened.map(() => 1));
    expect(proxy.finalized - finalized).toBe(opened.length);
    await other.stop();
  }, 240_000);
});
