import type { Outcome, OutcomeOf } from './outcome/outcome';
import { nextAuthorityLook, nextRecordTry } from './schedule';

/**
 * `wanted` (being added, or waited for) → `standing` (every authoritative server returns it) → `unwanted` (being
 * removed) → `removed`. A `standing` record that disappears becomes `wanted` again, and so does an `unwanted` one
 * that is needed again.
 */
export type ApprovalRecordState = 'wanted' | 'standing' | 'unwanted' | 'removed';

/** A standing approval record that the platform publishes through an integration of the account. */
export interface ApprovalRecord {
  readonly id: string;
  readonly integrationId: string;
  /** Without `*.`. */
  readonly dnsName: string;
  readonly state: ApprovalRecordState;
  /** Set before the first request to add it: from then on the record may exist, with or without a handle. */
  readonly attemptedAt: Date | null;
  /** When the gateway last confirmed it; null: it must be added, possibly again. */
  readonly addedAt: Date | null;
  /** Handle for removing it; null: not added by us, or the response was lost. */
  readonly recordHandle: string | null;
  /** Since when it is left unchanged because a different record replaced it; null: it was not replaced. */
  readonly stoppedAt: Date | null;
  /** Null when there is no problem. */
  readonly problem: Outcome | null;
  /** Failures in a row. */
  readonly failures: number;
  /** Next attempt; null: none until a caller requests it. */
  readonly dueAt: Date | null;
}

/** What the authoritative servers of the zone return. */
export interface RecordFinding {
  /** Whether all, some or no servers have the record. */
  readonly seen: 'everywhere' | 'somewhere' | 'nowhere';
  /** Whether a server reports that the record does not exist. */
  readonly absent: boolean;
  /** Whether a server returns a different record. */
  readonly other: boolean;
  /** The servers that do not return the record; null when all do. */
  readonly problem: Outcome | null;
}

export interface RecordInputs {
  /** An open plan names it, and its integration is not deleted. */
  readonly needed: boolean;
  /** Result of this run's DNS lookup; null: not looked up yet. */
  readonly finding: RecordFinding | null;
}

/** Changes of the row; omitted fields keep their value. */
export interface RecordChange {
  readonly state?: ApprovalRecordState;
  readonly attemptedAt?: Date | null;
  readonly addedAt?: Date | null;
  readonly recordHandle?: string | null;
  readonly stoppedAt?: Date | null;
  readonly standingAt?: Date | null;
  readonly problem?: Outcome | null;
  readonly failures?: number;
  readonly dueAt?: Date | null;
}

export type RecordStep =
  /** Query every authoritative server. */
  | { readonly kind: 'look' }
  /** Have the gateway add it, and keep the handle. */
  | { readonly kind: 'add' }
  /** Have the gateway remove it by its handle. */
  | { readonly kind: 'remove' }
  | { readonly kind: 'save'; readonly change: RecordChange };

/** Decides the one next step of a record that is due. Every step may be repeated after a crash. */
export function nextRecordStep(record: ApprovalRecord, inputs: RecordInputs, now: Date): RecordStep {
  if (!inputs.needed) return record.state === 'unwanted' ? remove(record, inputs, now) : unwant(record, now);
  switch (record.state) {
    case 'wanted':
      return publish(record, inputs.finding, now);
    case 'standing':
      return confirm(inputs.finding, now);
    case 'unwanted':
      return save({ state: 'wanted', problem: null, failures: 0, dueAt: now });
    case 'removed':
      return save({ dueAt: null });
  }
}

/** It was added an hour ago and no server has it: it was deleted, or the provider lost it. */
const addAgainAfterMs = 3_600_000;

function publish(record: ApprovalRecord, finding: RecordFinding | null, now: Date): RecordStep {
  // A replaced record is only due again after a caller's request.
  if (record.stoppedAt !== null) return { kind: 'add' };
  if (record.attemptedAt === null) {
    if (finding === null) return { kind: 'look' };
    // It is the customer's own record then, and we never remove it.
    return finding.seen === 'everywhere' ? stand(now) : { kind: 'add' };
  }
  if (record.addedAt === null) return { kind: 'add' };
  if (finding === null) return { kind: 'look' };
  if (finding.seen === 'everywhere' || onlySilenceIsMissing(record.addedAt, finding, now)) return stand(now);
  const lost =
    finding.seen === 'nowhere' &&
    !finding.other &&
    record.addedAt.getTime() + addAgainAfterMs <= now.getTime();
  if (lost) return { kind: 'add' };
  return save({ problem: finding.problem, failures: 0, dueAt: nextAuthorityLook(record.addedAt, now) });
}

/** Time a secondary server may be down for a restart; after a longer outage CAs cannot reach it either. */
const silenceAfterMs = 10 * 60_000;

/**
 * Every server that responds has it, and the others have been silent for long: a name server that is permanently down
 * must not keep the zone without certificates. Resolvers try the next server as well.
 */
