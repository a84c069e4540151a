import {
  type ConclusiveTest,
  inconclusiveStatuses,
  type InconclusiveTest,
  type InstallationAnswer,
  type InstallationQuestion,
  installationTestPatienceMs,
  noProbeAnswer,
  probePatienceMs,
  type WebRuleAnswer,
  type WebRuleQuestion,
} from '@certwright/jobs';
import { AskedQuestions, type AskingOptions } from './asked-questions';

/** The list that all copies of the prober take from. */
export const probeQueue = 'probes';

/** Asks the prober. Built once per process; connections are made in the background. */
export class ProbeQuestions {
  readonly #questions: AskedQuestions;

  /** @param queue another name keeps specs apart */
  constructor(redisUrl: string, options: AskingOptions, queue = probeQueue) {
    this.#questions = new AskedQuestions(redisUrl, queue, options);
  }

  /**
   * Never rejects: without an answer in time it is `noProbeAnswer`, which says nothing about the customer's web server.
   *
   * @param withinMs how long to wait, Redis and a free prober included
   */
  async ask(question: WebRuleQuestion, withinMs: number = probePatienceMs): Promise<WebRuleAnswer> {
    const answer = await this.#questions.ask('probe-web-rule', question, withinMs);
    return isWebRuleAnswer(answer) ? answer : noProbeAnswer;
  }

  /**
   * Never rejects: without an answer in time it is null, which says nothing about the customer's servers.
   *
   * @param withinMs how long to wait, Redis and a free prober included
   */
  async askTls(
    question: InstallationQuestion,
    withinMs: number = installationTestPatienceMs,
  ): Promise<InstallationAnswer | null> {
    const answer = await this.#questions.ask('test-installation', question, withinMs);
    return isInstallationAnswer(answer) ? answer : null;
  }

  async close(): Promise<void> {
    await this.#questions.close();
  }
}

/** Another version of the prober may answer in words that this one does not know. */
function isWebRuleAnswer(value: unknown): value is WebRuleAnswer {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, status, body, problem, hops } = value as Readonly<Record<string, unknown>>;
  if (!Array.isArray(hops)) return false;
  return kind === 'answered'
    ? typeof status === 'number' && typeof body === 'string'
    : kind === 'failed' && typeof problem === 'string';
}

function isInstallationAnswer(value: unknown): value is InstallationAnswer {
  if (typeof value !== 'object' || value === null) return false;
  const { tests } = value as Readonly<Record<string, unknown>>;
  return Array.isArray(tests) && tests.every(isTest);
}

function isTest(value: unknown): value is ConclusiveTest | InconclusiveTest {
  if (typeof value !== 'object' || value === null) return false;
  const test = value as Readonly<Record<string, unknown>>;
  if (typeof test['host'] !== 'string' || typeof test['address'] !== 'string') return false;
  return test['status'] === 'conclusive'
    ? [test['correct'], test['chained'], test['temporary']].every((each) => typeof each === 'boolean')
    : inconclusiveStatuses.some((each) => each === test['status']) && typeof test['problem'] === 'string';
}
