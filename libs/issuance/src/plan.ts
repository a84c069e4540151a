/** A certificate to be kept valid while the plan is open. */
export interface Plan {
  readonly id: string;
  readonly accountId: string;
  /** Null while the CSR is missing: nothing can be issued. */
  readonly termsId: string | null;
  /** Positive; incremented by every modification. At most one certificate is issued per revision and cause. */
  readonly revision: number;
  readonly autoRenew: boolean;
  readonly muted: boolean;
  readonly paused: boolean;
  readonly closedAt: Date | null;
}
