import { quoteInput } from '@certwright/dns-names';
import { lowerCaseAscii } from '../ascii-case';
import { knownKeySource } from '../keys/known-keys/known-keys';
import { judgeKey, judgeKeyType, type KeyRules } from '../keys/judge-key';
import type { KeyType } from '../keys/subject-public-key';
import { verifySignature } from '../signature';
import type { Csr, CsrFault } from './read-csr';

export interface CsrRule {
  /**
   * True: the common name, if present, is one of the order's names, and the subject alternative names are exactly these.
   * False: both are ignored, since the CA takes the names from the order.
   */
  readonly mustNameEveryDnsName: boolean;
  /** Left out: every key that may be certified at all. */
  readonly keys?: KeyRules;
}

export interface CsrExpectations {
  /** What the order states; undefined when the key decides. */
  readonly keyType: KeyType | undefined;
  /** In normal form. */
  readonly dnsNames: readonly string[];
  readonly rule: CsrRule;
}

/** What the caller has looked up about the key by its `spkiSha256`. */
export interface KeyRecord {
  /** The key is known to others: reported as compromised, or published with a key generator's flaw. */
  readonly keyBlocked: boolean;
}

/** Names that a message lists, at most. */
const namesInMessage = 5;

/**
 * Everything that is wrong with a request for these names, each fault once; none means that it may be used. Costs at most
 * one RSA exponentiation as long as the modulus: about 15 ms for 4096 bits, 2 ms for 2048, below 1 ms for ECDSA.
 */
export function judgeCsr(
  csr: Csr,
  expectations: CsrExpectations,
  { keyBlocked }: KeyRecord,
): readonly CsrFault[] {
  const keyFaults = judgeKey(csr.key, expectations.rule.keys);
  const faults: CsrFault[] = [...keyFaults, ...judgeKeyType(csr.key, expectations.keyType)];
  const knownSource = knownKeySource(csr.spkiSha256);
  if (knownSource !== undefined) faults.push(publiclyKnown(knownSource));
  else if (keyBlocked) faults.push(blocked);
  // A key that is refused is not used for arithmetic either: its size or its exponent may be anything.
  if (keyFaults.length === 0) faults.push(...judgeSignature(csr));
  if (expectations.rule.mustNameEveryDnsName) {
    const names = new Set(expectations.dnsNames);
    faults.push(...judgeCommonName(csr, names), ...judgeAlternativeNames(csr, names));
  }
  return faults;
}

const blocked: CsrFault = {
  code: 'key_compromised',
  message:
    'The key of the CSR is known to be compromised. Generate a new key; it must not be used anywhere any more.',
};

function publiclyKnown(source: string): CsrFault {
  return {
    code: 'key_compromised',
    message: `The private key of the CSR is publicly known (${source}). Generate a new key; do not use this one anywhere.`,
  };
}

/** IIS Manager cannot choose the hash of a request, and the MMC snap-in signs with SHA-1 unless told otherwise. */
const sha256OnWindows =
  ' IIS Manager and the defaults of the MMC snap-in sign with SHA-1: create the CSR with certreq -new and an .inf file' +
  ' that has HashAlgorithm = sha256 under [NewRequest], or in MMC (Certificates > Create Custom Request > Properties >' +
  ' Private Key) select the hash algorithm sha256.';

/** RFC 2986, section 3: the signature proves that whoever asks holds the private key. */
function judgeSignature(csr: Csr): readonly CsrFault[] {
  const { accepted, name } = csr.signatureAlgorithm;
  if (accepted === undefined) {
    const required = 'it must be RSA PKCS #1 v1.5 or ECDSA with SHA-256, SHA-384 or SHA-512';
    const advice = name === 'sha1WithRSAEncryption' ? sha256OnWindows : '';
    const message = `The CSR is signed with ${name}; ${required}.${advice}`;
    return [{ code: 'bad_csr_signature', message }];
  }
  if (verifySignature(csr.spkiDer, accepted, csr.infoDer, csr.signature)) return [];
  const message =
    'The signature of the CSR was not made over it with the private key that belongs to its public key.';
  return [{ code: 'bad_csr_signature', message }];
}

function judgeCommonName(csr: Csr, names: ReadonlySet<string>): readonly CsrFault[] {
  const [commonName, ...others] = csr.commonNames;
  if (commonName === undefined) return [];
  if (others.length === 0 && names.has(lowerCaseAscii(commonName))) return [];
  const wrong =
    others.length > 0
      ? `The subject of the CSR has ${csr.commonNames.length} common names`
      : commonName === ''
        ? 'The common name of the CSR is empty'
        : `The common name ${quoteInput(commonName)} of the CSR is not one of the order's DNS names`;
  return [
    { code: 'csr_cn_mismatch', message: `${wrong}. Use one of the order's DNS names, or no common name.` },
  ];
}

function judgeAlternativeNames(csr: Csr, names: ReadonlySet<string>): readonly CsrFault[] {
  const { subjectAlternativeNames } = csr;
  if (subjectAlternativeNames === null) {
    return [mismatch('The CSR has no subject alternative name extension')];
  }
  const requested = new Set(subjectAlternativeNames.dnsNames.map(lowerCaseAscii));
  const missing = [...names].filter((name) => !requested.has(name));
  const extra = [...requested].filter((name) => !names.has(name));
  const { otherKinds } = subjectAlternativeNames;
  if (missing.length + extra.length + otherKinds.length === 0) return [];
  const wrong = [
    missing.length > 0 ? `lack ${listed(missing)}` : '',
    extra.length > 0 ? `have ${listed(extra)} that the order does not have` : '',
    otherKinds.length > 0 ? `have an entry that is no DNS name (${otherKinds.join(', ')})` : '',
  ].filter((part) => part !== '');
  return [mismatch(`The subject alternative names of the CSR ${wrong.join(' and ')}`)];
}

function mismatch(what: string): CsrFault {
  return { code: 'csr_san_mismatch', message: `${what}. They must be exactly the order's DNS names.` };
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, namesInMessage).map(quoteInput).join(', ');
  return names.length > namesInMessage ? `${shown} and ${names.length - namesInMessage} more` : shown;
}
