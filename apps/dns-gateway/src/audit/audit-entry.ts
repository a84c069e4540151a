import type { ProviderName } from '@certwright/gateway-contract';

/** A planned or refused change. Only the members declared here are written; none of them holds a credential. */
export interface AuditIntent {
  readonly requestId: string;
  /** Identity of the client certificate. */
  readonly client: string;
  /** The platform's account. */
  readonly account: string;
  readonly integrationId: string;
  readonly provider: ProviderName;
  readonly action: 'add' | 'replace' | 'remove';
  /** Null when no zone was found. */
  readonly zone: string | null;
  readonly fqdn: string;
  readonly type: string;
  readonly value: string;
  /** Seconds. */
  readonly ttlS: number | null;
  readonly decision: 'allowed' | 'refused';
  /** For a refusal. */
  readonly reason: string | null;
}

/** A handle that did not open; nothing was changed. */
export interface HandleRefusal {
  readonly requestId: string;
  /** Identity of the client certificate. */
  readonly client: string;
  /** As the request states them. */
  readonly account: string;
  readonly integrationId: string;
  readonly provider: ProviderName;
  readonly handle: 'integration' | 'record';
  /** The error code of the response. */
  readonly code: string;
  /**
   * Refusals of the same client since its last entry that were not written. Limits how much a client can add to the
   * log.
   */
  readonly unrecorded: number;
}

/** Outcome of an allowed intent. */
export interface AuditOutcome {
  /**
   * `existed`: the record existed before and stays. `unknown`: the provider's response was lost; the change may have
   * been made.
   */
  readonly result: 'done' | 'existed' | 'failed' | 'unknown';
  readonly problem: string | null;
}

/** Bytes after the last complete line of the preceding file: a write cut off by a crash. */
export interface TornBytes {
  readonly bytes: number;
  /** SHA-256 over them, hex. */
  readonly sha256: string;
}

/** The first entry of every file. */
export interface FileOpened {
  readonly instance: string;
  readonly format: 1;
  /** Torn ends of the preceding files, oldest first; empty except after a crash. */
  readonly torn: readonly TornBytes[];
}

export type EntryContent =
  | ({ readonly kind: 'opened' } & FileOpened)
  | ({ readonly kind: 'intent' } & AuditIntent)
  | ({ readonly kind: 'outcome'; readonly intent: number } & AuditOutcome)
  | ({ readonly kind: 'handle-refused' } & HandleRefusal);

/** A position in a chain. `hash` is SHA-256 over the entry's line without the member `hash`, hex. */
export interface ChainHead {
  readonly sequence: number;
  readonly hash: string;
}

/** The position before the first entry. */
export const chainStart: ChainHead = { sequence: 0, hash: '0'.repeat(64) };

/** Max UTF-16 units of one string. The policy checks values of at most 512; longer ones are refused before. */
const maxStringLength = 1_024;

/** The entry with its declared members only, in the order in which they are written, with overlong strings cut. */
export function intentContent(intent: AuditIntent): EntryContent {
  let cut = false;
  const bounded = (text: string): string => {
    if (text.length <= maxStringLength) return text;
    cut = true;
    return `${text.slice(0, maxStringLength)}… (${text.length})`;
  };
  const orNull = (text: string | null) => (text === null ? null : bounded(text));
  const content: EntryContent = {
    kind: 'intent',
    requestId: bounded(intent.requestId),
    client: bounded(intent.client),
    account: bounded(intent.account),
    integrationId: bounded(intent.integrationId),
    provider: intent.provider,
    action: intent.action,
    zone: orNull(intent.zone),
    fqdn: bounded(intent.fqdn),
    type: bounded(intent.type),
    value: bounded(intent.value),
    ttlS: intent.ttlS,
    decision: intent.decision,
    reason: orNull(intent.reason),
  };
  // Without these members the log would not show what was changed.
  if (cut && intent.decision === 'allowed')
    throw new RangeError('An allowed change is longer than the audit log can tell.');
  return content;
}

/** The refusal with its declared members only, with overlong strings cut. */
export function handleRefusedContent(refusal: HandleRefusal): EntryContent {
  const bounded = (text: string): string => text.slice(0, maxStringLength);
  return {
    kind: 'handle-refused',
    requestId: bounded(refusal.requestId),
    client: bounded(refusal.client),
    account: bounded(refusal.account),
    integrationId: bounded(refusal.integrationId),
    provider: refusal.provider,
    handle: refusal.handle,
    code: refusal.code,
    unrecorded: refusal.unrecorded,
  };
}

export function outcomeContent(intent: number, { result, problem }: AuditOutcome): EntryContent {
  return {
    kind: 'outcome',
    intent,
    result,
    problem: problem === null ? null : problem.slice(0, maxStringLength),
  };
}
