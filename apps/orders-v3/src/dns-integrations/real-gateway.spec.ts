import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { sealCredentials } from '@certwright/gateway-client';
import { type Child, startChild } from '@certwright/testing';
import { RunningApi, type Tenant } from '../testing/running-api';
import { gatewaySettings, selfSigned } from '../testing/gateway';

const workspaceRoot = path.join(__dirname, '../../../..');
const identity = 'spiffe://certwright.internal/orders-v3';
const integrations = '/api/v3/account/dns_integrations';
const token = `planted${randomBytes(12).toString('hex')}`;

let folder: string;
let provider: Server;
let gateway: Child;
let api: RunningApi;
let tenant: Tenant;

/** The list of domains, as deSEC documents it. */
function desec(): Server {
  return createServer((request, response) => {
    const known = request.headers.authorization === `Token ${token}`;
    response.writeHead(known ? 200 : 401, { 'content-type': 'application/json' });
    const domains = [{ name: 'example.com', minimum_ttl: 3600 }];
    response.end(JSON.stringify(known ? domains : { detail: 'Invalid token.' }));
  });
}

async function startGateway(pem: string, providerUrl: string): Promise<Child> {
  const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const file = (name: string, text: string): string => {
    writeFileSync(path.join(folder, name), text, { mode: 0o600 });
    return path.join(folder, name);
  };
  const child = await startChild(process.execPath, {
    args: [path.join(workspaceRoot, 'dist/apps/dns-gateway/main.js')],
    env: {
      PORT: '0',
      OPS_PORT: '0',
      TLS_KEY_FILE: file('tls.pem', pem),
      TLS_CERTIFICATE_FILE: file('tls.pem', pem),
      CLIENT_CA_FILE: file('tls.pem', pem),
      HANDLE_KEYS_FILE: file('handle.keys', `${randomBytes(32).toString('base64')}\n`),
      CREDENTIALS_KEY_FILE: file('credentials.key', String(key.export({ type: 'pkcs8', format: 'pem' }))),
      AUDIT_DIR: path.join(folder, 'audit'),
      AUDIT_INSTANCE: 'spec',
      GATEWAY_CLIENTS: `${identity}=make_integration+get_zones+description`,
      PROVIDER_URLS: `desec=${providerUrl}`,
    },
  });
  await child.says(/"msg":"started"/);
  return child;
}

beforeAll(async () => {
  execFileSync(process.execPath, ['tools/build/build.mjs', 'apps/dns-gateway'], { cwd: workspaceRoot });
  folder = mkdtempSync(path.join(tmpdir(), 'certwright-real-gateway-'));
  const pem = selfSigned(`DNS:localhost,URI:${identity}`);
  provider = desec().listen(0, '127.0.0.1');
  await once(provider, 'listening');
  gateway = await startGateway(pem, `http://127.0.0.1:${(provider.address() as AddressInfo).port}`);
  const port = Number(/"url":"https:\/\/127\.0\.0\.1:(\d+)"/.exec(gateway.output())?.[1]);
  api = await RunningApi.start({ ...gatewaySettings(port, pem), LOG_LEVEL: 'debug' });
  tenant = await api.tenant('Full Access');
}, 60_000);
afterAll(async () => {
  await api.stop();
  await gateway.stop();
  provider.closeAllConnections();
  provider.close();
  rmSync(folder, { recursive: true });
});

const create = async (credentials: object) =>
  await tenant.post(`${integrations}?expand=zones`, { provider: 'desec', credentials });

it('shows the providers as the gateway describes them', async () => {
  const { status, json } = await tenant.get('/api/v3/account/dns_providers');
  expect(status).toBe(200);
  expect(json.encryption_key).toMatchObject({ kty: 'EC', crv: 'P-256', kid: expect.any(String) });
  const described = json.providers.find(({ name }: { name: string }) => name === 'desec');
  expect(described).toMatchObject({
    credentials: [{ type: 'bearer', members: [{ name: 'token', secret: true }] }],
  });
});

it('creates an integration that lists its zones, and stores only its handle', async () => {
  const created = await create({ type: 'bearer', token });
  expect(created).toMatchObject({ status: 201, json: { state: 'ok', zones: [{ name: 'example.com' }] } });
  const zones = await tenant.get(`${integrations}/${created.json.id}/zones`);
  expect(zones).toMatchObject({ status: 200, json: [{ id: 'example.com', name: 'example.com' }] });
  const [row] = await api.database.query(`SELECT * FROM dns_integration WHERE id = $1`, [created.json.id]);
  expect(row?.['handle']).toMatch(/^cwi1\./);
  expect(JSON.stringify(row) + api.logged.join('') + gateway.output()).not.toContain(token);
});

it('takes credentials that are sealed to the key it shows, for this account only', async () => {
  const { encryption_key } = (await tenant.get('/api/v3/account/dns_providers')).json;
  const seal = async (account: string) =>
    await sealCredentials(encryption_key, {
      account,
      provider: 'desec',
      credentials: { type: 'bearer', token },
      issued_at: Math.floor(Date.now() / 1_000),
    });
  expect((await create(await seal(tenant.accountId))).status).toBe(201);
  const stolen = await create(await seal('1'));
  expect(stolen.status).toBe(400);
  expect(stolen.json.sub_errors).toMatchObject([{ field: 'credentials.jwe', code: 'invalid_value' }]);
});

const refused: readonly [string, object, string][] = [
  ['a token that the provider refuses', { type: 'bearer', token: 'other' }, 'credentials'],
  ['no token', { type: 'bearer' }, 'credentials.token'],
  ['a token of another shape', { type: 'bearer', token: 'a b' }, 'credentials.token'],
  ['an unknown member', { type: 'bearer', token, colour: 'red' }, 'credentials'],
  ['a kind that it does not take', { type: 'cloud_account', role: 'r' }, 'credentials.type'],
  ['a token as long as a book', { type: 'bearer', token: 'x'.repeat(200_000) }, 'credentials'],
  [
    'a sealed credential as long as a book',
    { type: 'sealed', jwe: `a.b.c.${'d'.repeat(200_000)}.e` },
    'credentials',
  ],
];
it.each(refused)('returns 400 for %s', async (_what, credentials, field) => {
  const response = await create(credentials);
  expect(response).toMatchObject({ status: 400, json: { code: 'bad_request' } });
  expect(response.json.sub_errors).toMatchObject([{ field }]);
});
