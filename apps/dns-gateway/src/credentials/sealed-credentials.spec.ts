import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { Problem } from '@certwright/errors';
import { defineSettings } from '@certwright/service';
import { CompactEncrypt, type CompactJWEHeaderParameters, importJWK } from 'jose';
import { credentialKeys, type CredentialKeys, readCredentialKeys } from './credential-keys';
import { openCredentials } from './sealed-credentials';

const newKey = (namedCurve = 'P-256'): KeyObject => generateKeyPairSync('ec', { namedCurve }).privateKey;
const pemOf = (key: KeyObject): string => String(key.export({ type: 'pkcs8', format: 'pem' }));
const [current, previous] = [newKey(), newKey()];
const keys = readCredentialKeys(pemOf(current) + pemOf(previous)) as CredentialKeys;

const now = new Date('2026-11-20T12:00:00Z');
const unix = now.getTime() / 1000;
const owner = { account: '42', provider: 'cloudflare' } as const;
const content = { ...owner, credentials: { type: 'bearer', token: 'geheim' }, issued_at: unix - 5 };

async function sealed(
  plain: unknown = content,
  header: Partial<CompactJWEHeaderParameters> = {},
  to: Readonly<Record<string, string>> = keys[0].publicJwk,
): Promise<string> {
  const text = typeof plain === 'string' ? plain : JSON.stringify(plain);
  return await new CompactEncrypt(Buffer.from(text))
    .setProtectedHeader({ alg: 'ECDH-ES+A256KW', enc: 'A256GCM', kid: to['kid'], ...header })
    .encrypt(await importJWK(to, header.alg ?? 'ECDH-ES+A256KW'));
}

async function opened(jwe: string, whose: Parameters<typeof openCredentials>[1] = owner): Promise<unknown> {
  try {
    return await openCredentials({ type: 'sealed', jwe }, whose, keys, now);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { code: error.code, field: error.field, message: error.message };
  }
}

const refusal = {
  code: 'invalid_value',
  field: 'credentials.jwe',
  message:
    "The sealed credentials do not open: they must be sealed to the gateway's present key, for this account and provider, within the last 10 minutes.",
};

describe('sealed credentials', () => {
  it('open under the current key and the previous one', async () => {
    expect(await opened(await sealed())).toEqual({ type: 'bearer', token: 'geheim' });
    expect(await opened(await sealed(content, {}, keys[1]?.publicJwk))).toEqual({
      type: 'bearer',
      token: 'geheim',
    });
  });

  it.each([
    ['another account', { ...content, account: '43' }],
    ['another provider', { ...content, provider: 'gandi' }],
    ['longer ago than ten minutes and a minute of skew', { ...content, issued_at: unix - 661 }],
    ['further ahead than a minute', { ...content, issued_at: unix + 61 }],
    ['no time', { ...content, issued_at: undefined }],
    ['a time that is a text', { ...content, issued_at: String(unix) }],
    ['no account', { ...content, account: undefined }],
    ['no object', 'null'],
    ['no JSON', '{"account":'],
  ])('with %s do not open', async (_what, plain) =>
    expect(await opened(await sealed(plain))).toEqual(refusal),
  );

  it.each([
    ['ten minutes and a minute ago', -660],
    ['a minute ahead', 60],
  ])('of %s open', async (_what, s) => {
    expect(await opened(await sealed({ ...content, issued_at: unix + s }))).toEqual(content.credentials);
  });

  it.each([
    ['to a key without an id', { kid: undefined }],
    ['to an unknown key', { kid: 'x' }],
    ['with another encryption', { enc: 'A128GCM' }],
    ['with another key agreement', { alg: 'ECDH-ES' }],
    ['with another key wrap', { alg: 'ECDH-ES+A128KW' }],
  ])('%s do not open', async (_what, header) => {
    expect(await opened(await sealed(content, header as Partial<CompactJWEHeaderParameters>))).toEqual(
      refusal,
    );
  });

  it('do not open when sealed to a foreign key under the id of ours', async () => {
    const [other] = readCredentialKeys(pemOf(newKey())) as CredentialKeys;
    const jwk = { ...other.publicJwk, kid: keys[0].kid };
    expect(await opened(await sealed(content, {}, jwk))).toEqual(refusal);
  });

  it('do not open when compressed, including a small decompression bomb', async () => {
    expect(await opened(await sealed(content, { zip: 'DEF' }))).toEqual(refusal);
    const bomb = deflateRawSync(Buffer.alloc(10_000_000)).toString('base64url');
    expect(
      await opened(
        `${Buffer.from('{"alg":"dir","enc":"A256GCM","zip":"DEF"}').toString('base64url')}..a.${bomb}.b`,
      ),
    ).toEqual(refusal);
  });

  it('with any part changed or missing, or too long, do not open', async () => {
    const jwe = await sealed();
    const parts = jwe.split('.');
    for (const at of parts.keys()) {
      const part = parts[at] ?? '';
      const changed = (part.startsWith('A') ? 'B' : 'A') + part.slice(1);
      expect(await opened(parts.with(at, changed).join('.'))).toEqual(refusal);
      expect(await opened(parts.toSpliced(at, 1).join('.'))).toEqual(refusal);
    }
    expect(await opened(await sealed({ ...content, filling: 'x'.repeat(13_000) }))).toEqual(refusal);
    expect(await opened('')).toEqual(refusal);
  });

  it.each([
    ['sealed ones', { type: 'sealed', jwe: 'x' }],
    ['no type', { token: 'x' }],
    ['a member that is no text', { type: 'bearer', token: 7 }],
  ])('that hold %s are refused like plain ones', async (_what, credentials) => {
    expect(await opened(await sealed({ ...content, credentials }))).toMatchObject({ code: 'bad_request' });
  });
});

describe('CREDENTIALS_KEY', () => {
  const jwkOf = (key: KeyObject) => key.export({ format: 'jwk' });

  it('is PEM, a JWK or a JWK set, and known by its thumbprint (RFC 7638)', () => {
    const kids = (text: string) => readCredentialKeys(text)?.map(({ kid }) => kid);
    const both = [keys[0].kid, keys[1]?.kid];
    expect(kids(JSON.stringify(jwkOf(current)))).toEqual([both[0]]);
    expect(kids(JSON.stringify({ keys: [jwkOf(current), jwkOf(previous)] }))).toEqual(both);
    expect(kids(`\n${pemOf(current)}\n\n${pemOf(previous)}`)).toEqual(both);
    expect(keys[0].kid).toMatch(/^[\w-]{43}$/);
  });

  it('shows its public half alone', () => {
    expect(Object.keys(keys[0].publicJwk).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
    expect(JSON.stringify(keys[0].publicJwk)).not.toContain(String(jwkOf(current).d));
  });

  it.each([
    ['nothing', ''],
    ['another curve', pemOf(newKey('P-384'))],
    ['an RSA key', pemOf(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey)],
    ['a public key', JSON.stringify(keys[0].publicJwk)],
    ['something beside a key', `${pemOf(current)}and more`],
    ['an empty set', '{"keys":[]}'],
    ['broken JSON', '{"keys":'],
  ])('with %s is refused, and not repeated', (_what, text) => {
    expect(readCredentialKeys(text)).toBeNull();
    const settings = defineSettings({ CREDENTIALS_KEY: credentialKeys({ meaning: 'Open' }) });
    expect(() => settings.read({ CREDENTIALS_KEY_FILE: '/k' }, () => `${text} `)).toThrow(
      /holds something else than private keys on P-256$/m,
    );
  });
});
