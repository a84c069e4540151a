import type { CaLimits, Tx } from '@certwright/core-schema';
import { type OutcomeOf, outcomeTime } from '@certwright/issuance';
import type { LookUp } from '@certwright/dns-lookup';
import type { CaLimitBuckets, CaLimitNeed } from '../ca-limits/ca-limit-buckets';
import { caaOfNames } from './caa-of-names';
import { authorizationNeeds, limitNeeds } from './limit-needs';

/** A name of the order, with `*.`, and the challenge that will prove it (RFC 8555, section 8). */
export interface NameToProve {
  readonly dnsName: string;
  readonly challenge: 'dns-01' | 'http-01' | 'dns-persist-01';
}

/** The intended order and its CA. */
export interface PreflightQuestion {
  readonly authority: {
    readonly name: string;
    /** The CA's names in CAA records; empty: CAA is left to the CA. */
    readonly caaDomains: readonly string[];
    readonly limits: CaLimits;
  };
  /** The product's profile; null: the CA's default. */
  readonly profile: string | null;
  /** Our account that orders: the remaining new orders are shared among accounts. */
  readonly accountId: string;
  readonly caAccountId: string;
  /** The account's URL at the CA (RFC 8657, section 3). */
  readonly accountUri: string;
  readonly product: { readonly name: string; readonly maxDnsNames: number };
  readonly names: readonly NameToProve[];
  /** Whether the order will have `replaces` (RFC 9773, section 5). */
  readonly replaces: boolean;
  /** Stores the order in the transaction that takes the limits; null: it takes none. Called when nothing is refused. */
  readonly store?: (tx: Tx | null) => Promise<void>;
}

export type PreflightVerdict =
  /** `taken`: what to give back if the order is not sent. */
  | { readonly kind: 'ready'; readonly taken: readonly CaLimitNeed[] }
  /** A CA limit is reached: nothing was taken, and nothing can be until that time. */
  | { readonly kind: 'wait'; readonly until: Date; readonly error: PreflightError<'rate_limited'> }
  /** `retryable`: the result is unknown and a retry may succeed; else the zone or order has to change. */
  | {
      readonly kind: 'refused';
      readonly error: PreflightError<'caa_forbids' | 'names_not_allowed'>;
      readonly retryable: boolean;
    };

/** An IssuanceError of one of these codes. */
export interface PreflightError<Code extends 'rate_limited' | 'caa_forbids' | 'names_not_allowed'> {
  readonly code: Code;
  readonly outcome: OutcomeOf<'ca_limit_reached' | 'caa_forbids' | 'caa_unknown' | 'too_many_names'>;
}

/** `caa_unknown`: a lookup failed. */
export type PreflightOutcome = 'ready' | 'rate_limited' | 'caa_forbids' | 'caa_unknown' | 'names_not_allowed';

export interface PreflightPorts {
  readonly lookUp: LookUp;
  readonly buckets: Pick<CaLimitBuckets, 'take'>;
  /** Reports every verdict, for metrics. @param seconds duration */
  readonly onVerdict?: (authority: string, outcome: PreflightOutcome, seconds: number) => void;
}

/**
 * Checks an order before it is sent: name count of product and profile, CAA, and the CA's limits, of which it takes a
 * share. Cheapest checks first; a refused order takes nothing. Bounded in time (8 s plus the database); rejects only
 * when the database fails.
 */
export async function preflight(
  question: PreflightQuestion,
  ports: PreflightPorts,
): Promise<PreflightVerdict> {
  const startedMs = performance.now();
  const verdict = await check(question, ports);
  ports.onVerdict?.(question.authority.name, outcomeOf(verdict), (performance.now() - startedMs) / 1_000);
  return verdict;
}

async function check(question: PreflightQuestion, ports: PreflightPorts): Promise<PreflightVerdict> {
  const outcome = tooManyNames(question);
  if (outcome !== null) {
    return { kind: 'refused', retryable: false, error: { code: 'names_not_allowed', outcome } };
  }
  const caa = await caaOfNames(question, ports.lookUp);
  if (!caa.allowed) {
    const error = { code: 'caa_forbids', outcome: caa.outcome } as const;
    return { kind: 'refused', retryable: caa.outcome.code === 'caa_unknown', error };
  }
  return await takeLimits(question, ports.buckets);
}

async function takeLimits(
  { authority, accountId, caAccountId, names, replaces, store }: PreflightQuestion,
  buckets: PreflightPorts['buckets'],
): Promise<PreflightVerdict> {
  const dnsNames = names.map(({ dnsName }) => dnsName);
  const needs = limitNeeds(dnsNames, authority.limits, { replaces });
  // Taken by failures only (`authorizationNeeds`).
  const isExempt = replaces && authority.limits.replacementsExempt === true;
  const failures = isExempt ? [] : authorizationNeeds(dnsNames, authority.limits);
  const taken = await buckets.take(caAccountId, needs, accountId, failures, store);
  if (!taken.taken) {
    const { kind: limit, key, keptForOthers: isShared, until } = taken;
    const entered = authority.limits[limit];
    const outcome = {
      ...({ code: 'ca_limit_reached', authority: authority.name, limit } as const),
      key: limit === 'perNameSet' ? '' : key,
      size: entered === undefined ? null : { count: entered.count, perS: entered.perS },
      ...{ isShared, until: outcomeTime(until) },
    };
    return { kind: 'wait', until, error: { code: 'rate_limited', outcome } };
  }
  return { kind: 'ready', taken: needs };
}

function outcomeOf(verdict: PreflightVerdict): PreflightOutcome {
  switch (verdict.kind) {
    case 'ready':
      return 'ready';
    case 'wait':
      return 'rate_limited';
    case 'refused':
      return verdict.retryable ? 'caa_unknown' : verdict.error.code;
  }
}

/** Why product, CA or profile do not allow this many names; null: they do. */
function tooManyNames({
  authority,
  profile,
  product,
  names,
}: PreflightQuestion): OutcomeOf<'too_many_names'> | null {
  const { maxDnsNames: ofAny, profileLimits = {} } = authority.limits;
  const ofProfile =
    profile === null ? undefined : Object.entries(profileLimits).find(([name]) => name === profile);
  const profileMax = ofProfile?.[1].maxDnsNames;
  const ca = {
    kind: 'ca',
    authority: authority.name,
    profile: profileMax === undefined ? null : profile,
  } as const;
  const ofCa = { max: profileMax ?? ofAny ?? Infinity, limitOf: ca };
  const ofProduct = {
    max: product.maxDnsNames,
    limitOf: { kind: 'product', product: product.name } as const,
  };
  const { max, limitOf } = ofProduct.max <= ofCa.max ? ofProduct : ofCa;
  return names.length <= max ? null : { code: 'too_many_names', count: names.length, max, limitOf };
}
