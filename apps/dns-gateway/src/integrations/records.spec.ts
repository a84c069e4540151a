import { randomBytes } from 'node:crypto';
import type { RequestedRecord } from '../policy/record-policy';
import { HandleKeys } from '../handles/handle-keys';
import { ProviderFault, type ProviderFaultKind } from '../providers/provider-fault';
import {
  context,
  challenge,
  type IntegrationParts,
  integrationParts,
  kept,
  outcomeOf,
  owner,
} from '../testing/integration-parts';

let parts: IntegrationParts;
let integration: string;
beforeEach(() => {
  parts = integrationParts();
  integration = parts.keys.sealIntegration(owner, kept);
});

const integrated = () => ({ ...owner, integration });
const add = (record: RequestedRecord = challenge, timeMs?: number) =>
  outcomeOf(parts.adds.add({ ...integrated(), record }, context(timeMs)));
const remove = (handle: string, whose = {}) =>
  outcomeOf(parts.removes.remove({ ...integrated(), ...whose, record_handle: handle }, context()));
const added = async (record = challenge): Promise<string> =>
  ((await add(record)) as { readonly record_handle: string }).record_handle;

const line = '_acme-challenge.www.example.com TXT LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0';

describe('add_record', () => {
  it('queries the zones, writes the intent, changes, and writes the outcome, in this order', async () => {
    expect(await add()).toEqual({ record_handle: expect.stringMatching(/^cwr1\./) as string });
    expect(parts.provider.calls).toEqual(['zones', 'intent allowed', 'add', 'outcome done']);
    expect(parts.provider.records).toEqual([line]);
    expect(parts.entries).toEqual([
      {
        requestId: 'req_1',
        client: 'spiffe://certwright.internal/issuance-worker',
        account: '42',
        integrationId: 'int_7',
        provider: 'cloudflare',
        action: 'add',
        zone: 'example.com',
        ...challenge,
        ttlS: null,
        decision: 'allowed',
        reason: null,
      },
      { result: 'done', problem: null },
    ]);
  });

  it('replaces where the policy says so', async () => {
    await add();
    await add({ ...challenge, type: 'CNAME', value: 'x.approval.certwright.example' });
    expect(parts.provider.calls.slice(4)).toEqual(['intent allowed', 'replace', 'outcome done']);
    expect(parts.provider.records).toEqual([
      '_acme-challenge.www.example.com CNAME x.approval.certwright.example',
    ]);
  });

  it.each([
    ['policy_violation', 'record.fqdn', { ...challenge, fqdn: 'example.com' }],
    ['zone_not_found', 'record.fqdn', { ...challenge, fqdn: '_acme-challenge.example.net' }],
    ['policy_violation', 'record.value', { ...challenge, value: 'v=spf1 -all' }],
    ['policy_violation', 'record.value', { ...challenge, type: 'CNAME' as const, value: 'evil.example.net' }],
    ['policy_violation', 'record.type', { ...challenge, type: 'MX', value: '10 mx.evil.test' }],
    ['out_of_range', 'record.ttl', { ...challenge, ttl: 2_592_000 }],
  ])('returns %s of %s, records the refusal, and changes nothing', async (code, field, record) => {
    expect(await add(record)).toEqual({ code, field });
    expect(parts.provider.calls.filter((each) => each !== 'zones')).toEqual(['intent refused']);
    expect(parts.entries).toMatchObject([
      { decision: 'refused', reason: `${code} of ${field}`, fqdn: record.fqdn },
    ]);
  });

  it('does not call the provider for a record that does not relate to issuance', async () => {
    await add({ ...challenge, value: 'v=spf1 -all' });
    await add({ ...challenge, type: 'A' });
    expect(parts.provider.calls).toEqual(['intent refused', 'intent refused']);
  });

  it('changes nothing while the audit log cannot be written', async () => {
    parts.audit.full = true;
    expect(await add()).toEqual({ code: 'service_outage', retryAfterS: 30 });
    expect(parts.provider.calls).toEqual(['zones']);
    expect(await remove(parts.keys.sealRecord(owner, handled))).toMatchObject({ code: 'service_outage' });
    expect(parts.provider.calls).toEqual(['zones']);
  });

  it('returns the handle when only the outcome could not be written', async () => {
    parts.provider.at.add = () => Promise.resolve(void (parts.audit.full = true));
    expect(await add()).toHaveProperty('record_handle');
    expect(parts.lines.join('')).toContain('the outcome of a change could not be written');
  });

  it('twenty times at once, with one handle, lists the zones once', async () => {
    const records = Array.from({ length: 20 }, (_, n) => ({
      ...challenge,
      fqdn: `_acme-challenge.w${n}.example.com`,
    }));
    await Promise.all(records.map((record) => add(record)));
    expect(parts.provider.calls.filter((each) => each === 'zones')).toHaveLength(1);
    expect(parts.provider.records).toHaveLength(20);
  });

  it('caches zones for 45 seconds, and lists them again for a name in none of them', async () => {
    await add();
    parts.provider.zones = [{ id: 'z2', name: 'example.net' }];
    parts.clock.nowMs = 44_999;
    await add();
    expect(parts.provider.calls.filter((each) => each === 'zones')).toHaveLength(1);
    expect(await add({ ...challenge, fqdn: '_acme-challenge.example.net' })).toHaveProperty('record_handle');
    expect(await add()).toEqual({ code: 'zone_not_found', field: 'record.fqdn' });
    parts.clock.nowMs = 44_999 + 45_000;
    parts.provider.zones = [];
    expect(await add({ ...challenge, fqdn: '_acme-challenge.example.net' })).toMatchObject({
      code: 'zone_not_found',
    });
  });
});

