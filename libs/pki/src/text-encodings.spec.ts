import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import fc from 'fast-check';
import { containsPrivateKey, holdsPrivateKey } from '@certwright/errors';
import { decodeBase64, decodePem, encodePem } from './index';
import { commonName, dns, forgeCsr } from './testing/csr-forge';
import { seq } from './testing/der-forge';

describe('strict base64', () => {
  it('reads what it writes, for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 100 }), (bytes) => {
        const decoded = decodeBase64(Buffer.from(bytes).toString('base64'), 100);
        expect(decoded.ok && Buffer.from(decoded.bytes).equals(Buffer.from(bytes))).toBe(true);
      }),
    );
  });

  it.each([
    'QQ',
    'QQ=',
    'QR==',
    'QQ== ',
    'QQ==\n',
    'Q\nQ==',
    'Q-==',
    'QQ==QQ==',
    '=',
    '=QQ=',
    'QUI==',
    'QUJD=',
    'ä',
    'QQ=='.padEnd(8, '\0'),
  ])('refuses %j, which another reader takes', (text) =>
    expect(decodeBase64(text, 100)).toEqual({ ok: false, fault: 'not_canonical' }),
  );

  it('bounds the size before it decodes', () => {
    expect(decodeBase64('', 3)).toEqual({ ok: false, fault: 'empty' });
    expect(decodeBase64('QUJD', 3).ok).toBe(true);
    expect(decodeBase64('QUJD', 2)).toEqual({ ok: false, fault: 'too_long' });
    expect(decodeBase64('!'.repeat(9), 3)).toEqual({ ok: false, fault: 'too_long' });
  });
});

describe('PEM', () => {
  const block = encodePem('CERTIFICATE', Buffer.alloc(100, 7));

  it('writes lines of 64 characters and reads them back, for several blocks and any kind of line end', () => {
    expect(block.split('\n')[1]).toHaveLength(64);
    const decoded = decodePem(`${block}\n${block.replaceAll('\n', '\r\n')}`, 2);
    expect(decoded.ok && decoded.blocks.map(({ der, label }) => [label, der.length])).toEqual([
      ['CERTIFICATE', 100],
      ['CERTIFICATE', 100],
    ]);
  });

  it('reads blocks with white space around their lines, and with text around them where the caller ignores it', () => {
    const spaced = `\ufeff${block.replaceAll('\n', ' \n\n\t')}`;
    expect(decodePem(spaced, 1)).toEqual(decodePem(block, 1));
    expect(decodePem(`hello\n${block}hello`, 1, 'ignored')).toEqual(decodePem(block, 1));
  });

  it.each([
    ['nothing', ''],
    ['text before the block', `hello\n${block}`],
    ['a block without an end', block.slice(0, -30)],
    ['another label at the end', block.replace('END CERTIFICATE', 'END X509 CRL')],
    ['a block inside another', block.replace('BwcH', '-----BEGIN CERTIFICATE-----\nBwcH')],
    ['a header inside the block', block.replace('-\n', '-\nProc-Type: 4,ENCRYPTED\n\n')],
    ['broken base64', block.replace('=', '')],
    ['an empty block', '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n'],
    ['more blocks than allowed', block.repeat(3)],
    ['text of megabytes', '\n'.repeat(1 << 20)],
  ])('refuses %s', (_what, text) => expect(decodePem(text, 2).ok).toBe(false));
});

