import { type SealedContent, type SealedCredentials, sealingAlgorithms } from '@certwright/gateway-contract';
import { CompactEncrypt, importJWK } from 'jose';

/**
 * Seals credentials so that only the gateway can read them.
 *
 * @param publicJwk `encryption_key` of the gateway's description
 * @throws Error when the key is none that credentials can be sealed to
 */
export async function sealCredentials(
  publicJwk: Readonly<Record<string, string>>,
  content: SealedContent,
): Promise<SealedCredentials> {
  const { kty, crv, x, y, kid, d } = publicJwk;
  if (kty !== 'EC' || crv !== 'P-256' || x === undefined || y === undefined || d !== undefined)
    throw new Error('The key that the DNS gateway gave is no public key on P-256.');
  const key = await importJWK({ kty, crv, x, y }, sealingAlgorithms.alg);
  const jwe = await new CompactEncrypt(new TextEncoder().encode(JSON.stringify(content)))
    .setProtectedHeader({ ...sealingAlgorithms, ...(kid === undefined ? {} : { kid }) })
    .encrypt(key);
  return { type: 'sealed', jwe };
}
