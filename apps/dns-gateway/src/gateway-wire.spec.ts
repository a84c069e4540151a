import { CompactEncrypt, importJWK, type JWK } from 'jose';
import { aText, GatewayAtDesec, owner, record, shown } from './testing/gateway-at-desec';
import { clientOf, spiffe } from './testing/certificates';
import type { RunningGateway, WireResponse } from './testing/running-gateway';

let world: GatewayAtDesec;
let gateway: RunningGateway;
let desec: GatewayAtDesec['desec'];

beforeAll(async () => {
  world = await GatewayAtDesec.start();
  ({ gateway, desec } = world);
}, 30_000);
afterAll(() => world.close());

describe('the four messages', () => {
  it('make_integration returns a handle with the encrypted credentials', async () => {
    const response = await gateway.post('make_integration', { ...owner, credentials: world.credentials() });
    expect(shown(response)).toEqual({
      status: 200,
      integration: expect.stringMatching(/^cwi1\.[\w-]{5547}$/) as string,
    });
    expect(response.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'x-request-id': aText,
    });
  });

  it('get_zones returns the zones', async () => {
    expect(shown(await gateway.post('get_zones', await world.integrated()))).toEqual({
      status: 200,
      zones: [
        { id: 'example.com', name: 'example.com' },
        { id: 'example.net', name: 'example.net' },
      ],
    });
  });

  it('add_record publishes and remove_record removes; repeating either changes nothing', async () => {
    const integration = await world.integrated();
    const added = await gateway.post('add_record', { ...integration, record });
    expect(shown(added)).toEqual({ status: 200, record_handle: expect.stringMatching(/^cwr1\./) as string });
    await gateway.post('add_record', { ...integration, record });
    expect(world.values(record.fqdn)).toEqual([record.value]);
    const removal = { ...integration, record_handle: added.body['record_handle'] };
    expect(shown(await gateway.post('remove_record', removal))).toEqual({ status: 200 });
    expect(shown(await gateway.post('remove_record', removal))).toEqual({ status: 200 });
    expect(world.values(record.fqdn)).toEqual([]);
  });

  it('credentials are accepted when sealed to the key in the description', async () => {
    const { status, body } = await gateway.request({ path: '/description?account=42' });
    const key = body['encryption_key'] as JWK;
    expect([status, key]).toEqual([
      200,
      { kty: 'EC', crv: 'P-256', x: aText, y: aText, use: 'enc', alg: 'ECDH-ES+A256KW', kid: aText },
    ]);
    const seal = async (account: string): Promise<object> => {
      const content = {
        account,
        provider: 'desec',
        credentials: world.credentials(),
        issued_at: Math.floor(Date.now() / 1000),
      };
      const jwe = await new CompactEncrypt(Buffer.from(JSON.stringify(content)))
        .setProtectedHeader({ alg: 'ECDH-ES+A256KW', enc: 'A256GCM', kid: key.kid })
        .encrypt(await importJWK(key, 'ECDH-ES+A256KW'));
      return { type: 'sealed', jwe };
    };
    expect(
      shown(await gateway.post('make_integration', { ...owner, credentials: await seal('42') })),
    ).toEqual({ status: 200, integration: aText });
    expect(
      shown(await gateway.post('make_integration', { ...owner, credentials: await seal('43') })),
    ).toMatchObject({ status: 400, code: 'invalid_value', field: 'credentials.jwe' });
  });

  it('the description states how to use each provider, for one account', async () => {
    const { body } = await gateway.request({ path: '/description?account=42' });
    const described = (body['providers'] as { name: string; credentials: unknown[] }[]).find(
      ({ name }) => name === 'desec',
    );
    expect(described).toMatchObject({ title: aText, advice: aText, credentials: [{ type: 'bearer' }] });
    for (const query of ['', '?account=', '?account=4%202', '?account=1&account=2']) {
      const refused = await gateway.request({ path: `/description${query}` });
      expect(shown(refused)).toMatchObject({
        status: 400,
        code: 'bad_query',
        sub_errors: [{ field: 'account' }],
      });
    }
  });
});

