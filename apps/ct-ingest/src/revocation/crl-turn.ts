import { createHash } from 'node:crypto';
import { setImmediate as others, setTimeout as delay } from 'node:timers/promises';
import { type Crl, readCrl, RevokedCertificates } from '@certwright/ct';
import { LeaseLost } from '@certwright/postgres';
import type { MemoryBudget } from '../memory/memory-budget';
import type { CrlEvents } from './crl-events';
import {
  type CrlIntervals,
  maxHostRestMs,
  maxRestMs,
  restAfterFailure,
  restOfCurrent,
} from './crl-intervals';
import { crlSignature, type SignatureVerdict } from './crl-signature';
import { type CrlResponse, type CrlFetching, CrlTooLong, CrlUnavailable, fetchCrl } from './fetch-crl';
import { checkCrl } from './check-crl';
import type { CrlHosts } from './store/crl-hosts';
import type { CtCrls, DueCrl } from './store/ct-crls';
import type { HostLease } from './store/host-lease';

/** A lease that is renewed while requests are sent to its host. */
interface HeldHost {
  /** Aborts when the lease has expired, or may have, or when the outer signal aborts. */
  readonly signal: AbortSignal;
  /** Stops renewing the lease. */
  end(): void;
}

function holdHost(
  hosts: Pick<CrlHosts, 'lengthen'>,
  lease: HostLease,
  leaseMs: number,
  outer: AbortSignal,
): HeldHost {
  const lost = new AbortController();
  let heldUntilMs = performance.now() + leaseMs;
  const lengthen = async () => {
    const requestedAtMs = performance.now();
    try {
      await hosts.lengthen(lease, leaseMs);
      heldUntilMs = requestedAtMs + leaseMs;
    } catch (error) {
      if (error instanceof LeaseLost) lost.abort(error);
      else if (performance.now() > heldUntilMs)
        lost.abort(new LeaseLost('ct_crl_host', lease.host, lease.token));
    }
  };
  const timer = setInterval(() => void lengthen(), leaseMs / 3);
  return { signal: AbortSignal.any([outer, lost.signal]), end: () => clearInterval(timer) };
}

export interface CrlTurnOptions {
  readonly crls: Pick<CtCrls, 'due' | 'apply' | 'unchanged' | 'failed'>;
  readonly hosts: Pick<CrlHosts, 'lengthen' | 'release'>;
  readonly fetching: CrlFetching;
  readonly events: CrlEvents;
  /** Max bytes of all lists together. */
  readonly memory: MemoryBudget;
  /** Max bytes of one list. */
  readonly maxBytes: number;
  readonly intervals: CrlIntervals;
  /** How long a list is accepted after its next update, ms. */
  readonly graceMs: number;
  readonly leaseMs: number;
  /** Max turn of a host with many lists before the next host. */
  readonly turnMs: number;
  /** Between the end of a request to a host and the next one. */
  readonly gapMs: number;
  readonly now: () => number;
  readonly random: () => number;
}

/** Most lists are shorter, bytes: more memory is reserved only when needed. */
const usualBytes = 1_048_576;

/** Approximate bytes of an entry with an entry extension and a long serial number. */
const entryBytes = 64;

/** Bytes of memory per byte of a list: its chunks, and the whole. */
const memoryPerByte = 2;

const signatureProblems: Readonly<Record<Exclude<SignatureVerdict, 'valid'>, string>> = {
  algorithm: 'The signature algorithm of the list is not accepted.',
  key: 'The signature algorithm of the list does not match the key of its issuer.',
  forged: 'The signature of the list is invalid.',
};

/** Bytes that are hashed at a time: some milliseconds. */
const hashedBytes = 2 * 1_048_576;

/** A list was received and rejected. */
class CrlRefused extends Error {}

/** Result of a host's turn: why no further list can be fetched, if so, and whether any list was fetched. */
interface HostEnd {
  readonly unavailable: CrlUnavailable | null;
  readonly hadSome: boolean;
}

/** Requests all due lists of one host, one after another. */
export class CrlTurn {
  constructor(private readonly options: CrlTurnOptions) {}

  async run(lease: HostLease, outer: AbortSignal): Promise<void> {
    const { hosts, leaseMs, random } = this.options;
    const held = holdHost(hosts, lease, leaseMs, outer);
    let ended: HostEnd = { unavailable: null, hadSome: false };
    try {
      ended = await this.each(lease, held.signal);
    } catch (error) {
      if (!held.signal.aborted && !(error instanceof LeaseLost)) throw error;
    } finally {
      held.end();
      const { unavailable, hadSome } = ended;
      const failures = unavailable === null ? 0 : hadSome ? 1 : lease.failures + 1;
      const restMs =
        unavailable === null
          ? 0
          : restAfterFailure(failures, maxHostRestMs, unavailable.retryAfterMs, random);
      await hosts.release(lease, restMs, failures).catch((error: unknown) => {
        if (!(error instanceof LeaseLost)) throw error;
      });
    }
  }

