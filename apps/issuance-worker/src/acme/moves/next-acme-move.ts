import type { AcmeAuthorization, AcmeChallenge, ChallengeType } from '../resources/authorization';
import type { AcmeOrder } from '../resources/order';
import { failureOf, type FailedOrder } from './failed-order';

/** State stored by the caller, in addition to the CA's objects. */
export interface StoredProgress {
  /** In order of preference, by name (with `*.`); a missing name has none. */
  readonly methods: ReadonlyMap<string, readonly ChallengeType[]>;
  /** Challenge URLs that were responded to, and when. A missing one is responded to again, which is harmless. */
  readonly responded: ReadonlyMap<string, Date>;
  /** Consecutive reads that found the order unchanged; 0 after each step that changed something. */
  readonly waits: number;
  readonly now: Date;
}

/** A name's challenge to respond to. */
export interface ChallengeToRespond {
  readonly dnsName: string;
  readonly isWildcard: boolean;
  readonly type: ChallengeType;
  readonly url: string;
  /** Empty for dns-persist-01, which has none. */
  readonly token: string;
}

/**
 * The next step of an order. `read_authorizations`: read these, then call again with all of them. `respond`: publish
 * what each challenge requires, respond to it, then read the authorizations at the given time. `finalize`,
 * `download`: as named. `wait`: read order and authorizations again at that time, not earlier. `failed`: the order
 * cannot succeed any more.
 */
export type AcmeMove =
  | { readonly kind: 'read_authorizations'; readonly urls: readonly string[] }
  | { readonly kind: 'respond'; readonly challenges: readonly ChallengeToRespond[] }
  | { readonly kind: 'finalize'; readonly order: AcmeOrder }
  | { readonly kind: 'download'; readonly certificateUrl: string }
  | { readonly kind: 'wait'; readonly on: 'authorizations' | 'order'; readonly until: Date }
  | ({ readonly kind: 'failed' } & FailedOrder);

/** A challenge still pending this long after the response is responded to again: the CA has lost the response. */
const respondAgainAfterMs = 10 * 60 * 1_000;

/** An order that is finalized right before it expires may still be issued, and clocks differ, ms. */
const processingSpareMs = 60 * 60 * 1_000;

/** Polling interval without Retry-After: 1 s, doubled each time, at most a minute. */
const maxPauseS = 60;

/** Computes the next step from the order, in any state, and the authorizations read so far. Pure. */
export function nextAcmeMove(
  order: AcmeOrder,
  authorizations: readonly AcmeAuthorization[],
  stored: StoredProgress,
): AcmeMove {
  const unread = order.authorizationUrls.filter((url) => !authorizations.some((known) => known.url === url));
  switch (order.status) {
    case 'ready':
      return isExpired(order, stored) ? failed(order, authorizations, stored) : { kind: 'finalize', order };
    case 'processing':
      // Otherwise a CA that has lost the order would keep the names without a certificate.
      if (isExpired(order, stored, processingSpareMs)) return failed(order, authorizations, stored);
      return { kind: 'wait', on: 'order', until: nextLook([order.retryAt], stored) };
    case 'valid':
      return { kind: 'download', certificateUrl: order.certificateUrl };
    case 'pending':
    case 'invalid':
      if (unread.length > 0) return { kind: 'read_authorizations', urls: unread };
      return order.status === 'invalid' || isExpired(order, stored)
        ? failed(order, authorizations, stored)
        : approve(order, authorizations, stored);
  }
}

function approve(
  order: AcmeOrder,
  authorizations: readonly AcmeAuthorization[],
  stored: StoredProgress,
): AcmeMove {
  const open = authorizations.filter(({ status }) => status !== 'valid');
  const choices = open.map((authorization) => ({ authorization, challenge: chosen(authorization, stored) }));
  const isHopeless = choices.some(({ authorization, challenge }) => {
    return authorization.status !== 'pending' || challenge === null || challenge.status === 'invalid';
  });
  if (isHopeless) return failed(order, authorizations, stored);
  const challenges = choices.flatMap(({ authorization: { dnsName, isWildcard }, challenge }) => {
    if (challenge === null || !awaitsResponse(challenge, stored)) return [];
    const { type, url, token } = challenge;
    return [{ dnsName, isWildcard, type: type as ChallengeType, url, token: token ?? '' }];
  });
  if (challenges.length > 0) return { kind: 'respond', challenges };
  const said = open.length === 0 ? [order.retryAt] : open.map(({ retryAt }) => retryAt);
  const until = nextLook(said, stored);
  return { kind: 'wait', on: open.length === 0 ? 'order' : 'authorizations', until };
}

/** The challenge already responded to, else the first by preference that the CA offers. */
function chosen(authorization: AcmeAuthorization, stored: StoredProgress): AcmeChallenge | null {
  const name = authorization.isWildcard ? `*.${authorization.dnsName}` : authorization.dnsName;
  const methods = stored.methods.get(name) ?? [];
  const offered = methods.flatMap((method) => {
    return authorization.challenges.filter(({ type, token }) => {
      return type === method && (token !== null || method === 'dns-persist-01');
    });
  });
  // Whatever is offered now: a look-up that failed meanwhile must not end an order that the CA is validating.
  const answered = authorization.challenges.find(({ url }) => stored.responded.has(url));
  return answered ?? offered[0] ?? null;
}

/** Some CAs report a challenge as pending while they process it, so a response is not repeated at once. */
function awaitsResponse({ status, url }: AcmeChallenge, { responded, now }: StoredProgress): boolean {
  const at = responded.get(url);
  return status === 'pending' && (at === undefined || now.getTime() - at.getTime() > respondAgainAfterMs);
}

/** The latest of the requested times. */
function nextLook(said: readonly (Date | null)[], { waits, now }: StoredProgress): Date {
  const times = said.flatMap((time) => (time === null ? [] : [time.getTime()]));
  const pauseMs = Math.min(2 ** Math.min(waits, 16), maxPauseS) * 1_000;
  return new Date(times.length > 0 ? Math.max(...times, now.getTime() + 1_000) : now.getTime() + pauseMs);
}

function isExpired({ expires }: AcmeOrder, { now }: StoredProgress, spareMs = 0): boolean {
  return expires !== null && expires.getTime() + spareMs <= now.getTime();
}

function failed(
  order: AcmeOrder,
  authorizations: readonly AcmeAuthorization[],
  stored: StoredProgress,
): AcmeMove {
  const offers = (authorization: AcmeAuthorization) => chosen(authorization, stored) !== null;
  return { kind: 'failed', ...failureOf(order, authorizations, offers, stored.now) };
}
