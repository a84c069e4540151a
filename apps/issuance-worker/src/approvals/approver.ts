import type { ApprovalMethod } from '@certwright/issuance';

/** What is to be approved, and by whose secret: the label belongs to one tenant and one name. */
export interface ApprovalQuestion {
  /** As it stands in the terms; may begin with `*.`. */
  readonly dnsName: string;
  /** Where the tenant's standing record for this name must point. */
  readonly delegationLabel: string;
}

export type ApprovalAnswer =
  | { readonly approved: true }
  /** `problem`: what was found and where, in words for the caller. */
  | { readonly approved: false; readonly problem: string };

/**
 * One way to find out whether a name is approved. Contract: looks and changes nothing; bounded in time; never throws for
 * what the outside world does; the answer holds for the tenant whose label was asked for and for nobody else.
 */
export interface Approver {
  readonly method: ApprovalMethod;
  check(question: ApprovalQuestion): Promise<ApprovalAnswer>;
}