  private async each(lease: HostLease, signal: AbortSignal): Promise<HostEnd> {
    const { crls, now, turnMs, gapMs } = this.options;
    const untilMs = now() + turnMs;
    let hadSome = false;
    while (now() < untilMs) {
      signal.throwIfAborted();
      const crl = await crls.due(lease);
      if (crl === null) break;
      const failure = await this.renew(crl, signal);
      if (failure?.wholeHost === true) return { unavailable: failure, hadSome };
      hadSome ||= failure === null;
      await delay(gapMs, undefined, { signal });
    }
    return { unavailable: null, hadSome };
  }

  /** @returns why the list is unavailable, if it is @throws the reason of the signal */
  private async renew(crl: DueCrl, signal: AbortSignal): Promise<CrlUnavailable | null> {
    const { crls, events, intervals, random } = this.options;
    try {
      await this.fetchAndApply(crl, signal);
      return null;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof LeaseLost) throw error;
      const unavailable = error instanceof CrlUnavailable ? error : null;
      // The rest does not exceed the list's own interval.
      const maxRetryMs = crl.checkedAt === null ? maxRestMs : intervals.maxMs;
      const retryAfterMs = unavailable?.retryAfterMs ?? null;
      const restMs = restAfterFailure(crl.failures + 1, maxRetryMs, retryAfterMs, random);
      const problem = error instanceof Error ? error.message : String(error);
      await crls.failed(crl, problem, restMs);
      if (unavailable !== null) events.unavailable(crl, problem, restMs);
      else if (error instanceof CrlRefused) events.refused(crl, problem, restMs);
      else events.failed(crl, error);
      return unavailable;
    }
  }

  private async fetchAndApply(crl: DueCrl, signal: AbortSignal): Promise<void> {
    const { maxBytes, gapMs } = this.options;
    const likely = crl.entries * entryBytes;
    if (likely < usualBytes && usualBytes < maxBytes) {
      try {
        return await this.within(usualBytes, crl, signal);
      } catch (error) {
        if (!(error instanceof CrlTooLong)) throw error;
        await delay(gapMs, undefined, { signal });
      }
    }
    await this.within(maxBytes, crl, signal);
  }

  private async within(maxBytes: number, crl: DueCrl, signal: AbortSignal): Promise<void> {
    const { memory, fetching, crls, events, intervals, now, random } = this.options;
    const reserved = await memory.reserve(maxBytes * memoryPerByte, signal);
    try {
      // A list that was never accepted, or is about to run out, is requested unconditionally (no ETag).
      const isKnown = crl.checkedAt !== null && crl.freshUntil !== null && crl.freshUntil.getTime() > now();
      const { etag, lastModified } = isKnown ? crl : { etag: null, lastModified: null };
      const response = await fetchCrl(fetching, { url: crl.url, etag, lastModified, maxBytes, signal });
      if (response.kind === 'list') {
        reserved.shrinkTo(response.body.length);
        return await this.accept(crl, response, signal);
      }
      await crls.unchanged(crl, restOfCurrent(crl.nextUpdate?.getTime() ?? null, intervals, now(), random));
      events.unchanged(crl);
    } finally {
      reserved.release();
    }
  }

  private async accept(
    due: DueCrl,
    { body, etag, lastModified }: CrlResponse & { kind: 'list' },
    signal: AbortSignal,
  ): Promise<void> {
    const { crls, events, graceMs, intervals, now, random } = this.options;
    const startedMs = now();
    const reading = readCrl(body);
    if (!reading.ok)
      throw new CrlRefused(`The response is not a readable revocation list (${reading.fault}).`);
    const { crl } = reading;
    const checked = checkCrl(crl, due, graceMs, startedMs);
    if (!checked.ok) throw new CrlRefused(checked.problem);
    const verdict = await crlSignature(crl, due.spkiDer);
    if (verdict !== 'valid') throw new CrlRefused(signatureProblems[verdict]);
    const revoked = new RevokedCertificates(crl);
    const applied = await crls.apply(
      due,
      {
        contentSha256: await sha256(body),
        number: crl.number,
        thisUpdate: new Date(crl.thisUpdate),
        nextUpdate: dateOf(crl),
        freshUntil: new Date(checked.freshUntilMs),
        etag,
        lastModified,
        revoked: revoked.pieces(),
        covers: () => checked.covers && revoked.unreadable === 0,
      },
      restOfCurrent(crl.nextUpdate, intervals, now(), random),
      signal,
    );
    if (applied.outcome === 'older') throw new CrlRefused('The list is older than the one that is known.');
    if (applied.outcome === 'crowded')
      throw new CrlRefused('Its issuer has more revocations than the maximum.');
    events.applied(due, applied, now() - startedMs);
  }
}

/** Many megabytes: yields to other work. */
async function sha256(bytes: Buffer): Promise<Buffer> {
  const hash = createHash('sha256');
  for (let at = 0; at < bytes.length; at += hashedBytes) {
    hash.update(bytes.subarray(at, at + hashedBytes));
    await others();
  }
  return hash.digest();
}

function dateOf({ nextUpdate }: Crl): Date | null {
  return nextUpdate === null ? null : new Date(nextUpdate);
}
