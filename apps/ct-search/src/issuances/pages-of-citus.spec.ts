import { readFileSync } from 'node:fs';
import path from 'node:path';
import { indexKeys, readDataTile, readEntry, tbsSha256 } from '@certwright/ct';
import { dropExpired, ensurePartitions, mergeRuns, type NewIssuance, packBody } from '@certwright/ct-index';
import { ctDataSource, distribute } from '@certwright/ct-schema';
import { citusUrl } from '@certwright/testing';
import type { DataSource } from 'typeorm';
import { anIssuance, type ForgedIssuance, inDays } from '../testing/forged-issuance';
import { RunningSearch, type SearchResponse } from '../testing/running-search';

/**
 * Citus returns wrong rows for some statements that it accepts (citusdata/citus issue 5327), so each page is compared with what
 * the input says. All other specs of the ct database run on Citus, too, where CITUS_URL is set (CONTRIBUTING.md).
 */
const describeOnCitus = (title: string, body: () => void) =>
  citusUrl() === undefined ? describe.skip(`${title} (CITUS_URL is not set)`, body) : describe(title, body);

jest.setTimeout(600_000);

/** The same numbers in each run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Entries of a real log, whose certificates have expired. */
function realIssuances(): ForgedIssuance[] {
  const data = path.join(__dirname, '../../../../libs/ct/src/testing/data');
  const tiles = [
    ['navigli2025h2-000.tile', 0, 256],
    ['navigli2025h2-001.tile', 1, 256],
  ] as const;
  const template = anIssuance('template.example.com');
  return tiles.flatMap(([name, index, width]) => {
    const reading = readDataTile(readFileSync(path.join(data, name)), { index, width });
    if (!reading.ok) throw new Error(reading.fault);
    return reading.entries.map((entry): ForgedIssuance => {
      const issued = readEntry(entry);
      const { dnsNames, oddNames } = issued;
      const der = entry.type === 'precertificate' ? entry.precertificateDer : entry.certificateDer;
      return {
        ...template,
        ...{ tbsSha256: tbsSha256(issued), dnsNames, oddNames, nameKeys: indexKeys(dnsNames) },
        precertificate: entry.type === 'precertificate',
        notBefore: new Date(issued.notBefore ?? 0),
        notAfter: new Date(issued.notAfter ?? 0),
        body: packBody(der, 'deflate'),
        der: Buffer.from(der),
      };
    });
  });
}

interface Known {
  readonly id: string;
  readonly issuance: NewIssuance;
}

interface Form {
  readonly domain: string;
  readonly include_subdomains: boolean;
  readonly match_wildcards: boolean;
}

const matches = ({ domain, include_subdomains, match_wildcards }: Form, names: readonly string[]): boolean =>
  names.some(
    (name) =>
      name === domain ||
      (include_subdomains && name.endsWith(`.${domain}`)) ||
      (match_wildcards && name === `*.${domain.split('.').slice(1).join('.')}`),
  );

const idsOf = ({ json }: SearchResponse): string[] => (json as { id: string }[]).map(({ id }) => id);

