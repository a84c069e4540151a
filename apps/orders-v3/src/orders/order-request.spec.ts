import { Problem } from '@certwright/errors';
import fc from 'fast-check';
import { orderNameFault } from './order-name';
import { readOrderRequest } from './order-request';

describe('the body of a POST', () => {
  it.each([undefined, null, 'text', 7, true, [], [{}]])('must be an object, not %j', (body) => {
    expect(() => readOrderRequest(body)).toThrow(Problem);
  });

  it('may carry the read-only members of an order, which say nothing', () => {
    const body = {
      revision: 7,
      current_cert: {},
      current_cert_download: 'x',
      pubkey_sha256: null,
      issuance: 1,
    };
    expect(readOrderRequest(body)).toEqual({ wishes: {}, csr: null, faults: [], unknownMembers: [] });
  });

  it('has each unknown member told, up to a bound', () => {
    const body = JSON.parse('{"colour": 1, "__proto__": 1, "dnsNames": []}') as object;
    const fields = readOrderRequest(body).unknownMembers.map(({ field }) => field);
    expect(fields).toEqual(['colour', '__proto__', 'dnsNames']);
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`m${index}`, 1]));
    expect(readOrderRequest(many).unknownMembers).toHaveLength(20);
  });

  it('never makes a reader fail, whatever its members are', () => {
    const members = [
      'name',
      'dns_names',
      'approver_emails',
      'cluster',
      'auto_renew',
      'product',
      'key_type',
      'csr',
    ];
    const body = fc.dictionary(fc.oneof(fc.constantFrom(...members), fc.string()), fc.anything());
    fc.assert(
      fc.property(body, (value) => {
        const { wishes } = readOrderRequest(value);
        expect(Object.values(wishes)).not.toContain(undefined);
        if (wishes.dnsNames) expect(wishes.dnsNames.length).toBeGreaterThan(0);
      }),
      { numRuns: 500 },
    );
  });
});

describe('the name of an order', () => {
  it.each([
    'a',
    'example.com',
    '*.example.com',
    'Grüße / 你好',
    '...',
    ' ',
    'x'.repeat(255),
    '😀'.repeat(255),
  ])('may be %j', (name) => expect(orderNameFault(name)).toBeNull());

  it.each([
    '',
    '.',
    '..',
    '\u200b\u200d',
    '\u202e\u2066\ufeff',
    'a\nb',
    '\u0000',
    '\u009f',
    'x'.repeat(256),
    '😀'.repeat(256),
    '\ud83d',
    'a\udc00b',
  ])('may not be %j', (name) => expect(orderNameFault(name)).not.toBeNull());
});
