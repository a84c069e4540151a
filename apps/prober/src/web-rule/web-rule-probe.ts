import { probeWithinMs, type ProbeHop, type WebRuleAnswer } from '@certwright/jobs';
import { type AddressGuard, type GuardedAnswer, guardedRequest, OutboundFault } from '@certwright/outbound';
import { firstHop } from './first-hop';
import { nextHop } from './next-hop';
import type { ObserveProbe, ProbeOutcome } from './observe-probes';

export interface WebRuleProbeSettings {
  readonly httpPort: number;
  readonly allowedPorts: readonly number[];
  /** Milliseconds in all; default: `probeWithinMs`. */
  readonly withinMs?: number;
}

/** A rule is a line of text: more than this is somebody's web page or a trap. Octets. */
const longestBody = 65_536;
/** What the asker gets of it, octets; it travels through Redis. */
const reportedBody = 4_096;

/** Many sites turn away whoever does not call himself Mozilla-compatible. */
const headers = {
  'user-agent':
    'Mozilla/5.0 (compatible; Certwright-Prober; looks for the approval rule of a certificate order)',
  accept: '*/*',
};

interface Finding {
  readonly outcome: ProbeOutcome;
  readonly answer: WebRuleAnswer;
}

/** Looks at the web server of a name as a CA would before it issues. */
export class WebRuleProbe {
  constructor(
    private readonly guard: AddressGuard,
    private readonly settings: WebRuleProbeSettings,
    private readonly observe: ObserveProbe,
  ) {}

  /** @param question a `WebRuleQuestion`, unless somebody else asks */
  async answer(question: unknown): Promise<WebRuleAnswer> {
    const begunMs = performance.now();
    const { outcome, answer } = await this.#look(question, begunMs + this.#withinMs);
    this.observe(outcome, (performance.now() - begunMs) / 1_000);
    return answer;
  }

  get #withinMs(): number {
    return this.settings.withinMs ?? probeWithinMs;
  }

  async #look(question: unknown, untilMs: number): Promise<Finding> {
    const { httpPort, allowedPorts } = this.settings;
    const first = firstHop(question, httpPort);
    const hops: ProbeHop[] = [];
    if (!first.ok) return failed('question', first.problem, hops);
    for (let url = first.url; ;) {
      const found = await this.#ask(url, untilMs);
      if (found instanceof OutboundFault) return failed(found.kind, this.#inWords(url, found), hops);
      hops.push({ url, status: found.status, address: found.address });
      const next = nextHop(hops, { status: found.status, location: found.headers.location }, allowedPorts);
      if (next.kind === 'problem') return failed('redirect', next.problem, hops);
      if (next.kind === 'arrived') return arrived(url, found, hops);
      url = next.url;
    }
  }

  async #ask(url: string, untilMs: number): Promise<GuardedAnswer | OutboundFault> {
    try {
      return await guardedRequest(this.guard, {
        url,
        method: 'GET',
        headers,
        timeoutMs: Math.max(1, untilMs - performance.now()),
        maxResponseBytes: longestBody,
        allowedPorts: this.settings.allowedPorts,
        // The certificate that is asked for may be the first, or replace one that has expired: CAs do not look at it
        // either, and nothing confidential is sent.
        tls: { verify: false },
      });
    } catch (error) {
      if (error instanceof OutboundFault) return error;
      throw error;
    }
  }

  #inWords(url: string, { kind, message }: OutboundFault): string {
    // The time that was left for this hop is of no interest to anybody.
    return kind === 'timeout'
      ? `${url} gave no complete answer within the ${this.#withinMs / 1_000} s that all hops have together.`
      : `${url}: ${message}`;
  }
}

function arrived(
  url: string,
  { status, body, truncated }: GuardedAnswer,
  hops: readonly ProbeHop[],
): Finding {
  if (truncated) return failed('too_large', `${url} answers more than ${longestBody / 1_024} KiB.`, hops);
  const beginning = body.subarray(0, reportedBody).toString('utf8');
  return { outcome: 'answered', answer: { kind: 'answered', status, body: beginning, hops } };
}

function failed(outcome: ProbeOutcome, problem: string, hops: readonly ProbeHop[]): Finding {
  return { outcome, answer: { kind: 'failed', problem, hops } };
}
