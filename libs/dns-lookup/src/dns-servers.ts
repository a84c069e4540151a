import type { ServerAddresses } from '@certwright/outbound';
import { DnsClient, type DnsClientOptions } from './dns-client';
import type { LookUp, LookUpResult } from './look-up';
import type { Server } from './udp-sockets';

/** DNS servers at all their addresses. */
export class DnsServers {
  private readonly clients = new Map<string, DnsClient>();

  /** @param options of each client */
  constructor(
    private readonly servers: ServerAddresses,
    private readonly options: Omit<DnsClientOptions, 'server'> = {},
  ) {}

  /** One for each address, to query all of them. A server without a known address always fails. */
  async each(): Promise<readonly LookUp[]> {
    const { addresses, unknown } = await this.servers.current();
    const places = addresses.map((server) => ({ server, key: textOf(server) }));
    for (const [key, client] of this.clients)
      if (!places.some((place) => place.key === key)) {
        client.close();
        this.clients.delete(key);
      }
    return [
      ...places.map(({ server, key }) => this.clientOf(key, server).lookUp),
      ...unknown.map((server) => unreachable(textOf(server))),
    ];
  }

  /** An arrow function, so that it can be passed as a `LookUp`. Never rejects. */
  readonly lookUp: LookUp = async (name, type, options = {}) => {
    const timeoutMs = options.timeoutMs ?? this.options.timeoutMs ?? defaultTimeoutMs;
    return await lookUpUntil(this, performance.now() + timeoutMs)(name, type, options);
  };

  /** Look-ups under way end as the failure `aborted`. */
  close(): void {
    for (const client of this.clients.values()) client.close();
    this.clients.clear();
  }

  private clientOf(key: string, server: Server): DnsClient {
    const open = this.clients.get(key);
    if (open !== undefined) return open;
    const client = new DnsClient({ ...this.options, server });
    this.clients.set(key, client);
    return client;
  }
}

/**
 * Queries servers in turn until one responds; each has an equal share of the time that remains.
 *
 * @param untilMs for all look-ups together, by `performance.now()`
 */
export const lookUpUntil =
  (servers: Pick<DnsServers, 'each'>, untilMs: number): LookUp =>
  async (name, type, options = {}) => {
    const lookUps = await servers.each();
    let result: LookUpResult = { from: '', kind: 'failure', reason: 'unreachable' };
    for (const [at, lookUp] of lookUps.entries()) {
      const remainingMs = untilMs - performance.now();
      if (remainingMs <= 0) return { ...result, kind: 'failure', reason: 'timeout' };
      result = await lookUp(name, type, { ...options, timeoutMs: remainingMs / (lookUps.length - at) });
      if (result.kind !== 'failure' || options.signal?.aborted === true) return result;
    }
    return result;
  };

/** As of `DnsClient`. */
const defaultTimeoutMs = 3_000;

const textOf = ({ host, port }: Server): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;

const unreachable =
  (from: string): LookUp =>
  async () =>
    await Promise.resolve({ from, kind: 'failure', reason: 'unreachable' });
