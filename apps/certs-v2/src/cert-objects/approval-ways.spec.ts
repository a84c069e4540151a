import { certificateRequest, keyPair } from '../testing/certificate-request';
import { desired } from '../testing/desired';
import { placedWaysOf, termsOf } from './approval-ways';

const keys = keyPair('p256');
const made = (cn: string, more: object) =>
  desired(null, cn, { csr: certificateRequest(keys, { CN: cn }), approval_method: 'dns', ...more });
const records = (cn: string, acceptsRecordsAbove: boolean, more: object = {}) =>
  [...placedWaysOf(made(cn, more), acceptsRecordsAbove).values()].map(
    ({ dnsName, recordAt, recordPlace }) => [dnsName, recordAt, recordPlace],
  );

describe('with default SANs one record approves both names, at the shorter of them', () => {
  it.each([
    [
      'example.com',
      [
        ['example.com', null, 'example.com'],
        ['www.example.com', 'example.com', 'example.com'],
      ],
    ],
    [
      'www.example.com',
      [
        ['www.example.com', 'example.com', 'example.com'],
        ['example.com', null, 'example.com'],
      ],
    ],
    [
      '*.example.com',
      [
        ['*.example.com', null, 'example.com'],
        ['example.com', null, 'example.com'],
      ],
    ],
    [
      '*.www.example.com',
      [
        ['*.www.example.com', null, 'www.example.com'],
        ['www.example.com', null, 'www.example.com'],
      ],
    ],
  ])('%s', (cn, expected) => {
    expect(records(cn, true)).toEqual(expected);
  });

  it('unless the issuer checks each name itself', () => {
    expect(records('www.example.com', false).map(([name, , place]) => [name, place])).toEqual([
      ['www.example.com', 'www.example.com'],
      ['example.com', 'example.com'],
    ]);
  });

  it('by dns alone', () => {
    expect(records('example.com', true, { approval_method: 'http' }).map(([, at]) => at)).toEqual([
      null,
      null,
    ]);
  });
});

it('with SANs of its own every name has its own record', () => {
  const sans = [{ value: 'example.com', approval_method: 'dns' }];
  expect(records('www.example.com', true, { sans })).toEqual([
    ['www.example.com', null, 'www.example.com'],
    ['example.com', null, 'example.com'],
  ]);
});

it('the terms say for every name how it is approved, the common name first', () => {
  const sans = [
    { value: 'b.example.com', approval_method: 'email', approver_email: 'admin@example.com' },
    { value: 'a.example.com', approval_method: 'http' },
  ];
  const object = made('c.example.com', { sans });
  expect(termsOf(object, 'paid_ca')).toEqual({
    product: 'paid_ca',
    dnsNames: ['c.example.com', 'b.example.com', 'a.example.com'],
    keyType: 'ecdsa',
    csr: object.csr.der,
    spkiSha256: object.csr.spkiSha256,
    approverEmails: { 'b.example.com': 'admin@example.com' },
    approvalWays: {
      'c.example.com': { method: 'dns', approverEmail: null, recordAt: null },
      'b.example.com': { method: 'email', approverEmail: 'admin@example.com', recordAt: null },
      'a.example.com': { method: 'http', approverEmail: null, recordAt: null },
    },
    ownerFacts: { sans: object.sans },
  });
});
