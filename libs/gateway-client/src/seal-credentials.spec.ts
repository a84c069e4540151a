import { generateKeyPairSync } from 'node:crypto';
import type { SealedContent } from '@certwright/gateway-contract';
import { compactDecrypt } from 'jose';
import { sealCredentials } from './seal-credentials';

const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const jwk = {
  ...(pair.publicKey.export({ format: 'jwk' }) as Record<string, string>),
  kid: 'k1',
  use: 'enc',
};
const content: SealedContent = {
  account: '7',
  provider: 'desec',
  credentials: { type: 'bearer', token: 'planted' },
  issued_at: 1_795_305_600,
};

it('seals credentials so that only the gateway can read them', async () => {
  const { type, jwe } = await sealCredentials(jwk, content);
  expect(type).toBe('sealed');
  expect(Buffer.from(jwe, 'base64url').toString('latin1')).not.toContain('planted');
  const { plaintext, protectedHeader } = await compactDecrypt(jwe, pair.privateKey);
  expect(JSON.parse(new TextDecoder().decode(plaintext))).toEqual(content);
  expect(protectedHeader).toMatchObject({ alg: 'ECDH-ES+A256KW', enc: 'A256GCM', kid: 'k1' });
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  await expect(compactDecrypt(jwe, other.privateKey)).rejects.toThrow();
});

const privateJwk = pair.privateKey.export({ format: 'jwk' }) as Record<string, string>;
it.each([{}, { kty: 'oct', k: 'AAAA' }, { ...jwk, crv: 'P-384' }, privateJwk])(
  'refuses a key that it is not meant for',
  async (key) => {
    await expect(sealCredentials(key as Record<string, string>, content)).rejects.toThrow(
      'no public key on P-256',
    );
  },
);
