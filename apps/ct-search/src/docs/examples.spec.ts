import 'reflect-metadata';
import { problemCodes } from '@certwright/errors';
import { type DocumentedExample, examplesIn, shapeOf } from '@certwright/testing';
import { anIssuance } from '../testing/forged-issuance';
import { keptDocument, type SearchResponse, RunningSearch } from '../testing/running-search';
import { errorExamples } from '../wire/openapi';

jest.setTimeout(60_000);

const documented = examplesIn(keptDocument);
const isError = ({ status }: DocumentedExample) => status !== null && status >= 400;
const errors = documented.filter(isError);

it('examples of errors have known codes, and are all used', () => {
  for (const { value } of errors) expect(problemCodes).toContain((value as { code: string }).code);
  const used = new Set(errors.map(({ name }) => name));
  expect([...used].sort()).toEqual(Object.keys(errorExamples.components()).sort());
});

describe('with the API running', () => {
  let search: RunningSearch;
  let id: string | undefined;
  beforeAll(async () => {
    search = await RunningSearch.start({ ANONYMOUS_SINGLE_PER_HOUR: '1' });
    [id] = await search.store(anIssuance('example.com'));
  });
  afterAll(async () => await search.stop());

  it.each([
    ['getIssuances', () => '/v1/issuances?domain=example.com'],
    ['getIssuancesFirehose', () => '/v1/issuances/firehose'],
    ['getIssuancesId', () => `/v1/issuances/${id}`],
  ])('%s returns the members of its example', async (operationId, at) => {
    const plans = await search.core.query<{ name: string }>(
      `SELECT name FROM search_plan WHERE firehose LIMIT 1`,
    );
    const { status, json } = await search.get(at(), await search.key(plans[0]?.name));
    const example = documented.find((each) => each.operationId === operationId && each.status === 200);
    expect([status, shapeOf(json)]).toEqual([200, shapeOf(example?.value)]);
  });

  it('getStatus returns the members of its example', async () => {
    const { json } = await search.get('/v1/status');
    const example = documented.find((each) => each.operationId === 'getStatus' && each.status === 200);
    const { logs: _, ...whole } = example?.value as { readonly logs: unknown };
    const { logs: __, ...returned } = json;
    expect(shapeOf(returned)).toEqual(shapeOf(whole));
  });

  const provoked: Readonly<Record<string, () => Promise<SearchResponse>>> = {
    bad_query: () => search.get('/v1/issuances?domain=example.com&after=x'),
    bad_credentials: () =>
      search.get('/v1/issuances?domain=example.com', { authorization: `Bearer 1_${'a'.repeat(32)}` }),
    not_allowed_by_plan: async () => await search.get('/v1/issuances/firehose', await search.key()),
    not_found: () => search.get('/v1/issuances/999999999'),
    disabled_credentials: async () => {
      const key = await search.key();
      await search.core.query(`UPDATE api_key SET disabled_at = now() WHERE account_id = $1`, [
        key.authorization.slice('Bearer '.length).split('_')[0],
      ]);
      return await search.get('/v1/issuances?domain=example.com', key);
    },
  };

  it.each(Object.keys(provoked))('the example of the error %s is what the API returns', async (name) => {
    const response = await provoked[name]?.();
    const example = errors.find((each) => each.name === name);
    expect([response?.status, response?.json]).toEqual([example?.status, example?.value]);
  });

  it('the error rate_limited is like what the API returns', async () => {
    const responses = await Promise.all(
      Array.from({ length: 10 }, () => search.get('/v1/issuances?domain=example.com')),
    );
    const refused = responses.find(({ status }) => status === 429);
    expect([refused?.json.code, Object.keys(refused?.json)]).toEqual([
      'rate_limited',
      Object.keys(errorExamples.components()['rate_limited']?.value ?? {}),
    ]);
  });
});
