/** What a caller wants kept valid, for as long as it is open. */
export interface Plan {
  readonly id: string;
  readonly accountId: string;
  /** Null while there is nothing to issue from: the CSR is missing. */
  readonly termsId: string | null;
  /** Positive; grows with every modification. At most one certificate is issued per revision and cause. */
  readonly revision: number;
  readonly autoRenew: boolean;
  readonly muted: boolean;
  readonly paused: boolean;
  readonly closedAt: Date | null;
}
