import { randomBytes } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { EntityManager } from 'typeorm';
import { anIssuance, CtDatabaseFixture, keyOf, keysOf } from '@certwright/ct-testing';
import { issuanceBodies } from './issuance-bodies';
import { issuanceAt, pageOfAll, pageOfKeys, type StoredIssuance } from './issuance-pages';
import { readingAlone } from './page-reader';
import { dropExpired, ensurePartitions } from './partitions';
import { CrlIds } from './revocations/crl-ids';
import { crlsOf, IssuerIds, storeIssuances } from './store-issuances';
import { type NewIssuance, noEnd } from './new-issuance';
import type { MergeLane } from './runs/choose-merge';
import { mergeRuns } from './runs/merge-runs';

jest.setTimeout(60_000);

let ct: CtDatabaseFixture;
let ids: IssuerIds;
beforeAll(async () => (ct = await CtDatabaseFixture.open()));
afterAll(async () => await ct.close());
beforeEach(async () => {
  await ct.database.query('TRUNCATE ct_issuance, ct_known, ct_run, ct_block');
  await ct.database.query('UPDATE ct_sequence SET next = 1');
  ids = new IssuerIds();
});

const store = async (issuances: readonly NewIssuance[], withIds = ids) => {
  await withIds.ensure(
    ct.database.manager,
    issuances.map(({ issuer }) => issuer),
  );
  const crls = await crlsOf(ct.database.manager, new CrlIds(), withIds, issuances);
  return await ct.database.transaction(async (tx) => await storeIssuances(tx, withIds, issuances, crls));
};
/** Reads as on a distributed index. */
const sharded = async () => await Promise.resolve(true);

const first = { after: '0', limit: 100 };
const named = async (name: string, page: Partial<typeof first> = {}) =>
  (await pageOfKeys(readingAlone(ct.database.manager), [keyOf(name)], { ...first, ...page })).issuances;

const bodiesOf = async (page: readonly (StoredIssuance | undefined)[]) => {
  const positions = page.flatMap((each) => (each === undefined ? [] : [each.position]));
  return (await issuanceBodies(ct.database.manager, positions, 1e9)).map(({ body }) => body);
};

/** What is read of an issuance. */
const valuesOf = (read: StoredIssuance | null | undefined) => {
  if (!read) throw new Error('there is none');
  const { position, digests, precertificate, hasSerial, notBeforeMs, notAfterMs, dnsNames, revocation } =
    read;
  const [tbsSha256, certSha256, spkiSha256] = digests.toString('hex').match(/.{64}/g) ?? [];
  const shown = { position, tbsSha256, certSha256, spkiSha256, precertificate, hasSerial, dnsNames };
  return { ...shown, revocation, notBefore: new Date(notBeforeMs), notAfter: new Date(notAfterMs) };
};

/** The same of what was stored. */
const givenValues = (given: NewIssuance) => {
  const { tbsSha256, certSha256, spkiSha256, precertificate, notBefore, notAfter, dnsNames } = given;
  const shown = { tbsSha256, certSha256, spkiSha256, precertificate, notBefore, notAfter, dnsNames };
  return { ...shown, hasSerial: given.serial.length > 0, revocation: null };
};

