import { lookup } from 'node:dns/promises';
import { DnsClient, type DnsClientOptions } from './dns-client';
import type { LookUp, LookUpResult } from './look-up';
import type { Server } from './udp-sockets';

/** How long addresses of a name are used, ms: copies of a service are replaced within seconds. */
const keptMs = 5_000;

/** After which a silent system resolver counts as failed, ms. */
const resolvedWithinMs = 2_000;

export interface ServerAddressesOptions {
  /** Every address of a name. Default: by the operating system, which knows the names of the cluster. */
  readonly resolve?: (name: string) => Promise<readonly string[]>;
  /** Monotonic, ms. */
  readonly nowMs?: () => number;
}

interface Known {
  readonly addresses: readonly string[];
  readonly untilMs: number;
}

/** Servers that are configured by name or IP address. Names are looked up again, because copies of a service come and go. */
export class ServerAddresses {
  private readonly known = new Map<string, Promise<Known>>();
  private readonly resolve: (name: string) => Promise<readonly string[]>;
  private readonly nowMs: () => number;

  constructor(
    private readonly servers: readonly Server[],
    { resolve = systemAddresses, nowMs = () => performance.now() }: ServerAddressesOptions = {},
  ) {
    this.resolve = resolve;
    this.nowMs = nowMs;
  }

  /**
   * Every address of every server, in their order, each once. While a name cannot be looked up, it keeps its last addresses.
   *
   * @returns `unknown`: names that have no address and had none before
   */
  async current(): Promise<{ readonly addresses: readonly Server[]; readonly unknown: readonly Server[] }> {
    const all = await Promise.all(
      this.servers.map(async (server) => ({ server, hosts: (await this.of(server.host)).addresses })),
    );
    const addresses = new Map<string, Server>();
    for (const { server, hosts } of all)
      for (const host of hosts) addresses.set(`${host} ${server.port}`, { host, port: server.port });
    return {
      addresses: [...addresses.values()],
      unknown: all.filter(({ hosts }) => hosts.length === 0).map(({ server }) => server),
    };
  }

  private async of(name: string): Promise<Known> {
    const before = this.known.get(name);
    const known = await before;
    if (known !== undefined && this.nowMs() < known.untilMs) return known;
    // Another caller has begun meanwhile.
    const begun = this.known.get(name);
    if (begun !== undefined && begun !== before) return await begun;
    const next = this.lookUp(name, known?.addresses ?? []);
    this.known.set(name, next);
    return await next;
  }

  private async lookUp(name: string, last: readonly string[]): Promise<Known> {
    const found = await this.resolve(name).catch(() => []);
    return { addresses: found.length > 0 ? found : last, untilMs: this.nowMs() + keptMs };
  }
}

async function systemAddresses(name: string): Promise<readonly string[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no response for ${name}`)), resolvedWithinMs);
  });
  try {
    return (await Promise.race([lookup(name, { all: true }), late])).map(({ address }) => address);
  } finally {
    clearTimeout(timer);
  }
}

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
