import { randomBytes } from 'node:crypto';
import { noProbeAnswer, type WebRuleAnswer } from '@certwright/jobs';
import { type HttpChallenge, HttpChallenges } from '@certwright/approvals';
import { ProbeQuestions } from '@certwright/redis';
import { Injectable } from '@nestjs/common';
import { WebRuleCheckLimit } from './web-rule-check-limit';

/** Maximum names checked per request: each is a request to a third-party web server. */
export const maxChecks = 10;

/** How long a caller waits for all of them together, ms. */
const timeoutMs = 3_000;

/** Bytes of token and content, each: 160 bits, while Baseline Requirements 3.2.2.4.18 require 112. */
const tokenBytes = 20;

const randomToken = () => randomBytes(tokenBytes).toString('base64url');

/** Path that a CA requests (RFC 8555, section 8.3). */
const challengePath = ({ token }: HttpChallenge) => `/.well-known/acme-challenge/${token}`;

/**
 * How long a result is cached, ms, and the maximum number of entries: bounds the requests to third-party web servers,
 * however often a caller polls.
 */
const cacheMs = 5_000;
const maxCached = 10_000;

interface Check {
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
export class WebRuleChecks {
  /** By account and name; the oldest first. */
  private readonly cache = new Map<string, Check>();

  constructor(
    private readonly challenges: HttpChallenges,
    private readonly probes: ProbeQuestions,
    private readonly limit: WebRuleCheckLimit,
  ) {}

  /**
   * Never within a transaction: it waits for web servers.
   *
   * @param dnsNames without wildcards; names beyond `maxChecks` are not checked
   * @returns name → whether its server follows the rule; no entry for names without a result in time
   */
  async at(accountId: string, dnsNames: readonly string[]): Promise<ReadonlyMap<string, boolean>> {
    const checks: (readonly [string, Check])[] = [];
    for (const dnsName of dnsNames.slice(0, maxChecks)) {
      const check = this.recent(accountId, dnsName) ?? this.start(accountId, dnsName);
      checks.push([dnsName, check]);
      // Sequential, so that a request uses one connection to the database; the checks themselves are parallel.
      await check.opened;
    }
    const found = await Promise.all(checks.map(async ([name, { ready }]) => [name, await ready] as const));
    return new Map(found.flatMap(([name, ready]) => (ready === undefined ? [] : [[name, ready]])));
  }

  private recent(accountId: string, dnsName: string): Check | null {
    const check = this.cache.get(keyOf(accountId, dnsName));
    return check !== undefined && performance.now() < check.until ? check : null;
  }

  private start(accountId: string, dnsName: string): Check {
    const opened = this.open(accountId, dnsName);
    const ready = opened.then(async (challenge) =>
      challenge === null ? undefined : await this.probe(dnsName, challenge),
    );
    const check = { until: performance.now() + cacheMs, opened, ready };
    const key = keyOf(accountId, dnsName);
    this.cache.delete(key);
    this.cache.set(key, check);
    const [oldest] = this.cache.keys();
    if (this.cache.size > maxCached && oldest !== undefined) this.cache.delete(oldest);
    const discard = () => this.cache.get(key) === check && this.cache.delete(key);
    // No check was made, but may be soon: the account gets a rule. Waiting callers get the error too.
    opened.then((challenge) => challenge === null && discard(), discard);
    ready.catch(discard);
    return check;
  }

  /** @returns null when the account has no rule, or reached its limit of checks */
  private async open(accountId: string, dnsName: string): Promise<HttpChallenge | null> {
    if (!(await this.limit.take(accountId))) return null;
    return await this.challenges.open(accountId, dnsName, { token: randomToken(), content: randomToken() });
  }

  private async probe(dnsName: string, challenge: HttpChallenge): Promise<boolean | undefined> {
    const result = await this.probes.ask({ dnsName, path: challengePath(challenge) }, timeoutMs);
    return result === noProbeAnswer ? undefined : followsRule(result, challenge);
  }
}

const keyOf = (accountId: string, dnsName: string) => `${accountId} ${dnsName}`;

/** Servers and editors add line breaks, which ACME servers ignore as well (RFC 8555, section 8.3). */
function followsRule(result: WebRuleAnswer, { content }: HttpChallenge): boolean {
  return result.kind === 'answered' && result.status === 200 && result.body.trim() === content;
}