describe('an issuance', () => {
  it('is found under its keys, with all of its data', async () => {
    const issuance = anIssuance('a.example.com', {
      nameKeys: keysOf('a.example.com', 'example.com'),
    });
    expect(await store([issuance])).toEqual({ discovered: 1, completed: 0 });
    for (const name of ['a.example.com', 'example.com']) {
      expect((await named(name)).map(valuesOf)).toEqual([{ position: '1', ...givenValues(issuance) }]);
    }
    expect(await named('b.example.com')).toEqual([]);
  });

  it.each([
    [
      'no names, no serial, a year that was and one that never comes',
      {
        ...{ dnsNames: [], serial: Buffer.alloc(0), body: Buffer.alloc(0) },
        ...{ notBefore: new Date('0001-01-01T00:00:00Z'), notAfter: noEnd },
      },
    ],
    [
      'hundreds of long names and a body of many pages',
      {
        ...{
          dnsNames: Array.from({ length: 300 }, (_, nth) => `${nth}.büro\u{1f980}"\\,{}.${'x'.repeat(200)}`),
        },
        ...{
          serial: Buffer.alloc(200, 255),
          body: randomBytes(40_000),
          notBefore: new Date('1969-12-31T23:59:59Z'),
        },
      },
    ],
  ])('is stored unchanged: %s', async (_, odd) => {
    const odds = Array.from({ length: 3 }, () => anIssuance('odd', odd));
    await store([...odds, anIssuance('even')]);
    const page = await named('odd');
    expect(page.map(valuesOf)).toEqual(
      odds.map((each, nth) => ({ position: String(nth + 1), ...givenValues(each) })),
    );
    expect(await bodiesOf(page)).toEqual(odds.map(({ body }) => body));
    const serials = await ct.database.query<{ serial: Buffer }[]>(
      `SELECT serial FROM ct_issuance ORDER BY position LIMIT 3`,
    );
    expect(serials).toEqual(odds.map(({ serial }) => ({ serial })));
    // Some known, some not, the known ones without additional data.
    const [first, ...others] = odds;
    const again = [...others, anIssuance('odd', odd), ...(first === undefined ? [] : [first])];
    expect(await store(again)).toEqual({ discovered: 1, completed: 0 });
    expect((await named('odd')).map(({ position }) => position)).toEqual(['1', '2', '3', '5']);
  });

  it('is stored once when it is seen again, also by another process', async () => {
    const issuance = anIssuance('example.com');
    await store([issuance]);
    expect(await store([issuance], new IssuerIds())).toEqual({ discovered: 0, completed: 0 });
    expect(await named('example.com')).toHaveLength(1);
  });

  it('known by its precertificate gets its certificate, and keeps its position', async () => {
    const precertificate = anIssuance('example.com');
    await store([precertificate, anIssuance('example.com')]);
    const [before] = (await named('example.com')).map(valuesOf);
    const ofItsOwn = { precertificate: false, certSha256: '09'.repeat(32), body: Buffer.from('its body') };
    expect(await store([{ ...precertificate, ...ofItsOwn }])).toEqual({ discovered: 0, completed: 1 });
    const [after, ...others] = await named('example.com');
    expect(valuesOf(after)).toEqual({ ...before, precertificate: false, certSha256: '09'.repeat(32) });
    expect(await bodiesOf([after, ...others])).toContainEqual(ofItsOwn.body);
    // The precertificate does not replace the certificate.
    expect(await store([precertificate])).toEqual({ discovered: 0, completed: 0 });
    const stored = await issuanceAt(readingAlone(ct.database.manager), String(before?.position));
    expect(valuesOf(stored)).toEqual(valuesOf(after));
  });

  it('gives its issuer the certificate that earlier ones lacked, in the same process', async () => {
    const spkiSha256 = randomBytes(32);
    const lacking = { spkiSha256, nameDer: Buffer.from('3000', 'hex'), certificateDer: null, spkiDer: null };
    const complete = { ...lacking, certificateDer: randomBytes(80), spkiDer: randomBytes(40) };
    const stored = async () =>
      await ct.database.query(
        `SELECT certificate_der AS "certificateDer", spki_der AS "spkiDer" FROM ct_issuer WHERE spki_sha256 = $1`,
        [spkiSha256],
      );
    await store([anIssuance('example.com', { issuer: lacking })]);
    expect(await stored()).toEqual([{ certificateDer: null, spkiDer: null }]);
    await store([
      anIssuance('example.com', { issuer: complete }),
      anIssuance('example.com', { issuer: lacking }),
    ]);
    const { certificateDer, spkiDer } = complete;
    expect(await stored()).toEqual([{ certificateDer, spkiDer }]);
  });

  it('is on no page of a name once it has expired', async () => {
    await store([anIssuance('example.com', { notAfter: new Date(Date.now() - 1_000) })]);
    expect(await named('example.com')).toEqual([]);
    expect((await pageOfAll(readingAlone(ct.database.manager), first)).issuances).toHaveLength(1);
  });
});

describe('pages', () => {
  it('continue after the last position, across partitions, and merge several keys without duplicates', async () => {
    for (let round = 0; round < 5; round += 1) {
      const both = keysOf('one', 'other');
      await store(
        Array.from({ length: 60 }, (_, at) =>
          anIssuance('one', { nameKeys: at % 3 === 0 ? both : both.slice(at % 2, (at % 2) + 1) }),
        ),
      );
    }
    const seen: string[] = [];
    for (;;) {
      const { issuances: page } = await pageOfKeys(
        readingAlone(ct.database.manager),
        [keyOf('one'), keyOf('other')],
        {
          after: seen.at(-1) ?? '0',
          limit: 70,
        },
      );
      if (page.length === 0) break;
      seen.push(...page.map(({ position }) => position));
    }
    expect(seen).toHaveLength(300);
    expect(seen).toEqual([...seen].sort((one, other) => Number(one) - Number(other)));
    expect(new Set(seen).size).toBe(300);
  });
});

