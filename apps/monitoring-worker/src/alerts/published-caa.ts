import type { FindingAlert } from '@certwright/core-schema';
import { type CaaOfNameQuestion, maxIssuerDomains, noCaaAnswer } from '@certwright/jobs';
import { ProbeQuestions } from '@certwright/redis';
import { Injectable } from '@nestjs/common';

type Verdict = FindingAlert['caa'];

/** A certificate, and the CA that issued it. */
export interface CaaSubject {
  /** Names that concern the account. */
  readonly dnsNames: readonly string[];
  /** Null: not known. */
  readonly issuerDomains: readonly string[] | null;
}

/** Total time for the certificates of a batch, ms: alerts do not wait longer. */
const withinMs = 400;

/** Names of a certificate that are looked up. */
const maxNames = 3;

/** Lookups of a batch; verdicts of the other certificates are unknown. */
const maxLookUps = 100;

/** How long a verdict is used again, ms. */
const keptMs = 60_000;

/** How long nothing is looked up after a batch without any response, ms. */
const pauseMs = 5_000;

const maxKept = 10_000;

interface Kept {
  readonly verdict: Verdict;
  readonly untilMs: number;
}

/** Whether CAA records, as published now, allow the issuer. An addition to alerts: it never holds one back. */
@Injectable()
export class PublishedCaa {
  private readonly kept = new Map<string, Kept>();
  private pausedUntilMs = 0;

  constructor(private readonly prober: Pick<ProbeQuestions, 'askCaa'>) {}

  /** One verdict for each, in their order: `forbids` if one of the names forbids the issuer. */
  async of(subjects: readonly CaaSubject[]): Promise<readonly Verdict[]> {
    const nowMs = performance.now();
    const questions = new Map<string, CaaOfNameQuestion>();
    const keys = subjects.map((subject) =>
      questionsOf(subject).map((question) => [keyOf(question), question] as const),
    );
    for (const [key, question] of keys.flat()) {
      const kept = this.kept.get(key);
      if ((kept === undefined || kept.untilMs <= nowMs) && questions.size < maxLookUps)
        questions.set(key, question);
    }
    if (nowMs >= this.pausedUntilMs) await this.lookUp(questions, nowMs);
    return keys.map((ofSubject) => {
      const verdicts = ofSubject.map(([key]) => {
        const kept = this.kept.get(key);
        return kept !== undefined && kept.untilMs > nowMs ? kept.verdict : 'unknown';
      });
      if (verdicts.includes('forbids')) return 'forbids';
      return verdicts.length === 0 || verdicts.includes('unknown') ? 'unknown' : 'allows';
    });
  }

  private async lookUp(questions: ReadonlyMap<string, CaaOfNameQuestion>, nowMs: number): Promise<void> {
    let responses = 0;
    await Promise.all(
      Array.from(questions, async ([key, question]) => {
        const answer = await this.prober.askCaa(question, withinMs);
        if (answer === noCaaAnswer) return;
        responses += 1;
        this.kept.delete(key);
        this.kept.set(key, { verdict: answer.verdict, untilMs: nowMs + keptMs });
      }),
    );
    if (questions.size > 0 && responses === 0) this.pausedUntilMs = nowMs + pauseMs;
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= maxKept) break;
      this.kept.delete(oldest);
    }
  }
}

function questionsOf({ dnsNames, issuerDomains }: CaaSubject): readonly CaaOfNameQuestion[] {
  if (issuerDomains === null || issuerDomains.length === 0 || issuerDomains.length > maxIssuerDomains)
    return [];
  // An asterisk elsewhere is no name of DNS.
  const names = dnsNames.filter((name) => !name.replace(/^\*\./, '').includes('*'));
  return [...new Set(names)].slice(0, maxNames).map((dnsName) => ({ dnsName, issuerDomains }));
}

const keyOf = ({ dnsName, issuerDomains }: CaaOfNameQuestion): string =>
  [dnsName, ...issuerDomains].join(' ');
