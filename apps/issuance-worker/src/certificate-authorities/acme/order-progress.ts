import { type IssuanceError, outcomeTime } from '@certwright/issuance';
import type { AcmeOrderEntity } from '@certwright/core-schema';
import {
  type AcmeAuthorization,
  type AcmeMove,
  type AcmeOrder,
  type ChallengeToRespond,
  type ChallengeType,
  type FailedOrder,
  nextAcmeMove,
} from '../../acme';
import type { NotYet } from '../../challenges/challenge-publisher';
import type { OrderStage } from './classify-fault';
import { waitsSince } from './order-challenges';

/**
 * The next step of an order, from the CA's objects and the stored state. @param methods by name, wildcards with `*.`
 */
export function nextMove(
  { challenges, createdAt, finalizedAt }: Pick<AcmeOrderEntity, 'challenges' | 'createdAt' | 'finalizedAt'>,
  order: AcmeOrder,
  authorizations: readonly AcmeAuthorization[],
  methods: ReadonlyMap<string, readonly ChallengeType[]>,
  now: Date,
): AcmeMove {
  const responded = new Map(
    challenges.flatMap(({ challengeUrl, respondedAt }) => {
      return respondedAt === null ? [] : [[challengeUrl, new Date(respondedAt)] as const];
    }),
  );
  const times = [createdAt, ...responded.values(), ...(finalizedAt === null ? [] : [finalizedAt])];
  const last = new Date(Math.max(...times.map((time) => time.getTime())));
  return nextAcmeMove(order, authorizations, { methods, responded, waits: waitsSince(last, now), now });
}

export interface Pending {
  readonly kind: 'pending';
  readonly until: Date;
  /** What it waits for, if worth reporting. */
  readonly error: IssuanceError | null;
}

/** Limits the pause between queries of our own name servers to about a minute. */
const maxPauseDoublings = 6;

/** Waits until challenge values are published. */
export function waitFor(
  { problem, pauseMs }: NotYet,
  { createdAt }: Pick<AcmeOrderEntity, 'createdAt'>,
  now: Date,
): Pending {
  const usualMs = 1_000 * 2 ** Math.min(waitsSince(createdAt, now), maxPauseDoublings);
  const error = problem === null ? null : ({ code: 'ca_unavailable', outcome: problem } as const);
  return { kind: 'pending', until: new Date(now.getTime() + (pauseMs ?? usualMs)), error };
}

/**
 * Waits until another issuance for the same names is done with the order; newOrder is retried at growing intervals.
 */
export function waitForOther({ createdAt }: Pick<AcmeOrderEntity, 'createdAt'>, now: Date): Pending {
  const pauseMs = 5_000 * 2 ** Math.min(waitsSince(createdAt, now), maxPauseDoublings);
  return {
    kind: 'pending',
    until: new Date(now.getTime() + pauseMs),
    error: { code: 'ca_unavailable', outcome: { code: 'ca_busy_with_names' } },
  };
}

/** Yields to other orders that were waiting. */
export function inTurn(now: Date): Pending {
  return { kind: 'pending', until: new Date(now.getTime() + 1_000), error: null };
}

/** Waits until the CA issues a finalized order. */
export function waitForOrder(
  { retryAt }: Pick<AcmeOrder, 'retryAt'>,
  stored: Pick<AcmeOrderEntity, 'authority' | 'createdAt' | 'finalizedAt'>,
  now: Date,
): Pending {
  const { createdAt, finalizedAt } = stored;
  const usualMs = 1_000 * 2 ** Math.min(waitsSince(finalizedAt ?? createdAt, now), maxPauseDoublings);
  const requestedMs = retryAt === null ? usualMs : Math.max(1_000, retryAt.getTime() - now.getTime());
  return { kind: 'pending', until: new Date(now.getTime() + requestedMs), error: slowness(stored, now) };
}

/** A CA shows an order as processing or valid within seconds after finalize; a lagging replica may take minutes, ms. */
const finalizeUnseenMs = 60 * 60 * 1_000;

/** The key was blocked after the request to finalize, and the CA shows the order as not finalized. */
export function notFinalized(
  order: Pick<AcmeOrder, 'retryAt'>,
  stored: Pick<AcmeOrderEntity, 'authority' | 'createdAt' | 'finalizedAt'>,
  now: Date,
): Pending | { readonly kind: 'failed'; readonly failed: FailedOrder } {
  const { createdAt, finalizedAt } = stored;
  if (now.getTime() - (finalizedAt ?? createdAt).getTime() >= finalizeUnseenMs)
    return { kind: 'failed', failed: { names: [], reason: 'lapsed', saying: '' } };
  const error = { code: 'key_compromised', outcome: { code: 'key_compromised' } } as const;
  return { ...waitForOrder(order, stored, now), error };
}

/** CAs issue a finalized order within minutes; an order that takes longer than this is reported, ms. */
const usuallyIssuedMs = 3 * 60 * 60 * 1_000;

/** Null: the order is not finalized, or the CA may still issue it in the usual time. */
export function slowness(
  { authority, finalizedAt }: Pick<AcmeOrderEntity, 'authority' | 'finalizedAt'>,
  now: Date,
): IssuanceError | null {
  if (finalizedAt === null || now.getTime() - finalizedAt.getTime() < usuallyIssuedMs) return null;
  const outcome = { code: 'ca_still_issuing', authority, since: outcomeTime(finalizedAt) } as const;
  return { code: 'ca_unavailable', outcome };
}

export function stageOf({ state, finalizedAt }: AcmeOrderEntity): OrderStage {
  if (state === 'issued') return 'issued';
  if (state === 'wanted') return 'wanted';
  return finalizedAt === null ? 'open' : 'finalized';
}

export function urlOf(authorizations: readonly AcmeAuthorization[], { url }: ChallengeToRespond): string {
  const holds = ({ challenges }: AcmeAuthorization) => challenges.some((challenge) => challenge.url === url);
  return authorizations.find(holds)?.url ?? '';
}
