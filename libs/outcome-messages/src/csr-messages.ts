import { quoteInput } from '@certwright/dns-names';
import type { CsrFault } from '@certwright/pki';

type Of<C extends CsrFault['code']> = Extract<CsrFault, { readonly code: C }>;

const keyTypes = { rsa: 'RSA', ecdsa: 'ECDSA' } as const;

const weaknesses = {
  exponent: 'its public exponent is not 65537',
  not_positive: 'its modulus is not positive',
  even: 'its modulus is even',
  small_factor: 'its modulus has a small prime factor',
  roca: 'it was made by a flawed generator that lets anyone compute the private key (ROCA, CVE-2017-15361)',
  close_primes: 'the two primes of its modulus are too close to each other',
  prime: 'its modulus is a prime number',
  square: 'its modulus is a square number',
} as const satisfies Record<Exclude<Of<'weak_key'>['weakness'], 'not_on_curve'>, string>;

/** IIS Manager cannot choose the hash of a request, and the MMC snap-in signs with SHA-1 by default. */
const sha256OnWindows =
  ' IIS Manager and the defaults of the MMC snap-in sign with SHA-1: create the CSR with certreq -new and an .inf file' +
  ' that has HashAlgorithm = sha256 under [NewRequest], or in MMC (Certificates > Create Custom Request > Properties >' +
  ' Private Key) select the hash algorithm sha256.';

const maxNames = 5;

/** @param object what the names of the CSR are compared with: `order` */
export function csrFaultMessage(fault: CsrFault, object: string): string {
  switch (fault.code) {
    case 'malformed_csr':
      return malformed(fault);
    case 'key_compromised':
      return fault.source === null
        ? 'The key of the CSR is known to be compromised. Generate a new key; do not use this one anywhere.'
        : `The private key of the CSR is publicly known (${fault.source}). Generate a new key; do not use this one anywhere.`;
    case 'bad_csr_signature':
      return badSignature(fault);
    case 'csr_cn_mismatch':
      return `${commonName(fault, object)}. Use one of the DNS names of the ${object}, or no common name.`;
    case 'csr_san_mismatch':
      return alternativeNames(fault, object);
    case 'unsupported_key_type':
      return 'wanted' in fault
        ? `The CSR has an ${keyTypes[fault.actual]} key, but the key type of the ${object} is ${fault.wanted} (${keyTypes[fault.wanted]}).`
        : `${keyOf(fault.keyType)}; it must be ${either(fault.allowed.map((type) => keyTypes[type]))}.`;
    case 'unsupported_key_size':
      return `The RSA key has ${fault.bits} bits; it must have ${either(fault.allowed)}.`;
    case 'unsupported_curve':
      return `The ECDSA key is on ${fault.curve}; it must be on ${either(fault.allowed)}, by name.`;
    case 'weak_key':
      return fault.weakness === 'not_on_curve'
        ? `The ECDSA key is not a point on ${fault.curve}. Generate a new key.`
        : `The RSA key is not safe: ${weaknesses[fault.weakness]}. Generate a new key.`;
  }
}

function malformed(fault: Of<'malformed_csr'>): string {
  switch (fault.fault) {
    case 'private_key':
      return (
        'A private key was submitted instead of a CSR. It was neither stored nor logged here, but consider it exposed: ' +
        'discard it, generate a new key, and submit a CSR, which holds the public key only.'
      );
    case 'pem':
      return inPem('in PEM');
    case 'pem_of_other':
      return inPem('in PEM and not even a certificate request');
    case 'empty':
      return 'The CSR is empty.';
    case 'white_space':
      return 'The CSR has white space or line breaks; it must be base64 on one line.';
    case 'not_base64':
      return 'The CSR is not base64 (RFC 4648, section 4) with its padding.';
    case 'too_long':
      return `The CSR is longer than ${fault.maxBytes / 1024} KiB.`;
    case 'not_der':
      return `The CSR is not a PKCS #10 request in DER: ${fault.detail}.`;
    case 'point':
      return `The ECDSA key is not an uncompressed point of ${fault.curve} (RFC 5480, section 2.2).`;
  }
}

const inPem = (what: string) =>
  `The CSR is ${what}; it must be DER in base64 on one line. ` +
  'Convert it with: openssl req -in request.pem -outform DER | openssl base64 -A.';

function badSignature(fault: Of<'bad_csr_signature'>): string {
  if (fault.fault === 'other_key')
    return 'The signature of the CSR was not made with the private key that belongs to its public key.';
  const advice = fault.algorithm === 'sha1WithRSAEncryption' ? sha256OnWindows : '';
  const allowed = 'RSA PKCS #1 v1.5 or ECDSA with SHA-256, SHA-384 or SHA-512';
  return `The CSR is signed with ${fault.algorithm}; it must be ${allowed}.${advice}`;
}

function commonName({ count, commonName: name }: Of<'csr_cn_mismatch'>, object: string): string {
  if (count > 1) return `The subject of the CSR has ${count} common names`;
  return name === ''
    ? 'The common name of the CSR is empty'
    : `The common name ${quoteInput(name)} of the CSR is not one of the DNS names of the ${object}`;
}

function alternativeNames(fault: Of<'csr_san_mismatch'>, object: string): string {
  if (fault.fault === 'no_extension')
    return `The CSR has no subject alternative name extension; it must have one with exactly the DNS names of the ${object}.`;
  const { missing, extra, otherKinds } = fault;
  const wrong = [
    missing.length > 0 ? `lack ${quoted(missing)}` : '',
    extra.length > 0 ? `have ${quoted(extra)} that the ${object} does not have` : '',
    otherKinds.length > 0 ? `have an entry that is not a DNS name (${otherKinds.join(', ')})` : '',
  ].filter((part) => part !== '');
  return `The subject alternative names of the CSR ${wrong.join(' and ')}. They must be exactly the DNS names of the ${object}.`;
}

function quoted(names: readonly string[]): string {
  const shown = names.slice(0, maxNames).map(quoteInput).join(', ');
  return names.length > maxNames ? `${shown} and ${names.length - maxNames} more` : shown;
}

function keyOf(keyType: string): string {
  return keyType === 'RSA' || keyType === 'ECDSA'
    ? `The CSR has an ${keyType} key`
    : `The CSR has a key of type ${keyType}`;
}

/** `2048, 3072 or 4096` */
function either(choices: readonly (string | number)[]): string {
  const last = choices.at(-1) ?? '';
  return choices.length < 2 ? String(last) : `${choices.slice(0, -1).join(', ')} or ${last}`;
}
