import { createHash, sign, verify } from 'node:crypto';
import { agentId, ed25519PrivateKey, ed25519PublicKey, newIdentityKey, rawPublicKey } from './keys';
import {
  checkSignature,
  parseSignature,
  type RequestHeaders,
  type SignedRequest,
  signRequest,
  verifyRequest,
} from './request-signature';

const now = new Date('2026-11-24T12:00:00Z');
const privateKey = newIdentityKey();
const identityKey = rawPublicKey(privateKey);
const publicKey = ed25519PublicKey(identityKey);
const id = agentId(identityKey);
const request: SignedRequest = {
  method: 'POST',
  path: '/api/v3/agent/orders/www.example.com/csr',
  query: '?a=b',
  body: Buffer.from('{"task":"1"}'),
};
const headers = signRequest(request, { agentId: id, privateKey, now });

function verdict(changes: Partial<SignedRequest> = {}, sent: RequestHeaders = { ...headers }, at = now) {
  return verifyRequest({ ...request, ...changes }, sent, {
    now: at,
    keyOf: (keyid) => (keyid === id ? publicKey : null),
  });
}

it('makes the Ed25519 signature of RFC 9421, B.2.6', () => {
  const base = [
    '"date": Tue, 20 Apr 2021 02:07:55 GMT',
    '"@method": POST',
    '"@path": /foo',
    '"@authority": example.com',
    '"content-type": application/json',
    '"content-length": 18',
    '"@signature-params": ("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"',
  ].join('\n');
  const signature =
    'wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==';
  const key = ed25519PrivateKey(Buffer.from('n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU', 'base64url'));
  expect(sign(null, Buffer.from(base), key).toString('base64')).toBe(signature);
  const rfcKey = ed25519PublicKey(Buffer.from('JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs', 'base64url'));
  expect(verify(null, Buffer.from(base), rfcKey, Buffer.from(signature, 'base64'))).toBe(true);
});

it('signs method, path, query and digest in the form of RFC 9421, section 2.5', () => {
  const created = now.getTime() / 1000;
  const params = `("@method" "@path" "@query" "content-digest");created=${created};keyid="${id}";tag="certwright-agent"`;
  expect(headers['signature-input']).toBe(`sig1=${params}`);
  const base = [
    '"@method": POST',
    '"@path": /api/v3/agent/orders/www.example.com/csr',
    '"@query": ?a=b',
    `"content-digest": ${headers['content-digest']}`,
    `"@signature-params": ${params}`,
  ].join('\n');
  const signature = Buffer.from(headers.signature.slice('sig1=:'.length, -1), 'base64');
  expect(verify(null, Buffer.from(base), publicKey, signature)).toBe(true);
});

// RFC 9530, appendix B.1 and B.2.
it.each([
  ['{"hello": "world"}\n', 'sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:'],
  ['', 'sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:'],
])('has the digest of RFC 9530 for %j', (body, digest) => {
  const signed = signRequest({ ...request, body: Buffer.from(body) }, { agentId: id, privateKey, now });
  expect(signed['content-digest']).toBe(digest);
});

it('signs a request without a query as RFC 9421, section 2.2.7, says', async () => {
  const bare = { ...request, method: 'GET', query: '', body: new Uint8Array() };
  const signed = { ...signRequest(bare, { agentId: id, privateKey, now }) };
  await expect(verdict(bare, signed)).resolves.toMatchObject({ ok: true });
  await expect(verdict({ ...bare, query: '?' }, signed)).resolves.toMatchObject({ ok: true });
  await expect(verdict({ ...bare, query: '?x' }, signed)).resolves.toMatchObject({ fault: 'bad_signature' });
});

it('returns the agent of a valid signature', async () => {
  await expect(verdict()).resolves.toEqual({ ok: true, agentId: id, created: now, offsetS: 0 });
});

it.each<[string, Partial<SignedRequest>, string]>([
  ['method', { method: 'GET' }, 'bad_signature'],
  ['path', { path: '/api/v3/agent/orders/other.example.com/csr' }, 'bad_signature'],
  ['query', { query: '?a=c' }, 'bad_signature'],
  ['body', { body: Buffer.from('{"task":"2"}') }, 'bad_digest'],
])('refuses a signature for another %s', async (_, changes, fault) => {
  await expect(verdict(changes)).resolves.toEqual({ ok: false, fault });
});

it('refuses a request whose line breaks imitate the next component', async () => {
  const split: SignedRequest = { ...request, path: '/x\n"@query": ?a=b', query: '' };
  await expect(verdict(split)).resolves.toMatchObject({ fault: 'bad_signature' });
});