describe('when the provider fails', () => {
  it.each([
    ['auth_failed', 'failed', { code: 'provider_auth_failed' }],
    ['rejected', 'failed', { code: 'provider_rejected' }],
    ['rate_limited', 'failed', { code: 'provider_rate_limited', retryAfterS: 60 }],
    ['unavailable', 'unknown', { code: 'provider_unavailable', retryAfterS: 30 }],
    ['conflict', 'failed', { code: 'record_conflict' }],
    ['zone_not_found', 'failed', { code: 'zone_not_found' }],
  ] as const)('with %s, the audit log says %s', async (kind, result, response) => {
    parts.provider.at.add = () => Promise.reject(new ProviderFault(kind as ProviderFaultKind, 'It says no.'));
    expect(await add()).toEqual(response);
    expect(parts.entries.at(-1)).toEqual({ result, problem: response.code });
  });

  it('with a retry time, the response repeats it, up to a day', async () => {
    parts.provider.at.zones = () => Promise.reject(new ProviderFault('rate_limited', 'Slow down.', 7));
    expect(await add()).toEqual({ code: 'provider_rate_limited', retryAfterS: 7 });
    parts.provider.at.zones = () => Promise.reject(new ProviderFault('rate_limited', 'Slow down.', 1e9));
    expect(await add()).toEqual({ code: 'provider_rate_limited', retryAfterS: 86_400 });
    expect(parts.entries).toEqual([]);
  });

  it('by not responding in time, returns a timeout even when it ignores the signal', async () => {
    parts.provider.at.add = () => new Promise(() => undefined);
    expect(await add(challenge, 30)).toEqual({ code: 'timeout' });
    expect(parts.entries.at(-1)).toEqual({ result: 'unknown', problem: 'timeout' });
  });

  it('with an unexpected error, rethrows it and records the outcome unknown', async () => {
    parts.provider.at.add = () => Promise.reject(new TypeError('x is not a function'));
    await expect(add()).rejects.toThrow(TypeError);
    expect(parts.entries.at(-1)).toEqual({ result: 'unknown', problem: 'internal_error' });
  });

  it('while listing zones, caches nothing', async () => {
    parts.provider.at.zones = () => Promise.reject(new ProviderFault('unavailable', 'Unavailable.'));
    await add();
    parts.provider.at = {};
    expect(await add()).toHaveProperty('record_handle');
  });
});

const handled = {
  zone: { id: 'z1', name: 'example.com' },
  record: { ...challenge, fqdn: '_acme-challenge.www.example.com', ttlS: null },
};

