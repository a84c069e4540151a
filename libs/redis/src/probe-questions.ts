import { isLook, type Look, lookPatienceMs, type LookQuestion } from '@certwright/endpoint-checks';
import {
  type CaaOfNameAnswer,
  type CaaOfNameQuestion,
  caaPatienceMs,
  caaVerdicts,
  noCaaAnswer,
  noProbeAnswer,
  type ProbeMessages,
  probePatienceMs,
  type WebRuleAnswer,
  type WebRuleQuestion,
} from '@certwright/jobs';
import type { RedisAccess } from '@certwright/redis-client';
import { annotateSpan, inSpan } from '@certwright/tracing';
import type { OnApplicationShutdown } from '@nestjs/common';
import { lastValueFrom, timeout } from 'rxjs';
import { QuestionClient, type QuestionClientOptions } from './transport/question-client';

/** Sends questions to the prober. Built once per process; connections are made in the background. */
export class ProbeQuestions implements OnApplicationShutdown {
  readonly #questions: QuestionClient;

  constructor(redis: RedisAccess, options: QuestionClientOptions) {
    this.#questions = new QuestionClient(redis, options);
  }

  /**
   * Never rejects: without a response in time it is `noProbeAnswer`, which says nothing about the customer's web server.
   *
   * @param withinMs how long to wait, Redis and a free prober included
   */
  async ask(question: WebRuleQuestion, withinMs: number = probePatienceMs): Promise<WebRuleAnswer> {
    const response = await this.#ask('probe-web-rule', question, withinMs);
    return isWebRuleAnswer(response) ? response : noProbeAnswer;
  }

  /**
   * Never rejects: without a response in time it is null, which says nothing about the hosts.
   *
   * @param withinMs how long to wait, Redis and a free prober included
   */
  async askLook(question: LookQuestion, withinMs: number = lookPatienceMs): Promise<Look | null> {
    const response = await this.#ask('look-at-hosts', question, withinMs);
    return isLook(response) ? response : null;
  }

  /**
   * Never rejects: without a response in time the verdict is `unknown`.
   *
   * @param withinMs how long to wait, Redis and a free prober included
   */
  async askCaa(question: CaaOfNameQuestion, withinMs: number = caaPatienceMs): Promise<CaaOfNameAnswer> {
    const response = await this.#ask('caa-of-name', question, withinMs);
    return isCaaAnswer(response) ? response : noCaaAnswer;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }

  async close(): Promise<void> {
    await this.#questions.close();
  }

  /** @returns undefined without a response in time, whatever the reason: no prober, no Redis, a lost response */
  async #ask(pattern: keyof ProbeMessages, question: object, withinMs: number): Promise<unknown> {
    return await inSpan(`prober ${pattern}`, { kind: 'client' }, async () => {
      const responses = this.#questions.send<unknown>(pattern, question).pipe(timeout(withinMs));
      const response = await lastValueFrom(responses, { defaultValue: undefined }).catch(() => undefined);
      annotateSpan({ 'certwright.outcome': response === undefined ? 'no_response' : 'response' });
      return response;
    });
  }
}

/** Another version of the prober may respond with messages that this one does not know. */
function isWebRuleAnswer(value: unknown): value is WebRuleAnswer {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, status, body, problem, hops } = value as Readonly<Record<string, unknown>>;
  if (!Array.isArray(hops)) return false;
  return kind === 'answered'
    ? typeof status === 'number' && typeof body === 'string'
    : kind === 'failed' && typeof problem === 'string';
}

function isCaaAnswer(value: unknown): value is CaaOfNameAnswer {
  if (typeof value !== 'object' || value === null) return false;
  const { verdict, at, records, failure } = value as Readonly<Record<string, unknown>>;
  const isTextOrNull = (each: unknown) => each === null || typeof each === 'string';
  return (
    caaVerdicts.some((each) => each === verdict) &&
    isTextOrNull(at) &&
    isTextOrNull(failure) &&
    Array.isArray(records) &&
    records.every((each) => typeof each === 'string')
  );
}