describeOnCitus('an index on Citus', () => {
  const random = numbers(7);
  const zones = Array.from({ length: 40 }, (_, nth) => `zone${nth}.example.${nth % 2 === 0 ? 'com' : 'org'}`);
  const aName = () => {
    const zone = zones[Math.min(random(zones.length), random(zones.length))] ?? '';
    return ['', 'www.', 'a.b.', '*.', '*.www.', `h${random(30)}.`][random(6)] + zone;
  };
  const anyIssuance = () =>
    anIssuance(
      [...new Set(Array.from({ length: 1 + random(4) }, aName))],
      random(10) === 0 ? { notBefore: inDays(-90), notAfter: inDays(-2) } : {},
    );

  let search: RunningSearch;
  let index: DataSource;
  let known: Known[];
  const durations: Record<'store' | 'page' | 'merge' | 'stream', number[]> = {
    ...{ store: [], page: [], merge: [], stream: [] },
  };
  const timed = async <T>(kind: keyof typeof durations, work: () => Promise<T>): Promise<T> => {
    const begunMs = performance.now();
    const done = await work();
    durations[kind].push(performance.now() - begunMs);
    return done;
  };

  beforeAll(async () => {
    search = await RunningSearch.start();
    index = await ctDataSource({
      ...{ url: search.database.urlOf('ct-ingest'), applicationName: 'ct-ingest' },
      ...{ poolSize: 4, statementTimeoutMs: 60_000 },
    }).initialize();
    known = [];
    const all = [...realIssuances(), ...Array.from({ length: 2_400 }, anyIssuance)];
    while (all.length > 0) {
      const batch = all.splice(0, 1 + random(120));
      const ids = await timed('store', async () => await search.store(...batch));
      known.push(...batch.map((issuance, nth) => ({ id: ids[nth] ?? '', issuance })));
      for (const lane of ['small', 'large'] as const)
        if (random(4) === 0) await timed('merge', async () => await mergeRuns(index, lane, new Date()));
    }
  });
  afterAll(async () => {
    const median = (all: number[]) => all.sort((one, other) => one - other)[all.length >> 1]?.toFixed(1);
    const figures = Object.entries(durations).map(
      ([kind, all]) => `${kind}: ${all.length} times, median ${median(all)} ms`,
    );
    process.stdout.write(`${figures.join('; ')}\n`);
    await index.destroy();
    await search.stop();
  });

  const forms = (domain: string): Form[] =>
    [false, true].flatMap((include_subdomains) =>
      [false, true].map((match_wildcards) => ({ domain, include_subdomains, match_wildcards })),
    );

  /** Follows the pages of a search to their end. */
  async function pagesOf(form: Form, after = '0'): Promise<string[]> {
    const query = Object.entries(form).map(([name, value]): [string, string] => [name, String(value)]);
    const found: string[] = [];
    for (let last = after; ;) {
      const page = await timed(
        'page',
        async () =>
          await search.search([...query, ...(last === '0' ? [] : ([['after', last]] as [string, string][]))]),
      );
      expect(page.status).toBe(200);
      found.push(...idsOf(page));
      if (page.headers['link'] === undefined) return found;
      last = found.at(-1) ?? last;
    }
  }

  const expected = (form: Form, after = '0') =>
    known
      .filter(({ id, issuance }) => BigInt(id) > BigInt(after) && issuance.notAfter > new Date())
      .filter(({ issuance }) => matches(form, issuance.dnsNames))
      .map(({ id }) => id);

  async function expectSamePages(): Promise<void> {
    const names = [
      ...zones,
      ...zones.slice(0, 8).map((zone) => `www.${zone}`),
      'h1.zone1.example.org',
      'x.zone2.example.com',
    ];
    for (const form of names.flatMap(forms)) {
      const after = random(3) === 0 ? String(random(known.length)) : '0';
      expect([form, after, await pagesOf(form, after)]).toEqual([form, after, expected(form, after)]);
    }
  }

  async function stream(): Promise<string[]> {
    const key = await search.key('firehose');
    const found: string[] = [];
    for (let last = '0'; ;) {
      const page = await timed(
        'stream',
        async () => await search.get(`/v1/issuances/firehose?after=${last}`, key),
      );
      expect(page.status).toBe(200);
      found.push(...idsOf(page));
      if (page.headers['link'] === undefined) return found;
      last = found.at(-1) ?? last;
    }
  }

  it('stores each issuance once, at consecutive positions', async () => {
    expect(known.map(({ id }) => id)).toEqual(known.map((_, nth) => String(nth + 1)));
    const again = known.slice(0, 50).map(({ issuance }) => issuance as ForgedIssuance);
    expect(await search.store(...again)).toEqual(known.slice(0, 50).map(({ id }) => id));
  });

  it('has the pages of every form of search that the input has', async () => await expectSamePages());

  it('has the stream, expired issuances included, from any position and from a time', async () => {
    const ids = known.map(({ id }) => id);
    expect(await stream()).toEqual(ids);
    await search.age('1000', 2);
    const key = await search.key('firehose');
    expect(idsOf(await search.get('/v1/issuances/firehose', key))).toEqual(ids.slice(1_000, 2_000));
  });

  it('has each issuance and its certificate at its position', async () => {
    for (let nth = 0; nth < known.length; nth += 97) {
      const { id, issuance } = known[nth] as Known & { readonly issuance: ForgedIssuance };
      const { json } = await search.get(`/v1/issuances/${id}?expand=dns_names`);
      expect(json).toMatchObject({
        id,
        tbs_sha256: issuance.tbsSha256,
        dns_names: issuance.dnsNames,
      });
      expect((await search.get(`/v1/issuances/${id}.der`)).bytes.equals(issuance.der)).toBe(true);
    }
    expect((await search.get(`/v1/issuances/${known.length + 1}`)).status).toBe(404);
  });

  it('has the status of each serial number on each page', async () => {
    const revoked = new Set<string>();
    for (const { id, issuance } of known.slice(520, 720)) {
      if (random(3) > 0 || issuance.notAfter < new Date()) continue;
      const [row] = await search.database.query<{ issuer: number }>(
        `SELECT issuer FROM ct_issuance WHERE position = $1`,
        [id],
      );
      const [crl] = await search.database.query<{ id: number }>(
        `INSERT INTO ct_crl (issuer, url, host, fresh_until, checked_at) VALUES ($1, $2, 'a', now() + interval '1 day', now()) RETURNING id`,
        [row?.issuer, `http://a/${id}`],
      );
      await search.database.query(
        `INSERT INTO ct_revocation (issuer, serial, crl, revoked_at, reason) VALUES ($1, $2, $3, now() - interval '1 hour', 1)`,
        [row?.issuer, issuance.serial, crl?.id],
      );
      revoked.add(id);
    }
    const form = { domain: 'zone0.example.com', include_subdomains: 'true' };
    const { json } = await search.search({ ...form, after: '520' });
    const page = json as unknown as { id: string; revoked: boolean | null }[];
    expect(page.length).toBe(100);
    expect(revoked.size).toBeGreaterThan(20);
    for (const { id, revoked: is } of page) expect([id, is === true]).toEqual([id, revoked.has(id)]);
  });

  it('has the same pages when all runs of full partitions are merged', async () => {
    for (const lane of ['small', 'large'] as const)
      while ((await timed('merge', async () => await mergeRuns(index, lane, new Date()))) !== null);
    await expectSamePages();
  });

  it('gets new partitions, drops expired ones, and distributes nothing twice', async () => {
    await ensurePartitions(index, new Date(), 7_000, 500);
    const owner = await ctDataSource({
      ...{ url: search.database.url, applicationName: 'spec', poolSize: 1, statementTimeoutMs: 60_000 },
    }).initialize();
    expect(await distribute(owner)).toEqual({ tables: [], servers: 2 });
    // Migrations that follow change the tables on all servers.
    await owner.query('ALTER TABLE ct_issuance ADD COLUMN added integer');
    await owner.query('ALTER TABLE ct_issuance DROP COLUMN added');
    await owner.destroy();
    // The first partition has only real issuances.
    expect(await dropExpired(index, new Date())).toEqual(['ct_issuance_p500', 'ct_block_p500']);
    known = known.filter(({ id }) => Number(id) >= 500);
    const batch = Array.from({ length: 40 }, anyIssuance);
    const ids = await search.store(...batch);
    known.push(...batch.map((issuance, nth) => ({ id: ids[nth] ?? '', issuance })));
    await expectSamePages();
    await search.age(ids.at(-1), 0);
    expect(await stream()).toEqual(known.map(({ id }) => id));
  });
});
