import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ctDataSource } from '@certwright/ct-schema';
import type { DataSource } from 'typeorm';
import { ctIssuerCommands } from './ct-issuers';
import { adminFixture } from './testing/admin-fixture';

const folder = mkdtempSync(path.join(tmpdir(), 'ct-issuers-'));
const admin = adminFixture(ctDataSource);
let database: DataSource;

beforeAll(() => {
  database = admin.database;
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs `npm run admin -- ct issuers import …`. @returns the printed lines */
async function imported(content: string | Uint8Array, ...options: string[]): Promise<string[]> {
  const file = path.join(folder, 'report.csv');
  writeFileSync(file, content);
  return await admin.run([ctIssuerCommands], 'issuers', 'import', file, ...options);
}

const rows = async () =>
  await database.query<object[]>('SELECT * FROM ct_issuer_profile ORDER BY spki_sha256, subject_key_id');
const header = 'CA Owner,SHA-256 Fingerprint,Subject Key Identifier,Full CRL Issued By This CA';
const keyId = Buffer.alloc(20, 7).toString('base64');
const row = (owner: string, crl = 'http://crl.example/1.crl', id = keyId) =>
  `${owner},${'AB'.repeat(32)},${id},${crl}`;
const csv = (...lines: string[]) => [header, ...lines, ''].join('\r\n');

it('imports a report, and a second import of it changes nothing', async () => {
  const asOf = ['--as-of', '2026-11-20', '--source', 'CCADB'];
  const [first] = await imported(csv(row('Example CA')), ...asOf);
  expect(first).toContain('1 rows as of 2026-11-20: ');
  const before = await rows();
  const [again] = await imported(csv(row('Example CA')), ...asOf);
  expect(again).toContain('0 keys added, 0 changed');
  expect(await rows()).toEqual(before);
});

it.each([
  ['an empty file', '', /empty/],
  ['another CSV file', 'name,value\r\na,b\r\n', /no column tells/],
  ['bytes that are not text', Buffer.from([0xff, 0xfe, 0, 1, 2]), /.+/],
  ['a truncated row', csv(row('Good CA'), 'Bad CA,AB'), /^line 3: |3/i],
  ['an unclosed quote', `${csv(row('Good CA'))}"`, /.+/],
  ['an invalid fingerprint', csv(row('Good CA'), `Bad,zz,${keyId},`), /no SHA-256/],
])('refuses %s, and changes nothing', async (_what, content, fault) => {
  const before = await rows();
  await expect(imported(content, '--as-of', '2026-11-21')).rejects.toThrow(fault);
  expect(await rows()).toEqual(before);
});

it.each(['2026-02-30', '2026-13-01', '0000-01-01', '26-11-20', 'today', '2026-11-20T00:00:00Z', ''])(
  'refuses %j as the date of a report',
  async (day) => {
    const before = await rows();
    await expect(imported(csv(row('Example CA')), '--as-of', day)).rejects.toThrow('Expected a date such as');
    expect(await rows()).toEqual(before);
  },
);

it('warns of skipped rows by line, without printing content of the file', async () => {
  const hostile = '\u001b[2Jnot-a-url';
  const lines = await imported(
    csv(...Array<string>(30).fill(row('Example CA', hostile))),
    '--as-of',
    '2026-11-22',
  );
  expect(lines).toHaveLength(22);
  expect(lines[20]).toBe('… and 10 more');
  expect(lines.join()).not.toContain('\u001b');
});
