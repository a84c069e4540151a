import { createHash } from 'node:crypto';
import type { IssuanceToMatch, OddLogEntry } from '@certwright/ct-index';
import {
  type CertificateMatch,
  type MonitoredDomainIndex,
  wasLongExpired,
} from '@certwright/monitored-domains';
import type { ConcernedIssuance } from '../findings/record-findings';

export interface Matched {
  readonly concerned: readonly ConcernedIssuance[];
  /** Issuances with too many unusual texts to compare all of them with every domain. */
  readonly incomplete: readonly string[];
}

/** The issuances that concern any account. */
export function matchIssuances(index: MonitoredDomainIndex, issuances: readonly IssuanceToMatch[]): Matched {
  const concerned: ConcernedIssuance[] = [];
  const incomplete: string[] = [];
  for (const issuance of issuances) {
    const { dnsNames, oddNames, notAfter, discoveredAt, position } = issuance;
    if (wasLongExpired(notAfter, discoveredAt)) continue;
    const names = oddNames.length === 0 ? dnsNames : [...dnsNames, ...oddNames];
    const { accounts, isComplete } = index.match(names);
    if (!isComplete) incomplete.push(position);
    if (accounts.length === 0) continue;
    const { tbsSha256, spkiSha256, issuer, notBefore } = issuance;
    concerned.push({
      position,
      tbsSha256,
      spkiSha256,
      issuer,
      notBefore,
      notAfter,
      dnsNames: names,
      accounts,
    });
  }
  return { concerned, incomplete };
}

/** An entry of a log that cannot be read as a certificate. */
export function matchUnreadable(
  index: MonitoredDomainIndex,
  { leaf }: OddLogEntry,
  now: Date,
): ConcernedIssuance | null {
  const { accounts }: CertificateMatch = index.matchUnreadable(leaf);
  if (accounts.length === 0) return null;
  const found = accounts.flatMap(({ names }) => names.map(({ dnsName }) => dnsName));
  return {
    ...{ position: null, spkiSha256: null, issuer: null, notBefore: null, notAfter: now, accounts },
    tbsSha256: createHash('sha256').update(leaf).digest(),
    dnsNames: [...new Set(found)],
  };
}
