import type { ApprovalMethod, LiveRecord } from '@certwright/issuance';

/** What is to be approved, and by whose secrets: they belong to one tenant. */
export interface ApprovalQuestion {
  readonly accountId: string;
  readonly planId: string;
  /** As it stands in the terms; may begin with `*.`. */
  readonly dnsName: string;
  /** Where the tenant's standing record for this name must point. */
  readonly delegationLabel: string;
  /** What an integration of the tenant publishes for the name; null: none does. */
  readonly record: LiveRecord | null;
  /** The address that may approve the name by email; null: the order names none, or the product does not know this way. */
  readonly approverEmail: string | null;
  /** By the clock of the database. */
  readonly now: Date;
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