describe('is refused:', () => {
  it.each([
    ['a body that is no JSON', 'get_zones', '{', { status: 400, code: 'bad_request' }],
    ['a body that is no object', 'get_zones', '[]', { status: 400, code: 'bad_request' }],
    ['an unknown member', 'get_zones', { colour: 1 }, { status: 400, code: 'bad_request' }],
    [
      'a handle that was made up',
      'get_zones',
      { ...owner, integration: 'cwi1.x' },
      { status: 400, code: 'bad_handle', field: 'integration' },
    ],
    [
      'a body beyond 64 KiB',
      'get_zones',
      { x: 'y'.repeat(65_536) },
      { status: 413, code: 'request_too_large', message: 'The body is larger than 64 KiB.' },
    ],
    ['an unknown path', 'get_secrets', {}, { status: 404, code: 'not_found' }],
  ])('%s', async (_what, endpoint, body, response) => {
    expect(shown(await gateway.post(endpoint, body))).toMatchObject(response);
  });

  it('a GET of a message, and a body of another type', async () => {
    const got = await gateway.request({ path: '/get_zones' });
    expect([shown(got), got.headers['allow']]).toMatchObject([
      { status: 405, code: 'method_not_allowed' },
      'OPTIONS, POST',
    ]);
    const form = {
      path: '/get_zones',
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    };
    expect(shown(await gateway.request(form, 'a=b'))).toMatchObject({
      status: 415,
      code: 'unsupported_media_type',
    });
  });

  it('two Authorization headers', async () => {
    const headers = ['Host', '127.0.0.1', 'Authorization', 'Bearer a', 'Authorization', 'Bearer b'];
    expect(shown(await gateway.request({ path: '/description?account=42', headers }))).toEqual({
      status: 400,
      code: 'bad_request',
      message: 'The request has more than one Authorization header.',
    });
  });

  it('an integration of another account, although the handle is intact', async () => {
    const foreign = { ...(await world.integrated()), account: '43' };
    expect(shown(await gateway.post('get_zones', foreign))).toEqual({
      status: 400,
      code: 'bad_handle',
      message: aText,
      field: 'integration',
    });
  });

  it('a record handle that was made up', async () => {
    const made = { ...(await world.integrated()), record_handle: 'cwr1.x' };
    expect(shown(await gateway.post('remove_record', made))).toMatchObject({
      status: 400,
      code: 'bad_handle',
      field: 'record_handle',
    });
  });

  it('what the policy refuses: 403 with the member, without a call to the provider', async () => {
    const integration = await world.integrated();
    await gateway.post('get_zones', integration);
    const before = desec.server.requests.length;
    const apex = await gateway.post('add_record', {
      ...integration,
      record: { ...record, fqdn: 'example.com' },
    });
    expect(shown(apex)).toEqual({
      status: 403,
      code: 'policy_violation',
      message: aText,
      field: 'record.fqdn',
    });
    const a = await gateway.post('add_record', {
      ...integration,
      record: { ...record, type: 'A', value: '192.0.2.1' },
    });
    expect(shown(a)).toMatchObject({ status: 403, code: 'policy_violation', field: 'record.type' });
    expect(gateway.audit()).toMatch(/"type":"A","value":"192.0.2.1".*"decision":"refused"/);
    const spf = await gateway.post('add_record', {
      ...integration,
      record: { ...record, value: 'v=spf1 -all' },
    });
    expect(shown(spf)).toMatchObject({ status: 403, code: 'policy_violation', field: 'record.value' });
    expect(desec.server.requests).toHaveLength(before);
  });

  it('credentials with a secret in the wrong place, without repeating it', async () => {
    for (const credentials of [
      { type: 'bearer', 's3cret-in-the-wrong-place': '' },
      { type: 'bearer', 's3cret-in-the-wrong-place': 7 },
      { type: 's3cret-in-the-wrong-place' },
      { type: 'sealed', jwe: 'a', 's3cret-in-the-wrong-place': 'x' },
    ]) {
      const response = await gateway.post('make_integration', { ...owner, credentials });
      expect(response.status).toBe(400);
      expect(JSON.stringify(response.body)).not.toContain('s3cret');
    }
  });

  it('credentials unknown to the provider: 502', async () => {
    const wrong = { ...owner, credentials: { type: 'bearer', token: 'i-am-another-token-77' } };
    expect(shown(await gateway.post('make_integration', wrong))).toEqual({
      status: 502,
      code: 'provider_auth_failed',
      message: aText,
    });
  });
});

