import { containsPrivateKey } from '@certwright/errors';
import { decodeBase64 } from '../base64';
import { csrLimits, type CsrFault } from './read-csr';

export type DecodedCsrField =
  | { readonly ok: true; readonly der: Uint8Array }
  | { readonly ok: false; readonly faults: readonly CsrFault[] };

/**
 * The `csr` member of a request: DER in base64 without line breaks. What people send instead is told apart, so that the
 * answer says what to do. A private key is looked for first, in a value of any length, and never repeated.
 */
export function decodeCsrField(value: string): DecodedCsrField {
  if (containsPrivateKey(value)) {
    return malformed(
      'A private key was submitted instead of a CSR. It was neither stored nor logged here, but consider it exposed: ' +
        'discard it, generate a new key, and submit a CSR, which holds the public key only.',
    );
  }
  if (/--\s{0,4}BEGIN/i.test(value)) return malformed(pemMessage(value));
  const decoded = decodeBase64(value, csrLimits.maxBytes);
  if (decoded.ok) return { ok: true, der: decoded.bytes };
  switch (decoded.fault) {
    case 'empty':
      return malformed('The CSR is empty.');
    case 'too_long':
      return malformed(`The CSR is longer than ${csrLimits.maxBytes / 1024} KiB.`);
    case 'not_canonical':
      return malformed(
        /\s/.test(value)
          ? 'The CSR has white space or line breaks; it must be base64 on one line.'
          : 'The CSR is not base64 (RFC 4648, section 4) with its padding.',
      );
  }
}

function pemMessage(value: string): string {
  const what = /BEGIN (?:NEW )?CERTIFICATE REQUEST/.test(value)
    ? 'in PEM'
    : 'in PEM and not even a certificate request';
  return (
    `The CSR is ${what}; it must be DER in base64 on one line. ` +
    'Convert it with: openssl req -in request.pem -outform DER | openssl base64 -A'
  );
}

function malformed(message: string): DecodedCsrField {
  return { ok: false, faults: [{ code: 'malformed_csr', message }] };
}
