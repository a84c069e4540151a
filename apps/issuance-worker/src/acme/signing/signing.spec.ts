import {
  createHash,
  createHmac,
  createPrivateKey,
  generateKeyPairSync,
  type JsonWebKey,
  KeyObject,
} from 'node:crypto';
import { flattenedVerify, importJWK } from 'jose';
import { rfc7515A2, rfc7638 } from '../testing/jws-vectors';
import { AccountKey, thumbprintOf } from './account-key';
import { bindExternalAccount, readHmacKey } from './external-account';
import { postAsGet, signRequest } from './jws';
import { dns01Value, keyAuthorization } from './key-authorization';

const url = 'https://ca.example.com/order/1';
const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).privateKey;
const keys = {
  ES256: () => ec('P-256'),
  ES384: () => ec('P-384'),
  RS256: () => generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey,
};
const rfcKey = () =>
  new AccountKey(createPrivateKey({ key: rfc7515A2.jwk as unknown as JsonWebKey, format: 'jwk' }));

it('signs as RFC 7515, appendix A.2 does', () => {
  const key = rfcKey();
  expect(key.algorithm).toBe('RS256');
  expect(key.sign(rfc7515A2.signingInput)).toBe(rfc7515A2.signature);
});

it('computes the thumbprint of RFC 7638, section 3.1', () => {
  expect(thumbprintOf(rfc7638.jwk)).toBe(rfc7638.thumbprint);
});

it.each(Object.entries(keys))(
  '%s signatures verify with another implementation of JWS',
  async (algorithm, make) => {
    const key = new AccountKey(make());
    expect(key.algorithm).toBe(algorithm);
    const jws = signRequest({ key, accountUrl: null }, url, 'bm9uY2U', { contact: [] });
    const verified = await flattenedVerify(jws, await importJWK(key.jwk, algorithm));
    expect(verified.protectedHeader).toEqual({ alg: algorithm, jwk: key.jwk, nonce: 'bm9uY2U', url });
    expect(Buffer.from(verified.payload).toString()).toBe('{"contact":[]}');
  },
);

it('uses the account URL as kid once there is one, and an empty payload in a POST-as-GET', () => {
  const key = new AccountKey(keys.ES256());
  const jws = signRequest({ key, accountUrl: 'https://ca.example.com/account/1' }, url, 'bm9uY2U', postAsGet);
  expect(jws.payload).toBe('');
  expect(JSON.parse(Buffer.from(jws.protected, 'base64url').toString())).toEqual({
    alg: 'ES256',
    kid: 'https://ca.example.com/account/1',
    nonce: 'bm9uY2U',
    url,
  });
});

it('exposes only the public half of a key', () => {
  expect(Object.keys(rfcKey().jwk)).toEqual(['e', 'kty', 'n']);
  expect(Object.keys(new AccountKey(keys.ES384()).jwk)).toEqual(['crv', 'kty', 'x', 'y']);
  expect(JSON.stringify(rfcKey())).not.toContain(rfc7515A2.jwk.d);
});

it.each<[string, () => KeyObject]>([
  ['P-521', () => ec('P-521')],
  ['secp256k1', () => ec('secp256k1')],
  ['Ed25519', () => generateKeyPairSync('ed25519').privateKey],
  ['RSA of 1024 bits', () => generateKeyPairSync('rsa', { modulusLength: 1_024 }).privateKey],
  ['a public key', () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey],
])('rejects %s', (_, make) => expect(() => new AccountKey(make())).toThrow(TypeError));

it('binds an external account as in RFC 8555, section 7.3.4', () => {
  const { jwk } = new AccountKey(keys.ES256());
  const hmacKey = Buffer.alloc(32, 7);
  for (const [algorithm, digest] of [
    ['HS256', 'sha256'],
    ['HS384', 'sha384'],
    ['HS512', 'sha512'],
  ] as const) {
    const jws = bindExternalAccount({ keyId: 'kid-1', hmacKey, algorithm }, jwk, url);
    const header = JSON.parse(Buffer.from(jws.protected, 'base64url').toString()) as object;
    expect(header).toEqual({ alg: algorithm, kid: 'kid-1', url });
    expect(JSON.parse(Buffer.from(jws.payload, 'base64url').toString())).toEqual(jwk);
    const mac = createHmac(digest, hmacKey).update(`${jws.protected}.${jws.payload}`).digest('base64url');
    expect(jws.signature).toBe(mac);
  }
});

it('reads an external account key in the formats of CAs', () => {
  const key = Buffer.from('fbff'.repeat(16), 'hex');
  for (const text of [key.toString('base64url'), key.toString('base64'), ` ${key.toString('base64url')}= `])
    expect(readHmacKey(text)).toEqual(key);
  for (const text of ['', 'c2hvcnQ', 'not base64 at all, not at all!', `${'A'.repeat(21)}B`])
    expect(readHmacKey(text)).toBeNull();
});

it('builds key authorizations and dns-01 values from token and thumbprint', () => {
  const { thumbprint } = rfc7638;
  const token = 'evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA';
  expect(keyAuthorization(token, { thumbprint })).toBe(`${token}.${thumbprint}`);
  const digest = createHash('sha256').update(`${token}.${thumbprint}`).digest('base64url');
  expect(dns01Value(token, { thumbprint })).toBe(digest);
  expect(digest).toHaveLength(43);
});
