import type { ApprovalMethod, LiveRecord, Outcome } from '@certwright/issuance';

/** What is to be approved, and by whose secrets: they belong to one tenant. */
export interface ApprovalQuestion {
  readonly accountId: string;
  readonly planId: string;
  /** As it stands in the terms; may begin with `*.`. */
  readonly dnsName: string;
  /** Where the tenant's standing record for this name must point; null: this way does not count for the name. */
  readonly delegationLabel: string | null;
  /** A name above it whose standing record counts as well; null: none does. */
  readonly parent: ParentRecord | null;
  /** What an integration of the tenant publishes for the name; null: none does. */
  readonly record: LiveRecord | null;
  /** The address that may approve the name by email; null: none is named, or this way does not count for the name. */
  readonly approverEmail: string | null;
  /** By the clock of the database. */
  readonly now: Date;
}

/** Where the tenant's standing record for a name above must stand, and where it must point. */
export interface ParentRecord {
  /** Without `*.`; the registered domain, or beneath it. */
  readonly dnsName: string;
  readonly delegationLabel: string;
}

export type ApprovalAnswer =
  | {
      readonly approved: true;
      /** When it was approved, if that was not just now. */
      readonly at?: Date;
    }
  /** `problem`: what was found and where, and what would be right. */
  | { readonly approved: false; readonly problem: Outcome };

/**
 * One way to find out whether a name is approved. testing/approver-suite.ts tests this contract for every adapter.
 */
export interface Approver {
  readonly method: ApprovalMethod;
  /**
   * Where this way looks for the name, whatever the time. Names of one order with the same place share one answer. Null:
   * this way does not cover the name, or does not count for it; `check` is not called then.
   */
  placeOf(question: ApprovalQuestion): string | null;
  /**
   * Looks whether the tenant has approved the name; the answer holds for that tenant and for no other. May be repeated and
   * called at the same time for any names: only the first call stores a challenge or sends a mail, and later calls use it
   * until it has expired or the subscriber asks for another one.
   *
   * What lies outside never makes it throw: an unreachable or silent server is a name that is not approved, and `problem`
   * says so. The same holds once the signal aborts, after which it resolves soon. An approval that was
   * withdrawn, or is older than the time of reuse by `question.now`, does not count.
   *
   * @throws Error only when our own database fails: then nothing is known about the name
   */
  check(question: ApprovalQuestion, signal: AbortSignal): Promise<ApprovalAnswer>;
}
