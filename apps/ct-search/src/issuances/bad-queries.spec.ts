import { anIssuance } from '../testing/forged-issuance';
import { type SearchResponse, RunningSearch } from '../testing/running-search';

jest.setTimeout(60_000);

let search: RunningSearch;
beforeAll(async () => {
  search = await RunningSearch.start();
  await search.store(anIssuance('base.example.com'));
});
afterAll(async () => await search.stop());

const faultsOf = ({ json }: SearchResponse) =>
  (json as { sub_errors: { code: string; field: string }[] }).sub_errors.map(({ code, field }) => [
    field,
    code,
  ]);

describe('an invalid query', () => {
  it('returns all of its errors, and is not counted', async () => {
    const response = await search.get(
      '/v1/issuances?include_subdomains=yes&match_wildcards=2&after=x&other=1',
    );
    expect([response.status, response.json.code]).toEqual([400, 'bad_query']);
    expect(response.json).not.toHaveProperty('field');
    expect(faultsOf(response)).toEqual([
      ['domain', 'missing_field'],
      ['include_subdomains', 'invalid_value'],
      ['match_wildcards', 'invalid_value'],
      ['after', 'invalid_value'],
    ]);
  });

  it('is not validated while the API key is invalid', async () => {
    const authorization = `Bearer 1_${'a'.repeat(32)}`;
    const response = await search.get('/v1/issuances?after=x', { authorization });
    expect([response.status, response.json.code]).toEqual([401, 'bad_credentials']);
    const stream = await search.get('/v1/issuances/firehose?after=x', await search.key());
    expect([stream.status, stream.json.code]).toEqual([403, 'not_allowed_by_plan']);
  });

  it.each([
    ['a public suffix', 'co.uk'],
    ['a private public suffix', 'github.io'],
    ['a single label', 'localhost'],
    ['a name beneath no public suffix', 'foo.local'],
    ['a wildcard', '*.example.com'],
    ['a wildcard of an odd name', '*.a_b.example.com'],
    ['an address', '192.0.2.1'],
    ['an IPv6 address', '[2001:db8::1]'],
    ['a URL', 'https://example.com/'],
    ['white space', 'exa mple.com'],
    ['an empty label', 'a..example.com'],
    ['a leading dot', '.example.com'],
    ['a label of 64', `${'a'.repeat(64)}.example.com`],
    ['a name of 254', `${'abc.'.repeat(61)}example.com`],
    ['an invisible character', 'exa\u00admple.com'],
    ['a letter that folds to another', '\u212a.example.com'],
  ])('is refused: %s', async (_, domain) => {
    const response = await search.search({ domain });
    expect([response.status, response.json.code, faultsOf(response)]).toEqual([
      400,
      'bad_query',
      [['domain', 'invalid_value']],
    ]);
  });

  it.each([
    ['domain=', 'domain', 'missing_field'],
    ['domain=a.example.com&domain=b.example.com', 'domain', 'invalid_value'],
    ['domain=example.com&after=1&after=2', 'after', 'invalid_value'],
    ['domain=example.com&after=-1', 'after', 'invalid_value'],
    ['domain=example.com&after=1.5', 'after', 'invalid_value'],
    ['domain=example.com&after=9223372036854775808', 'after', 'invalid_value'],
    ['domain=example.com&after=00000000000000000001', 'after', 'invalid_value'],
    [
      'domain=example.com&include_subdomains=true&include_subdomains=true',
      'include_subdomains',
      'invalid_value',
    ],
    ['domain=example.com&match_wildcards=TRUE', 'match_wildcards', 'invalid_value'],
  ])('%s', async (query, field, code) => {
    expect(faultsOf(await search.get(`/v1/issuances?${query}`))).toEqual([[field, code]]);
  });

  it.each(['after=', 'include_subdomains=', 'match_wildcards=&expand=', 'expand[]=issuer&foo=bar&foo=baz'])(
    'but is valid with %s, as if that were omitted',
    async (query) => {
      const response = await search.get(`/v1/issuances?domain=base.example.com&${query}`);
      expect([response.status, Object.keys(response.json[0]).length]).toEqual([200, 7]);
    },
  );
});