describe('remove_record', () => {
  it('removes the record of the handle, and changes nothing the second time', async () => {
    const handle = await added();
    await added({ ...challenge, value: 'B'.repeat(43) });
    expect(await remove(handle)).toEqual({});
    expect(parts.provider.records).toEqual([line.replace(challenge.value, 'B'.repeat(43))]);
    expect(await remove(handle)).toEqual({});
    expect(parts.provider.records).toHaveLength(1);
    expect(parts.entries.slice(-2)).toMatchObject([
      { action: 'remove', fqdn: challenge.fqdn, value: challenge.value, zone: 'example.com' },
      { result: 'done' },
    ]);
  });

  it('keeps a record that existed before it was added, including one kept by a replacement', async () => {
    const cname = { ...challenge, type: 'CNAME', value: 'x.approval.certwright.example' } as const;
    for (const record of [challenge, cname]) {
      const text = `${record.fqdn} ${record.type} ${record.value}`;
      parts.provider.records.splice(0, Infinity, text);
      expect(await remove(await added(record))).toEqual({});
      expect(parts.provider.records).toEqual([text]);
    }
    expect(parts.provider.calls).not.toContain('remove');
    expect(parts.lines.join('')).toContain('record left in place');
  });

  it('removes a record of ours that a repeated request found after a response was lost on either side', async () => {
    // The response to the caller was lost.
    await added();
    await remove(await added());
    expect(parts.provider.records).toEqual([]);
    // The provider's response was lost: the record was written, and the request ended as unknown.
    parts.provider.at.add = () => {
      parts.provider.records.push(line);
      return Promise.reject(new ProviderFault('unavailable', 'Unavailable.'));
    };
    await add();
    parts.provider.at = {};
    await remove(await added());
    expect(parts.provider.records).toEqual([]);
    // A removed record is foreign when another client adds it again.
    parts.provider.records.push(line);
    await remove(await added());
    expect(parts.provider.records).toEqual([line]);
  });

  it('keeps a record that a refused addition found', async () => {
    parts.provider.records.push(line);
    parts.provider.at.add = () => Promise.reject(new ProviderFault('rate_limited', 'Slow down.'));
    await add();
    parts.provider.at = {};
    await remove(await added());
    expect(parts.provider.records).toEqual([line]);
  });

  it.each([
    ['another account', { account: '43' }],
    ['another integration', { integration_id: 'int_8' }],
  ])('of a record of %s is a bad_handle, without a call to the provider', async (_what, change) => {
    const other = { ...owner, ...change };
    const foreign = parts.keys.sealRecord(other, handled);
    expect(await remove(foreign)).toEqual({ code: 'bad_handle', field: 'record_handle' });
    expect(await remove(foreign, change)).toEqual({ code: 'bad_handle', field: 'integration' });
    expect(parts.provider.calls).toEqual([]);
    expect(parts.entries).toEqual([]);
  });

  it('with an integration handle for a record handle, or the other way round, is a bad_handle', async () => {
    const handle = await added();
    expect(await remove(integration)).toEqual({ code: 'bad_handle', field: 'record_handle' });
    expect(await remove(handle, { integration: handle })).toEqual({
      code: 'bad_handle',
      field: 'integration',
    });
    expect(parts.provider.calls).not.toContain('remove');
  });
});

describe('a handle that does not open', () => {
  it('is in the log and the audit log, with the kind of handle and the code', async () => {
    const foreign = parts.keys.sealRecord({ ...owner, account: '43' }, handled);
    await remove(foreign);
    integration = foreign;
    await add();
    const refusal = {
      requestId: 'req_1',
      client: 'spiffe://certwright.internal/issuance-worker',
      account: '42',
      integrationId: 'int_7',
      provider: 'cloudflare',
      code: 'bad_handle',
      unrecorded: 0,
    };
    expect(parts.refusals).toEqual([
      { ...refusal, handle: 'record' },
      { ...refusal, handle: 'integration' },
    ]);
    expect(parts.lines.filter((text) => text.includes('"handle refused"'))).toHaveLength(2);
  });

  it('is recorded ten times at once, then once in six seconds with the number of unrecorded ones', async () => {
    for (let tries = 0; tries < 30; tries++) await remove('cwr1.x');
    expect(parts.refusals).toHaveLength(10);
    parts.clock.nowMs += 6_000;
    await remove('cwr1.x');
    await remove('cwr1.x');
    expect(parts.refusals.slice(10)).toMatchObject([{ unrecorded: 20 }]);
  });
});

