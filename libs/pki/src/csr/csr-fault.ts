import type { KeyFault } from '../keys/check-key';

/**
 * An error in a CSR. `code` is the API's error code; the other members specify the case. Never contains key material.
 */
export type CsrFault =
  | KeyFault
  | {
      readonly code: 'malformed_csr';
      readonly fault: 'private_key' | 'pem' | 'pem_of_other' | 'empty' | 'white_space' | 'not_base64';
    }
  | { readonly code: 'malformed_csr'; readonly fault: 'too_long'; readonly maxBytes: number }
  /** `detail`: the message of the DER reader, which names structures and rules. */
  | { readonly code: 'malformed_csr'; readonly fault: 'not_der'; readonly detail: string }
  /** `source`: where the private key is published; null: the key is blocked. */
  | { readonly code: 'key_compromised'; readonly source: string | null }
  | { readonly code: 'bad_csr_signature'; readonly fault: 'algorithm'; readonly algorithm: string }
  | { readonly code: 'bad_csr_signature'; readonly fault: 'other_key' }
  /** `commonName`: the only one of them. */
  | { readonly code: 'csr_cn_mismatch'; readonly count: number; readonly commonName: string }
  | { readonly code: 'csr_san_mismatch'; readonly fault: 'no_extension' }
  | {
      readonly code: 'csr_san_mismatch';
      readonly fault: 'other_names';
      readonly missing: readonly string[];
      readonly extra: readonly string[];
      /** Kinds of entries that are no DNS names. */
      readonly otherKinds: readonly string[];
    };
