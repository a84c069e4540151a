/** As whom a request is answered, and within which bounds. */
export type Access =
  | {
      readonly kind: 'anonymous';
      /** How long its query may run. */
      readonly timeLimitMs: number;
    }
  | {
      readonly kind: 'key';
      readonly keyId: string;
      readonly accountId: string;
      /** How long its query may run, by the plan of the account. */
      readonly timeLimitMs: number;
      /** Whether the plan includes the firehose. */
      readonly firehose: boolean;
    };

/** What an anonymous query is counted as, by the hour: one with sub-domains reads far more. */
export type AnonymousQuery = 'single' | 'subdomains';
