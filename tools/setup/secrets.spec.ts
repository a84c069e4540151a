import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { ensureSecrets, needs, ownerUrl, type SecretsPlan } from './secrets';

const now = new Date('2026-11-24T00:00:00Z');
const newPlan = (): SecretsPlan => ({
  folder: mkdtempSync(path.join(process.env['CERTWRIGHT_TEST_RUN'] ?? '', 'setup-')),
  databaseUrl: 'postgres://certwright@postgres:5432/certwright',
  ctDatabaseUrl: 'postgres://certwright@postgres:5432/certwright_ct',
  rolePrefix: 'certwright_',
  uid: null,
});

function contents(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  const plain = files.filter((file) => lstatSync(path.join(folder, file)).isFile());
  return Object.fromEntries(plain.map((file) => [file, readFileSync(path.join(folder, file), 'utf8')]));
}

describe('setup secrets', () => {
  it('changes nothing when it is repeated', () => {
    const plan = newPlan();
    expect(ensureSecrets(plan, now).length).toBeGreaterThan(50);
    const before = contents(plan.folder);
    expect(ensureSecrets(plan, now)).toEqual([]);
    expect(contents(plan.folder)).toEqual(before);
  });

  it('creates a lost file of a process again from what the operator has', () => {
    const plan = newPlan();
    ensureSecrets(plan, now);
    const before = contents(plan.folder);
    rmSync(path.join(plan.folder, 'orders-v3/sealing.keys'));
    expect(ensureSecrets(plan, now)).toEqual(['orders-v3/sealing.keys']);
    expect(contents(plan.folder)).toEqual(before);
  });

  it('gives certificates of the gateway that are replaced to their processes', () => {
    const plan = newPlan();
    ensureSecrets(plan, now);
    const later = new Date(now.getTime() + 300 * 86_400_000);
    const changed = ensureSecrets(plan, later);
    expect(changed).toEqual(
      expect.arrayContaining(['dns-gateway/server.pem', 'issuance-worker/gateway.pem']),
    );
    expect(changed.filter((file) => file.includes('database-url') || file.includes('keys'))).toEqual([]);
  });

  it('gives a process only the secrets that it needs', () => {
    const { folder, ...rest } = newPlan();
    ensureSecrets({ folder, ...rest }, now);
    const filesOf = (name: string) => readdirSync(path.join(folder, name)).sort();
    expect(filesOf('prober')).toEqual(['redis-password']);
    expect(filesOf('ct-ingest')).toEqual(['ct-database-url']);
    expect(filesOf('dns-gateway')).toEqual([
      'client-ca.pem',
      'credentials.key',
      'handle.keys',
      'server.key',
      'server.pem',
    ]);
    const gatewayCaKey = readFileSync(path.join(folder, 'operator/gateway/ca.key'), 'utf8');
    for (const [file, text] of Object.entries(contents(folder)))
      if (!file.startsWith('operator/')) expect([file, text.includes(gatewayCaKey)]).toEqual([file, false]);
  });

  it('lets each process connect as its own role, and only the operator as the owner', () => {
    const plan = newPlan();
    ensureSecrets(plan, now);
    const urls = Object.keys(needs)
      .map((name) => contents(plan.folder)[`${name}/database-url`])
      .filter((text) => text !== undefined)
      .map((text) => new URL(text));
    expect(new Set(urls.map(({ username }) => username)).size).toBe(urls.length);
    expect(new Set(urls.map(({ password }) => password)).size).toBe(urls.length);
    expect(urls.map(({ username }) => username)).not.toContain('certwright');
    expect(new URL(ownerUrl(plan, plan.databaseUrl)).password).toMatch(/^[0-9a-f]{48}$/);
  });

  it('closes the files of processes to others', () => {
    const plan = newPlan();
    ensureSecrets(plan, now);
    for (const name of Object.keys(needs))
      for (const file of readdirSync(path.join(plan.folder, name)))
        expect([file, lstatSync(path.join(plan.folder, name, file)).mode & 0o777]).toEqual([file, 0o400]);
    expect(lstatSync(path.join(plan.folder, 'operator')).mode & 0o077).toBe(0);
  });
});
