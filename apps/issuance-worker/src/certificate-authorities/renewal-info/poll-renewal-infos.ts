import { setTimeout as delay } from 'node:timers/promises';
import {
  earliestRenewal,
  nextWindowLook,
  renewalJitter,
  renewalTime,
  renewalTimeIn,
} from '@certwright/issuance';
import type { CertificateAuthorities } from '../certificate-authorities';
import type { CertificateAuthorityEntity } from '@certwright/core-schema';
import type { DueRenewalInfo, RenewalInfos } from './renewal-infos';
import { AcmeFault, type RenewalInfo } from '../../acme/index';
import { sideBySide } from '../../approvals/side-by-side';
import type { AcmeServers } from '../acme/acme-servers';
import { isDown } from '../health/authority-health';

export interface RenewalInfoPorts {
  readonly infos: Pick<RenewalInfos, 'take' | 'received' | 'failed' | 'postponed' | 'follow'>;
  readonly authorities: Pick<CertificateAuthorities, 'byName'>;
  readonly servers: Pick<AcmeServers, 'of'>;
  /** In [0, 1). */
  readonly random: () => number;
  readonly events: RenewalInfoEvents;
}

export interface RenewalInfoEvents {
  /** The CA has moved the replacement time; its explanation page may state the reason. */
  windowMoved(info: DueRenewalInfo, received: RenewalInfo, renewAt: Date): void;
  /** The first window of the certificate ends too early to be followed. */
  windowTooEarly(info: DueRenewalInfo, received: RenewalInfo, renewAt: Date): void;
  failed(info: DueRenewalInfo, error: unknown): void;
}

/** Certificates per round, and concurrent requests, of each CA. */
const batch = 100;
const requestsAtOnce = 4;
/** Claim duration, ms; exceeds the requests of one round to a CA that does not respond. Afterwards other workers may take over. */
const takenMs = 15 * 60_000;
const restMs = 5_000;
/** Interval of `follow`, ms: it reads all renewal information. */
const followEveryMs = 5 * 60_000;
/** Delay while the CA is down, ms; renewal information is not urgent. */
const whileDownMs = 5 * 60_000;

/**
 * Polls renewal information of CAs (RFC 9773). A time is chosen once per window and kept while the window is
 * unchanged. CAs are polled independently: a round waits briefly for slow ones, and the next rounds leave them out.
 *
 * @returns a function that runs one round and returns the pause until the next, ms
 */
export function pollRenewalInfos(ports: RenewalInfoPorts): () => Promise<number> {
  const polling = new Map<string, Promise<void>>();
  const errors: unknown[] = [];
  /** By CA: no request before that time, by its Retry-After. */
  const rests = new Map<string, Date>();
  let followsAtMs = -Infinity;
  return async () => {
    if (errors.length > 0) throw errors.shift();
    const due = Map.groupBy(
      await ports.infos.take(batch, takenMs, [...polling.keys()]),
      ({ authority }) => authority,
    );
    for (const [authority, infos] of due) {
      const all = sideBySide(requestsAtOnce, infos, async (info) => await poll(ports, info, rests))
        .catch((error: unknown) => void errors.push(error))
        .finally(() => polling.delete(authority));
      polling.set(authority, all);
    }
    await settledWithin(restMs, [...polling.values()]);
    if (errors.length > 0) throw errors.shift();
    if ([...due.values()].some(({ length }) => length === batch)) return 0;
    if (performance.now() >= followsAtMs) {
      followsAtMs = performance.now() + followEveryMs;
      await ports.infos.follow();
    }
    return restMs;
  };
}

async function settledWithin(forMs: number, all: readonly Promise<void>[]): Promise<void> {
  const end = new AbortController();
  const late = delay(forMs, undefined, { signal: end.signal }).catch(() => undefined);
  await Promise.race([Promise.all(all), late]);
  end.abort();
}

async function poll(ports: RenewalInfoPorts, info: DueRenewalInfo, rests: Map<string, Date>): Promise<void> {
  const { certificateId, authority, failures, ariId, now } = info;
  const rest = rests.get(authority);
  if (rest !== undefined && rest > now) return await ports.infos.postponed(certificateId, rest);
  try {
    const row = await authorityOf(ports, info);
    if (isDown(row) && row.downFor === 'everything') {
      await ports.infos.postponed(certificateId, new Date(now.getTime() + whileDownMs));
      return;
    }
    const received = await ports.servers.of(row).renewalInfo(ariId);
    if (received === null) {
      await ports.infos.failed(certificateId, nextWindowLook(Number.MAX_SAFE_INTEGER, now, null));
      return;
    }
    await store(ports, info, received);
  } catch (error) {
    if (!(error instanceof AcmeFault)) throw error;
    ports.events.failed(info, error);
    const dueAt = nextWindowLook(failures + 1, now, error.retryAt);
    if (error.kind === 'rate_limited' && error.retryAt !== null)
      rests.set(authority, error.retryAt < dueAt ? error.retryAt : dueAt);
    await ports.infos.failed(certificateId, dueAt);
  }
}

async function store(
  { infos, random, events }: RenewalInfoPorts,
  info: DueRenewalInfo,
  received: RenewalInfo,
): Promise<void> {
  const { window, explanationUrl, retryAt: dueAt } = received;
  const { windowStart: start, windowEnd: end, now } = info;
  const previous = start === null || end === null ? null : { start, end };
  const isSame = same(start, window.start) && same(end, window.end);
  const latest = renewalTime(info, renewalJitter(info.certificateId));
  const earliest = earliestRenewal(info, window, previous, now);
  const renewAt = isSame ? null : renewalTimeIn(window, random(), now, { earliest, latest });
  const stored = { windowStart: window.start, windowEnd: window.end };
  await infos.received(info.certificateId, { ...stored, explanationUrl, dueAt, renewAt });
  if (renewAt === null) return;
  if (previous !== null) events.windowMoved(info, received, renewAt);
  else if (earliest > now && window.end < earliest) events.windowTooEarly(info, received, renewAt);
}

/** Returns nothing for a CA without a row. @throws AcmeFault */
async function authorityOf(
  { authorities }: RenewalInfoPorts,
  { authority }: DueRenewalInfo,
): Promise<CertificateAuthorityEntity> {
  const row = (await authorities.byName()).get(authority);
  if (row === undefined)
    throw new AcmeFault('unreachable', `The CA ${authority} is not in use here any more.`);
  return row;
}

const same = (one: Date | null, other: Date) => one?.getTime() === other.getTime();
