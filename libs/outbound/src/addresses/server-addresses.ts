import { lookup } from 'node:dns/promises';

/** A server that is configured by IP address, or by a name that may have several. */
export interface ResolverAddress {
  readonly host: string;
  readonly port: number;
}

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
    private readonly servers: readonly ResolverAddress[],
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
  async current(): Promise<{
    readonly addresses: readonly ResolverAddress[];
    readonly unknown: readonly ResolverAddress[];
  }> {
    const all = await Promise.all(
      this.servers.map(async (server) => ({ server, hosts: (await this.of(server.host)).addresses })),
    );
    const addresses = new Map<string, ResolverAddress>();
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
