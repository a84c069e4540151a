import { probeWithinMs, type ProbeHop, type WebRuleAnswer } from '@certwright/jobs';
import {
  AddressGuard,
  type GuardedAnswer,
  guardedRequest,
  OutboundFault,
  type OutboundFaultKind,
} from '@certwright/outbound';
import { RunningProcess } from '@certwright/service';
import { Inject, Injectable } from '@nestjs/common';
import { Counter, Histogram } from 'prom-client';
import { Config } from '../config';
import { firstHop } from './first-hop';
import { nextHop } from './next-hop';

/** `question`: no request was sent; `redirect`: a hop that is not followed. */
type ProbeOutcome = 'answered' | 'question' | 'redirect' | OutboundFaultKind;

/** Maximum bytes of a body: a rule returns one line, so more is a web page or an attack. */
const maxBodyBytes = 65_536;
/** Maximum bytes passed to the caller; they travel through Redis. */
const reportedBody = 4_096;

/** Many sites reject user agents that are not Mozilla-compatible. */
const headers = {
  'user-agent':
    'Mozilla/5.0 (compatible; Certwright-Prober; looks for the approval rule of a certificate order)',
  accept: '*/*',
};

interface Finding {
  readonly outcome: ProbeOutcome;
  readonly result: WebRuleAnswer;
}

/** Requests a URL from the web server of a name as a CA would before it issues. */
@Injectable()
export class WebRuleProbe {
  /** Milliseconds in all. */
  withinMs = probeWithinMs;
  private readonly allowedPorts: readonly number[];
  private readonly probes: Counter<'outcome'>;
  private readonly durations: Histogram;

  constructor(
    private readonly guard: AddressGuard,
    @Inject(Config) private readonly config: Pick<Config, 'HTTP_PORT' | 'REDIRECT_PORTS'>,
    { metrics: { registry } }: RunningProcess,
  ) {
    this.allowedPorts = [config.HTTP_PORT, ...config.REDIRECT_PORTS];
    this.probes = new Counter({
      name: 'web_rule_probes_total',
      help: 'Web server rules looked at, by outcome',
      labelNames: ['outcome'] as const,
      registers: [registry],
    });
    this.durations = new Histogram({
      name: 'web_rule_probe_duration_seconds',
      help: 'Time from taking a question to its answer, all redirects included',
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
      registers: [registry],
    });
  }

  /** @param question a `WebRuleQuestion`, unless the sender is not ours */
  async respond(question: unknown): Promise<WebRuleAnswer> {
    const begunMs = performance.now();
    const { outcome, result } = await this.#look(question, begunMs + this.withinMs);
    this.probes.inc({ outcome });
    this.durations.observe((performance.now() - begunMs) / 1_000);
    return result;
  }

  async #look(question: unknown, untilMs: number): Promise<Finding> {
    const first = firstHop(question, this.config.HTTP_PORT);
    const hops: ProbeHop[] = [];
    if (!first.ok) return failed('question', first.problem, hops);
    for (let url = first.url; ;) {
      const found = await this.#request(url, untilMs);
      if (found instanceof OutboundFault) return failed(found.kind, this.#messageOf(url, found), hops);
      hops.push({ url, status: found.status, address: found.address });
      const next = nextHop(
        hops,
        { status: found.status, location: found.headers.location },
        this.allowedPorts,
      );
      if (next.kind === 'problem') return failed('redirect', next.problem, hops);
      if (next.kind === 'arrived') return arrived(url, found, hops);
      url = next.url;
    }
  }

  async #request(url: string, untilMs: number): Promise<GuardedAnswer | OutboundFault> {
    try {
      return await guardedRequest(this.guard, {
        url,
        method: 'GET',
        headers,
        timeoutMs: Math.max(1, untilMs - performance.now()),
        maxResponseBytes: maxBodyBytes,
        allowedPorts: this.allowedPorts,
        // The certificate is not verified: it may not exist yet, or have expired. CAs do not verify it either, and no
        // confidential data is sent.
        tls: { verify: false },
      });
    } catch (error) {
      if (error instanceof OutboundFault) return error;
      throw error;
    }
  }

  #messageOf(url: string, { kind, message }: OutboundFault): string {
    // The time left for this hop is not relevant to callers.
    return kind === 'timeout'
      ? `${url} returned no complete response within the ${this.withinMs / 1_000} s that all hops have together.`
      : `${url}: ${message}`;
  }
}

function arrived(
  url: string,
  { status, body, truncated }: GuardedAnswer,
  hops: readonly ProbeHop[],
): Finding {
  if (truncated)
    return failed('too_large', `${url} responds with more than ${maxBodyBytes / 1_024} KiB.`, hops);
  const beginning = body.subarray(0, reportedBody).toString('utf8');
  return { outcome: 'answered', result: { kind: 'answered', status, body: beginning, hops } };
}

function failed(outcome: ProbeOutcome, problem: string, hops: readonly ProbeHop[]): Finding {
  return { outcome, result: { kind: 'failed', problem, hops } };
}
