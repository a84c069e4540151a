import { AsyncLocalStorage } from 'node:async_hooks';
import { connect } from 'node:net';
import { eventually } from '@certwright/testing';
import type { Authenticator, CallerIdentity } from '../authentication/authenticator';
import { type SampleApi, sampleKeys, startSampleApi } from '../testing/sample-api';
import { exchange, parseResponse, request } from '../testing/wire';

const store = new AsyncLocalStorage<number>();
const begun: (number | undefined)[] = [];
const accounts: (string | null)[] = [];
let requests = 0;
let isFull = false;
let ended = 0;

let api: SampleApi;
beforeAll(async () => {
  api = await startSampleApi({
    around: (handle) => store.run((requests += 1), handle),
    beginWrite: (account) => {
      accounts.push(account);
      if (isFull) return null;
      begun.push(store.getStore());
      return () => (ended += 1);
    },
  });
});
afterAll(async () => await api.app.close());
beforeEach(() => {
  [requests, ended, isFull, begun.length, accounts.length] = [0, 0, false, 0, 0];
});

const bearer = `Authorization: Bearer ${sampleKeys.owner}`;

describe('a write', () => {
  it('runs in the scope of its request also after its body has arrived in pieces, and is ended with it', async () => {
    const whole = request('POST /echo', ['Content-Type: application/json'], '{"name":"a"}');
    const response = parseResponse(await exchange(api.port, whole.subarray(0, -5), whole.subarray(-5)));
    expect(response.status).toBe(200);
    expect(begun).toEqual([1]);
    await eventually(() => expect(ended).toBe(1));
  });

  it('counts for its account', async () => {
    await exchange(api.port, request('DELETE /orders/example.com', [bearer]));
    await exchange(api.port, request('POST /echo', ['Content-Type: application/json'], '{"name":"a"}'));
    expect(accounts).toEqual([expect.stringMatching(/^\d+$/), null]);
  });

  it('receives 503 with Retry-After when there are too many, while a read is answered', async () => {
    isFull = true;
    for (const line of ['POST /echo', 'DELETE /orders/example.com']) {
      const refused = parseResponse(await exchange(api.port, request(line, [bearer])));
      expect(refused).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
      expect(JSON.parse(refused.body)).toMatchObject({ code: 'service_outage' });
    }
    const read = await exchange(api.port, request('GET /orders/example.com', [bearer]));
    expect(parseResponse(read).status).toBe(200);
    expect([begun, ended]).toEqual([[], 0]);
  });

  it('is ended also when its client disconnects while it is authenticated', async () => {
    const slow = new SlowAuthenticator();
    const { app, port, lines } = await startSampleApi({
      authenticator: slow as unknown as Authenticator,
      beginWrite: () => {
        begun.push(undefined);
        return () => (ended += 1);
      },
    });
    const socket = connect(port, '127.0.0.1');
    socket.write(request('DELETE /orders/example.com', [bearer]));
    await slow.called;
    socket.destroy();
    await eventually(() => expect(lines.join('')).toContain('"status":499'));
    slow.admitAll();
    await eventually(() => expect(begun).toHaveLength(1));
    expect(ended).toBe(1);
    await app.close();
  });
});

class SlowAuthenticator {
  readonly #called = Promise.withResolvers<void>();
  readonly #admitted = Promise.withResolvers<CallerIdentity>();
  readonly called = this.#called.promise;

  async admit(): Promise<CallerIdentity> {
    this.#called.resolve();
    return await this.#admitted.promise;
  }

  admitAll(): void {
    this.#admitted.resolve({ accountId: '42', keyId: '1' });
  }
}
