import { lowerCaseAscii } from '../ascii-case';
import { knownKeySource } from '../keys/known-keys/known-keys';
import { checkKey, checkKeyType, type KeyRules } from '../keys/check-key';
import type { KeyType } from '../keys/subject-public-key';
import { verifySignature } from '../signature';
import type { CsrFault } from './csr-fault';
import type { Csr } from './read-csr';

export interface CsrRule {
  /**
   * True: the common name, if present, is one of the order's names, and the subject alternative names are exactly these.
   * False: both are ignored, since the CA takes the names from the order.
   */
  readonly mustNameEveryDnsName: boolean;
  /** Omitted: every key that may be certified. */
  readonly keys?: KeyRules;
}

export interface CsrExpectations {
  /** Key type of the order; undefined when the key decides. */
  readonly keyType: KeyType | undefined;
  /** In normal form. */
  readonly dnsNames: readonly string[];
  readonly rule: CsrRule;
}

/** Result of the caller's lookup of the key by its `spkiSha256`. */
export interface KeyRecord {
  /** The private key is known to others: reported as compromised, or from a flawed key generator. */
  readonly keyBlocked: boolean;
}

/**
 * All faults of a request for these names, each once; without any, it may be used. Costs at most one RSA
 * exponentiation with an exponent as long as the modulus: about 15 ms for 4096 bits, 2 ms for 2048, below 1 ms for
 * ECDSA.
 */
export function checkCsr(
  csr: Csr,
  expectations: CsrExpectations,
  { keyBlocked }: KeyRecord,
): readonly CsrFault[] {
  const keyFaults = checkKey(csr.key, expectations.rule.keys);
  const faults: CsrFault[] = [...keyFaults, ...checkKeyType(csr.key, expectations.keyType)];
  const knownSource = knownKeySource(csr.spkiSha256);
  if (knownSource !== undefined) faults.push({ code: 'key_compromised', source: knownSource });
  else if (keyBlocked) faults.push({ code: 'key_compromised', source: null });
  // A key that is refused is not used for arithmetic either: its size or its exponent may be anything.
  if (keyFaults.length === 0) faults.push(...checkSignature(csr));
  if (expectations.rule.mustNameEveryDnsName) {
    const names = new Set(expectations.dnsNames);
    faults.push(...checkCommonName(csr, names), ...checkAlternativeNames(csr, names));
  }
  return faults;
}

/** RFC 2986, section 3: the signature proves that the requester holds the private key. */
function checkSignature(csr: Csr): readonly CsrFault[] {
  const { accepted, name: algorithm } = csr.signatureAlgorithm;
  if (accepted === undefined) return [{ code: 'bad_csr_signature', fault: 'algorithm', algorithm }];
  if (verifySignature(csr.spkiDer, accepted, csr.infoDer, csr.signature)) return [];
  return [{ code: 'bad_csr_signature', fault: 'other_key' }];
}

function checkCommonName(csr: Csr, names: ReadonlySet<string>): readonly CsrFault[] {
  const [commonName, ...others] = csr.commonNames;
  if (commonName === undefined) return [];
  if (others.length === 0 && names.has(lowerCaseAscii(commonName))) return [];
  return [{ code: 'csr_cn_mismatch', count: csr.commonNames.length, commonName }];
}

function checkAlternativeNames(csr: Csr, names: ReadonlySet<string>): readonly CsrFault[] {
  const { subjectAlternativeNames } = csr;
  if (subjectAlternativeNames === null) return [{ code: 'csr_san_mismatch', fault: 'no_extension' }];
  const requested = new Set(subjectAlternativeNames.dnsNames.map(lowerCaseAscii));
  const missing = [...names].filter((name) => !requested.has(name));
  const extra = [...requested].filter((name) => !names.has(name));
  const { otherKinds } = subjectAlternativeNames;
  if (missing.length + extra.length + otherKinds.length === 0) return [];
  return [{ code: 'csr_san_mismatch', fault: 'other_names', missing, extra, otherKinds }];
}
