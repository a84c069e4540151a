import { constants, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { type Crl, type CrlSignatureAlgorithm, readSignatureAlgorithm } from '@certwright/ct';

/** Key types, as named by `node:crypto`, that can sign with an algorithm. */
const keyTypes: Readonly<Record<CrlSignatureAlgorithm['kind'], readonly string[]>> = {
  rsa: ['rsa'],
  'rsa-pss': ['rsa', 'rsa-pss'],
  ec: ['ec'],
  ed: ['ed25519', 'ed448'],
};

/** `algorithm`: not accepted. `key`: unusable with the algorithm. `forged`: the signature was not made with this key. */
export type SignatureVerdict = 'valid' | 'algorithm' | 'key' | 'forged';

/** In a separate thread: lists have many megabytes. @param spkiDer of the issuer */
export async function crlSignature(crl: Crl, spkiDer: Buffer): Promise<SignatureVerdict> {
  const algorithm = readSignatureAlgorithm(crl.algorithmDer);
  if (algorithm === null) return 'algorithm';
  const key = publicKey(spkiDer);
  if (key === null || !keyTypes[algorithm.kind].includes(key.asymmetricKeyType ?? '')) return 'key';
  const options =
    algorithm.kind === 'rsa-pss'
      ? { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_AUTO }
      : { key };
  return await new Promise((resolve) => {
    const done = (error: Error | null, isValid: boolean) =>
      resolve(error === null && isValid ? 'valid' : 'forged');
    try {
      verify(algorithm.hash, crl.tbsDer, options, crl.signature, done);
    } catch {
      // A key that OpenSSL parses but cannot use.
      resolve('key');
    }
  });
}

function publicKey(spkiDer: Buffer): KeyObject | null {
  try {
    return createPublicKey({ key: spkiDer, format: 'der', type: 'spki' });
  } catch {
    return null;
  }
}
