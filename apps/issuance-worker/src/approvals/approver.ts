import type { ApprovalMethod, LiveRecord, Outcome } from '@certwright/issuance';

/** A name to be approved, and the secrets of its tenant. */
export interface ApprovalQuestion {
  readonly accountId: string;
  readonly planId: string;
  /** As in the terms; may begin with `*.`. */
  readonly dnsName: string;
  /** Target of the tenant's standing record for this name; null: DNS does not count for the name. */
  readonly delegationLabel: string | null;
  /** A parent name whose standing record counts too; null: none. */
  readonly parent: ParentRecord | null;
  /** Record that an integration of the tenant publishes for the name; null: none. */
  readonly record: LiveRecord | null;
  /** The address that may approve the name by email; null: none is set, or email does not count for the name. */
  readonly approverEmail: string | null;
  /** Time of the database. */
  readonly now: Date;
}

/** Name and target of the tenant's standing record for a parent name. */
export interface ParentRecord {
  /** Without `*.`; the registered domain or a name beneath it. */
  readonly dnsName: string;
  readonly delegationLabel: string;
}

export type ApprovalResult =
  | {
      readonly approved: true;
      /** Time of the approval, if it was not approved just now. */
      readonly at?: Date;
    }
  /** `problem`: what was found and where, and what is expected. */
  | { readonly approved: false; readonly problem: Outcome };

/**
 * One method of checking whether a name is approved. testing/approver-suite.ts tests this contract for every adapter.
 */
export interface Approver {
  readonly method: ApprovalMethod;
  /**
   * Where this method checks the name, independent of time. Names of one order with the same place share one result.
   * Null: this method does not cover the name, or does not count for it; `check` is not called then.
   */
  placeOf(question: ApprovalQuestion): string | null;
  /**
   * Checks whether the tenant has approved the name; the result holds for this tenant only. May be repeated and
   * called concurrently for any names: only the first call stores a challenge or sends a mail, and later calls use it
   * until it has expired or the subscriber requests a new one.
   *
   * External failures never throw: with an unreachable or silent server, the name is not approved, and `problem` says
   * so. The same applies when the signal aborts; the call then resolves soon. An approval that was withdrawn, or is
   * older than the reuse period at `question.now`, does not count.
   *
   * @throws Error only when our own database fails: the state of the name is then unknown
   */
  check(question: ApprovalQuestion, signal: AbortSignal): Promise<ApprovalResult>;
}
