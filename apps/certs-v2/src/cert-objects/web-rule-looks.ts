import { randomBytes } from 'node:crypto';
import { noProbeAnswer, type WebRuleAnswer } from '@certwright/jobs';
import { type HttpChallenge, HttpChallenges } from '@certwright/approvals';
import { ProbeQuestions } from '@certwright/redis';
import { Injectable } from '@nestjs/common';
import { LookLimit } from './look-limit';

/** Maximum names checked per request: each is a request to a third-party web server. */
export const mostLooks = 10;

/** How long a caller waits for all of them together, ms. */
const patienceMs = 3_000;

/** Bits of token and content, each: 160, while Baseline Requirements 3.2.2.4.18 require 112. */
const randomOctets = 20;

const fresh = () => randomBytes(randomOctets).toString('base64url');

/** Path that a CA requests (RFC 8555, section 8.3). */
const challengePath = ({ token }: HttpChallenge) => `/.well-known/acme-challenge/${token}`;

/**
 * How long a result is cached, ms, and the maximum number of entries: bounds the requests to third-party web servers,
 * however often a caller polls.
 */
const keptMs = 5_000;
const mostKept = 10_000;

interface Look {
  readonly until: number;
  /** The part that needs the database is over. */
  readonly opened: Promise<unknown>;
  /** Undefined: no result in time. */
  readonly ready: Promise<boolean | undefined>;
}

/**
 * Checks whether web servers follow the rule of their account, as the worker does before it approves a name by http.
 */
@Injectable()
export class WebRuleLooks {
  /** By account and name; the oldest first. */
  private readonly kept = new Map<string, Look>();

  constructor(
    private readonly challenges: HttpChallenges,
    private readonly probes: ProbeQuestions,
    private readonly limit: LookLimit,
  ) {}

  /**
   * Never within a transaction: it waits for web servers.
   *
   * @param dnsNames without wildcards; names beyond `mostLooks` are not checked
   * @returns name → whether its server follows the rule; no entry for names without a result in time
   */
  async at(accountId: string, dnsNames: readonly string[]): Promise<ReadonlyMap<string, boolean>> {
    const looks: (readonly [string, Look])[] = [];
    for (const dnsName of dnsNames.slice(0, mostLooks)) {
      const look = this.recent(accountId, dnsName) ?? this.begin(accountId, dnsName);
      looks.push([dnsName, look]);
      // Sequential, so that a request uses one connection to the database; the checks themselves are parallel.
      await look.opened;
    }
    const found = await Promise.all(looks.map(async ([name, { ready }]) => [name, await ready] as const));
    return new Map(found.flatMap(([name, ready]) => (ready === undefined ? [] : [[name, ready]])));
  }

  private recent(accountId: string, dnsName: string): Look | null {
    const look = this.kept.get(keyOf(accountId, dnsName));
    return look !== undefined && performance.now() < look.until ? look : null;
  }

  private begin(accountId: string, dnsName: string): Look {
    const opened = this.open(accountId, dnsName);
    const ready = opened.then(async (challenge) =>
      challenge === null ? undefined : await this.ask(dnsName, challenge),
    );
    const look = { until: performance.now() + keptMs, opened, ready };
    const key = keyOf(accountId, dnsName);
    this.kept.delete(key);
    this.kept.set(key, look);
    const [oldest] = this.kept.keys();
    if (this.kept.size > mostKept && oldest !== undefined) this.kept.delete(oldest);
    const forget = () => this.kept.get(key) === look && this.kept.delete(key);
    // No check was made, but may be soon: the account gets a rule. Waiting callers get the error too.
    opened.then((challenge) => challenge === null && forget(), forget);
    ready.catch(forget);
    return look;
  }

  /** @returns null when the account has no rule, or reached its limit of checks */
  private async open(accountId: string, dnsName: string): Promise<HttpChallenge | null> {
    if (!(await this.limit.take(accountId))) return null;
    return await this.challenges.open(accountId, dnsName, { token: fresh(), content: fresh() });
  }

  private async ask(dnsName: string, challenge: HttpChallenge): Promise<boolean | undefined> {
    const answer = await this.probes.ask({ dnsName, path: challengePath(challenge) }, patienceMs);
    return answer === noProbeAnswer ? undefined : followsRule(answer, challenge);
  }
}

const keyOf = (accountId: string, dnsName: string) => `${accountId} ${dnsName}`;

/** Servers and editors add line breaks, which ACME servers ignore as well (RFC 8555, section 8.3). */
function followsRule(answer: WebRuleAnswer, { content }: HttpChallenge): boolean {
  return answer.kind === 'answered' && answer.status === 200 && answer.body.trim() === content;
}
