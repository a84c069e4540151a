import { anIssuance, CtDatabaseFixture, keyOf, keysOf } from '@certwright/ct-testing';
import { KeyFilter, KeyFilterWriter, keyNumber } from '@certwright/posting-index';
import { pageOfKeys } from '../issuance-pages';
import { readingAlone } from '../page-reader';
import { IssuerIds, storeIssuances } from '../store-issuances';
import { mergeRuns } from './merge-runs';
import { RunFilters } from './run-filters';

jest.setTimeout(60_000);

let ct: CtDatabaseFixture;
beforeAll(async () => (ct = await CtDatabaseFixture.open()));
afterAll(async () => await ct.close());
beforeEach(async () => {
  await ct.database.query('TRUNCATE ct_issuance, ct_known, ct_run, ct_block RESTART IDENTITY');
  await ct.database.query('UPDATE ct_sequence SET next = 1');
});

/** A commit for each list of names, merged to one run. */
async function storeMerged(...commits: readonly (readonly string[])[]): Promise<void> {
  const ids = new IssuerIds();
  for (const names of commits) {
    const issuances = names.map((name) => anIssuance('example.com', { nameKeys: keysOf(name) }));
    await ids.ensure(
      ct.database.manager,
      issuances.map(({ issuer }) => issuer),
    );
    const crls = issuances.map(() => null);
    await ct.database.transaction(async (tx) => await storeIssuances(tx, ids, issuances, crls));
  }
  expect(await mergeRuns(ct.database, 'small', new Date())).toMatchObject({ runs: commits.length });
}

const some = ['one', 'two', 'three', 'four'].map((name) => [name]);
const number = (name: string) => keyNumber(keyOf(name));

const positionsOf = async (name: string, reader = readingAlone(ct.database.manager)) => {
  const { issuances } = await pageOfKeys(reader, [keyOf(name)], { after: '0', limit: 100 });
  return issuances.map(({ position }) => position);
};

describe('the filter of a run', () => {
  it.each([1, 64, 5_000, 300_000])('has each of %d keys, and few others', (count) => {
    const keys = Array.from({ length: count }, (_, nth) => number(`${nth}`)).sort(
      (one, other) => one - other,
    );
    // Twice as many postings as keys: the second one of a key is not counted.
    const writer = new KeyFilterWriter(2 * count);
    for (const key of keys) for (let posting = 0; posting < 2; posting += 1) writer.add(key);
    const bits = writer.end();
    const filter = new KeyFilter(bits ?? Buffer.alloc(0));
    expect(keys.filter((key) => !filter.mayHave(key))).toEqual([]);
    const others = Array.from({ length: 10_000 }, (_, nth) => number(`other ${nth}`));
    expect(others.filter((key) => filter.mayHave(key)).length / others.length).toBeLessThan(0.065);
    expect(bits?.length).toBeLessThanOrEqual(Math.max(64, 2 * count));
  });

  it('does not exist for more keys than the largest one is for', () => {
    const writer = new KeyFilterWriter(2 ** 40);
    for (let key = 0; key < 2 ** 23; key += 1) writer.add(key);
    expect(writer.end()).toHaveLength(2 ** 23);
    writer.add(2 ** 23);
    expect(writer.end()).toBeNull();
  });
});

