import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { changeWatchedNames } from '@certwright/ct-index';
import { IngestFixture } from '../testing/ingest-fixture';
import { MonitoredNames } from './indexed-scope';
import { RecentIssuances } from './recent-issuances';

jest.setTimeout(60_000);

let folder: string;
beforeEach(() => void (folder = mkdtempSync(path.join(tmpdir(), 'domains-'))));
afterEach(() => rmSync(folder, { recursive: true }));

const refuse = (_source: string, name: string) => {
  throw new Error(name);
};

it('covers names at and below the domains of the file, which can be read again', async () => {
  const file = path.join(folder, 'domains');
  writeFileSync(
    file,
    '# ours\nExample.com\r\n*.example.net. # with a wildcard\n\nbücher.example\n.example.edu\n',
  );
  const names = new MonitoredNames(refuse);
  await names.readFile(file);
  const covered = (name: string) => names.covers([name], []);
  for (const name of [
    'example.com',
    'a.b.example.com',
    '*.example.com',
    '*.com',
    'example.net',
    'xn--bcher-kva.example',
    'a.example.edu',
  ])
    expect([name, covered(name)]).toEqual([name, true]);
  for (const name of ['notexample.com', 'com', 'example.com.evil.org', '', 'example', '*.org'])
    expect([name, covered(name)]).toEqual([name, false]);
  expect(names.covers(['x.org', 'www.example.com'], [])).toBe(true);
  expect(names.covers([], [])).toBe(false);
  for (const name of [
    'foo bar.example.com',
    '*.?.example.net',
    '*example.com',
    'www.*example.com',
    'w*.example.com',
  ])
    expect([name, covered(name)]).toEqual([name, true]);
  expect(covered(`${'a.'.repeat(120)}example.com`)).toBe(true);
  expect(names.covers(['x.org'], ['www.example.com,x.org'])).toBe(true);
  expect(names.covers(['x.org'], ['www.example.org,x.org'])).toBe(false);
  writeFileSync(file, 'example.org\n');
  await names.readFile(file);
  expect([covered('example.com'), covered('example.org')]).toEqual([false, true]);
  rmSync(file);
  await expect(names.readFile(file)).rejects.toThrow('ENOENT');
  expect(covered('example.org')).toBe(true);
});

it('ignores lines that are no domains', async () => {
  const invalid: string[] = [];
  const names = new MonitoredNames((_, name) => void invalid.push(name));
  writeFileSync(path.join(folder, 'domains'), 'foo bar.example\nexample.com\n');
  await names.readFile(path.join(folder, 'domains'));
  expect([invalid, names.size]).toEqual([['.foo bar.example'], 1]);
});

it('covers the names that accounts monitor, with the grants of ct-ingest; unreadable ones stay', async () => {
  const ingest = await IngestFixture.open();
  try {
    const names = new MonitoredNames(refuse);
    const covered = async (...each: readonly string[]) => {
      await names.readTable(ingest.asIngest);
      return each.map((name) => names.covers([name], []));
    };
    const change = async (added: readonly string[], removed: readonly string[] = []) =>
      await ingest.database.transaction(async (tx) => await changeWatchedNames(tx, { added, removed }));
    expect(await covered('example.com')).toEqual([false]);
    await change(['.example.com', 'www.example.net']);
    const texts = ['a.example.com', 'www.example.net', 'a.example.net', '*.example.net'] as const;
    expect(await covered(...texts)).toEqual([true, true, false, true]);
    await change(['a.example.net'], ['.example.com']);
    expect(await covered(...texts)).toEqual([false, true, true, true]);
    await change([], ['a.example.net']);
    const unavailable = { query: async () => await Promise.reject(new Error('unavailable')) };
    await expect(names.readTable(unavailable)).rejects.toThrow('unavailable');
    expect(names.covers(['a.example.net'], [])).toBe(true);
    expect(await covered(...texts)).toEqual([false, true, false, true]);
  } finally {
    await ingest.close();
  }
});
it('knows recent issuances, distinguishes certificates from precertificates, and drops the oldest', () => {
  const recent = new RecentIssuances(4);
  recent.committed('a', true);
  expect([recent.has('a', true), recent.has('a', false), recent.has('b', true)]).toEqual([
    true,
    false,
    false,
  ]);
  recent.committed('a', false);
  expect(recent.has('a', false)).toBe(true);
  recent.committed('a', true);
  expect(recent.has('a', false)).toBe(true);
  for (const each of ['b', 'c', 'd', 'e', 'f', 'g']) recent.committed(each, false);
  expect([recent.has('a', true), recent.has('g', true)]).toEqual([false, true]);
  recent.forget();
  expect(recent.has('g', true)).toBe(false);
});
