import { argumentsIn, fieldsIn, readArguments } from '../wire/arguments';
import { Refusal } from '../wire/reasons';
import { readBuyRequest } from '../instance-actions/buy-request';
import { readInstanceReference } from './instance-reference';
import { InstanceQuery, retryAfterS } from './retrieve-instance.use-case';

const readPoll = (poll: unknown) => readArguments(InstanceQuery, fieldsIn({ poll })).poll ?? null;

const refusalOf = (work: () => unknown): { reason: string; param: string | undefined } | 'taken' => {
  try {
    work();
    return 'taken';
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { reason: error.reason, param: error.field };
  }
};

describe('poll', () => {
  it.each([
    [undefined, null],
    ['0', 0],
    ['1', 1_000],
    ['007', 7_000],
    ['180', 180_000],
    ['181', 180_000],
    ['1000000000', 180_000],
    ['9'.repeat(400), 180_000],
  ])('%p is %p ms', (value, ms) => expect(readPoll(value)).toBe(ms));

  it.each(['', '-1', '1.5', '1e9', ' 1', 'NaN', 'soon', '٣', '0x10', ['1', '2'], { a: '1' }])(
    '%p is refused',
    (value) => expect(refusalOf(() => readPoll(value))).toEqual({ reason: 'bad_param', param: 'poll' }),
  );
});

describe('when a caller may retry', () => {
  const openedAt = new Date('2026-11-21T12:00:00Z');
  it.each([
    [-5, 1],
    [0, 1],
    [20, 1],
    [21, 2],
    [600, 30],
    [6_000, 300],
    [2_000_000, 300],
  ])('after %i s: in %i s', (ageS, expected) =>
    expect(retryAfterS(openedAt, new Date(openedAt.getTime() + ageS * 1_000))).toBe(expected),
  );
});

describe('the name of an instance in the path', () => {
  const hash = 'a1'.repeat(32);

  it('is an id, or the hash of its key in either case', () => {
    expect(readInstanceReference('123')).toEqual({ kind: 'id', id: '123' });
    expect(readInstanceReference(`pubkey_hash:${hash}`)).toEqual({ kind: 'key', pubkeyHash: hash });
    expect(readInstanceReference(`pubkey_hash:${hash.toUpperCase()}`)).toEqual({
      kind: 'key',
      pubkeyHash: hash,
    });
  });

  it.each([
    '',
    '0',
    '-1',
    '01',
    '1.0',
    '1e3',
    '9007199254740992',
    '99999999999999999999',
    'abc',
    '__proto__',
    '１',
  ])('%p is no instance’s', (text) => expect(readInstanceReference(text)).toBeNull());

  it.each(['', 'a1', `${hash}00`, 'g'.repeat(64), `${hash.slice(1)} `])(
    'pubkey_hash:%p is no key’s',
    (text) =>
      expect(refusalOf(() => readInstanceReference(`pubkey_hash:${text}`))).toMatchObject({
        reason: 'no_such_pubkey_hash',
      }),
  );
});

describe('the arguments of buy', () => {
  const read = (body: unknown) => readBuyRequest(argumentsIn(body));

  it('are all optional, and what is empty is not there', () => {
    const none = { kind: 'term', invoiceNote: null, emailInvoiceTo: null };
    expect(read(undefined)).toEqual(none);
    expect(
      read({ invoice_note: '', email_invoice_to: '', days: '', coupon_code: 'X', something: [1] }),
    ).toEqual(none);
    expect(read({ days: '365', force_new_subscription: '1' })).toEqual(none);
  });

  it('carry a note and an address', () => {
    const note = `${'ü'.repeat(500)}\n${'😀'.repeat(499)}`;
    expect(read({ invoice_note: note, email_invoice_to: "o'neil+x@mail.example.com" })).toEqual({
      kind: 'term',
      invoiceNote: note,
      emailInvoiceTo: "o'neil+x@mail.example.com",
    });
  });

  it.each([
    ['invoice_note', 'x'.repeat(1_001)],
    ['invoice_note', 'a\u0007b'],
    ['invoice_note', ['a']],
    ['email_invoice_to', 'invoices'],
    ['email_invoice_to', 'a@b'],
    ['email_invoice_to', 'a b@example.com'],
    ['email_invoice_to', 'a@example.com,b@example.com'],
    ['email_invoice_to', 'A <a@example.com>'],
    ['email_invoice_to', 'a@example.com\r\nBcc: b@example.com'],
    ['email_invoice_to', 'a@b@example.com'],
    ['email_invoice_to', `${'a'.repeat(65)}@example.com`],
    [
      'email_invoice_to',
      `a@${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.${'e'.repeat(60)}.${'f'.repeat(60)}`,
    ],
    ['email_invoice_to', 'ä@example.com'],
    ['email_invoice_to', { toString: 'x' }],
    ['days', '0'],
    ['days', '-1'],
    ['days', '3654'],
    ['days', '1.5'],
    ['force_new_subscription', 'perhaps'],
  ])('%s %p is refused', (param, value) =>
    expect(refusalOf(() => read({ [param]: value }))).toEqual({ reason: 'bad_param', param }),
  );
});
