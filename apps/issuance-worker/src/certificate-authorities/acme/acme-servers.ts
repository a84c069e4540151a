import type { CertificateAuthorityEntity } from '@certwright/core-schema';
import { type AcmeObserver, AcmeServer, defaultRepeats, type RepeatOptions } from '../../acme';

/** Milliseconds: until connected with TLS; for an operation in all. */
const timeouts = { connectMs: 5_000, wholeMs: 30_000 };

/** Until the header, and between parts of the body, ms. */
const defaultAnswerMs = 10_000;

/** How long one operation at a CA can take at most, ms, and what it leaves for our own note of it. */
export const exchangeMs = timeouts.wholeMs + 5_000;

/** Octets: an order of a hundred names with a problem each; a leaf with all its names and four issuers. */
const maxBytes = { json: 262_144, chain: 65_536 };

/** At a time to each host: one that is slow in some of its answers must not hold up the others. */
const connections = 16;

interface OpenServer {
  readonly settings: string;
  readonly server: AcmeServer;
}

/** One client for each CA: it keeps connections, nonces and the directory. */
export class AcmeServers {
  private readonly open = new Map<string, OpenServer>();

  /**
   * @param userAgent RFC 8555, section 6.1
   * @param observerOf told of every exchange with the CA of that name
   */
  constructor(
    private readonly userAgent: string,
    private readonly observerOf: (authority: string) => AcmeObserver,
    private readonly answerMs = defaultAnswerMs,
    private readonly now: () => Date = () => new Date(),
    private readonly repeats: RepeatOptions = defaultRepeats,
  ) {}

  /** An operator's change of the row is seen at once. @throws AcmeFault `refused_url` for a row that makes no sense */
  of({ name, directoryUrl, tlsRoots, allowedHosts }: CertificateAuthorityEntity): AcmeServer {
    const settings = JSON.stringify([directoryUrl, tlsRoots, allowedHosts]);
    const known = this.open.get(name);
    if (known?.settings === settings) return known.server;
    const server = AcmeServer.open({
      directoryUrl,
      extraRoots: tlsRoots === null ? [] : [tlsRoots],
      allowedHosts,
      timeouts: { ...timeouts, headersMs: this.answerMs },
      maxBytes,
      connections,
      repeats: this.repeats,
      userAgent: this.userAgent,
      now: this.now,
      observer: this.observerOf(name),
    });
    this.open.set(name, { settings, server });
    // What is under way there ends as unreachable, and is resumed.
    if (known !== undefined) void known.server.close();
    return server;
  }

  async close(): Promise<void> {
    await Promise.all([...this.open.values()].map(async ({ server }) => await server.close()));
  }
}
