import type { KeyObject } from 'node:crypto';
import { certificationRequest, keyPair, requestedNames, sequence } from '@certwright/testing';

export interface MadeCsr {
  /** PKCS#10, DER. */
  readonly csr: Buffer;
  readonly key: KeyObject;
}

/** A CSR with a new P-256 key, an empty subject, and every name as a subject alternative name. */
export function makeCsr(dnsNames: readonly string[]): MadeCsr {
  const keys = keyPair('p256');
  return { csr: certificationRequest(keys, sequence(), requestedNames(dnsNames)), key: keys.privateKey };
}
