import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MonitoredDomains } from './indexed-scope';
import { RecentIssuances } from './recent-issuances';

let folder: string;
beforeEach(() => void (folder = mkdtempSync(path.join(tmpdir(), 'domains-'))));
afterEach(() => rmSync(folder, { recursive: true }));

it('covers names at and below the domains of the file, which can be reloaded', async () => {
  const file = path.join(folder, 'domains');
  writeFileSync(file, '# ours\nExample.com\r\n*.example.net. # with a wildcard\n\nbücher.example\n');
  const domains = new MonitoredDomains(file);
  await domains.reload();
  const covered = (name: string) => domains.covers([name]);
  for (const name of [
    'example.com',
    'a.b.example.com',
    '*.example.com',
    'example.net',
    'xn--bcher-kva.example',
  ])
    expect([name, covered(name)]).toEqual([name, true]);
  for (const name of ['notexample.com', 'com', 'example.com.evil.org', '', 'example'])
    expect([name, covered(name)]).toEqual([name, false]);
  expect(domains.covers(['x.org', 'www.example.com'])).toBe(true);
  expect(domains.covers([])).toBe(false);
  for (const name of ['foo bar.example.com', '*.?.example.net', '*example.com', 'www.*example.com'])
    expect([name, covered(name)]).toEqual([name, true]);
  expect(covered(`${'a.'.repeat(120)}example.com`)).toBe(true);
  expect(covered('w*example.com')).toBe(false);
  writeFileSync(file, 'example.org\n');
  await domains.reload();
  expect([covered('example.com'), covered('example.org')]).toEqual([false, true]);
  rmSync(file);
  await expect(domains.reload()).rejects.toThrow('ENOENT');
  expect(covered('example.org')).toBe(true);
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
