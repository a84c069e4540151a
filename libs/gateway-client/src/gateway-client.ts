import { Agent } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import type { GatewayDescription, GatewayEndpoint } from '@certwright/gateway-contract';
import { exchange, type Line, type Question } from './exchange';
import type { Answered, Asked, Gateway } from './gateway';
import { GatewayFault } from './gateway-fault';
import { type Json, readers, readObject } from './read-answer';
import { readDescription } from './read-description';

export interface GatewayClientOptions {
  /** `https://…`; a path may stand behind the host. Its host must stand in the gateway's certificate. */
  readonly url: string;
  /** The private CA that certified the gateway, PEM; no other is trusted. */
  readonly ca: string;
  /** Who we are, PEM. */
  readonly certificate: string;
  /** PEM. */
  readonly key: string;
  /** For a whole message, a repetition included. Default: 30 s. */
  readonly timeoutMs?: number;
}

/** Providers are slow, and the gateway pages through their lists. */
const defaultTimeoutMs = 30_000;
/** An account with some ten thousand zones. */
const maxAnswerBytes = 1_048_576;
/** Shorter than servers keep idle connections (Node: 5 s), so that few messages meet one that is being closed. */
const idleMs = 4_000;
/** Connections at a time; what comes on top waits its turn within its time. */
const maxConnections = 32;

/** Speaks to the DNS gateway over mutual TLS. Connections are kept; `close` ends them. */
export class GatewayClient implements Gateway {
  readonly #base: string;
  #line: Line;
  readonly #timeoutMs: number;

  constructor({ url, ca, certificate, key, timeoutMs = defaultTimeoutMs }: GatewayClientOptions) {
    if (!url.startsWith('https://')) throw new Error('The URL of the DNS gateway must begin with https://.');
    this.#base = url.replace(/\/+$/, '');
    this.#timeoutMs = timeoutMs;
    this.#line = {
      tls: tlsOf({ ca, certificate, key }),
      agent: new Agent({ keepAlive: true, timeout: idleMs, maxSockets: maxConnections }),
      maxAnswerBytes,
    };
  }

  async describe(account: string): Promise<GatewayDescription> {
    const url = new URL(`${this.#base}/description`);
    url.searchParams.set('account', account);
    const question = { method: 'GET', url, body: null, repeatable: true } as const;
    return readDescription(await this.#askInTurn(question));
  }

  async makeIntegration(request: Asked<'make_integration'>): Promise<Answered<'make_integration'>> {
    // What is sealed may be an OAuth code, too; a code that arrives twice may cost its tokens (RFC 6749, section 4.1.2).
    const { type } = request.credentials;
    return await this.#post('make_integration', request, type === 'bearer' || type === 'cloud_account');
  }

  async getZones(request: Asked<'get_zones'>): Promise<Answered<'get_zones'>> {
    return await this.#post('get_zones', request);
  }

  async addRecord(request: Asked<'add_record'>): Promise<Answered<'add_record'>> {
    return await this.#post('add_record', request);
  }

  async removeRecord(request: Asked<'remove_record'>): Promise<Answered<'remove_record'>> {
    return await this.#post('remove_record', request);
  }

  /** New connections have these certificates; kept ones, which have the old ones, are not used for further messages. */
  renew(material: TlsMaterial): void {
    this.#line = { ...this.#line, tls: tlsOf(material) };
  }

  /** Ends the connections that are kept. */
  close(): void {
    this.#line.agent.destroy();
  }

  async #post<E extends GatewayEndpoint>(
    endpoint: E,
    request: Asked<E>,
    repeatable = true,
  ): Promise<Answered<E>> {
    const url = new URL(`${this.#base}/${endpoint}`);
    const question = { method: 'POST', url, body: JSON.stringify(request), repeatable } as const;
    const read: (json: Json) => Answered<E> = readers[endpoint];
    return read(await this.#askInTurn(question));
  }

  /**
   * The gateway limits the requests of this client, and all accounts share that limit: a refused request, of which nothing
   * was read, is sent again later, so that one account's requests delay another's and do not fail them.
   */
  async #askInTurn(question: Question): Promise<Json> {
    const signal = AbortSignal.timeout(this.#timeoutMs);
    const endsAtMs = performance.now() + this.#timeoutMs;
    for (;;) {
      try {
        return readObject(await exchange(this.#line, question, signal));
      } catch (error) {
        if (!(error instanceof GatewayFault) || error.code !== 'rate_limited') throw error;
        // Half of the wait is random, so that refused requests do not all come again at once.
        const waitMs = Math.max(1, error.retryAfterS ?? 1) * 1_000 * (0.5 + Math.random() / 2);
        if (performance.now() + waitMs >= endsAtMs) throw error;
        await delay(waitMs);
      }
    }
  }
}

type TlsMaterial = Pick<GatewayClientOptions, 'ca' | 'certificate' | 'key'>;

/** The agent keeps connections by these options. */
const tlsOf = ({ ca, certificate, key }: TlsMaterial): Line['tls'] => ({
  ca,
  cert: certificate,
  key,
  minVersion: 'TLSv1.3',
});
