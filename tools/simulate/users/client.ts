import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { type ConnectionBreak, withConnectionBreak } from '../faults/broken-connections';
import type { SimulatedAccount } from './accounts';

export interface ClientResponse {
  readonly status: number;
  // Members of responses are checked one by one.
  readonly json: any; // eslint-disable-line @typescript-eslint/no-explicit-any
}

export interface ClientRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: string;
  readonly body?: object;
}

/** Calls an API as customers' programs do: failed requests are repeated with the same idempotency key. */
export class Client {
  readonly counts = { requests: 0, broken: 0, repeated: 0 };

  constructor(private readonly connectionBreak: (what: string) => ConnectionBreak | null) {}

  /** @throws Error when it fails again */
  async call(
    app: NestFastifyApplication,
    { apiKey }: SimulatedAccount,
    request: ClientRequest,
  ): Promise<ClientResponse> {
    this.counts.requests += 1;
    const number = this.counts.requests;
    const headers = {
      authorization: `Bearer ${apiKey}`,
      ...(request.method === 'POST' ? { 'idempotency-key': `simulate-${number}` } : {}),
    };
    let response: ClientResponse | undefined;
    const send = async () => {
      const { statusCode, payload } = await app.inject({
        method: request.method,
        url: request.url,
        headers,
        ...(request.body === undefined ? {} : { payload: request.body }),
      });
      response = { status: statusCode, json: payload === '' ? undefined : JSON.parse(payload) };
    };
    if (await withConnectionBreak(this.connectionBreak(`request ${number}`), send)) this.counts.broken += 1;
    for (let tries = 1; tries < 3 && (response?.status ?? 500) >= 500; tries += 1) {
      this.counts.repeated += 1;
      await withConnectionBreak(null, send);
    }
    if (response === undefined || response.status >= 500) {
      throw new Error(
        `${request.method} ${request.url}: ${response?.status} ${JSON.stringify(response?.json)}`,
      );
    }
    return response;
  }
}
