import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { type ConnectionBreak, withConnectionBreak } from '../faults/broken-connections';
import type { SimulatedAccount } from './accounts';

export interface Answered {
  readonly status: number;
  // Members of responses are checked one by one.
  readonly json: any; // eslint-disable-line @typescript-eslint/no-explicit-any
}

export interface Asked {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: string;
  readonly body?: object;
}

/** Calls an API as customers' programs do: failed requests are repeated with the same idempotency key. */
export class Client {
  readonly counts = { requests: 0, broken: 0, repeated: 0 };

  constructor(private readonly connectionBreak: (what: string) => ConnectionBreak | null) {}

  /** @throws Error when it fails again */
  async call(app: NestFastifyApplication, { apiKey }: SimulatedAccount, asked: Asked): Promise<Answered> {
    this.counts.requests += 1;
    const number = this.counts.requests;
    const headers = {
      authorization: `Bearer ${apiKey}`,
      ...(asked.method === 'POST' ? { 'idempotency-key': `simulate-${number}` } : {}),
    };
    let answered: Answered | undefined;
    const send = async () => {
      const { statusCode, payload } = await app.inject({
        method: asked.method,
        url: asked.url,
        headers,
        ...(asked.body === undefined ? {} : { payload: asked.body }),
      });
      answered = { status: statusCode, json: payload === '' ? undefined : JSON.parse(payload) };
    };
    if (await withConnectionBreak(this.connectionBreak(`request ${number}`), send)) this.counts.broken += 1;
    for (let tries = 1; tries < 3 && (answered?.status ?? 500) >= 500; tries += 1) {
      this.counts.repeated += 1;
      await withConnectionBreak(null, send);
    }
    if (answered === undefined || answered.status >= 500) {
      throw new Error(`${asked.method} ${asked.url}: ${answered?.status} ${JSON.stringify(answered?.json)}`);
    }
    return answered;
  }
}
