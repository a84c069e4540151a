import { containsPrivateKey } from '@certwright/errors';
import { decodeBase64 } from '../base64';
import { latin1 } from '../der/der-primitives';
import type { CsrFault } from './csr-fault';
import { csrLimits } from './read-csr';

export type DecodedCsrField =
  | { readonly ok: true; readonly der: Uint8Array }
  | { readonly ok: false; readonly faults: readonly CsrFault[] };

/**
 * The `csr` member of a request: DER in base64 without line breaks. Other common formats are recognized, also base64 of
 * PEM, so that the error says how to fix them. A private key is searched for first, in a value of any length, and never
 * repeated.
 */
export function decodeCsrField(value: string): DecodedCsrField {
  if (containsPrivateKey(value)) return malformed('private_key');
  if (/--\s{0,4}BEGIN/i.test(value)) return malformed(pemFault(value));
  const { maxBytes } = csrLimits;
  const decoded = decodeBase64(value, maxBytes);
  if (decoded.ok) {
    const text = latin1(decoded.bytes);
    return text.startsWith('-----BEGIN') ? malformed(pemFault(text)) : { ok: true, der: decoded.bytes };
  }
  switch (decoded.fault) {
    case 'empty':
      return malformed('empty');
    case 'too_long':
      return { ok: false, faults: [{ code: 'malformed_csr', fault: 'too_long', maxBytes }] };
    case 'not_canonical':
      return malformed(/\s/.test(value) ? 'white_space' : 'not_base64');
  }
}

function pemFault(text: string): 'pem' | 'pem_of_other' {
  return /BEGIN (?:NEW )?CERTIFICATE REQUEST/i.test(text) ? 'pem' : 'pem_of_other';
}

function malformed(
  fault: 'private_key' | 'pem' | 'pem_of_other' | 'empty' | 'white_space' | 'not_base64',
): DecodedCsrField {
  return { ok: false, faults: [{ code: 'malformed_csr', fault }] };
}
