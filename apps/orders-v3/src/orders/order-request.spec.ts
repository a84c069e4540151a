import { objectNameFault } from '@certwright/accounts';
import 'reflect-metadata';
import { readMembers } from '@certwright/service';
import fc from 'fast-check';
import { OrderRequest } from './order-request';

const read = (body: object) => readMembers(OrderRequest, body as Readonly<Record<string, unknown>>);

describe('the body of a POST', () => {
  it('may have the read-only members of an order, which are ignored', () => {
    const body = {
      revision: 7,
      current_cert: {},
      current_cert_download: 'x',
      pubkey_sha256: null,
      issuance: 1,
      installations: [],
    };
    expect(read(body)).toEqual({ value: {}, faults: [], unknownMembers: [] });
  });

  it('reports unknown members, up to a maximum', () => {
    const body = JSON.parse('{"colour": 1, "__proto__": 1, "dnsNames": []}') as object;
    expect(read(body).unknownMembers).toEqual(['colour', '__proto__', 'dnsNames']);
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`m${index}`, 1]));
    expect(read(many).unknownMembers).toHaveLength(20);
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
    const bodies = fc.dictionary(fc.oneof(fc.constantFrom(...members), fc.string()), fc.anything());
    fc.assert(
      fc.property(bodies, (body) => {
        const { value: request } = read(body);
        expect(Object.values(request)).not.toContain(undefined);
        if (request.dns_names) expect(request.dns_names.length).toBeGreaterThan(0);
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
  ])('may be %j', (name) => expect(objectNameFault(name)).toBeNull());

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
  ])('may not be %j', (name) => expect(objectNameFault(name)).not.toBeNull());
});
