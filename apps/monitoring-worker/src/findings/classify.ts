import type { FindingReason, FindingState } from '@certwright/core-schema';

/** Terms or a certificate of the account that have the key of the finding. */
export interface OwnKey {
  readonly planId: string;
  readonly dnsNames: ReadonlySet<string>;
  /** The key is that of an issuance that is still open. */
  readonly isOpen: boolean;
}

/** What is known of one certificate that concerns one account. Nothing of other accounts. */
export interface KnownFacts {
  /** The plan of the account's certificate with the TBS digest; null: none. */
  readonly certificatePlanId: string | null;
  readonly keys: readonly OwnKey[];
  readonly isKnownCert: boolean;
  /** The names for which the account authorized the key. */
  readonly knownKeyNames: readonly ReadonlySet<string>[];
  /** Signed by an authorized CA; null: the account authorized some, and the signature was not verified yet. */
  readonly isAuthorizedCa: boolean | null;
}

/** What is classified. */
export interface Classified {
  /** Names of the certificate that concern the account, lower case. */
  readonly monitoredNames: readonly string[];
  /** False: there are more such names. Then no list of names can include all of them. */
  readonly hasAllNames: boolean;
  readonly foundAt: Date;
}

export interface Classification {
  readonly state: Extract<FindingState, 'known' | 'waiting' | 'unknown'>;
  readonly reason: FindingReason;
  /** Whose certificate or key it is. */
  readonly planId: string | null;
  /** Not null while it is waiting. */
  readonly classifyAt: Date | null;
}

/** How long a finding waits for an open issuance, ms. */
export const maxWaitMs = 60 * 60 * 1_000;

/** How often it is checked whether the issuance has ended, ms. */
const checkMs = 15_000;

/**
 * Applies the rules in their order. A wildcard is a name like any other: `www.example.com` is not a name of terms with
 * `*.example.com`.
 */
export function classify(
  { monitoredNames, hasAllNames, foundAt }: Classified,
  facts: KnownFacts,
  alertDelayMs: number,
  now: Date,
): Classification {
  const areAllIn = (names: ReadonlySet<string>) =>
    hasAllNames && monitoredNames.every((name) => names.has(name));
  if (facts.certificatePlanId !== null) return known('certificate', facts.certificatePlanId);
  const own = facts.keys.find(({ dnsNames }) => areAllIn(dnsNames));
  if (own !== undefined) return known('order_key', own.planId);
  if (facts.isKnownCert) return known('known_cert');
  if (facts.knownKeyNames.some(areAllIn)) return known('known_key');
  if (facts.isAuthorizedCa === true) return known('authorized_ca');
  if (facts.isAuthorizedCa === null) return waitingUntil(now);

  const open = facts.keys.find(({ isOpen }) => isOpen);
  const waitsUntil = new Date(foundAt.getTime() + maxWaitMs);
  if (open !== undefined && now < waitsUntil)
    return waitingUntil(new Date(Math.min(waitsUntil.getTime(), now.getTime() + checkMs)), open.planId);
  const delayedUntil = new Date(foundAt.getTime() + alertDelayMs);
  if (now < delayedUntil) return waitingUntil(delayedUntil);
  return { state: 'unknown', reason: 'unknown', planId: null, classifyAt: null };
}

function known(reason: FindingReason, planId: string | null = null): Classification {
  return { state: 'known', reason, planId, classifyAt: null };
}

function waitingUntil(classifyAt: Date, planId: string | null = null): Classification {
  return { state: 'waiting', reason: 'waiting', planId, classifyAt };
}