function onlySilenceIsMissing(addedAt: Date, { seen, absent, other }: RecordFinding, now: Date): boolean {
  const someHaveItAndNoneDenies = seen === 'somewhere' && !absent && !other;
  return someHaveItAndNoneDenies && addedAt.getTime() + silenceAfterMs <= now.getTime();
}

function stand(now: Date): RecordStep {
  return save({ state: 'standing', standingAt: now, problem: null, failures: 0, dueAt: null });
}

/** The state of a standing record is in doubt: it was not found, or an order that names it was changed. */
function confirm(finding: RecordFinding | null, now: Date): RecordStep {
  if (finding === null) return { kind: 'look' };
  if (finding.seen === 'everywhere') return stand(now);
  if (finding.other && finding.problem !== null) {
    // The replacement was deliberate: two systems that replace each other's record would never stop.
    const problem = { code: 'record_replaced', found: finding.problem } as const;
    return save({ state: 'wanted', addedAt: null, stoppedAt: now, problem, dueAt: null });
  }
  // Servers that do not respond give no information about the record.
  if (!finding.absent) return save({ problem: finding.problem, dueAt: null });
  return save({ state: 'wanted', addedAt: null, problem: finding.problem, failures: 0, dueAt: now });
}

function unwant(record: ApprovalRecord, now: Date): RecordStep {
  if (record.state === 'removed') return save({ dueAt: null });
  if (record.attemptedAt === null) return gone(null);
  const change = { state: 'unwanted', addedAt: null, stoppedAt: null, problem: null, failures: 0 } as const;
  return save({ ...change, dueAt: now });
}

/** The zone's servers may still return the state before an attempt whose response was lost. */
const settledAfterMs = 3_600_000;

/** After a month of hourly attempts: the provider no longer accepts the removal. */
const giveUpRemovalAfterFailures = 30 * 24;

function remove(
  { attemptedAt, recordHandle, failures, problem }: ApprovalRecord,
  { finding }: RecordInputs,
  now: Date,
): RecordStep {
  if (attemptedAt === null) return gone(null);
  if (failures >= giveUpRemovalAfterFailures) return gone(problem);
  if (recordHandle !== null) return { kind: 'remove' };
  // Adding returns the handle of the one record that then exists. Unless it is a different owner's record, which
  // would be lost.
  if (finding === null) return { kind: 'look' };
  if (finding.seen !== 'nowhere' || finding.absent || !finding.other) return { kind: 'add' };
  const settledAt = new Date(attemptedAt.getTime() + settledAfterMs);
  return settledAt.getTime() <= now.getTime() ? gone(null) : save({ dueAt: settledAt });
}

/** @param problem why it may still be there; null: it is not */
function gone(problem: Outcome | null): RecordStep {
  return save({ ...whenRemoved, problem });
}

function save(change: RecordChange): RecordStep {
  return { kind: 'save', change };
}

/** The gateway has added it. Of an unwanted one only the handle counts. */
export function whenAdded({ state }: ApprovalRecord, recordHandle: string, now: Date): RecordChange {
  const change = { recordHandle, stoppedAt: null, problem: null, failures: 0, dueAt: now };
  return state === 'unwanted' ? change : { ...change, addedAt: now, standingAt: null };
}

/** When the record is needed again by then, it is known not to exist. */
export const whenRemoved: RecordChange = {
  state: 'removed',
  attemptedAt: null,
  addedAt: null,
  recordHandle: null,
  stoppedAt: null,
  problem: null,
  failures: 0,
  dueAt: null,
};

/** @param retryAfterS requested by the remote side; null: not given */
export function whenFailed(
  { failures }: ApprovalRecord,
  problem: Outcome,
  retryAfterS: number | null,
  now: Date,
): RecordChange {
  return { failures: failures + 1, problem, dueAt: nextRecordTry(failures + 1, now, retryAfterS) };
}

/** State of a record in one word. */
export type RecordStanding = 'waiting' | 'standing' | 'failing';

export function recordStanding({
  state,
  failures,
  stoppedAt,
}: Pick<ApprovalRecord, 'state' | 'failures'> & {
  readonly stoppedAt: Date | string | null;
}): RecordStanding {
  if (state === 'standing') return 'standing';
  return failures > 0 || stoppedAt !== null ? 'failing' : 'waiting';
}

/** What a name waits for while its record is not in place. */
export function recordNotReady(
  record: Pick<ApprovalRecord, 'state' | 'addedAt' | 'stoppedAt' | 'failures' | 'problem' | 'integrationId'>,
): OutcomeOf<'record_not_ready'> {
  const { state, addedAt, stoppedAt, failures, problem, integrationId } = record;
  const stage = () => {
    if (state === 'unwanted') return 'removing';
    if (stoppedAt !== null) return 'replaced';
    if (failures > 0) return 'failing';
    return addedAt === null ? 'adding' : 'added';
  };
  return { code: 'record_not_ready', integrationId, stage: stage(), problem };
}
