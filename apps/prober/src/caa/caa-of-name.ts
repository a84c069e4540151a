import { type CaaFinding, caaText, checkCaa, relevantCaa } from '@certwright/dns-lookup';
import { baseName, isWildcard, parseMonitoredName } from '@certwright/dns-names';
import {
  type CaaOfNameAnswer,
  type CaaOfNameQuestion,
  caaVerdicts,
  caaWithinMs,
  maxCaaRecords,
  maxIssuerDomains,
} from '@certwright/jobs';
import { RunningProcess } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { Counter, Histogram } from 'prom-client';
import { Resolvers } from '../resolvers/resolvers';

/** A domain name, in characters. */
const maxIssuerDomainLength = 253;

/** Whether the CAA records of a name, as published now, allow a CA to issue. */
@Injectable()
export class CaaOfName {
  /** Milliseconds in all. */
  withinMs = caaWithinMs;
  private readonly verdicts: Counter<'verdict'>;
  private readonly durations: Histogram;

  constructor(
    private readonly resolvers: Resolvers,
    { metrics: { registry } }: RunningProcess,
  ) {
    this.verdicts = new Counter({
      name: 'caa_lookups_total',
      help: 'Names whose CAA records were looked up, by verdict',
      labelNames: ['verdict'] as const,
      registers: [registry],
    });
    this.durations = new Histogram({
      name: 'caa_lookup_duration_seconds',
      help: 'Time from taking a question to its answer, all names up to the top level included',
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4],
      registers: [registry],
    });
    for (const verdict of caaVerdicts) this.verdicts.inc({ verdict }, 0);
  }

  /**
   * @param value a `CaaOfNameQuestion`, unless the sender is not ours
   * @returns undefined for an unreadable question: a newer client gets no response, as if there were no prober yet
   */
  async respond(value: unknown): Promise<CaaOfNameAnswer | undefined> {
    const question = readQuestion(value);
    if (question === null) return undefined;
    const begunMs = performance.now();
    const lookUp = this.resolvers.lookUpUntil(begunMs + this.withinMs);
    const answer = answerOf(question, await relevantCaa(lookUp, baseName(question.dnsName)));
    this.verdicts.inc({ verdict: answer.verdict });
    this.durations.observe((performance.now() - begunMs) / 1_000);
    return answer;
  }
}

function answerOf({ dnsName, issuerDomains }: CaaOfNameQuestion, found: CaaFinding): CaaOfNameAnswer {
  if (!found.known) return { verdict: 'unknown', at: found.at, records: [], failure: found.failure };
  const wildcard = isWildcard(dnsName);
  const { allowed } = checkCaa(found.records, { wildcard, issuerDomains, accountUri: null, method: null });
  return {
    verdict: allowed ? 'allows' : 'forbids',
    at: found.records.length > 0 ? found.at : null,
    records: found.records.slice(0, maxCaaRecords).map(caaText),
    failure: null,
  };
}

/** Null: invalid. */
function readQuestion(value: unknown): CaaOfNameQuestion | null {
  if (typeof value !== 'object' || value === null) return null;
  const { dnsName, issuerDomains } = value as Readonly<Record<string, unknown>>;
  if (typeof dnsName !== 'string' || !isPublicName(baseName(dnsName))) return null;
  if (!Array.isArray(issuerDomains) || issuerDomains.length > maxIssuerDomains) return null;
  return issuerDomains.every(isIssuerDomain) ? { dnsName, issuerDomains } : null;
}

/** In normal form and below a public suffix: internal names are not even looked up. Names in DNS may have underscores. */
function isPublicName(name: string): boolean {
  const parsed = parseMonitoredName(name);
  return parsed.ok && parsed.name === name && !name.startsWith('.');
}

const isIssuerDomain = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= maxIssuerDomainLength;
