import type { CaLimitBuckets, CaLimitNeed } from '../ca-limits/ca-limit-buckets';
import type { CaLimits } from '@certwright/core-schema';
import { type OutcomeOf, outcomeTime } from '@certwright/issuance';
import type { LookUp } from '../dns-lookup/answer';
import { caaOfNames } from './caa-of-names';
import { authorizationNeeds, limitNeeds } from './limit-needs';
import { tooManyNames } from './names-allowed';

/** A name of the order, with `*.`, and the challenge that is going to prove it (RFC 8555, section 8). */
export interface NameToProve {
  readonly dnsName: string;
  readonly challenge: 'dns-01' | 'http-01' | 'dns-persist-01';
}

/** What is about to be ordered, where. */
export interface PreflightQuestion {
  readonly authority: {
    readonly name: string;
    /** What CAA records name it by; empty: CAA is left to the CA. */
    readonly caaDomains: readonly string[];
    readonly limits: CaLimits;
  };
  /** As the product says; null: the CA's default. */
  readonly profile: string | null;
  /** Ours, for which it is ordered: what is left of new orders is shared out among accounts. */
  readonly accountId: string;
  readonly caAccountId: string;
  /** The account's URL at the CA (RFC 8657, section 3). */
  readonly accountUri: string;
  readonly product: { readonly name: string; readonly maxDnsNames: number };
  readonly names: readonly NameToProve[];
  /** Whether the order will say which certificate it replaces (RFC 9773, section 5). */
  readonly replaces: boolean;
}

export type PreflightVerdict =
  /** `taken`: what to give back when the CA is not asked after all. */
  | { readonly kind: 'ready'; readonly taken: readonly CaLimitNeed[] }
  /** A limit of the CA is reached: nothing was taken, and nothing is before that time. */
  | { readonly kind: 'wait'; readonly until: Date; readonly error: PreflightError<'rate_limited'> }
  /** `retryable`: nothing was learnt, and asking again soon may help; else only a change of zone or order does. */
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

/** `caa_unknown`: a look-up failed. */
export type PreflightOutcome = 'ready' | 'rate_limited' | 'caa_forbids' | 'caa_unknown' | 'names_not_allowed';

export interface PreflightPorts {
  readonly lookUp: LookUp;
  readonly buckets: Pick<CaLimitBuckets, 'take' | 'giveBack'>;
  /** Every verdict, for metrics. @param seconds that it took */
  readonly onVerdict?: (authority: string, outcome: PreflightOutcome, seconds: number) => void;
}

/**
 * Whether the CA should be asked at all: names within what product and profile take, CAA, and the CA's limits, of which a
 * part is taken. Cheapest first, and nothing is taken for an order that is refused. Bounded in time (8 s and the
 * database); rejects only when the database fails.
 */
export async function preflight(
  question: PreflightQuestion,
  ports: PreflightPorts,
): Promise<PreflightVerdict> {
  const startedMs = performance.now();
  const verdict = await judge(question, ports);
  ports.onVerdict?.(question.authority.name, outcomeOf(verdict), (performance.now() - startedMs) / 1_000);
  return verdict;
}

async function judge(question: PreflightQuestion, ports: PreflightPorts): Promise<PreflightVerdict> {
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
  { authority, accountId, caAccountId, names, replaces }: PreflightQuestion,
  buckets: PreflightPorts['buckets'],
): Promise<PreflightVerdict> {
  const dnsNames = names.map(({ dnsName }) => dnsName);
  const needs = limitNeeds(dnsNames, authority.limits, { replaces });
  // Taken by failures only (`authorizationNeeds`). Here they are looked at: taken with the others and given back at once.
  const failures = needs.length === 0 ? [] : authorizationNeeds(dnsNames, authority.limits);
  const taken = await buckets.take(caAccountId, [...needs, ...failures], accountId);
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
  await buckets.giveBack(caAccountId, failures, accountId);
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
