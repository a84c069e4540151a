import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Asked, type Gateway, GatewayFault } from '@certwright/gateway-client';
import type {
  CredentialMember,
  ProviderDescription,
  SealedContent,
  Zone,
} from '@certwright/gateway-contract';
import { compactDecrypt } from 'jose';
import type { DataSource } from 'typeorm';
import { createAccount } from './accounts';
import { dnsIntegrationCommands } from './dns-integrations';
import { adminFixture } from './testing/admin-fixture';
import type { WithDatabase } from './with-database';

const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const encryption_key = pair.publicKey.export({ format: 'jwk' }) as Record<string, string>;

const member = (name: string, secret: boolean, required = true): CredentialMember => ({
  name,
  meaning: `the ${name}`,
  secret,
  required,
});
const provider = (
  name: ProviderDescription['name'],
  type: 'bearer' | 'cloud_account',
  ...members: CredentialMember[]
): ProviderDescription => {
  const open =
    type === 'cloud_account'
      ? { principal: 'arn:us', external_id: 'x-1' }
      : { principal: null, external_id: null };
  return {
    name,
    title: name,
    advice: 'As little as possible.',
    credentials: [{ type, members, authorization_url: null, ...open }],
  };
};

/** In memory, by the interface: TLS is the client's affair. */
class FakeGateway implements Gateway {
  readonly made: Asked<'make_integration'>[] = [];
  zones: readonly Zone[] = [{ id: 'z1', name: 'example.com' }];
  fault: GatewayFault | null = null;
  resealed: string | null = null;

  async describe() {
    const providers = [
      provider('desec', 'bearer', member('token', true)),
      provider(
        'powerdns',
        'bearer',
        member('url', false),
        member('api_key', true),
        member('server', false, false),
      ),
      provider('ovh', 'bearer', member('key', true), member('secret', true)),
      provider('route53', 'cloud_account', member('role_arn', false)),
      { ...provider('azure', 'bearer'), credentials: [] },
    ];
    return await Promise.resolve({ encryption_key, providers });
  }

  async makeIntegration(request: Asked<'make_integration'>) {
    this.made.push(request);
    if (this.fault !== null) throw this.fault;
    return await Promise.resolve({ integration: 'h1' });
  }

  async getZones() {
    if (this.fault !== null) throw this.fault;
    const resealed = this.resealed === null ? {} : { integration: this.resealed };
    return await Promise.resolve({ zones: this.zones, ...resealed });
  }

  async addRecord(): Promise<never> {
    return await Promise.reject(new Error('the admin adds no records'));
  }

  async removeRecord(): Promise<never> {
    return await Promise.reject(new Error('the admin removes no records'));
  }
}

const admin = adminFixture();
let database: DataSource;
let gateway: FakeGateway;
let accountId: string;
const folder = mkdtempSync(path.join(tmpdir(), 'certwright-admin-'));

beforeAll(() => {
  database = admin.database;
});
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(async () => {
  accountId = await createAccount(database, 'Spec', null);
  gateway = new FakeGateway();
});

/** Runs `npm run admin -- dns-integration …`. @returns the output */
async function run(...args: string[]): Promise<string> {
  const commands = (withDatabase: WithDatabase) =>
    dnsIntegrationCommands(withDatabase, async (work) => await work(gateway));
  return (await admin.run([commands], 'dns-integration', ...args)).join('\n');
}

const secretFile = (text: string): string => {
  const file = path.join(folder, 'secret');
  writeFileSync(file, text);
  return file;
};
const create = async (name: string, secret: string, ...more: string[]): Promise<string> =>
  await run('create', name, '--account', accountId, '--from-file', secretFile(secret), ...more);
const opened = async (): Promise<SealedContent> => {
  const credentials = gateway.made.at(-1)?.credentials;
  if (credentials?.type !== 'sealed') throw new Error('it is not sealed');
  const { plaintext } = await compactDecrypt(String(credentials['jwe']), pair.privateKey);
  return JSON.parse(new TextDecoder().decode(plaintext)) as SealedContent;
};
const row = async (id: string) =>
  (
    await database.query<Record<string, unknown>[]>(
      `SELECT handle, description, deleted_at, leased_until FROM dns_integration WHERE id = $1`,
      [id],
    )
  )[0];

