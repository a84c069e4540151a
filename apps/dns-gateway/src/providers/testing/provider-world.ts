import type { Credentials } from '@certwright/gateway-contract';
import type { DnsProvider, ProviderPorts, ProviderSession } from '../dns-provider';
import type { CallApi } from '../http/call-api';
import { withZoneLocks, ZoneLocks } from '../records/zone-locks';
import type { ApiServer } from './api-server';

/** A record as a name server would return it; `value` in the contract's normal form, any type. */
export interface PlainRecord {
  readonly fqdn: string;
  readonly type: string;
  readonly value: string;
}

/** A provider and its backend, fresh for every rule. */
export interface ProviderWorld {
  readonly provider: DnsProvider;
  readonly credentials: Credentials;
  /** In the right format, but refused. */
  readonly wrongCredentials: Credentials;
  readonly account: string;
  readonly ports: ProviderPorts;
  /** For an HTTP provider: the fake behind it. */
  readonly server?: ApiServer;
  /** Name of the zone that the rules change. */
  readonly zone: string;
  /** A zone below it that the credentials can access as well. */
  readonly subZone?: string;
  /** Every zone that `zones()` must return, more than one page. */
  readonly zoneNames: readonly string[];
  /** In the format of the provider, of a zone that it does not have. Default: `gone.example`. */
  readonly goneZoneId?: string;
  /** Adds a foreign record. */
  plant(record: PlainRecord): Promise<void>;
  /** All records at exactly this name, all types. */
  list(fqdn: string): Promise<readonly PlainRecord[]>;
  /** The next change is applied and its response lost. Default: the server closes the connection. */
  loseNextResponse?(): void;
  /** Values that no message may contain, besides the members of `credentials`. */
  readonly secrets?: readonly string[];
  close?(): Promise<void>;
}

/** Documented limitations of a provider. */
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
  | 'gone_zone'
  | 'gone_zone_removal'
  | 'wrong_credentials'
  | 'lost_response';

export interface ProviderSpec {
  readonly name: string;
  setUp(): Promise<ProviderWorld>;
  /** Each with the reason; the affected rules are skipped. */
  readonly cannot?: Partial<Record<Inability, string>>;
}

const maxRuleMs = 15_000;

/** A session as returned by the registry, with serialized changes per zone. */
export async function openSession(
  world: ProviderWorld,
  credentials: Credentials = world.credentials,
  locks = new ZoneLocks(),
): Promise<ProviderSession> {
  const { account, ports } = world;
  const provider = withZoneLocks(world.provider, locks);
  const signal = AbortSignal.timeout(maxRuleMs);
  const kept = await provider.accept(credentials, account, ports, signal);
  return provider.session(kept, account, ports, signal);
}

/** A session whose first change happens after another change at the provider; its reads are outdated by then. */
export async function racingSession(
  { provider, credentials, account, ports }: ProviderWorld,
  happens: () => Promise<unknown>,
): Promise<ProviderSession> {
  const signal = AbortSignal.timeout(maxRuleMs);
  const kept = await provider.accept(credentials, account, ports, signal);
  let isFirst = true;
  const after =
    (call: CallApi): CallApi =>
    async (request, within) => {
      // Tokens are requested by POST as well, in a form.
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
