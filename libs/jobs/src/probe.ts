/**
 * Questions to the prober, and its answers. They are asked by whoever waits, and may be lost on the way or answered too
 * late: whoever asks asks again. No job, since nothing is owed to anybody.
 */
export interface ProbeMessages {
  'probe-web-rule': { readonly question: WebRuleQuestion; readonly answer: WebRuleAnswer };
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
      /** Its first 4,096 octets read as UTF-8, what is none replaced by U+FFFD. Anybody may have written it. */
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
