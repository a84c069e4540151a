import { randomBytes } from 'node:crypto';
import { indexKeys, oddKeys, queryKeys } from '@certwright/ct';
import { anIssuance, CtDatabaseFixture } from '@certwright/ct-testing';
import { pageOfAll, pageOfKeys } from '../issuance-pages';
import type { NewIssuance } from '../new-issuance';
import { readingAlone } from '../page-reader';
import { CrlIds } from '../revocations/crl-ids';
import { crlsOf, IssuerIds, storeIssuances } from '../store-issuances';
import { concernedIssuances } from './concerned-issuances';
import { issuancesToMatch, issuancesToMatchAt } from './issuances-to-match';
import { newestOddEntries, oddEntriesAfter } from './odd-entries';
import { indexRange, positionsOf, tbsSha256At } from './places';
import { changeWatchedNames, watchedNames, watchedVersion } from './watched-names';

jest.setTimeout(60_000);

let ct: CtDatabaseFixture;
beforeAll(async () => (ct = await CtDatabaseFixture.open()));
afterAll(async () => await ct.close());
beforeEach(async () => {
  await ct.database.query('TRUNCATE ct_issuance, ct_known, ct_run, ct_block');
  await ct.database.query('UPDATE ct_sequence SET next = 1');
});

async function store(...issuances: readonly NewIssuance[]): Promise<void> {
  const ids = new IssuerIds();
  await ids.ensure(
    ct.database.manager,
    issuances.map(({ issuer }) => issuer),
  );
  const crls = await crlsOf(ct.database.manager, new CrlIds(), ids, issuances);
  await ct.database.transaction(async (tx) => await storeIssuances(tx, ids, issuances, crls));
}

/** With the keys that ct-ingest computes. */
function named(
  dnsNames: readonly string[],
  oddNames: readonly string[] = [],
  change: Partial<NewIssuance> = {},
) {
  const nameKeys = [...indexKeys(dnsNames), ...oddKeys(dnsNames, oddNames)];
  return anIssuance('', { dnsNames, oddNames, nameKeys, ...change });
}

const reader = () => readingAlone(ct.database.manager);
const hex = (digits: string) => Buffer.from(digits, 'hex');

describe('issuances to match', () => {
  it('have all data that decides, in the order of positions, across partitions', async () => {
    const stored = Array.from({ length: 230 }, (_, nth) =>
      named([`${nth}.example.com`], nth % 50 === 0 ? [`${nth}.example.org,\u0001 ü`] : []),
    );
    await store(...stored.slice(0, 120));
    await store(...stored.slice(120));
    const { issuances, isCut } = await issuancesToMatch(reader(), '1', 500);
    expect(isCut).toBe(false);
    expect(issuances.map(({ position }) => position)).toEqual(
      stored.slice(1).map((_, nth) => String(nth + 2)),
    );
    for (const [nth, each] of issuances.entries()) {
      const { tbsSha256, spkiSha256, certSha256, ...given } = stored[nth + 1] as NewIssuance;
      const { precertificate, notBefore, notAfter, dnsNames, oddNames } = given;
      expect(each).toMatchObject({ precertificate, notBefore, notAfter, dnsNames, oddNames });
      expect(each).toMatchObject({
        tbsSha256: hex(tbsSha256),
        spkiSha256: hex(spkiSha256),
        certSha256: hex(certSha256),
      });
      expect(Math.abs(each.discoveredAt.getTime() - Date.now())).toBeLessThan(600_000);
    }
    expect((await issuancesToMatch(reader(), '10', 2)).issuances.map(({ position }) => position)).toEqual([
      '11',
      '12',
    ]);
    expect(await issuancesToMatch(reader(), '230', 2)).toEqual({ issuances: [], isCut: false });
    const chosen = await issuancesToMatchAt(reader(), [5, 101, 150, 999]);
    expect(chosen.issuances.map(({ position }) => position)).toEqual(['5', '101', '150']);
  });

  it.each([
    ['names that compress well', () => 'long-label.'.repeat(500_000)],
    ['names that do not compress', () => randomBytes(1_500_000).toString('hex')],
  ])('are fewer if they have large %s, and at least one', async (_, text) => {
    await store(...Array.from({ length: 5 }, (_each, nth) => named([`${nth}.example.com`], [text()])));
    const positions: string[] = [];
    let pages = 0;
    for (let isCut = true; isCut; pages += 1) {
      const page = await issuancesToMatch(reader(), positions.at(-1) ?? '0', 100);
      expect(page.issuances.length).toBeGreaterThan(0);
      positions.push(...page.issuances.map(({ position }) => position));
      isCut = page.isCut;
    }
    expect(positions).toEqual(Array.from({ length: 5 }, (_each, nth) => String(nth + 1)));
    expect(pages).toBeGreaterThan(1);
  });

  it('are stored without odd names before the migration that adds the column', async () => {
    const without = ct.database.createQueryRunner();
    await without.query('ALTER TABLE ct_issuance DROP COLUMN odd_names');
    try {
      await store(named(['a.example.com']), named(['b.example.com'], ['b example.org']));
      const page = await pageOfAll(readingAlone(without.manager), { after: '0', limit: 10 });
      expect(page.issuances.map(({ dnsNames }) => dnsNames)).toEqual([['a.example.com'], ['b.example.com']]);
    } finally {
      await without.query('ALTER TABLE ct_issuance ADD COLUMN odd_names text[]');
      await without.release();
    }
  });
});

