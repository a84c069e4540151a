import { Refusal } from '../wire/reasons';

/** How the path names an instance. */
export type InstanceReference =
  /** Decimal. */
  | { readonly kind: 'id'; readonly id: string }
  /** SHA-256 over the DER SubjectPublicKeyInfo, lower-case hexadecimal. */
  | { readonly kind: 'key'; readonly pubkeyHash: string };

const keyPrefix = 'pubkey_hash:';

/**
 * @returns null for an invalid instance reference
 * @throws Refusal `no_such_pubkey_hash` for an invalid key hash
 */
export function readInstanceReference(text: string): InstanceReference | null {
  if (text.startsWith(keyPrefix)) {
    const pubkeyHash = text.slice(keyPrefix.length).toLowerCase();
    if (!/^[0-9a-f]{64}$/.test(pubkeyHash)) {
      throw new Refusal('no_such_pubkey_hash', 'The hash of a key has 64 hexadecimal digits.');
    }
    return { kind: 'key', pubkeyHash };
  }
  return isInstanceId(text) ? { kind: 'id', id: text } : null;
}

/** Exact as a number of JSON, and in the one way to write it. */
export function isInstanceId(text: string): boolean {
  return /^[1-9]\d{0,15}$/.test(text) && Number(text) <= Number.MAX_SAFE_INTEGER;
}

export function noSuchCert(): Refusal {
  return new Refusal('no_such_cert', 'The account has no certificate of this common name.');
}

export function noSuchInstance(reference: InstanceReference | null): Refusal {
  return reference?.kind === 'key'
    ? new Refusal('no_such_pubkey_hash', 'No instance of this certificate has this key.')
    : new Refusal('no_such_instance', 'The certificate has no such instance.');
}
