/**
 * Questions to the prober, and its answers. They are asked by whoever waits, and may be lost on the way or answered too
 * late: whoever asks asks again. No job, since nothing is owed to anybody.
 */
export interface ProbeMessages {
  'probe-web-rule': { readonly question: WebRuleQuestion; readonly answer: WebRuleAnswer };
  'test-installation': { readonly question: InstallationQuestion; readonly answer: InstallationAnswer };
}

/** What does the web server of a name answer at a path, on port 80, redirects followed? */
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
  /** IP address that answered. */
  readonly address: string;
}

export type WebRuleAnswer =
  | {
      readonly kind: 'answered';
      /** Of the last hop; whether it is the right one, the asker decides. */
      readonly status: number;
      /** Its first 4,096 bytes read as UTF-8, what is none replaced by U+FFFD. Anybody may have written it. */
      readonly body: string;
      readonly hops: readonly ProbeHop[];
    }
  | {
      readonly kind: 'failed';
      /** A sentence for the customer: what was found, and where. */
      readonly problem: string;
      /** What answered before. */
      readonly hops: readonly ProbeHop[];
    };

/** Whole time that the prober takes for one question, ms: what CAs grant as well. */
export const probeWithinMs = 10_000;

/** How long an asker waits, ms: the probe itself, and half as long for a free place and the way. */
export const probePatienceMs = 15_000;

/** What an asker gets when there is no answer: the very object, so that it can be told from a finding of the prober. */
export const noProbeAnswer: WebRuleAnswer = Object.freeze({
  kind: 'failed',
  problem: 'the prober did not answer',
  hops: [],
});

/** Which certificates do the TLS servers at all addresses of these hosts present? */
export interface InstallationQuestion {
  /** DNS names in normal form, without wildcards, and IP addresses in their shortest form; each once. */
  readonly hosts: readonly string[];
  readonly port: number;
  /** DNS name that servers are asked for (SNI) where the host is an IP address; else they are asked for the host. */
  readonly serverName: string;
  /** SHA-256 over the DER certificate, lower-case hex, as below: the one that should be presented. */
  readonly leafSha256: string;
  /** The intermediates that should come with it, in any order; none: nothing need come. */
  readonly chainSha256: readonly string[];
  /** What may be presented in place of all these while the real one is on its way. */
  readonly temporarySha256: readonly string[];
}

/** Why nothing can be said: no connection, no TLS, or nobody looked. */
export const inconclusiveStatuses = ['connect_error', 'handshake_error', 'internal_error'] as const;
export type InconclusiveStatus = (typeof inconclusiveStatuses)[number];

export interface TestedAddress {
  /** As in the question. */
  readonly host: string;
  /** Shortest form; empty when there is no address to tell of. */
  readonly address: string;
}

export interface ConclusiveTest extends TestedAddress {
  readonly status: 'conclusive';
  /** The leaf is the one asked about, or a temporary one. */
  readonly correct: boolean;
  /** All intermediates were presented, whatever else was; a temporary certificate needs none. */
  readonly chained: boolean;
  readonly temporary: boolean;
}

export interface InconclusiveTest extends TestedAddress {
  readonly status: InconclusiveStatus;
  /** A sentence for the customer, without anything that the other side sent. */
  readonly problem: string;
}

export interface InstallationAnswer {
  /** Hosts in the order of the question, with one test or more each. */
  readonly tests: readonly (ConclusiveTest | InconclusiveTest)[];
}

/** Hosts of one question: a certificate has at most 100 names. */
export const mostTestedHosts = 100;

/** Whole time that the prober takes for all hosts together, ms. */
export const installationTestWithinMs = 15_000;

/** How long an asker waits, ms: the test itself, and a third as long for a free place and the way. */
export const installationTestPatienceMs = 20_000;
