import { anIssuance, inDays } from '../testing/forged-issuance';
import { isOnCitus, type SearchResponse, RunningSearch } from '../testing/running-search';

jest.setTimeout(60_000);

let search: RunningSearch;
beforeAll(async () => {
  search = await RunningSearch.start();
});
afterAll(async () => await search.stop());

const idsOf = ({ json }: SearchResponse): string[] => (json as { id: string }[]).map(({ id }) => id);
describe('GET /issuances', () => {
  it('lists the unexpired issuances of a name in the order of discovery, with base fields only', async () => {
    const [first, second] = [
      anIssuance('base.example.com'),
      anIssuance(['other.example.com', 'base.example.com']),
    ];
    const expired = anIssuance('base.example.com', { notAfter: inDays(-1), notBefore: inDays(-90) });
    const [id, , otherId] = await search.store(first, expired, second);
    const response = await search.search({ domain: 'base.example.com' });
    expect(response.status).toBe(200);
    expect(response.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'access-control-allow-origin': '*',
    });
    expect(response.headers).not.toHaveProperty('link');
    expect(response.headers).not.toHaveProperty('retry-after');
    expect(idsOf(response)).toEqual([id, otherId]);
    expect(response.json[0]).toEqual({
      id,
      tbs_sha256: first.tbsSha256,
      cert_sha256: first.certSha256,
      pubkey_sha256: first.spkiSha256,
      not_before: first.notBefore.toISOString().replace('.000', ''),
      not_after: first.notAfter.toISOString().replace('.000', ''),
      revoked: null,
    });
  });

  it('includes subdomains and wildcards on request', async () => {
    const stored = [
      'm.example.com',
      '*.m.example.com',
      'a.m.example.com',
      'b.a.m.example.com',
      '*.a.m.example.com',
      'n.example.com',
      'xm.example.com',
    ];
    const ids = await search.store(...stored.map((name) => anIssuance(name)));
    const found = async (query: Record<string, string>) => {
      const all = idsOf(await search.search(query));
      return all.map((id) => stored[ids.indexOf(id)]);
    };
    expect(await found({ domain: 'm.example.com' })).toEqual(['m.example.com']);
    expect(await found({ domain: 'm.example.com', include_subdomains: 'true' })).toEqual(stored.slice(0, 5));
    expect(await found({ domain: 'a.m.example.com', match_wildcards: '1' })).toEqual([
      '*.m.example.com',
      'a.m.example.com',
    ]);
    expect(
      await found({ domain: 'a.m.example.com', match_wildcards: 'true', include_subdomains: '1' }),
    ).toEqual(stored.slice(1, 5));
    expect(
      await found({ domain: 'a.m.example.com', match_wildcards: '0', include_subdomains: 'false' }),
    ).toEqual(['a.m.example.com']);
  });

  it.each([
    ['capitals', 'CASE.Example.COM'],
    ['a trailing dot', 'case.example.com.'],
  ])('reads the domain with %s', async (_, domain) => {
    await search.store(anIssuance('case.example.com'));
    expect((await search.search({ domain })).json).not.toEqual([]);
  });

  it('finds U-labels and names that only old certificates have', async () => {
    const stored = [
      'xn--bcher-kva.example.com',
      '_x.xn--bcher-kva.example.com',
      'with_underscore.example.com',
      '-hyphen.example.com',
      'ab--cd.example.com',
    ];
    const ids = await search.store(...stored.map((name) => anIssuance(name)));
    const domains = ['Bücher.example.com', '_X.bücher.example.com', ...stored.slice(2)];
    for (const [nth, domain] of domains.entries())
      expect(idsOf(await search.search({ domain }))).toEqual([ids[nth]]);
  });

  it('finds certificates below a domain by names with odd labels, and shows these names', async () => {
    const stored = [
      'foo bar.odd.example.com',
      '*.?.odd.example.com',
      'a..odd.example.com',
      'user@mail.odd.example.com',
      `${'l'.repeat(70)}.odd.example.com`,
      `${'d.'.repeat(130)}odd.example.com`,
      '*odd.example.com',
    ];
    const control = anIssuance('a\x07b.odd.example.com');
    const other = anIssuance('foo bar.notodd.example.com', { keysOf: ['x.odd.example.com'] });
    const ids = await search.store(...stored.map((name) => anIssuance(name)), control, other);
    const domain = 'odd.example.com';
    const response = await search.search({ domain, include_subdomains: '1', expand: 'dns_names' });
    expect(idsOf(response)).toEqual(ids.slice(0, -1));
    expect((response.json as { dns_names: string[] }[]).map(({ dns_names: [name] }) => name)).toEqual([
      ...stored,
      '<unparsable>.odd.example.com',
    ]);
    expect(idsOf(await search.search({ domain, match_wildcards: '1' }))).toEqual([]);
    const deep = `${'d.'.repeat(60)}odd.example.com`;
    expect(idsOf(await search.search({ domain: deep, include_subdomains: '1' }))).toEqual([ids[5]]);
    const deepOther = `${'d.'.repeat(60)}e.odd.example.com`;
    expect(idsOf(await search.search({ domain: deepOther, include_subdomains: '1' }))).toEqual([]);
  });

  it('returns an empty page with Retry-After, also after the newest issuance', async () => {
    const queries: Record<string, string>[] = [
      { domain: 'none.example.com' },
      { domain: 'base.example.com', after: '9223372036854775807' },
      {
        domain: 'base.example.com',
        after: '9007199254740993',
        include_subdomains: '1',
        match_wildcards: '1',
      },
    ];
    for (const query of queries) {
      const response = await search.search(query);
      expect([response.status, response.text, response.headers['retry-after']]).toEqual([200, '[]', '300']);
      expect(response.headers).not.toHaveProperty('link');
    }
  });
});

