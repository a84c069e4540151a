export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface ApiResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Complete: a body over the limit is an error, and is not truncated. */
  readonly text: string;
}

/**
 * One HTTP exchange, bounded in time and size. Follows no redirects and does not retry.
 *
 * @throws ProviderFault `unavailable` when there is no complete response; the signal's reason
 */
export type CallApi = (request: ApiRequest, signal: AbortSignal) => Promise<ApiResponse>;