it('lists the credentials that each provider needs', async () => {
  const text = await run('providers', '--account', accountId);
  expect(text).toContain('    token\trequired, secret\tthe token');
  expect(text).toContain('    server\toptional\tthe server');
  expect(text).toContain('    external id\tx-1');
  expect(text).toContain('azure\tazure\n  As little as possible.\n  (not configured');
});

it('encrypts the credential for the gateway, stores the handle, and prints the zones', async () => {
  const [id = '', zone] = (await create('desec', 'planted\n', '--description', 'Ours')).split('\n');
  expect(zone).toBe('example.com\tz1');
  expect(gateway.made).toMatchObject([{ account: accountId, integration_id: id, provider: 'desec' }]);
  expect(JSON.stringify(gateway.made)).not.toContain('planted');
  const content = await opened();
  expect(content).toMatchObject({
    account: accountId,
    provider: 'desec',
    credentials: { type: 'bearer', token: 'planted' },
  });
  expect(Math.abs(content.issued_at - Date.now() / 1_000)).toBeLessThan(60);
  expect(await row(id)).toMatchObject({ handle: 'h1', description: 'Ours' });
  expect(await run('list', '--account', accountId)).toBe(`${id}\tdesec\tok\tOurs`);
});

it.each([
  ['powerdns', 'k', ['--set', 'url=https://ns.example.com'], { url: 'https://ns.example.com', api_key: 'k' }],
  [
    'powerdns',
    '{"url": "https://u", "api_key": "k"}',
    ['--set', 'server=s'],
    { url: 'https://u', api_key: 'k', server: 's' },
  ],
  ['route53', '', ['--set', 'role_arn=arn:r'], { role_arn: 'arn:r' }],
])('puts the credentials of %s together', async (name, secret, more, members) => {
  await create(name, secret, ...more);
  const { type: _, ...given } = (await opened()).credentials;
  expect(given).toEqual(members);
});

it.each([
  ['desec', 't', ['--set', 'token=planted'], 'token is secret: give it on standard input'],
  ['desec', 't', ['--set', 'colour=red'], '--set expects name=value with one of token.'],
  ['desec', 't', ['--type', 'oauth_code'], 'desec does not support --type oauth_code. Choose from: bearer.'],
  ['ovh', 'planted', [], 'Give the members as a JSON object of strings: key, secret.'],
  ['ovh', '{planted', [], 'begins with "{" but is not valid JSON'],
  ['ovh', '{"key": 7}', [], 'must be a string'],
  ['azure', 't', [], 'The operator of the gateway has not configured azure.'],
  ['nowhere', 't', [], 'There is no provider "nowhere". Choose from: desec, powerdns, ovh, route53, azure.'],
])('refuses invalid credentials of %s, and never prints the secret', async (name, secret, more, message) => {
  const outcome: unknown = await create(name, secret, ...more).catch((error: unknown) => error);
  expect(outcome).toBeInstanceOf(Error);
  expect(String(outcome)).toContain(message);
  expect(String(outcome)).not.toContain('planted');
  expect(gateway.made).toEqual([]);
});

it('stores nothing when the provider refuses', async () => {
  gateway.fault = new GatewayFault('provider_auth_failed', 'deSEC refuses the token.');
  await expect(create('desec', 't')).rejects.toThrow('deSEC refuses the token.');
  expect(await run('list', '--account', accountId)).toBe('');
});

it('lists the present zones, and stores a new handle, also from an error', async () => {
  const [id = ''] = (await create('desec', 't')).split('\n');
  gateway.zones = [{ id: 'z2', name: 'example.net' }];
  gateway.resealed = 'h2';
  expect(await run('zones', id)).toBe('example.net\tz2');
  expect(await row(id)).toMatchObject({ handle: 'h2', leased_until: null });
  gateway.fault = new GatewayFault('provider_unavailable', 'Unreachable.', { integration: 'h3' });
  await expect(run('zones', id)).rejects.toThrow('Unreachable.');
  expect(await row(id)).toMatchObject({ handle: 'h3', leased_until: null });
});

it('deletes', async () => {
  const [id = ''] = (await create('desec', 't')).split('\n');
  expect(await run('delete', id)).toBe(`DNS integration ${id}: deleted`);
  expect((await row(id))?.['deleted_at']).not.toBeNull();
  await expect(run('delete', id)).rejects.toThrow(`There is no DNS integration ${id}.`);
  await expect(run('zones', 'x')).rejects.toThrow('is not the id of a DNS integration');
});
