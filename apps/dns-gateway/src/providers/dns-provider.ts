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
 * A record in its normal form. `fqdn` and the targets of CNAME and NS: lower case, A-labels, no trailing dot. TXT:
 * the text itself, unquoted. CAA: `<flags> <tag> "<value>"` with the tag in lower case.
 */
export interface DnsRecord {
  readonly fqdn: string;
  readonly type: RecordType;
  readonly value: string;
  /** Seconds; null: the provider's default, at least 60. */
  readonly ttlS: number | null;
}

/** Whether a change created the record or found it. */
export type AddOutcome = 'created' | 'existed';

/** Credentials as stored in an integration handle: JSON, in a format that the provider reads again. */
export type KeptCredentials = Readonly<Record<string, string | readonly string[]>>;

/**
 * One integration's access to its provider, for one request of the gateway. Contract: every method may be repeated,
 * even after a failure or a lost response, and repeating it changes nothing more. The signal that the session was
 * opened with limits its time. Throws only `ProviderFault` and the signal's reason.
 */
export interface ProviderSession {
  /** Every zone that the credentials may change, from all pages. */
  zones(): Promise<readonly Zone[]>;
  /** Adds the record to those at its name. An existing record of the same type and value is the record itself. */
  add(zone: Zone, record: DnsRecord): Promise<AddOutcome>;
  /** Makes it the only record of the types TXT, CAA, CNAME and NS at its name; records of other types stay. */
  replace(zone: Zone, record: DnsRecord): Promise<AddOutcome>;
  /** Removes the record of exactly this type and value, with any TTL. Succeeds when it does not exist. */
  remove(zone: Zone, record: DnsRecord): Promise<void>;
  /** Credentials that replaced those the session was opened with; null while those are valid. */
  renewed(): KeptCredentials | null;
}

/** Access of sessions to network and time. */
export interface ProviderPorts {
  /** Calls the provider's fixed host. */
  readonly callApi: CallApi;
  /** Calls a host chosen by a customer, through the address guard. */
  readonly callCustomer: CallApi;
  /** For protocols other than HTTP (RFC 2136). */
  readonly guard: AddressGuard;
  readonly now: () => Date;
  /** Delay between attempts; rejects with the signal's reason. */
  readonly rest: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Injection token. */
export const ProviderPorts = Symbol('ProviderPorts');

export interface DnsProvider {
  readonly name: ProviderName;
  readonly title: string;
  /** Least privilege: the permissions that the customer should grant, and those not to grant. */
  readonly advice: string;
  /** @param account the platform's account, for members that differ by tenant (an external id) */
  credentialKinds(account: string): readonly CredentialKind[];
  /**
   * Reads a customer's credentials; exchanges an OAuth code.
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
