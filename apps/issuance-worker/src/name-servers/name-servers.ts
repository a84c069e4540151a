import type { RecordFinding } from '@certwright/issuance';
import { type AddressGuard, OutboundFault } from '@certwright/outbound';
import { DnsClient, type LookUp, type LookUpResult, type LookUpType } from '@certwright/dns-lookup';
import { findStandingDelegation, targetsOf, type WantedDelegation } from '../dns-lookup/standing-delegation';
import { commonAlias, checkNameServers, type ServerResults } from './check-name-servers';

/** A record and its zone. */
export interface WantedRecord extends WantedDelegation {
  readonly zoneName: string;
}

export interface NameServersOptions {
  /** The resolver, for the names of the servers and for names outside the zone. */
  readonly lookUp: LookUp;
  /** Checks the servers' addresses, which others choose. */
  readonly guard: Pick<AddressGuard, 'addressesOf'>;
  /** Port of authoritative servers; other than 53 only in a test network. */
  readonly port: number;
  /** Timeout of one server's response, retries and TCP included, ms. Default: 2,000. */
  readonly responseMs?: number;
}

/** The number of root servers, which fits a datagram. */
const maxServers = 13;
/** One of each family. */
const maxAddresses = 2;
const defaultResponseMs = 2_000;
/** Timeout of the whole check: the servers' names, their addresses, their responses, ms. */
const lookMs = 10_000;

/** Queries the authoritative servers of a zone directly: no cache in between, and no negative response cached. */
export class NameServers {
  constructor(private readonly options: NameServersOptions) {}

  /** Bounded in time; never rejects for external failures. */
  async find({ zoneName, recordName, target }: WantedRecord, ends?: AbortSignal): Promise<RecordFinding> {
    const wanted = { recordName, target };
    const within = AbortSignal.timeout(lookMs);
    const signal = ends === undefined ? within : AbortSignal.any([ends, within]);
    const named = await this.options.lookUp(zoneName, 'NS', { signal });
    const names = namesIn(zoneName, named);
    if (names.length === 0) {
      const failure = named.kind === 'failure' ? named.reason : null;
      const problem = { code: 'name_servers_unknown', zone: zoneName, failure, server: named.from } as const;
      return { seen: 'nowhere', absent: false, other: false, problem };
    }
    const servers = await Promise.all(
      names.map(async (name) => await this.query(name, recordName, 'CNAME', signal)),
    );
    const finding = checkNameServers(wanted, servers);
    return (await this.leadsThere(wanted, servers, signal))
      ? { seen: 'everywhere', absent: false, other: false, problem: null }
      : finding;
  }

  /** @returns their names; empty: unknown */
  async serversOf(zoneName: string, signal: AbortSignal): Promise<readonly string[]> {
    return namesIn(zoneName, await this.options.lookUp(zoneName, 'NS', { signal }));
  }

  /** Queries a server at its addresses. Never rejects for external failures. */
  async query(
    server: string,
    recordName: string,
    type: LookUpType,
    signal: AbortSignal,
  ): Promise<ServerResults> {
    try {
      const addresses = await this.options.guard.addressesOf(server, signal);
      const results = await Promise.all(
        addresses
          .slice(0, maxAddresses)
          .map(async (host) => await this.queryAddress(host, recordName, type, signal)),
      );
      return { server, problem: null, results };
    } catch (error) {
      const problem = error instanceof OutboundFault ? error.message : 'no response in time';
      return { server, problem: problem.replace(/\.$/, ''), results: [] };
    }
  }

  private async queryAddress(host: string, recordName: string, type: LookUpType, signal: AbortSignal) {
    const { port, responseMs = defaultResponseMs } = this.options;
    const client = new DnsClient({ server: { host, port }, timeoutMs: responseMs, recursion: false });
    try {
      return await client.lookUp(recordName, type, { signal });
    } finally {
      client.close();
    }
  }

  /** A customer's own alias that reaches the target over another zone approves as well, and must not be replaced. */
  private async leadsThere(
    wanted: WantedDelegation,
    servers: readonly ServerResults[],
    signal: AbortSignal,
  ): Promise<boolean> {
    const alias = commonAlias(wanted, servers);
    if (alias === null) return false;
    const { lookUp } = this.options;
    const finding = await findStandingDelegation(
      lookUp,
      { recordName: alias, target: wanted.target },
      { signal },
    );
    return finding.found;
  }
}

function namesIn(zoneName: string, named: LookUpResult): readonly string[] {
  return targetsOf('NS', zoneName, named).sort().slice(0, maxServers);
}
