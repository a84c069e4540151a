import type { SealedKey } from './sealed-key';

/**
 * Bodies of requests and responses, as JSON in UTF-8. Hashes are SHA-256 in lower-case hexadecimal, raw keys base64url,
 * DER base64, times RFC 3339. Receivers ignore members that they do not know.
 */

export interface EnrolRequest {
  readonly token: string;
  /** Signs the request. */
  readonly identity_key: string;
  readonly sealing_key: string;
  /** Required in a cluster with a cluster key. */
  readonly statement: string | null;
  /** Of the host, for people. */
  readonly name: string;
  /** Of the agent. */
  readonly version: string;
  /** `linux-x64 Debian 12`, for people. */
  readonly platform: string;
}

export interface ClusterMessage {
  readonly name: string;
  /** Public half; null in a cluster of one agent. */
  readonly cluster_key: string | null;
}

export interface EnrolResponse {
  readonly agent_id: string;
  readonly cluster: ClusterMessage;
}

export type KeyTypeMessage = 'rsa' | 'ecdsa';

/** Sizes and curves that the product of an order accepts. */
export interface AcceptedKeys {
  readonly rsa: readonly number[];
  readonly ecdsa: readonly string[];
}

export interface CurrentCertificate {
  readonly sha256: string;
  readonly spki_sha256: string;
  readonly not_before: string;
  readonly not_after: string;
}

/** Make a key and send its CSR, until then. Only this agent has this task. */
export interface MakeKeyTask {
  readonly type: 'make_key';
  readonly id: string;
  readonly until: string;
}

/** These members have no sealed copy of this key, which this agent holds. */
export interface SealKeyTask {
  readonly type: 'seal_key_for';
  readonly spki_sha256: string;
  readonly members: readonly string[];
}

export type AgentTask = MakeKeyTask | SealKeyTask;

export interface OrderMessage {
  readonly name: string;
  /** Of the cluster, when what agents see of the order last changed. */
  readonly version: number;
  readonly revision: number;
  readonly dns_names: readonly string[];
  readonly key_type: KeyTypeMessage;
  readonly accepts: AcceptedKeys;
  readonly paused: boolean;
  /** Key of the order's present CSR. */
  readonly csr_spki_sha256: string | null;
  readonly certificate: CurrentCertificate | null;
  /** `hold`: another host goes first. */
  readonly install: 'go' | 'hold';
  readonly tasks: readonly AgentTask[];
}

export interface StateResponse {
  /** `after` of the next request. */
  readonly version: number;
  /** More orders changed: request again at once. */
  readonly more: boolean;
  /** What changed is unknown: start again with `after=0`. The response has no orders. */
  readonly reset: boolean;
  readonly cluster: ClusterMessage;
  readonly members_version: number;
  /** By `version`, ascending. */
  readonly orders: readonly OrderMessage[];
  /** Names of orders that left the cluster. */
  readonly released: readonly string[];
}

export interface MemberMessage {
  readonly agent_id: string;
  readonly name: string;
  readonly identity_key: string;
  readonly sealing_key: string;
  readonly statement: string | null;
}

export interface MembersResponse {
  readonly version: number;
  readonly members: readonly MemberMessage[];
}

export interface CertificateMessage {
  /** Base64 DER, as the server writes it. */
  readonly leaf: string;
  readonly chain: readonly string[];
  readonly root: string;
}

/** The response to GET, and the request of POST. */
export interface KeysMessage {
  readonly keys: readonly SealedKey[];
}

export interface CsrRequest {
  /** Id of the `make_key` task. */
  readonly task: string;
  readonly csr: string;
  /** One for every other member. */
  readonly keys: readonly SealedKey[];
}

export interface CsrResponse {
  readonly revision: number;
}

export const installationStates = [
  'waiting',
  'no_key',
  'held',
  'installing',
  'installed',
  'serving',
  'rolled_back',
  'failed',
  'released',
] as const;
export type InstallationState = (typeof installationStates)[number];

export interface ServedMessage {
  /** `192.0.2.7:443`, with `/` and the server name when there is one. */
  readonly address: string;
  /** Null: no certificate was received. */
  readonly sha256: string | null;
  readonly checked_at: string;
}

export interface InstallationMessage {
  readonly order: string;
  /** Names the installation on its host: a service, or a path. */
  readonly point: string;
  readonly state: InstallationState;
  readonly certificate_sha256: string | null;
  readonly served: readonly ServedMessage[];
  /** Since when it is in this state. */
  readonly since: string;
  /** For people: what is wrong, and what to do. */
  readonly problem: string | null;
}

/** Replaces the installations of the orders that it names. */
export interface ReportRequest {
  /** Grows with each report of an agent. */
  readonly number: number;
  readonly sent_at: string;
  readonly agent: { readonly version: string; readonly platform: string; readonly problem: string | null };
  readonly installations: readonly InstallationMessage[];
  /** Orders of the cluster that no service of this host uses: a roll-out does not wait for this host. */
  readonly without_points?: readonly string[];
}

/** The error object of the v3 APIs. */
export interface ErrorResponse {
  readonly code: string;
  readonly message: string;
  readonly field?: string;
  readonly sub_errors?: readonly {
    readonly code: string;
    readonly message: string;
    readonly field?: string;
  }[];
}

export const agentBasePath = '/api/v3/agent';

/** Paths of the calls, with the query of those that have one. */
export const agentPaths = {
  enrol: `${agentBasePath}/enrol`,
  state: `${agentBasePath}/state`,
  members: `${agentBasePath}/members`,
  reports: `${agentBasePath}/reports`,
  certificate: (sha256: string) => `${agentBasePath}/certificates/${sha256}`,
  keys: (order: string, spkiSha256: string) =>
    `${agentBasePath}/orders/${encodeURIComponent(order)}/keys/${spkiSha256}`,
  csr: (order: string) => `${agentBasePath}/orders/${encodeURIComponent(order)}/csr`,
} as const;

export const stateQuery = (after: number, waitS: number) => `?after=${after}&wait=${waitS}`;
