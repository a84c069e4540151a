import { isIP } from 'node:net';
import {
  type ConclusiveTest,
  type InconclusiveTest,
  type InstallationAnswer,
  type InstallationQuestion,
  installationTestWithinMs,
  type TestedAddress,
} from '@certwright/jobs';
import { type AddressGuard, presentedCertificates } from '@certwright/outbound';
import type { Logger } from '@certwright/service';
import { inconclusion, type Inconclusion } from './inconclusion';
import { readInstallationQuestion } from './installation-question';
import type { ObserveTest } from './observe-tests';
import { judgePresented } from './presented-judgement';
import { sideBySide } from './side-by-side';
import { type LookedUpHost, testPlan } from './test-plan';
import { within } from './within';

export interface InstallationTestTimes {
  /** Milliseconds in all; default: `installationTestWithinMs`. */
  readonly withinMs?: number;
  /** Milliseconds for one connection and its handshake; default: 5,000. */
  readonly connectionWithinMs?: number;
}

/** Of the whole time, at most, for finding the addresses: a resolver that is slow must leave some for the servers. */
const lookUpShare = 0.5;

/** Look-ups, and then connections, of one test. */
const mostSideBySide = 16;

/** Octets that are taken from one server: about forty certificates of usual size. */
const mostOctets = 65_536;

/** Looks which certificates the servers of some hosts present, as their visitors would. */
export class InstallationTest {
  constructor(
    private readonly guard: AddressGuard,
    private readonly observe: ObserveTest,
    private readonly log: Pick<Logger, 'warn'>,
    private readonly times: InstallationTestTimes = {},
  ) {}

  /**
   * @param value an `InstallationQuestion`, unless somebody else asks
   * @returns undefined for what cannot be read: a newer asker hears nothing, as if there were no prober yet
   */
  async answer(value: unknown): Promise<InstallationAnswer | undefined> {
    const question = readInstallationQuestion(value);
    if (question === null) {
      this.log.warn({}, 'a question about an installation cannot be read');
      return undefined;
    }
    const begunMs = performance.now();
    const passedMs = () => performance.now() - begunMs;
    const withinMs = this.times.withinMs ?? installationTestWithinMs;
    const hosts = await within(withinMs * lookUpShare, async (signal) =>
      sideBySide(question.hosts, mostSideBySide, (host) => this.#lookUp(host, signal)),
    );
    const { toTest, known } = testPlan(hosts);
    const tested = await within(withinMs - passedMs(), async (signal) =>
      sideBySide(toTest, mostSideBySide, (each) => this.#test(each, question, signal)),
    );
    const inAnyOrder = [...tested, ...known];
    const tests = question.hosts.flatMap((host) => inAnyOrder.filter((each) => each.host === host));
    this.observe(
      tests.map(({ status }) => status),
      passedMs() / 1_000,
    );
    return { tests };
  }

  async #lookUp(host: string, signal: AbortSignal): Promise<LookedUpHost> {
    try {
      return { host, addresses: await this.guard.everyAddressOf(host, signal), problem: null };
    } catch (error) {
      return { host, addresses: [], problem: this.#inWords(error, signal) };
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
        timeoutMs: this.times.connectionWithinMs ?? 5_000,
        maxBytes: mostOctets,
        signal,
      });
      return { host, address, status: 'conclusive', ...judgePresented(presented, question) };
    } catch (error) {
      return { host, address, ...this.#inWords(error, signal) };
    }
  }

  /** One address whose test fails by a fault of ours must not take the others with it. */
  #inWords(error: unknown, signal: AbortSignal): Inconclusion {
    const known = inconclusion(error, signal);
    if (known !== null) return known;
    this.log.warn({ err: error }, 'an address could not be tested');
    return { status: 'internal_error', problem: 'The test failed by a fault of ours.' };
  }
}
