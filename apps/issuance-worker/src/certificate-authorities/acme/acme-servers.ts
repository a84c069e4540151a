import type { CertificateAuthorityEntity } from '@certwright/core-schema';
import { type AcmeObserver, AcmeServer, defaultRepeats, type RepeatOptions } from '../../acme';

/** Milliseconds: until connected with TLS; for an operation in all. */
const timeouts = { connectMs: 5_000, wholeMs: 30_000 };

/** Max duration of one operation at a CA including the database write that follows, ms. */
export const exchangeMs = timeouts.wholeMs + 5_000;

/** Time of an order besides one operation: its lease needs no further write if it takes no longer, ms. */
export const spareMs = 15_000;

/** Max bytes: an order of 100 names with a problem each; a leaf with all its names and four issuers. */
const maxBytes = { json: 262_144, chain: 65_536 };

/** Min of the max connections per host: one order may have several requests at once. */
const minConnections = 16;

/** How many of the orders that are advanced at once may be slow at one CA: the others find a free connection. */
export const maxSlowOf = (orders: number): number => Math.ceil(orders * 0.75);

interface OpenServer {
  readonly settings: string;
  readonly server: AcmeServer;
}

/** One client per CA, which keeps connections, nonces and the directory. */
export class AcmeServers {
  private readonly open = new Map<string, OpenServer>();

  /**
   * @param userAgent RFC 8555, section 6.1
   * @param observerOf returns the observer of exchanges with the named CA
   * @param responseMs until the header, and between parts of the body, ms
   * @param orders max orders that are advanced at once
   * @param clock until `follow`
   */
  constructor(
    private readonly userAgent: string,
    private readonly observerOf: (authority: string) => AcmeObserver,
    private readonly responseMs: number,
    private readonly orders: number,
    private clock: () => Date = () => new Date(),
    private readonly repeats: RepeatOptions = defaultRepeats,
  ) {}

  /** Uses the clock of the database, since its times are compared with those that CAs request. Ours may differ by hours. */
  follow(clock: () => Date): void {
    this.clock = clock;
  }

  readonly now = (): Date => this.clock();

  /** Applies an operator's change of the row at once. @throws AcmeFault `refused_url` for an invalid row */
  of({ name, directoryUrl, tlsRoots, allowedHosts }: CertificateAuthorityEntity): AcmeServer {
    const settings = JSON.stringify([directoryUrl, tlsRoots, allowedHosts]);
    const known = this.open.get(name);
    if (known?.settings === settings) return known.server;
    const server = AcmeServer.open({
      directoryUrl,
      extraRoots: tlsRoots === null ? [] : [tlsRoots],
      allowedHosts,
      timeouts: { ...timeouts, headersMs: this.responseMs },
      maxBytes,
      connections: Math.max(minConnections, this.orders),
      repeats: this.repeats,
      userAgent: this.userAgent,
      now: this.now,
      observer: this.observerOf(name),
    });
    this.open.set(name, { settings, server });
    // Pending requests fail as unreachable and are resumed.
    if (known !== undefined) void known.server.close();
    return server;
  }

  async close(): Promise<void> {
    await Promise.all([...this.open.values()].map(async ({ server }) => await server.close()));
  }
}
