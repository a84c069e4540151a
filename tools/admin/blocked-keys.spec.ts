import { createHash, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { BlockedKeys } from '@certwright/ordering';
import type { DataSource } from 'typeorm';
import { blockedKeyCommands } from './blocked-keys';
import { adminFixture } from './testing/admin-fixture';

const folder = mkdtempSync(path.join(tmpdir(), 'blocked-keys-'));
const admin = adminFixture();
let database: DataSource;

beforeAll(() => {
  database = admin.database;
});
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(async () => {
  await database.query('DELETE FROM blocked_key');
});

/** Runs `npm run admin -- blocked-keys load`. @returns the output */
async function load(text: string): Promise<string> {
  const file = path.join(folder, 'list');
  writeFileSync(file, text);
  const args = ['blocked-keys', 'load', file, '--reason', 'spec'];
  return (await admin.run([blockedKeyCommands], ...args)).join('\n');
}

const blocked = async (spkiSha256: Uint8Array) => await new BlockedKeys(database).has(spkiSha256, '1');
const count = async () => (await database.query<unknown[]>('SELECT 1 FROM blocked_key')).length;
const digestOf = (key: KeyObject) =>
  createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest();

describe('blocked-keys load', () => {
  it('reads lines of digests, with comments and a source after the digest', async () => {
    const [plain, withSource, upperCase] = [randomBytes(32), randomBytes(32), randomBytes(32)];
    const lines = [
      '# a comment',
      plain.toString('hex'),
      '',
      `${withSource.toString('hex')} RFC 1234`,
      `${upperCase.toString('hex').toUpperCase()}\t# said twice\r`,
      upperCase.toString('hex'),
    ];
    expect(await load(lines.join('\n'))).toBe('4 read, 3 new');
    for (const digest of [plain, withSource, upperCase]) expect(await blocked(digest)).toBe(true);
  });

  it('reads PEM blocks of private keys, as "openssl ecparam -genkey" and "openssl genrsa" write them', async () => {
    const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const parameters = '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n';
    const text =
      parameters +
      ec.privateKey.export({ type: 'sec1', format: 'pem' }) +
      rsa.privateKey.export({ type: 'pkcs1', format: 'pem' });
    expect(await load(text)).toBe('2 read, 2 new');
    expect(await blocked(digestOf(ec.publicKey))).toBe(true);
    expect(await blocked(digestOf(rsa.publicKey))).toBe(true);
  });

  const good = '00'.repeat(32);
  const pem = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({
    type: 'spki',
    format: 'pem',
  });
  const empty = '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n';
  it.each([
    ['a line that is not a digest', `${good}\nrubbish\n`, /^Line 2 does not begin with 64 hex digits/],
    ['a truncated digest', `${good}\n\n${good.slice(1)}\n`, /^Line 3 does not begin with 64 hex digits/],
    [
      'the format of openssl-blacklist',
      '0123456789abcdef0123\n',
      /^Line 1 has the format of openssl-blacklist/,
    ],
    [
      'a PEM block that is not a key',
      `${String(pem)}${empty}`,
      /^The PEM block in line 5 is not a readable key or certificate/,
    ],
    [
      'a truncated PEM block',
      `${String(pem)}-----BEGIN PUBLIC KEY-----\nMFk`,
      /^The PEM block in line 5 has no END line/,
    ],
  ])('loads nothing from a file with %s', async (_what, text, message) => {
    await expect(load(text)).rejects.toThrow(message);
    expect(await count()).toBe(0);
  });

  it('loads nothing when the database fails in the middle', async () => {
    const digests = Array.from({ length: 10_001 }, () => randomBytes(32));
    digests[10_000] = randomBytes(31);
    await expect(new BlockedKeys(database).add(digests, 'spec')).rejects.toThrow();
    expect(await count()).toBe(0);
  });
});
