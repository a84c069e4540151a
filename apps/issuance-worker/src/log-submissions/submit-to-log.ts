import {
  type AddressGuard,
  guardedRequest,
  OutboundFault,
  type OutboundFaultKind,
} from '@certwright/outbound';
import type { DueSubmission, LogSubmissions } from './log-submissions';
import { releaseAfterOutage } from '@certwright/service';
import { logRestMs, refusedDelayMs } from './back-off';
import { classifyResponse, type Submitted } from './classify-response';
import type { SubmissionEvents } from './submission-events';

/** Delay between issuance and submission, ms. */
const restMs = 1_000;

/** Certificates that one round writes intents for: locked for the time of one statement. */
const maxChosen = 500;

/** Submissions of one round, and how many run in parallel. */
const maxSubmitted = 8;
const sideBySide = 4;

/** For one response; logs that wait until an entry is in the tree take a second or two. */
const timeoutMs = 5_000;

/** Longer than a round takes: maxSubmitted / sideBySide times timeoutMs. */
const leaseMs = 30_000;

/** Bytes; an SCT in JSON has 300, with an RSA signature 500. */
const maxResponseBytes = 16_384;

/** The log could not be reached for any certificate. */
const noConnection: ReadonlySet<OutboundFaultKind> = new Set([
  'refused_address',
  'bad_url',
  'dns',
  'connect',
  'tls',
]);

export interface SubmittingPorts {
  readonly submissions: LogSubmissions;
  readonly guard: AddressGuard;
  /** Every log that certificates are submitted to. URLs end with a slash. */
  readonly logUrls: readonly string[];
  readonly userAgent: string;
  readonly events: SubmissionEvents;
  readonly timeoutMs?: number;
}

/**
 * Submits what is due at one log. A log accepts the same certificate again and returns the same promise, so every
 * step may run twice. While the log is unavailable, all its submissions pause; a certificate that it refuses, or that
 * fails while others succeed, waits separately.
 *
 * @returns a function that runs one round and returns the pause after it, ms
 */
export function submitToLog(ports: SubmittingPorts, logUrl: string): () => Promise<number> {
  const { submissions, logUrls, events } = ports;
  let failures = 0;
  return async () => {
    const chosen = await submissions.choose(logUrls, maxChosen);
    const due = await submissions.lease(logUrl, maxSubmitted, leaseMs);
    const { unavailable, failed } = await submitAll(ports, logUrl, due).catch((error: unknown) => {
      const taken = due.map(({ certificateId }) => certificateId);
      const release = async () => await submissions.release(logUrl, taken);
      void releaseAfterOutage(error, release, { forMs: leaseMs });
      throw error;
    });
    if (unavailable !== null) {
      failures += 1;
      const rest = logRestMs(failures, unavailable.retryAfterMs);
      events.unavailable(logUrl, unavailable.problem, rest);
      return rest;
    }
    if (due.length > 0) failures = 0;
    const isMore = chosen === maxChosen || due.length === maxSubmitted;
    return isMore && failed === 0 ? 0 : restMs;
  };
}

type Unavailable = Extract<Submitted, { readonly kind: 'unavailable' }>;

interface Round {
  /** Reason to pause the log; null: it is available. */
  readonly unavailable: Unavailable | null;
  /** Certificates without a response, while others got one. */
  readonly failed: number;
}

async function submitAll(
  ports: SubmittingPorts,
  logUrl: string,
  due: readonly DueSubmission[],
): Promise<Round> {
  const waiting = [...due];
  const failed: Failed[] = [];
  const unserved: string[] = [];
  let unavailable: Unavailable | null = null;
  let served = 0;
  const lane = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const submitted = unavailable ?? (await submit(ports, next));
      if (submitted.kind === 'unavailable') {
        unavailable ??= submitted;
        unserved.push(next.certificateId);
      } else if (submitted.kind === 'failed') failed.push({ submission: next, problem: submitted.problem });
      else {
        served += 1;
        await settle(ports, next, submitted);
      }
    }
  };
  await Promise.all(Array.from({ length: sideBySide }, lane));
  const [first] = failed;
  if (served > 0) for (const { submission, problem } of failed) await refused(ports, submission, problem);
  else {
    unserved.push(...failed.map(({ submission }) => submission.certificateId));
    if (first !== undefined)
      unavailable ??= { kind: 'unavailable', problem: first.problem, retryAfterMs: null };
  }
  if (unserved.length > 0) await ports.submissions.release(logUrl, unserved);
  return { unavailable, failed: failed.length };
}

interface Failed {
  readonly submission: DueSubmission;
  readonly problem: string;
}

async function settle(
  ports: SubmittingPorts,
  submission: DueSubmission,
  submitted: Extract<Submitted, { readonly kind: 'logged' | 'refused' }>,
): Promise<void> {
  if (submitted.kind === 'refused') return await refused(ports, submission, submitted.problem);
  await ports.submissions.logged(submission, submitted.promise);
  ports.events.logged(submission, submitted.promise);
}

async function refused(
  { submissions, events }: SubmittingPorts,
  submission: DueSubmission,
  problem: string,
): Promise<void> {
  await submissions.postpone(submission, refusedDelayMs(submission.attempts), problem);
  events.refused(submission, problem);
}

async function submit(
  { guard, userAgent, timeoutMs: patience = timeoutMs }: SubmittingPorts,
  { logUrl, leaf, chain }: DueSubmission,
): Promise<Submitted> {
  try {
    const response = await guardedRequest(guard, {
      url: new URL('ct/v1/add-chain', logUrl).href,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': userAgent },
      body: JSON.stringify({ chain: [leaf, ...chain].map((der) => der.toString('base64')) }),
      timeoutMs: patience,
      maxResponseBytes,
    });
    return classifyResponse(response, new Date());
  } catch (error) {
    if (!(error instanceof OutboundFault)) throw error;
    const { kind, message: problem } = error;
    return noConnection.has(kind)
      ? { kind: 'unavailable', problem, retryAfterMs: null }
      : { kind: 'failed', problem };
  }
}
