import { randomBytes } from 'node:crypto';
import { isWildcard, secretBytes, secretLabel } from '@certwright/dns-names';
import { noProbeAnswer, type WebRuleAnswer, type WebRuleQuestion } from '@certwright/jobs';
import type { HttpChallenges, WebRules } from '@certwright/approvals';
import type { ApprovalResult, ApprovalQuestion, Approver } from './approver';
import { challengePath, checkWebResponse } from './web-response';

/** Calls the prober, with a time limit. Never rejects: without a response it is `noProbeAnswer`. */
export type Probe = (question: WebRuleQuestion) => Promise<WebRuleAnswer>;

/** Token and content, each: 160 bits; Baseline Requirements 3.2.2.4.18 require 112. */
const challengeBytes = 20;

/**
 * Probes of one account at a time in this process. All accounts share the places of the prober, 64 by default, and a slow
 * server occupies one for 10 s, of which a probe waits 3 s: 4 · 10 s / 3 s are a fifth of them.
 */
export const maxProbesOfAccount = 4;

const randomText = () => randomBytes(challengeBytes).toString('base64url');

/**
 * The web server rule: the server at the name forwards requests for the path of RFC 8555, section 8.3, to this
 * tenant's own path at approval-responder. The prober checks it as a CA would. Baseline Requirements 3.2.2.4.18 and
 * .19: never for wildcards.
 */
export class HttpApprover implements Approver {
  readonly method = 'http';
  private readonly turns = new AccountTurns();

  constructor(
    private readonly challenges: Pick<HttpChallenges, 'open'>,
    private readonly rules: Pick<WebRules, 'ensure'>,
    private readonly probe: Probe,
  ) {}

  placeOf({ dnsName }: ApprovalQuestion): string | null {
    return isWildcard(dnsName) ? null : dnsName;
  }

  async check({ accountId, dnsName }: ApprovalQuestion, signal: AbortSignal): Promise<ApprovalResult> {
    const fresh = { token: randomText(), content: randomText() };
    let challenge = await this.challenges.open(accountId, dnsName, fresh);
    if (challenge === null) {
      // Orders older than the account's rule, or than the release that creates it with an order.
      await this.rules.ensure(accountId, () => secretLabel(randomBytes(secretBytes)));
      challenge = await this.challenges.open(accountId, dnsName, fresh);
    }
    if (challenge === null) throw new Error(`the account ${accountId} has no web server rule`);
    const question = { dnsName, path: challengePath(challenge) };
    const response = await Promise.race([
      this.turns.run(accountId, async () => (signal.aborted ? noProbeAnswer : await this.probe(question))),
      aborted(signal),
    ]);
    // The challenge is kept until it expires: another order of this account may be checking the same name.
    return checkWebResponse(dnsName, challenge, response);
  }
}

/** Work of each account, a few at a time; more waits in the order of arrival. */
class AccountTurns {
  readonly #accounts = new Map<string, { running: number; readonly waiting: (() => void)[] }>();

  async run<T>(accountId: string, work: () => Promise<T>): Promise<T> {
    const turns = this.#accounts.get(accountId) ?? { running: 0, waiting: [] };
    this.#accounts.set(accountId, turns);
    if (turns.running < maxProbesOfAccount) turns.running += 1;
    else await new Promise<void>((resolve) => turns.waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = turns.waiting.shift();
      // The next one takes over this turn, so the count stays.
      if (next !== undefined) next();
      else if ((turns.running -= 1) === 0) this.#accounts.delete(accountId);
    }
  }
}

/** The time limit of the whole check is reached. */
async function aborted(signal: AbortSignal): Promise<WebRuleAnswer> {
  if (!signal.aborted)
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  return noProbeAnswer;
}
