import { isIP } from 'node:net';
import {
  type ConclusiveTest,
  inconclusiveStatuses,
  type InconclusiveTest,
  type InstallationAnswer,
  type InstallationQuestion,
  installationTestWithinMs,
  type TestedAddress,
} from '@certwright/jobs';
import { AddressGuard, presentedCertificates } from '@certwright/outbound';
import { RunningProcess } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { Counter, Histogram } from 'prom-client';
import { inconclusion, type Inconclusion } from './inconclusion';
import { readInstallationQuestion } from './installation-question';
import { checkPresented } from './check-presented';
import { type LookedUpHost, testPlan } from './test-plan';

/** Maximum share of the total time for resolving addresses: a slow resolver must leave time for the servers. */
const lookUpShare = 0.5;

/** Look-ups, and then connections, of one test. */
const maxConcurrent = 16;

/** Maximum bytes read from one server: about forty certificates of usual size. */
const maxBytes = 65_536;

/** Checks which certificates the servers of some hosts present to visitors. */
@Injectable()
export class InstallationTest {
  /** Milliseconds: in all, and for one connection and its handshake. */
  times = { withinMs: installationTestWithinMs, connectionWithinMs: 5_000 };
  private readonly log: RunningProcess['log'];
  private readonly addresses: Counter<'status'>;
  private readonly durations: Histogram;

  constructor(
    private readonly guard: AddressGuard,
    { log, metrics: { registry } }: RunningProcess,
  ) {
    this.log = log;
    this.addresses = new Counter({
      name: 'installation_test_addresses_total',
      help: 'Addresses in answers of installation tests, by status',
      labelNames: ['status'] as const,
      registers: [registry],
    });
    this.durations = new Histogram({
      name: 'installation_test_duration_seconds',
      help: 'Time from taking a question to its answer, all hosts included',
      buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 20],
      registers: [registry],
    });
    for (const status of ['conclusive', ...inconclusiveStatuses]) this.addresses.inc({ status }, 0);
  }

  /**
   * @param value an `InstallationQuestion`, unless the sender is not ours
   * @returns undefined for an unreadable question: a newer client gets no response, as if there were no prober yet
   */
  async respond(value: unknown): Promise<InstallationAnswer | undefined> {
    const question = readInstallationQuestion(value);
    if (question === null) {
      this.log.warn({}, 'a question about an installation cannot be read');
      return undefined;
    }
    const begunMs = performance.now();
    const passedMs = () => performance.now() - begunMs;
    const { withinMs } = this.times;
    const hosts = await within(withinMs * lookUpShare, async (signal) =>
      mapConcurrently(question.hosts, maxConcurrent, (host) => this.#lookUp(host, signal)),
    );
    const { toTest, known } = testPlan(hosts);
    const tested = await within(withinMs - passedMs(), async (signal) =>
      mapConcurrently(toTest, maxConcurrent, (each) => this.#test(each, question, signal)),
    );
    const inAnyOrder = [...tested, ...known];
    const tests = question.hosts.flatMap((host) => inAnyOrder.filter((each) => each.host === host));
    for (const { status } of tests) this.addresses.inc({ status });
    this.durations.observe(passedMs() / 1_000);
    return { tests };
  }

  async #lookUp(host: string, signal: AbortSignal): Promise<LookedUpHost> {
    try {
      return { host, addresses: await this.guard.everyAddressOf(host, signal), problem: null };
    } catch (error) {
      return { host, addresses: [], problem: this.#messageOf(error, signal) };
    }
  }

  async #test(
    { host, address }: TestedAddress,
    question: InstallationQuestion,
    signal: AbortSignal,
  ): Promise<ConclusiveTest | InconclusiveTest> {
    try {
      const presented = await presentedCertificates(this.guard, {
        address,
        port: question.port,
        serverName: isIP(host) === 0 ? host : question.serverName,
        timeoutMs: this.times.connectionWithinMs,
        maxBytes,
        signal,
      });
      return { host, address, status: 'conclusive', ...checkPresented(presented, question) };
    } catch (error) {
      return { host, address, ...this.#messageOf(error, signal) };
    }
  }

  /** One address whose test fails with an internal error must not affect the others. */
  #messageOf(error: unknown, signal: AbortSignal): Inconclusion {
    const known = inconclusion(error, signal);
    if (known !== null) return known;
    this.log.warn({ err: error }, 'an address could not be tested');
    return { status: 'internal_error', problem: 'The test failed by a fault of ours.' };
  }
}

/** Passes a signal that aborts at the timeout; the work decides whether it ends then. */
async function within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const timeIsUp = new AbortController();
  const timer = setTimeout(() => timeIsUp.abort(), ms);
  try {
    return await work(timeIsUp.signal);
  } finally {
    clearTimeout(timer);
  }
}

/** Runs the work for all items, in order, with limited concurrency. */
async function mapConcurrently<Item, Done>(
  items: readonly Item[],
  max: number,
  work: (item: Item) => Promise<Done>,
): Promise<Done[]> {
  const done: Done[] = [];
  const queue = items.entries();
  const takeTurns = async (): Promise<void> => {
    for (const [at, item] of queue) done[at] = await work(item);
  };
  await Promise.all(Array.from({ length: max }, takeTurns));
  return done;
}
