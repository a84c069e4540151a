import type { Look, LookQuestion } from '@certwright/endpoint-checks';
import type { LookUpFailure } from '@certwright/dns-names';

/**
 * Requests to the prober, and its responses. Both may be lost or late; the requester then repeats the request. Not a
 * job, since nothing depends on the response.
 */
export interface ProbeMessages {
  'probe-web-rule': { readonly question: WebRuleQuestion; readonly answer: WebRuleAnswer };
  'look-at-hosts': { readonly question: LookQuestion; readonly answer: Look };
  'caa-of-name': { readonly question: CaaOfNameQuestion; readonly answer: CaaOfNameAnswer };
}

/** Fetch a path from the web server of a name, on port 80, following redirects. */
export interface WebRuleQuestion {
  /** Normal form, no wildcard: HTTP approves single names only. */
  readonly dnsName: string;
  /** Begins with a slash; visible ASCII, query included. */
  readonly path: string;
}

export interface ProbeHop {
  /** Without user and password. */
  readonly url: string;
  readonly status: number;
  /** IP address of the server. */
  readonly address: string;
}

export type WebRuleAnswer =
  | {
      readonly kind: 'answered';
      /** Status of the last hop, unchecked. */
      readonly status: number;
      /** The first 4,096 bytes as UTF-8, invalid bytes replaced by U+FFFD. Untrusted. */
      readonly body: string;
      readonly hops: readonly ProbeHop[];
    }
  | {
      readonly kind: 'failed';
      /** A sentence for the customer: what was found, and where it was found. */
      readonly problem: string;
      /** The hops before the failure. */
      readonly hops: readonly ProbeHop[];
    };

/** Total time for one request, ms; CAs allow about the same. */
export const probeWithinMs = 10_000;

/** Timeout of the requester, ms: the probe, and half as long for queueing and transport. */
export const probePatienceMs = 15_000;

/** The result when there is no response: this very object, to distinguish it from a result of the prober. */
export const noProbeAnswer: WebRuleAnswer = Object.freeze({
  kind: 'failed',
  problem: 'the prober did not answer',
  hops: [],
});

/** Whether the CAA records of a name, as published now, allow a CA to issue (RFC 8659). */
export interface CaaOfNameQuestion {
  /** Normal form; may be a wildcard, which `issuewild` concerns. */
  readonly dnsName: string;
  /** The CA's names in CAA records; one suffices. Empty: the CA is not known, and no record names it. */
  readonly issuerDomains: readonly string[];
}

export const caaVerdicts = ['allows', 'forbids', 'unknown'] as const;

/**
 * Parameters of RFC 8657 (account, method) are not compared: they are not known for a certificate that others requested.
 * `unknown`: a lookup failed, or there was no response in time.
 */
export interface CaaOfNameAnswer {
  readonly verdict: (typeof caaVerdicts)[number];
  /** The name with the relevant records, or whose lookup failed. Null: no records up to the top level, or no response. */
  readonly at: string | null;
  /** The first ones, as in a zone file; values are quoted, printable and cut. Untrusted. */
  readonly records: readonly string[];
  /** Why the lookup failed; null otherwise. */
  readonly failure: LookUpFailure | null;
}

/** The result when there is no response. */
export const noCaaAnswer: CaaOfNameAnswer = Object.freeze({
  verdict: 'unknown',
  at: null,
  records: [],
  failure: 'timeout',
});

/** Max CAA domains of a CA in a question. */
export const maxIssuerDomains = 20;

/** Max records in a response: they travel through Redis into a message. */
export const maxCaaRecords = 10;

/** Total time of all lookups of one name, ms. */
export const caaWithinMs = 2_000;

/** Timeout of the requester, ms: the lookups, and as long for queueing and transport. */
export const caaPatienceMs = 4_000;