it('a page with too many names is truncated after at least one issuance', async () => {
  const dnsNames = Array.from({ length: 12_000 }, () => `${randomBytes(30).toString('hex')}.example.com`);
  await store([1, 2, 3].map(() => anIssuance('long', { dnsNames })));
  const read = [
    async (after: string) =>
      await pageOfKeys(readingAlone(ct.database.manager), [keyOf('long')], { ...first, after }),
    async (after: string) => await pageOfAll(readingAlone(ct.database.manager), { ...first, after }),
  ];
  for (const page of read) {
    const pages = [await page('0'), await page('2'), await page('3')];
    expect(pages.map(({ issuances, isCut }) => [issuances.map(({ position }) => position), isCut])).toEqual([
      [['1', '2'], true],
      [['3'], false],
      [[], false],
    ]);
    expect(pages[0]?.issuances[0]?.dnsNames).toEqual(dnsNames);
  }
});

it('the database sends no more of a page with too many names than its part that fits', async () => {
  const dnsNames = Array.from({ length: 100 }, () => `${randomBytes(30).toString('hex')}.example.com`);
  await store(Array.from({ length: 400 }, () => anIssuance('many', { dnsNames })));
  let sent = 0;
  const counting: Pick<EntityManager, 'query'> = {
    query: async <T>(text: string, values?: unknown[]) => {
      const rows = await ct.database.manager.query<T>(text, values);
      sent += JSON.stringify(rows).length;
      return rows;
    },
  };
  const { issuances, isCut } = await pageOfAll(readingAlone(counting), { after: '0', limit: 1_000 });
  expect(isCut).toBe(true);
  expect(issuances[0]?.dnsNames).toEqual(dnsNames);
  // A megabyte of names, in base64 and with the other members.
  expect(sent).toBeLessThan(1.5 * 1_048_576);
});

it('a page with highly compressed names is truncated, too', async () => {
  const tail = 'x'.repeat(60);
  const dnsNames = Array.from({ length: 30_000 }, (_, nth) => `${nth}.${tail}.${tail}.${tail}.com`);
  await store([1, 2].map(() => anIssuance('long', { dnsNames })));
  const [{ stored }] = await ct.database.query(
    'SELECT max(pg_column_size(dns_names)) AS stored FROM ct_issuance',
  );
  expect(stored).toBeLessThan(400_000);
  const { issuances, isCut } = await pageOfKeys(readingAlone(ct.database.manager), [keyOf('long')], first);
  expect([issuances.map(({ position }) => position), isCut]).toEqual([['1'], true]);
  expect(issuances[0]?.dnsNames).toEqual(dnsNames);
});

describe('eight writers, four pollers, and two mergers that run continuously', () => {
  it('each poller sees each issuance exactly once', async () => {
    const perWriter = 10;
    const perBatch = 20;
    const wanted = 8 * perWriter * perBatch;
    const names = ['one', 'other'];
    const poll = async (_: unknown, nth: number) => {
      const reader = readingAlone(ct.database.manager, ...(nth % 2 === 1 ? [sharded] : []));
      const seen: string[] = [];
      while (seen.length < wanted) {
        const after = seen.at(-1) ?? '0';
        const page = await pageOfKeys(reader, names.map(keyOf), { ...first, after });
        seen.push(...page.issuances.map(({ position }) => position));
      }
      return seen;
    };
    const write = async () => {
      const own = new IssuerIds();
      for (let batch = 0; batch < perWriter; batch += 1)
        await store(
          Array.from({ length: perBatch }, (_, nth) =>
            anIssuance('example.com', { nameKeys: keysOf(names[nth % 2] ?? '') }),
          ),
          own,
        );
    };
    let merges = 0;
    let isWriting = true;
    const merge = async (lane: MergeLane) => {
      while (isWriting) {
        if ((await mergeRuns(ct.database, lane, new Date())) !== null) merges += 1;
      }
    };
    const merging = Promise.all([merge('small'), merge('large')]);
    const pollers = Array.from({ length: 4 }, poll);
    await Promise.all(Array.from({ length: 8 }, write));
    for (const seen of await Promise.all(pollers)) {
      expect(new Set(seen).size).toBe(wanted);
      expect(seen).toHaveLength(wanted);
    }
    isWriting = false;
    await merging;
    expect(merges).toBeGreaterThan(5);
  });
});

it('keys that are looked up separately return nothing after the point where one of them is incomplete', async () => {
  await store([anIssuance('one'), anIssuance('other')]);
  let statements = 0;
  const between = async () => {
    statements += 1;
    if (statements === 3) await store([anIssuance('one'), anIssuance('other')]);
  };
  let last: Promise<unknown> = Promise.resolve();
  const query = async (sql: string, values?: unknown[]) => {
    const result = last.then(async () => {
      await between();
      return await ct.database.query<unknown>(sql, values);
    });
    last = result;
    return await result;
  };
  const reader = readingAlone({ query } as EntityManager, sharded);
  // The end, then one, then what is new, then the other.
  const { issuances } = await pageOfKeys(reader, [keyOf('one'), keyOf('other')], first);
  expect(issuances.map(({ position }) => position)).toEqual(['1', '2']);
  const next = await pageOfKeys(reader, [keyOf('one'), keyOf('other')], { ...first, after: '2' });
  expect(next.issuances.map(({ position }) => position)).toEqual(['3', '4']);
});

