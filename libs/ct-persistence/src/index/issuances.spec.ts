import { anIssuance, CtDatabaseFixture, keyOf } from '../testing/ct-database';
import { issuanceAt, pageOfAll, pageOfKeys } from './issuance-pages';
import { dropExpired, ensurePartitions } from './partitions';
import { IssuerIds, storeIssuances } from './store-issuances';
import type { NewIssuance } from './new-issuance';

jest.setTimeout(60_000);

let ct: CtDatabaseFixture;
let ids: IssuerIds;
beforeEach(async () => {
  ct = await CtDatabaseFixture.open();
  ids = new IssuerIds();
});
afterEach(async () => await ct.close());

const store = async (issuances: readonly NewIssuance[], withIds = ids) => {
  await withIds.ensure(
    ct.database.manager,
    issuances.map(({ issuer }) => issuer),
  );
  return await ct.database.transaction(async (tx) => await storeIssuances(tx, withIds, issuances));
};
const first = { after: '0', limit: 100, withBody: true };
const named = async (name: string, page: Partial<typeof first> = {}) =>
  await pageOfKeys(ct.database.manager, [keyOf(name)], { ...first, ...page });

describe('an issuance', () => {
  it('is found under its keys, with everything that was read', async () => {
    const issuance = anIssuance('a.example.com', {
      nameKeys: [keyOf('a.example.com'), keyOf('example.com')],
    });
    expect(await store([issuance])).toEqual({ discovered: 1, completed: 0 });
    for (const name of ['a.example.com', 'example.com']) {
      const [found] = await named(name);
      const { nameKeys: _, issuer: __, ...kept } = issuance;
      expect(found).toMatchObject(kept);
    }
    expect(await named('b.example.com')).toEqual([]);
  });

  it('that is seen again is not stored again, whoever sees it', async () => {
    const issuance = anIssuance('example.com');
    await store([issuance]);
    expect(await store([issuance], new IssuerIds())).toEqual({ discovered: 0, completed: 0 });
    expect(await named('example.com')).toHaveLength(1);
  });

  it('known by its precertificate gets its certificate, and keeps its position', async () => {
    const precertificate = anIssuance('example.com');
    await store([precertificate, anIssuance('example.com')]);
    const [before] = await named('example.com');
    const certificate = { ...precertificate, precertificate: false, certSha256: Buffer.alloc(32, 9) };
    expect(await store([certificate])).toEqual({ discovered: 0, completed: 1 });
    const [after] = await named('example.com');
    expect(after).toEqual({ ...before, precertificate: false, certSha256: Buffer.alloc(32, 9) });
    // The precertificate takes nothing away again.
    expect(await store([precertificate])).toEqual({ discovered: 0, completed: 0 });
    expect(await issuanceAt(ct.database.manager, String(before?.position))).toEqual(after);
  });

  it('that has expired is on no page of a name', async () => {
    await store([anIssuance('example.com', { notAfter: new Date(Date.now() - 1_000) })]);
    expect(await named('example.com')).toEqual([]);
    expect(await pageOfAll(ct.database.manager, first)).toHaveLength(1);
  });
});

describe('pages', () => {
  it('go on behind the last position, over the borders of partitions, and merge several keys without duplicates', async () => {
    for (let round = 0; round < 5; round += 1) {
      const both = [keyOf('one'), keyOf('other')];
      await store(
        Array.from({ length: 60 }, (_, at) =>
          anIssuance('one', { nameKeys: at % 3 === 0 ? both : [both[at % 2] ?? keyOf('one')] }),
        ),
      );
    }
    const seen: string[] = [];
    for (;;) {
      const page = await pageOfKeys(ct.database.manager, [keyOf('one'), keyOf('other')], {
        after: seen.at(-1) ?? '0',
        limit: 70,
        withBody: false,
      });
      if (page.length === 0) break;
      expect(page[0]?.body).toBeNull();
      seen.push(...page.map(({ position }) => position));
    }
    expect(seen).toHaveLength(300);
    expect(seen).toEqual([...seen].sort((one, other) => Number(one) - Number(other)));
    expect(new Set(seen).size).toBe(300);
  });
});

describe('eight writers beside four pollers', () => {
  it('each poller sees each issuance exactly once', async () => {
    const perWriter = 10;
    const perBatch = 20;
    const wanted = 8 * perWriter * perBatch;
    const poll = async () => {
      const seen: string[] = [];
      while (seen.length < wanted) {
        const page = await named('example.com', { after: seen.at(-1) ?? '0', withBody: false });
        seen.push(...page.map(({ position }) => position));
      }
      return seen;
    };
    const write = async () => {
      const own = new IssuerIds();
      for (let batch = 0; batch < perWriter; batch += 1)
        await store(
          Array.from({ length: perBatch }, () => anIssuance('example.com')),
          own,
        );
    };
    const pollers = Array.from({ length: 4 }, poll);
    await Promise.all(Array.from({ length: 8 }, write));
    for (const seen of await Promise.all(pollers)) {
      expect(new Set(seen).size).toBe(wanted);
      expect(seen).toHaveLength(wanted);
    }
  });
});

describe('partitions', () => {
  it('are made before they are needed, once, by any number of processes', async () => {
    await Promise.all(
      Array.from({ length: 4 }, async () => await ensurePartitions(ct.database, new Date(), 4_000, 100)),
    );
    const rows: { n: number }[] = await ct.database.query(
      `SELECT count(*)::int AS n FROM pg_class WHERE relname ~ '^ct_issuance_p\\d+$' AND relkind = 'r'`,
    );
    expect(rows).toEqual([{ n: 41 }]);
  });

  it('leave as a whole once every certificate in them has expired', async () => {
    const soon = new Date(Date.now() + 60_000);
    await store(Array.from({ length: 99 }, () => anIssuance('old', { notAfter: soon })));
    await store(Array.from({ length: 120 }, () => anIssuance('new')));
    const later = new Date(soon.getTime() + 1_000);
    expect(await dropExpired(ct.database, later)).toEqual(['ct_issuance_p100', 'ct_name_p100']);
    expect(await dropExpired(ct.database, later)).toEqual([]);
    expect(await named('new', { limit: 200 })).toHaveLength(120);
  });
});