describe('the issuances that may concern a monitored domain', () => {
  const positions = async (domain: string, upTo = '1000000') =>
    (await concernedIssuances(reader(), domain, { after: '0', upTo, limit: 100 })).issuances.map(
      ({ dnsNames, oddNames }) => [...dnsNames, ...oddNames].join(' '),
    );

  beforeEach(async () => {
    await store(
      named(['www.example.com']),
      named(['a.www.example.com', 'example.net']),
      named(['*.example.com']),
      named(['w*.example.com']),
      named(['*.com']),
      named(['*.*.com']),
      named(['a.example.org,b.example.com']),
      named([], ['www.example.com,example.org']),
      named([], ['example.com/x']),
      named(['example.net'], ['example.net:1/']),
      named(['www.example.com'], [], { notAfter: new Date(Date.now() - 3 * 86_400_000) }),
      named([], ['w ww.example.com'], { notAfter: new Date(Date.now() - 3 * 86_400_000) }),
    );
  });

  it('are those at the name, with a wildcard above it, and with odd names, unless they have expired', async () => {
    expect(await positions('www.example.com')).toEqual([
      'www.example.com',
      '*.example.com',
      'w*.example.com',
      '*.*.com',
      'a.example.org,b.example.com',
      'www.example.com,example.org',
      'example.com/x',
    ]);
  });

  it('are also those below a tree', async () => {
    expect(await positions('.example.com')).toEqual([
      'www.example.com',
      'a.www.example.com example.net',
      '*.example.com',
      'w*.example.com',
      '*.com',
      '*.*.com',
      'a.example.org,b.example.com',
      'www.example.com,example.org',
      'example.com/x',
    ]);
  });

  it('end at a position, and come page by page', async () => {
    expect(await positions('.example.com', '3')).toHaveLength(3);
    const pages: string[][] = [];
    for (let after = '0'; ;) {
      const page = await concernedIssuances(reader(), '.example.com', { after, upTo: '8', limit: 3 });
      pages.push(page.issuances.map(({ position }) => position));
      if (page.issuances.length < 3 && !page.isCut) break;
      after = page.issuances.at(-1)?.position ?? '';
    }
    expect(pages).toEqual([
      ['1', '2', '3'],
      ['4', '5', '6'],
      ['7', '8'],
    ]);
  });

  it('are not found by a search for an odd name', async () => {
    const query = { domain: 'example.org', includeSubdomains: true, matchWildcards: true };
    const keys = queryKeys(query).map((key) => Buffer.from(key, 'hex'));
    expect(await pageOfKeys(reader(), keys, { after: '0', limit: 100 })).toEqual({
      issuances: [],
      isCut: false,
    });
    expect(await positions('example.org')).toHaveLength(3);
  });
});

