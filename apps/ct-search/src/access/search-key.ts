/** What a subscription to the search allows. */
export interface SearchPlan {
  readonly name: string;
  readonly queriesPerS: number;
  /** Queries at once, after a pause. */
  readonly burst: number;
  /** How long one query may run. */
  readonly timeLimitMs: number;
  /** Whether the stream of all issuances may be read. */
  readonly firehose: boolean;
}

/** An API key, and what its account has subscribed to. */
export interface SearchKey {
  readonly keyId: string;
  readonly accountId: string;
  /** As stored; words outside the closed list grant nothing. */
  readonly permissions: readonly string[];
  /** The key itself, or its account. */
  readonly disabled: boolean;
  /** The default plan when the account has no subscription. */
  readonly plan: SearchPlan;
  /** The subscription has not been paid. */
  readonly suspended: boolean;
}