describe('a private key that was pasted', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ed = generateKeyPairSync('ed25519');
  const pkcs8 = ec.privateKey.export({ type: 'pkcs8', format: 'der' });
  const encrypted = { cipher: 'aes-256-cbc', passphrase: 'secret' } as const;
  const shapes: [string, string][] = [
    ['PEM PKCS #8', rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()],
    ['PEM PKCS #1', rsa.privateKey.export({ type: 'pkcs1', format: 'pem' }).toString()],
    ['PEM SEC 1', ec.privateKey.export({ type: 'sec1', format: 'pem' }).toString()],
    [
      'encrypted PEM PKCS #8',
      rsa.privateKey.export({ type: 'pkcs8', format: 'pem', ...encrypted }).toString(),
    ],
    [
      'encrypted PEM PKCS #1',
      rsa.privateKey.export({ type: 'pkcs1', format: 'pem', ...encrypted }).toString(),
    ],
    ['OpenSSH', '-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU='],
    ['OpenSSH without its header', 'b3BlbnNzaC1rZXktdjEAAAAABG5vbmU'],
    ['PuTTY', 'PuTTY-User-Key-File-3: ssh-rsa'],
    ['PGP', '-----BEGIN PGP PRIVATE KEY BLOCK-----'],
    ['a header that lost its dashes and spaces', 'BEGIN%20RSA%20PRIVATE%20KEY'],
    ['base64 of DER PKCS #8', pkcs8.toString('base64')],
    ['URL-safe base64 of DER PKCS #8', pkcs8.toString('base64url')],
    [
      'base64 of DER PKCS #8 of Ed25519',
      ed.privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64'),
    ],
    ['base64 of DER PKCS #1', rsa.privateKey.export({ type: 'pkcs1', format: 'der' }).toString('base64')],
    ['base64 of DER SEC 1', ec.privateKey.export({ type: 'sec1', format: 'der' }).toString('base64')],
    [
      'base64 of encrypted DER PKCS #8',
      ec.privateKey.export({ type: 'pkcs8', format: 'der', ...encrypted }).toString('base64'),
    ],
    ['base64 on many lines', (pkcs8.toString('base64').match(/.{1,20}/g) ?? []).join('\r\n')],
    ['base64 with escaped line breaks', (pkcs8.toString('base64').match(/.{1,20}/g) ?? []).join('\\n')],
    ['base64 that is cut off', pkcs8.toString('base64').slice(0, 41)],
    [
      'base64 of PEM, as in a Kubernetes secret',
      Buffer.from(ec.privateKey.export({ type: 'pkcs8', format: 'pem' })).toString('base64'),
    ],
    ['a JWK', JSON.stringify(ec.privateKey.export({ format: 'jwk' }))],
    [
      'a key after a request',
      `${encodePem('CERTIFICATE REQUEST', forgeCsr(ec))}${encodePem('EC PRIVATE KEY', pkcs8)}`,
    ],
  ];

  it.each(shapes)('is recognised as %s', (_shape, text) => expect(containsPrivateKey(text)).toBe(true));

  it.each([
    ['a sentence', (key: string) => `Here is my key: ${key} Thanks!`],
    ['JSON', (key: string) => JSON.stringify({ type: 'service', key })],
    ['a path', (key: string) => `/api/v3/orders/${key}`],
    ['an assignment', (key: string) => `MY_KEY=${key}`],
  ])('is found within %s', (_place, within) => {
    for (const text of [pkcs8.toString('base64'), pkcs8.toString('base64url'), String(shapes[0]?.[1])])
      expect([containsPrivateKey(within(text)), holdsPrivateKey(within(text))]).toEqual([true, true]);
  });

  it('is not found in a text that only mentions one', () => {
    for (const text of [
      'Rotates the private key of web1',
      'Key: MIIB and so on, in a text that is long enough',
    ])
      expect(holdsPrivateKey(text)).toBe(false);
  });

  it('is found in time that is linear in the text', () => {
    for (const unit of ['/M', 'M', ' LS0tLS1CRUdJTi', '/M0'])
      expect(holdsPrivateKey(unit.repeat(100_000))).toBe(false);
  });

  it.each([
    ['a request', forgeCsr(ec).toString('base64')],
    ['a request in PEM', encodePem('CERTIFICATE REQUEST', forgeCsr(rsa))],
    ['an RSA public key', rsa.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')],
    ['a PKCS #1 public key', rsa.publicKey.export({ type: 'pkcs1', format: 'der' }).toString('base64')],
    ['an EC public key', ec.publicKey.export({ type: 'spki', format: 'pem' }).toString()],
    ['a public JWK', JSON.stringify(ec.publicKey.export({ format: 'jwk' }))],
    ['nothing', ''],
    ['a name', 'example.com'],
    [
      'a request in PEM after a line of openssl',
      `Subject: CN=private-key.example.com\n${encodePem('CERTIFICATE REQUEST', forgeCsr(ec))}`,
    ],
  ])('is not seen in %s', (_what, text) => {
    expect([containsPrivateKey(text), holdsPrivateKey(text)]).toEqual([false, false]);
  });

  /** The inner part of a request begins as PKCS #8 does. With content of 255 bytes, its base64 follows a slash. */
  it('is not seen in requests of any length', () => {
    for (const parts of [
      (text: string) => ({ subject: seq(commonName(text)), attributes: [] }),
      (text: string) => ({ subject: seq(), sans: [dns(text)] }),
    ]) {
      const requests = Array.from({ length: 80 }, (_, at) =>
        forgeCsr(ec, { ...parts('x'.repeat(at + 1)), signature: Buffer.alloc(71) }),
      );
      expect(requests.some((der) => der.toString('base64').startsWith('MIH/MIG'))).toBe(true);
      for (const der of requests) {
        for (const text of [der.toString('base64'), encodePem('CERTIFICATE REQUEST', der)])
          expect([containsPrivateKey(text), holdsPrivateKey(text)]).toEqual([false, false]);
      }
    }
  });

  it('is not seen in a request whose names mention one', () => {
    for (const name of ['private.keycloak.example.com', 'private-key.example.com', 'Private Keys Ltd']) {
      for (const parts of [
        { subject: seq(commonName(name)) },
        { subject: seq(commonName('x'.repeat(120)), commonName(name)) },
        { subject: seq(), sans: [dns(name)] },
      ]) {
        const der = forgeCsr(ec, parts);
        for (const text of [der.toString('base64'), encodePem('CERTIFICATE REQUEST', der)])
          expect([name, containsPrivateKey(text), holdsPrivateKey(text)]).toEqual([name, false, false]);
      }
    }
  });

  it('is a key indeed in these shapes', () => {
    expect(createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' }).type).toBe('private');
  });
});
