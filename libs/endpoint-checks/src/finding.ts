/** What can be wrong with an endpoint. */
export const findingCodes = [
  'expired',
  'not_yet_valid',
  'expiring',
  'wrong_name',
  'incomplete_chain',
  'untrusted',
  'self_signed',
  'weak',
  'revoked',
  'not_current',
  'unknown_key',
  'addresses_differ',
  'dangling',
  'unreachable',
] as const;

export type FindingCode = (typeof findingCodes)[number];

/** One thing that is wrong on one port. Addresses come and go, so they are a detail and not an identity. */
export interface EndpointFinding {
  readonly code: FindingCode;
  /** Null: it concerns the name (`dangling`, and `unreachable` without an address). */
  readonly port: number | null;
  /** Those with it, in the order of the look; empty with `port: null`. */
  readonly addresses: readonly string[];
  /** Data for the message, such as `{ notAfter: '2026-11-23T00:00:00.000Z' }`; survives JSON. */
  readonly parameters: Readonly<Record<string, string | number | readonly string[]>>;
  /** 0, except that the second deadline of `expiring` is 1: it is reported again. */
  readonly level: number;
}

/** A finding over time: what is stored between checks. Times are ISO 8601. */
export interface TrackedFinding extends EndpointFinding {
  /** Of the first check with it. */
  readonly since: string;
  /** Checks in a row that agree with it; stays at the number that confirms it. */
  readonly agreeing: number;
  /** Checks in a row without it, while it was reported. */
  readonly missing: number;
  /** When the account was notified, at `reportedLevel`; null: not yet. */
  readonly reportedAt: string | null;
  readonly reportedLevel: number;
}

/** `not_checked`: no check has a result yet. `failing`: at least one confirmed finding. `suspect`: findings that are not confirmed. */
export const endpointStates = ['not_checked', 'ok', 'suspect', 'failing', 'unreachable', 'gone'] as const;

export type EndpointState = (typeof endpointStates)[number];
