export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface ApiAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whole: a longer one than is allowed is a fault, not cut. */
  readonly text: string;
}

/**
 * One HTTP exchange, bounded in time and size. Follows no redirect and repeats nothing.
 *
 * @throws ProviderFault `unavailable` when there is no whole answer; the signal's reason
 */
export type CallApi = (request: ApiRequest, signal: AbortSignal) => Promise<ApiAnswer>;
