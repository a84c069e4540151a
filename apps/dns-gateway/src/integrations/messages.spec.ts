import { Problem } from '@certwright/errors';
import { requestReading } from '@certwright/service';
import { AddRecordRequest, GetZonesRequest, MakeIntegrationRequest, RemoveRecordRequest } from './messages';

const readerOf = (metatype: new () => object) => (body: unknown) =>
  requestReading.transform(body, { type: 'body', metatype });
const readMakeIntegration = readerOf(MakeIntegrationRequest);
const readGetZones = readerOf(GetZonesRequest);
const readAddRecord = readerOf(AddRecordRequest);
const readRemoveRecord = readerOf(RemoveRecordRequest);

const owner = { account: '42', integration_id: 'int_7', provider: 'cloudflare' };
const integrated = { ...owner, integration: 'cwi1.x' };
const record = { fqdn: '_acme-challenge.example.com', type: 'TXT', value: 'token' };

/** Fields and codes of the errors, or the message read. */
function outcome(read: (body: unknown) => unknown, body: unknown): unknown {
  try {
    return read(body);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return error.faults.length > 0
      ? error.faults.map(({ field, code }) => `${code} ${field}`)
      : error.message;
  }
}

describe('a message', () => {
  it('is read with exactly its documented members', () => {
    const whole = { ...integrated, record: { ...record, ttl: 60, replace: true } };
    expect(readAddRecord(whole)).toEqual(whole);
    expect(readAddRecord({ ...integrated, record })).toEqual({ ...integrated, record });
    expect(readGetZones(integrated)).toEqual(integrated);
    expect(readRemoveRecord({ ...integrated, record_handle: 'cwr1.x' })).toEqual({
      ...integrated,
      record_handle: 'cwr1.x',
    });
    const credentials = { type: 'bearer', token: 'x' };
    expect(readMakeIntegration({ ...owner, credentials })).toEqual({ ...owner, credentials });
    const sealed = { type: 'sealed', jwe: 'a.b.c.d.e' };
    expect(readMakeIntegration({ ...owner, credentials: sealed })).toEqual({ ...owner, credentials: sealed });
  });

  it.each([[null], [[]], ['x'], [7], [undefined]])('that is %j is no object', (body) => {
    expect(outcome(readGetZones, body)).toBe('The body must be a JSON object.');
  });

  it('reports every member that is missing, unknown or of another type', () => {
    expect(outcome(readGetZones, {})).toEqual([
      'missing_field account',
      'missing_field integration_id',
      'missing_field provider',
      'missing_field integration',
    ]);
    expect(outcome(readGetZones, { ...integrated, colour: 'red', account: 42, provider: 'bind' })).toEqual([
      'invalid_value account',
      'invalid_value provider',
      'invalid_value colour',
    ]);
    expect(
      outcome(readAddRecord, {
        ...integrated,
        record: { ...record, type: 1, ttl: '60', replace: 1, name: 'x' },
      }),
    ).toEqual([
      'invalid_value record.type',
      'invalid_value record.ttl',
      'invalid_value record.replace',
      'invalid_value record.name',
    ]);
  });

  it.each([
    ['a member of Object', { ...integrated, toString: 'x' }, ['invalid_value toString']],
    ['a constructor', { ...integrated, constructor: {} }, ['invalid_value constructor']],
    [
      'an integration id with a slash',
      { ...integrated, integration_id: 'a/b' },
      ['invalid_value integration_id'],
    ],
    [
      'an integration id of 65 characters',
      { ...integrated, integration_id: 'a'.repeat(65) },
      ['invalid_value integration_id'],
    ],
    ['an account with a space', { ...integrated, account: '4 2' }, ['invalid_value account']],
    ['an empty account', { ...integrated, account: '' }, ['invalid_value account']],
    ['a provider from Object', { ...integrated, provider: 'constructor' }, ['invalid_value provider']],
  ])('with %s is refused', (_what, body, faults) => expect(outcome(readGetZones, body)).toEqual(faults));

  it.each([[1.5], [1e300], [Infinity], [null]])('with a TTL of %j is refused', (ttl) => {
    expect(outcome(readAddRecord, { ...integrated, record: { ...record, ttl } })).toEqual([
      'invalid_value record.ttl',
    ]);
  });

  it('accepts a type and a TTL that only the policy refuses, because the policy records the refusal', () => {
    const requested = { ...integrated, record: { ...record, type: 'MX', ttl: 2_592_000 } };
    expect(readAddRecord(requested)).toEqual(requested);
  });

  it.each([[undefined], [null], ['x'], [[]]])('with the record %j is refused', (bad) => {
    expect(outcome(readAddRecord, { ...integrated, record: bad })).toEqual([
      `${bad === undefined ? 'missing_field' : 'invalid_value'} record`,
    ]);
  });

  it.each([
    [{ type: 'password', token: 'x' }, ['invalid_value credentials.type']],
    [{ token: 'x' }, ['missing_field credentials.type']],
    [{ type: 'bearer', token: 7, key: null }, ['invalid_value credentials']],
    [{ type: 'sealed', jwe: 'a', 's3cret-in-the-wrong-place': 'x' }, ['invalid_value credentials']],
    [{ type: 'bearer', 's3cret-in-the-wrong-place': ['x'] }, ['invalid_value credentials']],
    [{ type: 'sealed' }, ['missing_field credentials.jwe']],
    ['secret', ['invalid_value credentials']],
    [undefined, ['missing_field credentials']],
  ])('with credentials %# is refused', (credentials, faults) => {
    expect(outcome(readMakeIntegration, { ...owner, credentials })).toEqual(faults);
  });

  it('reports errors of its credentials together with those of its other members', () => {
    expect(
      outcome(readMakeIntegration, { ...owner, account: 1, credentials: { type: 'bearer', a: 7 } }),
    ).toEqual(expect.arrayContaining(['invalid_value account', 'invalid_value credentials']));
  });

  it('never repeats a value, and only the beginning of a long name', () => {
    const secret = 'S3CRET'.repeat(20);
    const body = { ...owner, credentials: { type: 'bearer', token: [secret] }, [`x${secret}`]: secret };
    try {
      readMakeIntegration(body);
    } catch (error) {
      expect(JSON.stringify([(error as Problem).message, (error as Problem).faults])).not.toContain(secret);
    }
    expect.assertions(1);
  });

  it('reports at most twenty errors', () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`m${n}`, n]));
    expect(outcome(readGetZones, { ...integrated, ...many })).toHaveLength(20);
  });
});
