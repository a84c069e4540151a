import type { LookUpFailure } from '@certwright/dns-names';

/** What a visitor sees who connects to every address of some hosts. */
export interface Look {
  /** In the order of the question. */
  readonly hosts: readonly HostLook[];
  /** The certificates that were presented, each once: DER in base64. Untrusted. */
  readonly certificates: readonly string[];
}

export interface HostLook {
  /** As in the question: a DNS name in normal form, or an IP address. */
  readonly host: string;
  readonly lookUp: LookUp;
  /** One for each address and port, addresses in the order of the look-up. */
  readonly addresses: readonly AddressLook[];
  /** Published addresses without a result, because a look has a maximum number of them. */
  readonly omitted: number;
  /** The first of them, if there are any. */
  readonly firstOmitted?: string;
}

/**
 * `no_name`: the name does not exist. `dangling`: a CNAME leads to `target`, which does not exist. `no_address`: the name exists
 * and has no A and AAAA records. `failed`: the answer is not known.
 */
export type LookUp =
  | { readonly kind: 'found' | 'no_name' | 'no_address' }
  | { readonly kind: 'dangling'; readonly target: string }
  | { readonly kind: 'failed'; readonly failure: LookUpFailure };

export interface AddressLook {
  /** IPv4 or IPv6 in its shortest form. */
  readonly address: string;
  readonly port: number;
  readonly result: Presented | NotPresented;
}

/** The server completed a TLS handshake. */
export interface Presented {
  readonly kind: 'presented';
  /** Indexes in `Look.certificates`, in the order of the Certificate message; at least one, the leaf first. */
  readonly chain: readonly number[];
  /** Negotiated: `TLSv1`, `TLSv1.1`, `TLSv1.2` or `TLSv1.3`. */
  readonly version: string;
  /** Negotiated, in the IANA registry's spelling. */
  readonly cipher: string;
  /** Status of `HEAD /`; null: not asked for, or no HTTP response. */
  readonly httpStatus: number | null;
}

/**
 * `refused_address`: a special-purpose address, which is never connected to. `busy`: the time of the look was over while other
 * connections occupied the address or its network, or before the server had its own time; nothing is known. `internal`: the
 * look itself failed, or has `maxCertificateBytesOfLook` already; nothing is known.
 */
export const notPresentedReasons = [
  'refused_address',
  'connect',
  'handshake',
  'too_large',
  'timeout',
  'busy',
  'internal',
] as const;

export type NotPresentedReason = (typeof notPresentedReasons)[number];

export interface NotPresented {
  readonly kind: 'not_presented';
  readonly reason: NotPresentedReason;
  /** A sentence for the customer, without data from the server. */
  readonly problem: string;
}

/** Look at every address of these hosts, as a visitor who connects to these ports. */
export interface LookQuestion {
  /** Each host once, max `maxHostsOfLook`. */
  readonly hosts: readonly LookedAtHost[];
  /** Requested server name (SNI) of hosts that are IP addresses; otherwise the host is. Null: none. */
  readonly serverName: string | null;
  /** Whether each address that presents a certificate gets a `HEAD /` too. */
  readonly withHttpStatus: boolean;
}

export interface LookedAtHost {
  /** A DNS name in normal form without wildcard, or an IP address in its shortest form. */
  readonly host: string;
  /** One to `maxPortsOfHost`, each once. */
  readonly ports: readonly number[];
}

/** A certificate has at most 100 names. */
export const maxHostsOfLook = 100;

export const maxPortsOfHost = 4;

/** Addresses of one host that a look connects to: more than big sites publish. */
export const maxAddressesOfHost = 16;

/** Addresses of all hosts that a look connects to. Every host gets one before any gets a second one. */
export const maxAddressesOfLook = 64;

/** Bytes of DER in a look, which travels through Redis: 64 chains of 16 KiB, or one host with 16 of 64 KiB. */
export const maxCertificateBytesOfLook = 1_048_576;

/** Total time of a look, ms, waiting for occupied addresses included. */
export const lookWithinMs = 15_000;

/** Timeout of the requester, ms: the look, and a third as long for queueing and transport. */
export const lookPatienceMs = 20_000;

/** Whether a response has the shape of a look: another version of the prober may respond with something else. */
export function isLook(value: unknown): value is Look {
  if (!isObject(value)) return false;
  const { hosts, certificates } = value;
  if (!Array.isArray(certificates) || !certificates.every((each) => typeof each === 'string')) return false;
  return Array.isArray(hosts) && hosts.every((host) => isHostLook(host, certificates.length));
}

type Members = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Members => typeof value === 'object' && value !== null;

function isHostLook(value: unknown, certificates: number): boolean {
  if (!isObject(value)) return false;
  const { host, lookUp, addresses, omitted, firstOmitted } = value;
  return (
    typeof host === 'string' &&
    isLookUp(lookUp) &&
    Number.isInteger(omitted) &&
    (firstOmitted === undefined || typeof firstOmitted === 'string') &&
    Array.isArray(addresses) &&
    addresses.every((each) => isAddressLook(each, certificates))
  );
}

function isLookUp(value: unknown): boolean {
  if (!isObject(value)) return false;
  switch (value['kind']) {
    case 'found':
    case 'no_name':
    case 'no_address':
      return true;
    case 'dangling':
      return typeof value['target'] === 'string';
    case 'failed':
      return typeof value['failure'] === 'string';
    default:
      return false;
  }
}

function isAddressLook(value: unknown, certificates: number): boolean {
  if (!isObject(value)) return false;
  const { address, port, result } = value;
  if (typeof address !== 'string' || !Number.isInteger(port) || !isObject(result)) return false;
  if (result['kind'] !== 'presented')
    return (
      result['kind'] === 'not_presented' &&
      notPresentedReasons.some((reason) => reason === result['reason']) &&
      typeof result['problem'] === 'string'
    );
  const { chain, version, cipher, httpStatus } = result;
  return (
    Array.isArray(chain) &&
    chain.length > 0 &&
    chain.every((index) => Number.isInteger(index) && index >= 0 && index < certificates) &&
    typeof version === 'string' &&
    typeof cipher === 'string' &&
    (httpStatus === null || Number.isInteger(httpStatus))
  );
}
