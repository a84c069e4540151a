import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { encodePem } from '@certwright/pki';
import { type Child, eventually, startChild } from '@certwright/testing';
import { certificateRequest, keyPair } from '../testing/certificate-request';
import { RunningApi, type Tenant } from '../testing/running-api';

const workspaceRoot = path.join(__dirname, '../../../..');
const keys = keyPair('p256');
const order = { dns_names: ['example.com'], csr: certificateRequest(keys, { dnsNames: ['example.com'] }) };
const publicationWithinMs = 20_000;

let api: RunningApi;
let tenant: Tenant;
let worker: Child;
let folder: string;

beforeAll(async () => {
  execFileSync(process.execPath, ['tools/build/build.mjs', 'apps/issuance-worker'], { cwd: workspaceRoot });
  api = await RunningApi.start();
  tenant = await api.tenant();
  folder = mkdtempSync(path.join(tmpdir(), 'certwright-revocation-'));
  createCa();
  worker = await startChild(process.execPath, {
    args: [path.join(workspaceRoot, 'dist/apps/issuance-worker/main.js')],
    env: {
      CERTWRIGHT_MODE: 'sandbox',
      DATABASE_URL: api.database.url,
      ...api.redis.environment,
      DNS_RESOLVER: '127.0.0.1:1',
      APPROVAL_ZONE: 'approval.example.net',
      BUILT_IN_CA_DIR: path.join(folder, 'ca'),
      CA_PUBLICATION_URL: `${api.url}/ca`,
      OPS_PORT: '0',
    },
  });
  await worker.says(/"started"/, 30_000);
}, 60_000);

afterAll(async () => {
  await worker.stop();
  await api.stop();
  rmSync(folder, { recursive: true });
});

/** As the operator of a sandbox does before the first start of a worker. */
function createCa(): void {
  execFileSync(process.execPath, ['tools/run.mjs', 'admin', 'ca', 'create-sandbox'], {
    cwd: workspaceRoot,
    env: {
      ...process.env,
      DATABASE_URL: api.database.url,
      BUILT_IN_CA_DIR: path.join(folder, 'ca'),
      CA_PUBLICATION_URL: `${api.url}/ca`,
    },
  });
}

/** The resolver does not respond: the names are approved directly, and the worker continues. */
const approve = async () =>
  await api.database.query(
    `UPDATE issuance SET due_at = now(), approvals = (
       SELECT jsonb_agg(approval || '{"status": "approved", "method": "dns"}') FROM jsonb_array_elements(approvals) AS approval)
     WHERE state = 'open' AND account_id = $1`,
    [tenant.accountId],
  );

async function currentCertificate(): Promise<{ id: number; leaf: string; chain: string[]; root: string }> {
  const expand = ['leaf', 'chain', 'root'].map((member) => `expand=current_cert.${member}`).join('&');
  return await eventually(
    async () => {
      await approve();
      const { json } = await tenant.get(`/api/v3/orders/example.com?${expand}`);
      expect(json.current_cert).not.toBeNull();
      return json.current_cert;
    },
    { withinMs: 20_000, everyMs: 200 },
  );
}

function pem(name: string, type: string, ...ders: readonly string[]): string {
  const file = path.join(folder, name);
  writeFileSync(file, ders.map((der) => encodePem(type, Buffer.from(der, 'base64'))).join(''));
  return file;
}

const openssl = (...args: readonly string[]) => {
  try {
    return execFileSync('openssl', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    return stdout + stderr;
  }
};

/** The published list, as a relying party fetches it. */
async function publishedList(): Promise<string> {
  const response = await fetch(`${api.url}/ca/intermediate.crl`);
  expect(response.status).toBe(200);
  return pem('list.pem', 'X509 CRL', Buffer.from(await response.arrayBuffer()).toString('base64'));
}

type Chain = Awaited<ReturnType<typeof currentCertificate>>;

const verify = async ({ leaf, chain, root }: Chain) =>
  openssl(
    'verify',
    '-crl_check',
    '-CRLfile',
    await publishedList(),
    '-CAfile',
    pem('root.pem', 'CERTIFICATE', root),
    '-untrusted',
    pem('chain.pem', 'CERTIFICATE', ...chain),
    pem('leaf.pem', 'CERTIFICATE', leaf),
  );

describe('a certificate that is revoked over HTTP', () => {
  it('is revoked in the published list within seconds, and the order gets another one', async () => {
    expect((await tenant.post('/api/v3/orders', order)).status).toBe(201);
    const first = await currentCertificate();
    await eventually(async () => expect(await verify(first)).toContain('leaf.pem: OK'), {
      withinMs: publicationWithinMs,
    });

    const response = await tenant.post(`/api/v3/orders/example.com/certs/${first.id}/revoke`, {
      reason: 'superseded',
    });
    expect(response).toMatchObject({ status: 200, json: { state: 'revoked' } });
    await eventually(async () => expect(await verify(first)).toContain('certificate revoked'), {
      withinMs: publicationWithinMs,
      everyMs: 200,
    });
    expect(openssl('crl', '-in', path.join(folder, 'list.pem'), '-noout', '-text')).toContain('Superseded');

    const second = await currentCertificate();
    expect(second.id).not.toBe(first.id);
    expect(await verify(second)).toContain('leaf.pem: OK');
    const confirmed = await api.database.query(
      `SELECT ca_revoked_at IS NOT NULL AS confirmed FROM certificate WHERE id = $1`,
      [first.id],
    );
    expect(confirmed).toEqual([{ confirmed: true }]);
  }, 90_000);
});