describe('partitions', () => {
  it('are created in advance, once, by any number of processes', async () => {
    await Promise.all(
      Array.from({ length: 4 }, async () => await ensurePartitions(ct.database, new Date(), 4_000, 100)),
    );
    const rows: { n: number }[] = await ct.database.query(
      `SELECT count(*)::int AS n FROM pg_class WHERE relname ~ '^ct_issuance_p\\d+$' AND relkind = 'r'`,
    );
    expect(rows).toEqual([{ n: 41 }]);
  });

  it('are dropped as a whole once every certificate in them has expired', async () => {
    const soon = new Date(Date.now() + 60_000);
    await store(Array.from({ length: 99 }, () => anIssuance('old', { notAfter: soon })));
    await store(Array.from({ length: 120 }, () => anIssuance('new')));
    const later = new Date(soon.getTime() + 1_000);
    while ((await mergeRuns(ct.database, 'large', new Date())) !== null);
    const keys = ['old', 'new'].map(keyOf);
    const page = { ...first, limit: 300 };
    // One reader has cached it; another one finds it while it is dropped.
    const before = readingAlone(ct.database.manager);
    expect((await pageOfKeys(before, keys, page)).issuances).toHaveLength(219);
    expect(before.settled.behind(0)).toBe(100);
    const dropped: string[] = [];
    const query = async (sql: string, values?: unknown[]) => {
      const result = await ct.database.query<unknown>(sql, values);
      if (sql.includes('ct_block_p100')) dropped.push(...(await dropExpired(ct.database, later)));
      return result;
    };
    const meanwhile = readingAlone({ query } as EntityManager);
    expect((await pageOfKeys(meanwhile, keys, page)).issuances).toHaveLength(120);
    expect(dropped).toEqual(['ct_issuance_p100', 'ct_block_p100']);
    expect((await pageOfKeys(before, keys, page)).issuances).toHaveLength(120);
    expect(before.settled.behind(0)).not.toBe(100);
    expect(await dropExpired(ct.database, later)).toEqual([]);
    expect(await named('new', { limit: 200 })).toHaveLength(120);
  });
});

/** Bytes in use after a garbage collection. */
function heap(): number {
  setFlagsFromString('--expose_gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}

it.each<[string, number | undefined]>([
  ['stored', 1],
  ['over the limit of an issuer', undefined],
])('ids of lists take little memory, however long their URLs are: %s', async (_, id) => {
  const database = { query: async () => await Promise.resolve(id === undefined ? [] : [{ id }]) } as never;
  const crlIds = new CrlIds();
  const before = heap();
  for (let batch = 0; batch < 20; batch += 1) {
    const url = (nth: number) => `http://${batch}.example.com/${nth}/`.padEnd(1_024, 'x');
    const named = Array.from({ length: 2_000 }, (__, nth) => ({ issuer: 1, url: url(nth), notAfter: noEnd }));
    await crlIds.ensure(database, named);
  }
  expect(heap() - before).toBeLessThan(15_000_000);
});

describe('ids of issuers', () => {
  const { issuer } = anIssuance('example.com');

  it('take no memory for issuers that are not kept elsewhere, however many a log has', async () => {
    const database = { query: async () => await Promise.resolve([{ id: 1 }]) } as never;
    const before = heap();
    for (let batch = 0; batch < 20; batch += 1) {
      const nameDer = (nth: number) => Buffer.alloc(100_000, `${batch} ${nth} `);
      await ids.ensure(
        database,
        Array.from({ length: 50 }, (_, nth) => ({ ...issuer, nameDer: nameDer(nth) })),
      );
    }
    expect(heap() - before).toBeLessThan(10_000_000);
  });

  it('are those of the row, and one of them completes it', async () => {
    const spkiSha256 = Buffer.alloc(32, 77);
    const complete = { certificateDer: Buffer.from('der'), spkiDer: Buffer.from('spki') };
    const issuers = [{ ...issuer, spkiSha256 }, { ...issuer, spkiSha256, ...complete }, issuer];
    await ids.ensure(ct.database.manager, [issuer]);
    await ids.ensure(ct.database.manager, issuers);
    const [one, other, another] = issuers.map((each) => ids.of(each));
    expect(one).toBe(other);
    expect(one).not.toBe(another);
    expect(
      await ct.database.query(
        `SELECT certificate_der AS "certificateDer", spki_der AS "spkiDer" FROM ct_issuer WHERE id = $1`,
        [one],
      ),
    ).toEqual([complete]);
  });
});
