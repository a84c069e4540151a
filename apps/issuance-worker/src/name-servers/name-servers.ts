import type { RecordFinding } from '@certwright/issuance';
import { type AddressGuard, OutboundFault } from '@certwright/outbound';
import type { Answer, LookUp, LookUpType } from '../dns-lookup/answer';
import { DnsClient } from '../dns-lookup/dns-client';
import { findStandingDelegation, targetsOf, type WantedDelegation } from '../dns-lookup/standing-delegation';
import { commonAlias, judgeNameServers, type ServerAnswers } from './judge-name-servers';

/** A record, and the zone that holds it. */
export interface WantedRecord extends WantedDelegation {
  readonly zoneName: string;
}

export interface NameServersOptions {
  /** The resolver: for the names of the servers, and for what lies outside the zone. */
  readonly lookUp: LookUp;
  /** Decides about the servers' addresses: others choose them. */
  readonly guard: Pick<AddressGuard, 'addressesOf'>;
  /** Where authoritative servers listen; another port than 53 for a test network only. */
  readonly port: number;
  /** For one server's answer, repetition and TCP included, ms. Default: 2,000. */
  readonly answerMs?: number;
}

/** As many as the root has, which is what fits a datagram. */
const mostServers = 13;
/** One of each family. */
const mostAddresses = 2;
const defaultAnswerMs = 2_000;
/** For the whole look: the servers' names, their addresses, their answers, ms. */
const lookMs = 10_000;

/** Asks the authoritative servers of a zone themselves: no cache in between, and no negative answer left in one. */
export class NameServers {
  constructor(private readonly options: NameServersOptions) {}

  /** Bounded in time; never rejects for what the outside world does. */
  async find({ zoneName, recordName, target }: WantedRecord): Promise<RecordFinding> {
    const wanted = { recordName, target };
    const signal = AbortSignal.timeout(lookMs);
    const named = await this.options.lookUp(zoneName, 'NS', { signal });
    const names = namesIn(zoneName, named);
    if (names.length === 0) {
      const failure = named.kind === 'failure' ? named.reason : null;
      const problem = { code: 'name_servers_unknown', zone: zoneName, failure, server: named.from } as const;
      return { seen: 'nowhere', absent: false, other: false, problem };
    }
    const servers = await Promise.all(
      names.map(async (name) => await this.ask(name, recordName, 'CNAME', signal)),
    );
    const finding = judgeNameServers(wanted, servers);
    return (await this.leadsThere(wanted, servers, signal))
      ? { seen: 'everywhere', absent: false, other: false, problem: null }
      : finding;
  }

  /** @returns their names; none: they are not known */
  async serversOf(zoneName: string, signal: AbortSignal): Promise<readonly string[]> {
    return namesIn(zoneName, await this.options.lookUp(zoneName, 'NS', { signal }));
  }

  /** Asks a server at its addresses. Never rejects for what the outside world does. */
  async ask(
    server: string,
    recordName: string,
    type: LookUpType,
    signal: AbortSignal,
  ): Promise<ServerAnswers> {
    try {
      const addresses = await this.options.guard.addressesOf(server, signal);
      const answers = await Promise.all(
        addresses
          .slice(0, mostAddresses)
          .map(async (host) => await this.askAddress(host, recordName, type, signal)),
      );
      return { server, problem: null, answers };
    } catch (error) {
      const told = error instanceof OutboundFault ? error.message : 'no answer in time';
      return { server, problem: told.replace(/\.$/, ''), answers: [] };
    }
  }

  private async askAddress(host: string, recordName: string, type: LookUpType, signal: AbortSignal) {
    const { port, answerMs = defaultAnswerMs } = this.options;
    const client = new DnsClient({ server: { host, port }, timeoutMs: answerMs, recursion: false });
    try {
      return await client.lookUp(recordName, type, { signal });
    } finally {
      client.close();
    }
  }

  /** A customer's own alias that ends at the target, over another zone, approves as well, and must not be replaced. */
  private async leadsThere(
    wanted: WantedDelegation,
    servers: readonly ServerAnswers[],
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

function namesIn(zoneName: string, named: Answer): readonly string[] {
  return targetsOf('NS', zoneName, named).sort().slice(0, mostServers);
}
