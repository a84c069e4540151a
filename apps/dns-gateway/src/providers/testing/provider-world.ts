import type { Credentials } from '@certwright/gateway-contract';
import type { DnsProvider, ProviderPorts, ProviderSession } from '../dns-provider';
import type { CallApi } from '../http/call-api';
import { withZoneLocks, ZoneLocks } from '../records/zone-locks';
import type { ApiServer } from './api-server';

/** A record as a name server would serve it; `value` in the contract's normal form, any type. */
export interface PlainRecord {
  readonly fqdn: string;
  readonly type: string;
  readonly value: string;
}

/** A provider and what stands behind it, fresh for every rule. */
export interface ProviderWorld {
  readonly provider: DnsProvider;
  readonly credentials: Credentials;
  /** Of the right shape, and refused. */
  readonly wrongCredentials: Credentials;
  readonly account: string;
  readonly ports: ProviderPorts;
  /** Of an HTTP provider: the imitation behind it. */
  readonly server?: ApiServer;
  /** Name of the zone that the rules change. */
  readonly zone: string;
  /** A zone beneath it that the credentials reach as well. */
  readonly subZone?: string;
  /** Every zone that `zones()` is to name, more than one page of them. */
  readonly zoneNames: readonly string[];
  /** Puts a record there that is somebody else's. */
  plant(record: PlainRecord): Promise<void>;
  /** What stands at exactly this name, all types. */
  list(fqdn: string): Promise<readonly PlainRecord[]>;
  /** The next change is carried out and its answer lost. Default: the server's connection is cut. */
  loseNextAnswer?(): void;
  /** What must appear in no message, besides the members of `credentials`. */
  readonly secrets?: readonly string[];
  close?(): Promise<void>;
}

/** What a provider documents that it cannot do. */
export type Inability =
  | 'pages'
  | 'sub_zones'
  | 'long_txt'
  | 'escapes'
  | 'two_values'
  | 'caa'
  | 'ns'
  | 'replace'
  | 'foreign_records'
  | 'many_at_once'
  | 'wrong_credentials'
  | 'lost_answer';

export interface ProviderSpec {
  readonly name: string;
  setUp(): Promise<ProviderWorld>;
  /** Each with the reason; the rules about it are left out. */
  readonly cannot?: Partial<Record<Inability, string>>;
}

const longestRuleMs = 15_000;

/** A session as the registry would give it: changes of a zone in line. */
export async function openSession(
  world: ProviderWorld,
  credentials: Credentials = world.credentials,
  locks = new ZoneLocks(),
): Promise<ProviderSession> {
  const { account, ports } = world;
  const provider = withZoneLocks(world.provider, locks);
  const signal = AbortSignal.timeout(longestRuleMs);
  const kept = await provider.accept(credentials, account, ports, signal);
  return provider.session(kept, account, ports, signal);
}

/** A session whose first change comes after something else happened at the provider; what it read by then is old. */
export async function racingSession(
  { provider, credentials, account, ports }: ProviderWorld,
  happens: () => Promise<unknown>,
): Promise<ProviderSession> {
  const signal = AbortSignal.timeout(longestRuleMs);
  const kept = await provider.accept(credentials, account, ports, signal);
  let isFirst = true;
  const after =
    (call: CallApi): CallApi =>
    async (request, within) => {
      // Tokens are asked for by POST as well, in a form.
      const isChange = request.method !== 'GET' && !/form/.test(request.headers['content-type'] ?? '');
      if (isFirst && isChange) {
        isFirst = false;
        await happens();
      }
      return await call(request, within);
    };
  const { callApi, callCustomer } = ports;
  const racing = { ...ports, callApi: after(callApi), callCustomer: after(callCustomer) };
  return provider.session(kept, account, racing, signal);
}
