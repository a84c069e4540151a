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
  /**
   * Data for the message; survives JSON. `expired`, `expiring`: notAfter. `not_yet_valid`: notBefore (both ISO 8601).
   * `wrong_name`: dnsNames (the first 10). `untrusted`: reason (`unreadable`, `no_server_auth`, `no_path`).
   * `weak`: reasons, such as `RSA 1024`, `sha1WithRSAEncryption`, `TLSv1`. `revoked`: revokedAt. `not_current`:
   * currentSha256. `unknown_key`: tbsSha256, spkiSha256. `dangling`: target. `unreachable`: reason (`no_name`,
   * `no_address` or a `NotPresentedReason`), problem. Texts of certificates are untrusted and cut to 255 characters.
   */
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
  /** Checks in a row without it, since it was confirmed. */
  readonly missing: number;
  /** When the account was notified, at `reportedLevel`; null: not yet. */
  readonly reportedAt: string | null;
  readonly reportedLevel: number;
}

/**
 * `not_checked`: no check has a result yet. `failing`: at least one confirmed finding. `suspect`: findings that are not confirmed.
 * `unreachable`: no server presents a certificate. `gone`: the name does not exist, or has no address.
 */
export const endpointStates = ['not_checked', 'ok', 'suspect', 'failing', 'unreachable', 'gone'] as const;

export type EndpointState = (typeof endpointStates)[number];