describe('lookups', () => {
  it('pass over the runs that do not have the key, once some lookups have been made', async () => {
    await storeMerged(...some);
    const reader = readingAlone(ct.database.manager);
    const { filters } = reader;
    await filters.renew(reader);
    expect([await positionsOf('three', reader), filters.without(number('other'))]).toEqual([['3'], 0]);
    await filters.renew(reader);
    expect([filters.without(number('other')), filters.without(number('three'))]).toEqual([1, 0]);
    const [{ id }] = await ct.database.query('SELECT filter_id AS id FROM ct_run');
    expect(filters.ids).toEqual([id]);
    expect(await positionsOf('three', reader)).toEqual(['3']);
    await ct.database.query('UPDATE ct_run SET filter_id = 0');
    await filters.renew(reader);
    expect(filters.ids).toEqual([]);
  });

  it('believe the filters', async () => {
    await storeMerged(...some);
    const reader = readingAlone(ct.database.manager);
    for (let round = 0; round < 2; round += 1) {
      await positionsOf('three', reader);
      await reader.filters.renew(reader);
    }
    jest.spyOn(reader.filters, 'without').mockReturnValue(1);
    expect(await positionsOf('three', reader)).toEqual([]);
    expect(await positionsOf('three')).toEqual(['3']);
  });

  it('use no filter of a run whose transaction was lost in a fail-over, although its number is used again', async () => {
    await storeMerged(...some);
    const reader = readingAlone(ct.database.manager);
    for (let round = 0; round < 2; round += 1) {
      await reader.filters.renew(reader);
      expect(await positionsOf('other', reader)).toEqual([]);
    }
    const [lost] = await ct.database.query('SELECT id FROM ct_run');
    await ct.database.query('TRUNCATE ct_issuance, ct_known, ct_run, ct_block RESTART IDENTITY');
    await ct.database.query('UPDATE ct_sequence SET next = 1');
    await storeMerged(...some.map(() => ['other']));
    expect(await ct.database.query('SELECT id FROM ct_run')).toEqual([lost]);
    expect(await positionsOf('other', reader)).toEqual(['1', '2', '3', '4']);
  });

  it('find everything before the migration that adds filters', async () => {
    await ct.database.query('ALTER TABLE ct_run DROP COLUMN filter, DROP COLUMN filter_id');
    await storeMerged(...some);
    const reader = readingAlone(ct.database.manager);
    for (let round = 0; round < 2; round += 1) {
      await reader.filters.renew(reader);
      expect(await positionsOf('two', reader)).toEqual(['2']);
    }
    await ct.database.query('ALTER TABLE ct_run ADD COLUMN filter_id bigint, ADD COLUMN filter bytea');
  });
});

describe('loading', () => {
  /** Filters of zeros, which no key passes; by their ids. */
  const stored = (...bytes: readonly number[]) => {
    const sizes = new Map(bytes.map((each, nth) => [String(nth), each]));
    let pieces = 0;
    const query = async (_text: string, values?: unknown[]) => {
      if (values === undefined)
        return await Promise.resolve([...sizes].map(([id, size]) => ({ id, bytes: size })));
      pieces += 1;
      const [id, from, length] = values as [string, number, number];
      const size = sizes.get(id);
      return size === undefined
        ? []
        : [{ piece: Buffer.alloc(Math.min(length, size - from + 1)).toString('base64') }];
    };
    return { reader: { query } as Parameters<RunFilters['renew']>[0], sizes, pieces: () => pieces };
  };
  const mebibyte = 2 ** 20;
  const look = (filters: RunFilters, lookups: number) => {
    for (let lookup = 0; lookup < lookups; lookup += 1) filters.without(lookup);
  };

  it('of a filter follows as many lookups as take as long', async () => {
    const { reader, pieces } = stored(mebibyte);
    const filters = new RunFilters();
    look(filters, 5_000);
    await filters.renew(reader);
    look(filters, 1_023);
    await filters.renew(reader);
    expect([pieces(), filters.without(1)]).toEqual([0, 0]);
    await filters.renew(reader);
    expect([pieces(), filters.without(1)]).toEqual([16, 1]);
    await filters.renew(reader);
    expect(pieces()).toBe(16);
  });

  it('is limited to 16 MiB, of the smallest filters', async () => {
    const { reader, sizes } = stored(mebibyte, 8 * mebibyte, 8 * mebibyte);
    const filters = new RunFilters();
    await filters.renew(reader);
    look(filters, 8 * 1_024);
    await filters.renew(reader);
    expect([filters.ids, filters.without(1)]).toEqual([['0', '1'], 3]);
    sizes.delete('0');
    await filters.renew(reader);
    look(filters, 8 * 1_024);
    await filters.renew(reader);
    expect([filters.ids, filters.without(1)]).toEqual([['1', '2'], 3]);
  });

  it('is limited to as many filters as an integer has bits', async () => {
    const { reader } = stored(...Array.from({ length: 40 }, () => 64));
    const filters = new RunFilters();
    await filters.renew(reader);
    look(filters, 1);
    await filters.renew(reader);
    expect([filters.ids.length, filters.without(1)]).toEqual([31, 2 ** 31 - 1]);
  });

  it('is due every second while there are lookups', async () => {
    let nowMs = 0;
    const filters = new RunFilters(() => nowMs);
    const { reader } = stored();
    expect(filters.isDue).toBe(false);
    filters.without(1);
    expect(filters.isDue).toBe(true);
    const renewing = filters.renew(reader);
    filters.without(1);
    nowMs = 5_000;
    expect(filters.isDue).toBe(false);
    await renewing;
    nowMs = 5_999;
    expect(filters.isDue).toBe(false);
    nowMs = 6_000;
    expect(filters.isDue).toBe(true);
  });
});