describe('pages', () => {
  it('have exactly 100, link to the next with the same query, and end with an empty one', async () => {
    const ids: string[] = [];
    for (let round = 0; round < 4; round += 1) {
      const some = Array.from({ length: 60 }, (_, at) =>
        anIssuance(at % 2 === 0 ? 'w.paged.example.com' : '*.paged.example.com'),
      );
      ids.push(...(await search.store(...some)));
    }
    const query = [
      ['domain', 'W.paged.example.com.'],
      ['match_wildcards', '1'],
      ['expand', 'dns_names'],
      ['expand', 'issuer.operator'],
      ['ignored', 'x'],
    ] as [string, string][];
    let response = await search.search(query);
    const pages = [idsOf(response)];
    while (response.headers['link'] !== undefined) {
      const [, address = ''] =
        /^<https:\/\/ct\.example\.com(\/v1\/issuances\?[^>]*)>; rel="next"$/.exec(
          String(response.headers['link']),
        ) ?? [];
      expect(Object.fromEntries(new URLSearchParams(address.split('?')[1]))).toMatchObject({
        domain: 'w.paged.example.com',
        match_wildcards: 'true',
      });
      response = await search.get(address);
      expect(response.json[0]).toMatchObject({ dns_names: expect.any(Array), issuer: { operator: null } });
      pages.push(idsOf(response));
    }
    expect(pages.map(({ length }) => length)).toEqual([100, 100, 40]);
    expect(pages.flat()).toEqual(ids);
    const last = await search.search([...query, ['after', ids.at(-1) ?? '']]);
    expect([last.text, last.headers['retry-after']]).toEqual(['[]', '300']);
  });

  it('are filled up when many other names share a key, and never end early', async () => {
    const alien = () => anIssuance('alien.example.net', { keysOf: ['shared.example.com'] });
    const own = () => anIssuance('shared.example.com');
    const aliens = async (count: number) => await search.store(...Array.from({ length: count }, alien));
    const first = await search.store(...Array.from({ length: 30 }, own));
    await aliens(250);
    const then = await search.store(...Array.from({ length: 90 }, own));
    await aliens(120);
    const page = await search.search({ domain: 'shared.example.com', expand: 'dns_names' });
    expect(idsOf(page)).toEqual([...first, ...then].slice(0, 100));
    const rest = await search.search({ domain: 'shared.example.com', after: idsOf(page).at(-1) ?? '' });
    expect(idsOf(rest)).toEqual(then.slice(70));
    expect(rest.headers).not.toHaveProperty('link');
  });

  it('continue correctly while other issuances are stored', async () => {
    const [id = ''] = await search.store(anIssuance('polled.example.com'));
    const poll = async () => await search.search({ domain: 'polled.example.com', after: id });
    expect(idsOf(await poll())).toEqual([]);
    const [next] = await search.store(anIssuance('polled.example.com'));
    expect(idsOf(await poll())).toEqual([next]);
  });

  (isOnCitus ? it.skip : it)('are the same for concurrent requests in a batch', async () => {
    const domains = Array.from({ length: 15 }, (_, nth) => `n${nth}.together.example.com`);
    await search.store(...domains.flatMap((name) => [anIssuance(name), anIssuance(`*.${name}`)]));
    const modes: Record<string, string>[] = [
      {},
      { include_subdomains: 'true' },
      { include_subdomains: 'true', match_wildcards: 'true' },
    ];
    const queries = domains.flatMap((domain) => modes.map((mode) => ({ domain, ...mode })));
    const headers = await search.key('firehose');
    const alone: string[] = [];
    for (const query of queries) alone.push((await search.search(query, headers)).text);
    let together: string[] = [];
    const statements = await search.statementsOf(async () => {
      const responses = await Promise.all(queries.map(async (query) => await search.search(query, headers)));
      together = responses.map(({ text }) => text);
    });
    expect(together).toEqual(alone);
    expect(new Set(together).size).toBe(domains.length * 2);
    expect(statements.some((statement) => statement.includes('unnest'))).toBe(true);
    expect(statements.length).toBeLessThan(queries.length * 2);
  });

  (isOnCitus ? it.skip : it)(
    'cost two statements, and one each for uncached certificates, issuers and lists',
    async () => {
      await search.store(anIssuance('cost.example.com'));
      const statementsFor = async (query: Record<string, string>) =>
        (await search.statementsOf(() => search.search({ domain: 'cost.example.com', ...query }))).filter(
          // Which is cached for seconds only.
          (statement) => !statement.includes('FROM ct_crl'),
        ).length;
      expect(await statementsFor({})).toBe(2);
      await statementsFor({ expand: 'issuer' });
      expect(await statementsFor({ expand: 'issuer.name_der' })).toBe(2);
      expect(await statementsFor({ expand: 'cert' })).toBe(3);
      expect(await statementsFor({ domain: 'nothing.example.com' })).toBe(1);
    },
  );
});