describe('a client', () => {
  it('that is listed may use its endpoints, and no other', async () => {
    const orders = clientOf(gateway.authority, 'orders-v3');
    const handle = await world.integrated();
    expect(shown(await gateway.post('get_zones', handle, orders))).toMatchObject({ status: 200 });
    const refusal = {
      status: 403,
      code: 'unauthorized',
      message: 'The client of this certificate may not use this endpoint.',
    };
    expect(shown(await gateway.post('add_record', { ...handle, record }, orders))).toEqual(refusal);
    expect(shown(await gateway.request({ path: '/description?account=1' }, '', orders))).toEqual(refusal);
  });

  it('is named in the log line of each of its requests, including refused ones', async () => {
    const orders = clientOf(gateway.authority, 'orders-v3');
    await gateway.post('get_zones', { ...owner, integration: 'cwi1.x' }, orders);
    await gateway.post('add_record', {}, orders);
    await gateway.child.says(
      /"route":"\/get_zones","status":400,.*"client":"spiffe:\/\/certwright.internal\/orders-v3"/,
    );
    await gateway.child.says(
      /"route":"\/add_record","status":403,.*"client":"spiffe:\/\/certwright.internal\/orders-v3"/,
    );
  });

  it.each([
    ['of another name', { names: `URI:${spiffe('certs-v2')}` }],
    ['of two names', { names: `URI:${spiffe('issuance-worker')}, URI:${spiffe('orders-v3')}` }],
    ['with its name in another place', { names: `DNS:${'issuance-worker'}` }],
    ['without a name', {}],
    ['whose name hides in a DNS name', { names: `@alt\n[alt]\nDNS.1=a, URI:${spiffe('issuance-worker')}` }],
  ])('%s gets 403, before its body is read', async (_what, leaf) => {
    const other = gateway.authority.certify({ ...leaf, use: 'clientAuth' });
    expect(shown(await gateway.post('get_zones', '{', other))).toMatchObject({
      status: 403,
      code: 'unauthorized',
    });
  });

  it.each([
    ['without a certificate', () => null],
    [
      'with an expired one',
      () =>
        gateway.authority.certify({ names: `URI:${spiffe('issuance-worker')}`, use: 'clientAuth', days: -1 }),
    ],
    [
      'with one for servers',
      () => gateway.authority.certify({ names: `URI:${spiffe('issuance-worker')}`, use: 'serverAuth' }),
    ],
  ])('%s gets no connection', async (_what, holder) => {
    await expect(gateway.post('get_zones', {}, holder())).rejects.toThrow();
  });
});

describe('when the provider', () => {
  const misbehaving = async (
    how: Parameters<typeof desec.server.misbehave>[0],
    times: number,
  ): Promise<WireResponse> => {
    const integration = await world.integrated();
    await gateway.post('get_zones', integration);
    desec.server.misbehave(how, times);
    return await gateway.post('add_record', {
      ...integration,
      record: { ...record, fqdn: '_acme-challenge.fault.example.com' },
    });
  };
  afterEach(() => desec.server.misbehave('cut', 0));

  it('does not respond, the request times out within its limit, and the audit log says unknown', async () => {
    expect(shown(await misbehaving('silent', 99))).toEqual({ status: 504, code: 'timeout', message: aText });
    expect(gateway.audit().trimEnd().split('\n').at(-1)).toContain('"result":"unknown"');
  });

  it.each([
    ['has enough of us', 'rate_limited', 503, 'provider_rate_limited'],
    ['is broken', 'server_error', 503, 'provider_unavailable'],
    ['answers a page', 'html', 503, 'provider_unavailable'],
  ] as const)('%s, it is %s: %i %s with Retry-After', async (_what, how, status, code) => {
    const response = await misbehaving(how, 99);
    expect([shown(response), Number(response.headers['retry-after']) > 0]).toMatchObject([
      { status, code },
      true,
    ]);
  });
});