describe('the apex of a zone', () => {
  const apex = { ...challenge, fqdn: 'example.com' };

  it('accepts additional TXT and CAA records for an integration that the operator opened it for', async () => {
    const open = integrationParts(undefined, { apexIntegrations: [owner.integration_id] });
    const handle = open.keys.sealIntegration(owner, kept);
    const ask = (record: RequestedRecord) =>
      outcomeOf(open.adds.add({ ...owner, integration: handle, record }, context()));
    expect(await ask(apex)).toHaveProperty('record_handle');
    expect(await ask({ ...apex, type: 'CAA', value: '0 issue "ca.example"' })).toHaveProperty(
      'record_handle',
    );
    expect(open.provider.records).toEqual([
      `example.com TXT ${challenge.value}`,
      'example.com CAA 0 issue "ca.example"',
    ]);
    expect(await ask({ ...apex, replace: true })).toEqual({ code: 'policy_violation', field: 'record.fqdn' });
    const cname = { ...apex, type: 'CNAME', value: 'x.approval.certwright.example' };
    expect(await ask(cname)).toEqual({ code: 'policy_violation', field: 'record.fqdn' });
  });

  it('is closed for every other integration', async () => {
    const open = integrationParts(undefined, { apexIntegrations: ['int_8'] });
    const handle = open.keys.sealIntegration(owner, kept);
    const response = open.adds.add({ ...owner, integration: handle, record: apex }, context());
    expect(await outcomeOf(response)).toEqual({ code: 'policy_violation', field: 'record.fqdn' });
  });
});

it('get_zones lists only zones that records may be written into, in normal form', async () => {
  const names = [
    'Example.COM.',
    '0/25.2.0.192.in-addr.arpa',
    'com',
    'localdomain',
    '*.example.net',
    'a_b.example.net',
  ];
  parts.provider.zones = names.map((name, n) => ({ id: `z${n}`, name }));
  expect(await outcomeOf(parts.zones.get(integrated(), context()))).toEqual({
    zones: [{ id: 'z0', name: 'example.com' }],
  });
});

describe('a new integration handle', () => {
  const rotated = { token: 'planted-credential-rotated' };
  const handleIn = (response: unknown): string => String((response as { integration?: string }).integration);

  it('is returned when the provider renewed the credentials', async () => {
    parts.provider.renewed = rotated;
    const response = await outcomeOf(parts.zones.get(integrated(), context()));
    expect(response).toMatchObject({ zones: [{ id: 'z1', name: 'example.com' }] });
    expect(parts.keys.openIntegration(owner, handleIn(response)).kept).toEqual(rotated);
  });

  it.each([
    [
      'a fault of the provider',
      () => Promise.reject(new ProviderFault('unavailable', 'Unavailable.')),
      'provider_unavailable',
    ],
    ['a timeout', () => new Promise<never>(() => undefined), 'timeout'],
    ['a fault of ours', () => Promise.reject(new TypeError('x is not a function')), 'internal_error'],
  ])('is returned with the error too, after %s', async (_what, at, code) => {
    parts.provider.renewed = rotated;
    parts.provider.at.add = at;
    const response = await add(challenge, 30);
    expect(response).toMatchObject({ code });
    expect(parts.keys.openIntegration(owner, handleIn(response)).kept).toEqual(rotated);
  });

  it('is returned with a refusal of the policy', async () => {
    parts.provider.renewed = rotated;
    const response = await add({ ...challenge, fqdn: 'example.com' });
    expect(response).toMatchObject({ code: 'policy_violation', field: 'record.fqdn' });
    expect(parts.keys.openIntegration(owner, handleIn(response)).kept).toEqual(rotated);
  });

  it('is returned with the same content when the key of the old one is retiring', async () => {
    const [old, fresh] = [randomBytes(32), randomBytes(32)];
    integration = new HandleKeys([old]).sealIntegration(owner, kept);
    parts = integrationParts(new HandleKeys([fresh, old]));
    const response = await add();
    expect(new HandleKeys([fresh]).openIntegration(owner, handleIn(response))).toEqual({
      kept,
      isRetiring: false,
    });
  });

  it('is not returned otherwise', async () => {
    expect(await outcomeOf(parts.zones.get(integrated(), context()))).not.toHaveProperty('integration');
  });

  it('that cannot be sealed does not suppress the response to a change', async () => {
    parts.provider.renewed = { token: 'x'.repeat(5_000) };
    expect(await add()).toEqual({ record_handle: expect.any(String) as string });
    expect(parts.lines.join('')).toContain('renewed credentials are lost');
  });
});

it('log and audit log contain neither credentials nor handles', async () => {
  const handle = await added();
  parts.provider.at.remove = () => Promise.reject(new ProviderFault('auth_failed', 'No.'));
  await remove(handle);
  await add({ ...challenge, fqdn: 'example.com' });
  const text = parts.lines.join('') + JSON.stringify(parts.entries);
  expect(text).toContain('"msg":"a change"');
  expect(text).toContain('"msg":"a change was refused"');
  expect(text).not.toContain(kept.token);
  expect(text).not.toMatch(/cw[ir]1\./);
});
