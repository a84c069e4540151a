import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readUrlFiles } from './url-files';

const folder = mkdtempSync(path.join(tmpdir(), 'url-files-'));
afterAll(() => rmSync(folder, { recursive: true }));
const file = path.join(folder, 'database-url');
writeFileSync(file, 'postgres://owner@db/core\n');

it('reads URLs of databases from files', () => {
  const environment = { DATABASE_URL_FILE: file, CT_DATABASE_URL_FILE: '' };
  readUrlFiles(environment);
  expect(environment).toEqual({ ...environment, DATABASE_URL: 'postgres://owner@db/core' });
});

it('keeps a URL that is set', () => {
  const environment = { DATABASE_URL: 'postgres://set@db/core', DATABASE_URL_FILE: file };
  readUrlFiles(environment);
  expect(environment.DATABASE_URL).toBe('postgres://set@db/core');
});

it('counts an empty variable as absent, since Compose files set such variables', () => {
  const environment = { DATABASE_URL: '', DATABASE_URL_FILE: file, CT_DATABASE_URL: '' };
  readUrlFiles(environment);
  expect(environment).toEqual({ DATABASE_URL: 'postgres://owner@db/core', DATABASE_URL_FILE: file });
});

it('names the variable of a file that is missing', () => {
  const missing = { CT_DATABASE_URL_FILE: path.join(folder, 'missing') };
  expect(() => readUrlFiles(missing)).toThrow(
    'CT_DATABASE_URL_FILE names a file that cannot be read (ENOENT).',
  );
});

it('names the variable of what is no URL of PostgreSQL, without its value', () => {
  for (const url of ['db.example', 'mysql://owner:secret@db/core', 'postgres://owner:sec/ret@db/core'])
    expect(() => readUrlFiles({ DATABASE_URL: url })).toThrow(
      /^DATABASE_URL is not a URL that begins with postgres:\/\/ or postgresql:\/\/\.$/,
    );
});