it('refuses a body that was exchanged together with its digest', async () => {
  const body = Buffer.from('{"task":"2"}');
  const digest = createHash('sha256').update(body).digest('base64');
  const sent = { ...headers, 'content-digest': `sha-256=:${digest}:` };
  await expect(verdict({ body }, sent)).resolves.toEqual({ ok: false, fault: 'bad_signature' });
});

it.each([-301, -86_400 * 3, 301, 86_400 * 3])('reports a clock that is %i s ahead', async (offsetS) => {
  const signed = signRequest(request, { agentId: id, privateKey, now: new Date(+now + offsetS * 1000) });
  await expect(verdict({}, { ...signed })).resolves.toEqual({ ok: false, fault: 'clock_skew', offsetS });
  const replayed = await verdict({ query: '' }, { ...signed });
  expect(replayed).toEqual({ ok: false, fault: 'bad_signature' });
});

it.each([-300, 0, 300])('accepts a clock that is %i s ahead', async (offsetS) => {
  const signed = signRequest(request, { agentId: id, privateKey, now: new Date(+now + offsetS * 1000) });
  await expect(verdict({}, { ...signed })).resolves.toMatchObject({ ok: true, offsetS });
});

it('refuses the signature of another agent, and one under its id', async () => {
  const other = newIdentityKey();
  const otherId = agentId(rawPublicKey(other));
  const unknown = signRequest(request, { agentId: otherId, privateKey: other, now });
  await expect(verdict({}, { ...unknown })).resolves.toEqual({ ok: false, fault: 'unknown_key' });
  const forged = signRequest(request, { agentId: id, privateKey: other, now });
  await expect(verdict({}, { ...forged })).resolves.toEqual({ ok: false, fault: 'bad_signature' });
});

it('refuses parameters that were changed after signing', () => {
  const parsed = parseSignature({ ...headers });
  const later = { ...parsed!, params: parsed!.params.replace(/created=\d+/, 'created=1') };
  expect(checkSignature(later, request, publicKey, now)).toEqual({ ok: false, fault: 'bad_signature' });
});

const input = headers['signature-input'];
const { signature } = headers;
const digest = headers['content-digest'];
it.each<[string, RequestHeaders]>([
  ['without signature', { 'content-digest': digest, 'signature-input': input }],
  ['without input', { 'content-digest': digest, signature }],
  ['without digest', { 'signature-input': input, signature }],
  ['with a repeated header', { ...headers, signature: [signature, signature] }],
  ['with another digest algorithm', { ...headers, 'content-digest': digest.replace('256', '512') }],
  ['with two digests', { ...headers, 'content-digest': `${digest}, ${digest}` }],
  ['with two signatures', { ...headers, signature: `${signature}, ${signature}` }],
  ['with two inputs', { ...headers, 'signature-input': `${input}, ${input}` }],
  ['with another label', { ...headers, signature: signature.replace('sig1', 'sig2') }],
  ['without padding', { ...headers, signature: signature.replace('==:', ':') }],
  ['with a short signature', { ...headers, signature: 'sig1=:AAAA:' }],
  ['with white space', { ...headers, 'signature-input': input.replace(';', '; ') }],
  ['with reordered components', swapped('"@method" "@path"', '"@path" "@method"')],
  ['with a component less', swapped(' "content-digest"', '')],
  ['with a component more', swapped('"@method"', '"@method" "@authority"')],
  ['with a repeated component', swapped('"@method"', '"@method" "@method"')],
  [
    'with reordered parameters',
    { ...headers, 'signature-input': input.replace(/(;created=\d+)(.*)/, '$2$1') },
  ],
  ['with a repeated parameter', { ...headers, 'signature-input': input.replace(/(;created=\d+)/, '$1$1') }],
  ['with another parameter', { ...headers, 'signature-input': `${input};nonce="x"` }],
  ['with an algorithm', { ...headers, 'signature-input': `${input};alg="ed25519"` }],
  ['with another tag', swapped('certwright-agent', 'other')],
  ['with a fractional time', { ...headers, 'signature-input': input.replace(/(created=\d+)/, '$1.5') }],
  ['with a negative time', { ...headers, 'signature-input': input.replace('created=', 'created=-') }],
  [
    'with an id that is not canonical',
    { ...headers, 'signature-input': input.replace(id, `${'A'.repeat(21)}B`) },
  ],
  ['with a line break', { ...headers, 'signature-input': `${input}\n` }],
])('refuses headers %s', async (_, sent) => {
  await expect(verdict({}, sent)).resolves.toEqual({ ok: false, fault: 'malformed' });
});

function swapped(from: string, to: string): RequestHeaders {
  expect(input).toContain(from);
  return { ...headers, 'signature-input': input.replace(from, to) };
}
