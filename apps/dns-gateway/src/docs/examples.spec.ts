import { problemCodes } from '@certwright/errors';
import { type DocumentedExample, examplesIn } from '@certwright/testing';
import { GatewayAtDesec } from '../testing/gateway-at-desec';
import { keptDocument } from '../testing/running-gateway';
import { errorExamples } from '../wire/openapi';

const documented = examplesIn(keptDocument);
const isError = ({ status }: DocumentedExample) => status !== null && status >= 400;
const errors = documented.filter(isError);

type Body = Readonly<Record<string, unknown>>;

it('examples of errors have codes of the closed list, and are all used', () => {
  for (const { value } of errors) expect(problemCodes).toContain((value as { code: string }).code);
  const used = new Set(errors.map(({ name }) => name));
  expect([...used].sort()).toEqual(Object.keys(errorExamples.components()).sort());
});

describe('with the gateway running', () => {
  let world: GatewayAtDesec;
  let handle: unknown;
  let recordHandle: unknown;
  beforeAll(async () => {
    world = await GatewayAtDesec.start();
    const made = await world.gateway.post('make_integration', requestOf('make_integration'));
    handle = made.body['integration'];
    const added = await world.gateway.post('add_record', requestOf('add_record'));
    recordHandle = added.body['record_handle'];
  });
  afterAll(() => world.close());

  /** The example with the token of this provider, and the handles of this gateway. */
  function requestOf(operationId: string): Body {
    const example = documented.find((each) => each.operationId === operationId && each.status === null);
    const body = example?.value as Body;
    return {
      ...body,
      ...('credentials' in body ? { credentials: world.credentials() } : {}),
      ...('integration' in body ? { integration: handle } : {}),
      ...('record_handle' in body ? { record_handle: recordHandle } : {}),
    };
  }

  const responseOf = (operationId: string) =>
    documented.find((each) => each.operationId === operationId && each.status === 200)?.value as Body;

  it.each(['make_integration', 'get_zones', 'add_record', 'remove_record'])(
    '%s succeeds with its example, as documented',
    async (operationId) => {
      const { status, body } = await world.gateway.post(operationId, requestOf(operationId));
      expect([status, Object.keys(body).sort()]).toEqual([200, Object.keys(responseOf(operationId)).sort()]);
    },
  );

  it('description returns the members of its example', async () => {
    const { status, body } = await world.gateway.request({ path: '/description?account=42' });
    expect([status, Object.keys(body).sort()]).toEqual([200, Object.keys(responseOf('description')).sort()]);
    const [provider] = body['providers'] as Body[];
    const [documentedProvider] = responseOf('description')['providers'] as Body[];
    expect(Object.keys(provider ?? {}).sort()).toEqual(Object.keys(documentedProvider ?? {}).sort());
  });

  const withRecord = (changes: object) => {
    const request = requestOf('add_record');
    return { ...request, record: { ...(request['record'] as object), ...changes } };
  };
  it.each<[string, () => ReturnType<GatewayAtDesec['gateway']['request']>]>([
    ['bad_request', () => world.gateway.post('get_zones', '{')],
    ['bad_query', () => world.gateway.request({ path: '/description' })],
    ['out_of_range', () => world.gateway.post('add_record', withRecord({ ttl: 1 }))],
    [
      'bad_handle',
      () => world.gateway.post('get_zones', { ...requestOf('get_zones'), integration: 'cwi1.x' }),
    ],
    [
      'policy_violation',
      () =>
        world.gateway.post(
          'add_record',
          withRecord({ type: 'CNAME', value: 'a.example.net', replace: false }),
        ),
    ],
    [
      'zone_not_found',
      () => world.gateway.post('add_record', withRecord({ fqdn: '_acme-challenge.example.org' })),
    ],
    [
      'missing_member',
      () => world.gateway.post('get_zones', { ...requestOf('get_zones'), account: undefined }),
    ],
    ['request_too_large', () => world.gateway.post('get_zones', { x: 'y'.repeat(65_536) })],
    [
      'unsupported_media_type',
      () =>
        world.gateway.request(
          { path: '/get_zones', method: 'POST', headers: { 'content-type': 'text/plain' } },
          'a',
        ),
    ],
    ['invalid_record', () => world.gateway.post('add_record', withRecord({ fqdn: 'ex ample.com' }))],
  ])('the error %s is what the gateway returns', async (name, provoke) => {
    const { status, body } = await provoke();
    const example = errors.find((each) => each.name === name);
    expect([status, body]).toEqual([example?.status, example?.value]);
  });

  it('every documented member was in a response, but for handles that were sealed again', () => {
    expect(world.gateway.documented.absentMembers()).toEqual([
      'Added.integration',
      'Error.integration',
      'Removed.integration',
      'Zones.integration',
    ]);
  });
});
