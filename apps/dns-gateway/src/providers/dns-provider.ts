import type {
  CredentialKind,
  Credentials,
  ProviderName,
  RecordType,
  Zone,
} from '@certwright/gateway-contract';
import type { AddressGuard } from '@certwright/outbound';
import type { CallApi } from './http/call-api';

/**
 * A record in its normal form. `fqdn` and the targets of CNAME and NS: lower case, A-labels, no dot at the end. TXT: the
 * text itself, unquoted. CAA: `<flags> <tag> "<value>"` with the tag in lower case.
 */
export interface DnsRecord {
  readonly fqdn: string;
  readonly type: RecordType;
  readonly value: string;
  /** Seconds; null: the provider's own choice, at least 60. */
  readonly ttlS: number | null;
}

/** Whether a change put the record there, or found it there. */
export type AddOutcome = 'created' | 'existed';

/** What is kept of credentials inside an integration handle: JSON, in the shape that the provider reads again. */
export type KeptCredentials = Readonly<Record<string, string | readonly string[]>>;

/**
 * One integration's access to its provider, for one request of the gateway. Contract: every method may be repeated, also
 * after it failed or its answer was lost, and the second time changes nothing more; bounded in time by the signal that the
 * session was opened with; throws nothing but `ProviderFault` (and the signal's reason).
 */
export interface ProviderSession {
  /** Every zone that the credentials may change, all pages of it. */
  zones(): Promise<readonly Zone[]>;
  /** Puts the record beside whatever stands at its name. One of the same type and value is the record itself. */
  add(zone: Zone, record: DnsRecord): Promise<AddOutcome>;
  /** Afterwards it is the only record of the types TXT, CAA, CNAME and NS at its name; all others stay. */
  replace(zone: Zone, record: DnsRecord): Promise<AddOutcome>;
  /** Removes the record of this type and value, whatever its TTL, and none else. One that is gone is a success. */
  remove(zone: Zone, record: DnsRecord): Promise<void>;
  /** Credentials that took the place of those the session was opened with; null while they are still good. */
  renewed(): KeptCredentials | null;
}

/** What sessions reach the world with. */
export interface ProviderPorts {
  /** To the provider's own, fixed host. */
  readonly callApi: CallApi;
  /** To a host that a customer chose: through the address guard. */
  readonly callCustomer: CallApi;
  /** For what is not HTTP (RFC 2136). */
  readonly guard: AddressGuard;
  readonly now: () => Date;
  /** Rests between tries; rejects with the signal's reason. */
  readonly rest: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Under which they are injected. */
export const ProviderPorts = Symbol('ProviderPorts');

export interface DnsProvider {
  readonly name: ProviderName;
  readonly title: string;
  /** Least privilege: what the customer is to allow, and what not. */
  readonly advice: string;
  /** @param account the platform's account, for what differs by tenant (an external id) */
  credentialKinds(account: string): readonly CredentialKind[];
  /**
   * Reads what a customer gave; an OAuth code is exchanged here.
   *
   * @throws Problem `bad_request` naming the member (`credentials.token`); ProviderFault
   */
  accept(
    credentials: Credentials,
    account: string,
    ports: ProviderPorts,
    signal: AbortSignal,
  ): Promise<KeptCredentials>;
  session(kept: KeptCredentials, account: string, ports: ProviderPorts, signal: AbortSignal): ProviderSession;
}
