import { certificateRequest, keyPair, type RequestedSubject } from '../testing/certificate-request';
import { desired, product, refused } from '../testing/desired';
import { countryCodes } from './country-codes';

const keys = keyPair('p256');
const cn = 'www.example.com';
const subject = (changes: RequestedSubject = {}) => certificateRequest(keys, { CN: cn, ...changes });

/** About every second one has it. */
const subjectWithPlus = (): string => {
  const pem = subject();
  return /^(?!-).*\+/m.test(pem) ? pem : subjectWithPlus();
};

const accepted = (csr: string) => desired(null, cn, { csr, approval_method: 'dns' }).csr;
const whyNot = (csr: unknown, facts = {}) => {
  const { reason, param } = refused(() => desired(null, cn, { csr, approval_method: 'dns' }, facts));
  return [reason, param];
};

describe('a CSR', () => {
  it.each(['p256', 'p384', 'rsa2048'] as const)('has a key such as %s', (kind) => {
    const { keyType } = accepted(certificateRequest(keyPair(kind), { CN: cn }));
    expect(keyType).toBe(kind === 'rsa2048' ? 'rsa' : 'ecdsa');
  });

  it.each([
    ['an RSA key of 1024 bits', 'rsa1024', 'bad_bitsize'],
    ['a key on P-521', 'p521', 'bad_curve'],
    ['an Ed25519 key', 'ed25519', 'bad_keytype'],
  ] as const)('is refused with %s', (_what, kind, reason) => {
    expect(whyNot(certificateRequest(keyPair(kind), { CN: cn }))).toEqual([reason, 'csr']);
  });

  it('is rejected when its key is compromised, or not accepted by the product', () => {
    expect(whyNot(subject(), { keyBlocked: true })).toEqual(['bad_csr', 'csr']);
    const rsaAlone = { products: { dv: product({ curves: [] }), ev: null } };
    expect(whyNot(subject(), rsaAlone)).toEqual(['bad_keytype', 'csr']);
  });

  it('is refused when another key has signed it', () => {
    const lines = subject().split('\n');
    const body = Buffer.from(lines.slice(1, -2).join(''), 'base64');
    body[body.length - 5] = (body.at(-5) ?? 0) ^ 1;
    const broken = ['-----BEGIN CERTIFICATE REQUEST-----', body.toString('base64'), ...lines.slice(-2)];
    expect(whyNot(broken.join('\n'))).toEqual(['bad_csr', 'csr']);
  });

  it('is taken with any kind of line end, under its older label, and without the last line end', () => {
    const pem = subject();
    const texts = [
      pem.replaceAll('\n', '\r\n'),
      pem.trim(),
      `\n${pem}\n`,
      certificateRequest(keys, { CN: cn }, { label: 'NEW CERTIFICATE REQUEST' }),
    ];
    for (const text of texts) expect(accepted(text).keyType).toBe('ecdsa');
  });

  it.each([
    ['white space around its lines', (pem: string) => pem.replaceAll('\n', ' \t\n')],
    ['indented lines', (pem: string) => pem.replaceAll(/^/gm, '  ')],
    ['a byte order mark, as of PowerShell', (pem: string) => `\ufeff${pem}`],
    ['empty lines within', (pem: string) => pem.replaceAll('\n', '\n\n')],
  ])('is taken with %s', (_what, written) => {
    expect(accepted(written(subject())).keyType).toBe('ecdsa');
  });

  it.each([
    [
      'spaces for +, as of a form without percent-encoding',
      () => subjectWithPlus().replaceAll('+', ' '),
      /not valid base64.*%2B/,
    ],
    [
      'a line break that was escaped',
      () => subject().replaceAll('\n', '\\n'),
      /outside of every block.*lines of their own/,
    ],
    ['a file name', () => '@www.csr', /outside of every block/],
  ])('is refused with %s, and the message says what to do', (_what, csr, message) => {
    expect(refused(() => accepted(csr())).message).toMatch(message);
  });

  it.each([
    ['nothing', ''],
    ['a word', 'csr'],
    ['base64 without PEM', subject().split('\n').slice(1, -2).join('')],
    ['text around it', `Subject: me\n${subject()}`],
    ['two of them', subject() + subject()],
    ['a certificate', subject().replaceAll('CERTIFICATE REQUEST', 'CERTIFICATE')],
    ['half of it', subject().slice(0, 200)],
    ['other characters in it', subject().replace('A', 'Ä')],
    ['200 KB', `-----BEGIN CERTIFICATE REQUEST-----\n${'A'.repeat(200_000)}`],
    ['more bytes than any needs', subject({ C: 'x'.repeat(33_000) })],
  ])('is refused for %s', (_what, csr) => {
    expect(whyNot(csr)).toEqual(['bad_csr', 'csr']);
  });

  it('is refused with a private key in it, which is never repeated', () => {
    const key = keyPair('rsa2048').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    for (const csr of [key, subject() + key, key + subject()]) {
      const { reason, message } = refused(() => desired(null, cn, { csr, approval_method: 'dns' }));
      expect(reason).toBe('bad_csr');
      expect(message).toContain('private key');
      expect(message).not.toContain(key.slice(30, 50));
    }
  });
});

describe('the subject of a CSR', () => {
  it('has the common name of the object, in whatever case', () => {
    expect(accepted(subject({ CN: 'WWW.Example.COM' })).keyType).toBe('ecdsa');
  });

  it.each([
    ['none', []],
    ['another one', 'example.com'],
    ['an empty one', ''],
    ['the right one and another one', [cn, 'a.example.com']],
    ['a dot at its end', `${cn}.`],
    ['a letter that only looks like one of it', 'www.example.\u0441om'],
    ['a letter that folds to one of it', '\u212a.example.com'],
  ])('is refused with %s', (_what, CN) => {
    const name = CN === '\u212a.example.com' ? 'k.example.com' : cn;
    const body = { csr: subject({ CN }), approval_method: 'dns' };
    expect(refused(() => desired(null, name, body))).toMatchObject({ reason: 'bad_cn', param: 'csr' });
  });

  it.each(['US', 'DE', 'AX', 'ZW'])('has a country such as %s', (C) => {
    expect(accepted(subject({ C })).keyType).toBe('ecdsa');
  });

  it.each([
    ['none', []],
    ['one of no country', 'XX'],
    ['one that is reserved', 'UK'],
    ['a user-assigned code', 'XK'],
    ['the European Union', 'EU'],
    ['lower case', 'us'],
    ['three letters', 'USA'],
    ['one letter', 'U'],
    ['no letter', ''],
    ['a name', 'Germany'],
    ['a space', 'US '],
    ['a NUL', 'U\0'],
    ['two', ['US', 'DE']],
    ['the same one twice', ['US', 'US']],
    ['letters that only look like it', '\u0405U'],
    ['wide letters', '\uff35\uff33'],
    ['a member of the prototype', 'constructor'],
  ])('is refused with the country %s', (_what, C) => {
    expect(whyNot(certificateRequest(keys, { CN: cn, C }, { countryTag: 0x0c }))).toEqual([
      'bad_country',
      'csr',
    ]);
  });
});

it('contains exactly the assigned country codes', () => {
  expect(countryCodes.size).toBe(249);
  expect([...countryCodes].every((code) => /^[A-Z]{2}$/.test(code))).toBe(true);
});