it('places of the index are found by position, and by digest and expiry', async () => {
  expect(await indexRange(reader())).toEqual({ first: null, next: '1' });
  const far = new Date('2150-01-01T00:00:00Z');
  const stored = [
    named(['a.example.com']),
    named(['b.example.com'], [], { notAfter: far }),
    named(['c.example.com']),
  ];
  await store(...stored);
  await ct.database.query('DELETE FROM ct_issuance WHERE position = 1');
  expect(await indexRange(reader())).toEqual({ first: '2', next: '4' });
  const digests = stored.map(({ tbsSha256 }) => hex(tbsSha256));
  expect(await tbsSha256At(reader(), ['1', '2', '3', '9'])).toEqual(
    new Map([
      ['2', digests[1]],
      ['3', digests[2]],
    ]),
  );
  const sought = stored.map(({ tbsSha256, notAfter }) => ({ tbsSha256: hex(tbsSha256), notAfter }));
  const others = [
    { tbsSha256: Buffer.alloc(32), notAfter: far },
    { tbsSha256: hex(stored[2]?.tbsSha256 ?? ''), notAfter: far },
  ];
  expect(await positionsOf(reader(), [...others, ...sought])).toEqual([null, null, '1', '2', '3']);
});

it('odd entries of a log follow its cursor, as many as fit', async () => {
  const rows = await ct.database.query<{ id: number }[]>(
    `INSERT INTO ct_log (log_id, description, operator, kind, url, key_der, mmd_s, list_state, enabled)
     SELECT sha256(nth::text::bytea), '', '', 'static', '', '', 0, 'usable', true FROM generate_series(1, 2) AS nth RETURNING id`,
  );
  const [log = 0, other = 0] = rows.map(({ id }) => id);
  await ct.database.query(
    `INSERT INTO ct_odd_entry (log, entry_index, fault, leaf, leaf_bytes)
     SELECT $1::int, nth, 'no_tbs', convert_to(repeat('x', 65536), 'UTF8'), 100000 FROM generate_series(5, 304) AS nth`,
    [log],
  );
  expect(await newestOddEntries(reader())).toEqual([{ log, entryIndex: '304' }]);
  const [first] = await oddEntriesAfter(reader(), log, '-1', 1);
  expect(first).toMatchObject({ entryIndex: '5', fault: 'no_tbs', leafBytes: 100_000 });
  expect(first?.leaf).toHaveLength(65_536);
  const page = await oddEntriesAfter(reader(), log, '5', 1_000);
  expect(page.map(({ entryIndex }) => entryIndex)).toEqual(
    Array.from({ length: 128 }, (_, nth) => String(nth + 6)),
  );
  expect(await oddEntriesAfter(reader(), log, '304', 10)).toEqual([]);
  expect(await oddEntriesAfter(reader(), other, '-1', 10)).toEqual([]);
});

it('watched names have a version that changes with them only', async () => {
  const change = async (added: readonly string[], removed: readonly string[] = []) =>
    await ct.database.transaction(async (tx) => await changeWatchedNames(tx, { added, removed }));
  const names = async () => [...(await watchedNames(reader())).names].sort();
  expect(await names()).toEqual([]);
  await change(['.example.com', 'www.example.com', 'www.example.com']);
  const version = await watchedVersion(reader());
  await change(['.example.com'], ['.example.com', 'example.org']);
  expect([await names(), await watchedVersion(reader())]).toEqual([
    ['.example.com', 'www.example.com'],
    version,
  ]);
  await change(['a.example'], ['www.example.com']);
  expect(await names()).toEqual(['.example.com', 'a.example']);
  expect(await watchedVersion(reader())).not.toBe(version);
});
