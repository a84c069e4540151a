import type { ApprovalMethod, LiveRecord } from '@certwright/issuance';

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
  /** `problem`: what was found and where, and what would be right, as a sentence for the caller. */
  | { readonly approved: false; readonly problem: string };

/**
 * One way to find out whether a name is approved. Contract: may be asked any number of times; bounded in time, and over
 * soon after the signal; never throws for what the outside world does, only when our own database is away; the answer
 * holds for the tenant whose secrets were asked for and for nobody else.
 */
export interface Approver {
  readonly method: ApprovalMethod;
  /** Where this way looks for the name; names with the same place share one answer. Null: it does not cover this name. */
  placeOf(question: ApprovalQuestion): string | null;
  check(question: ApprovalQuestion, signal: AbortSignal): Promise<ApprovalAnswer>;
}
