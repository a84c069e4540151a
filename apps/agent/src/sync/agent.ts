import path from 'node:path';
import { limits } from '@certwright/agent-contract';
import type { CommandOptions, CommandResult } from '../commands/run-command';
import type { Settings } from '../configuration/settings';
import { fileFault, replaceFile, secret } from '../files/durable';
import type { Files } from '../files/files';
import type { Owner } from '../files/safe-path';
import { Installer } from '../installation/installer';
import { Placing } from '../installation/placing';
import type { ProbeServer } from '../installation/probing';
import { KeyExchange } from '../keys/key-exchange';
import type { Log } from '../log/log';
import { AgentApi, printable, Refusal } from '../protocol/agent-api';
import { CorrectedClock } from '../protocol/corrected-clock';
import { HttpClient, Unreachable } from '../protocol/http-client';
import { trustedCertificates } from '../protocol/trust-store';
import { type Identity, readMachineId } from '../state/identity';
import { OrderStore } from '../state/order-store';
import { StoredKeys } from '../state/stored-keys';
import { pruneReplaced } from './prune';
import { Reporter } from './reporter';
import { Synchronizer } from './synchronizer';
import { pause, Wakeup } from './wakeup';

export interface AgentParts {
  readonly files: Files;
  readonly settings: Settings;
  readonly identity: Identity & { readonly cluster: string };
  readonly owner: Owner;
  readonly agent: { readonly version: string; readonly platform: string };
  readonly probe: ProbeServer;
  readonly run: (
    command: readonly string[],
    options: Pick<CommandOptions, 'timeoutMs' | 'input' | 'maxOutputBytes'>,
  ) => Promise<CommandResult>;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly hostNow?: () => Date;
}

/** Seconds that a request for state waits at the server; proxies end requests after 60 s. */
const waitS = 50;
const backOffMs = { first: 2000, last: 60_000 } as const;
/** After the server refused this agent. It may be a mistake, so the agent does not end. */
const refusedMs = 600_000;
const inspectMs = 3_600_000;
/** The first inspection waits so long for the server, at most. */
const firstRoundMs = 60_000;
/** So that one report has the changes of one step. */
const reportDelayMs = 200;
const csrCommandMs = 60_000;
/** Base64 with line ends takes 1.4 times the bytes; the rest is for text around it. */
const maxCsrOutputBytes = 2 * limits.maxCsrBytes;

/** The machine is not the one that was enrolled. */
export class ClonedFault extends Error {}

/** Everything that runs on a host, put together once. */
export class Agent {
  readonly installer: Installer;
  readonly orders: OrderStore;
  readonly keys: StoredKeys;
  readonly clock: CorrectedClock;
  readonly synchronizer: Synchronizer;
  readonly reporter: Reporter;
  private readonly api: AgentApi;
  private readonly http: HttpClient;
  private readonly exchange: KeyExchange;
  private readonly installerWakeup = new Wakeup();
  private readonly reporterWakeup = new Wakeup();
  private readonly inspectionWakeup = new Wakeup();
  private serverProblem: string | null = null;
  private diskProblem: string | null = null;
  private journalProblem: string | null = null;
  private cloneProblem: string | null = null;

  constructor(private readonly parts: AgentParts) {
    const { files, settings, identity, owner, log, signal, run, probe } = parts;
    this.clock = new CorrectedClock(parts.hostNow);
    this.http = new HttpClient(settings.server, {
      trusted: settings.server.protocol === 'http:' ? [] : trustedCertificates(files, settings.caFile),
      proxy: settings.proxy,
    });
    this.api = new AgentApi(this.http, identity, this.clock, signal);
    this.orders = new OrderStore(files, settings.state);
    this.keys = new StoredKeys(files, settings.state);
    this.installer = new Installer({
      orders: this.orders,
      placing: new Placing(files, this.orders, owner),
      settings,
      now: () => this.clock.host(),
      correctedNow: () => this.clock.now(),
      elapsedMs: () => performance.now(),
      wait: (ms) => pause(ms, signal),
      // A test or reload under way ends first when the agent stops.
      run: (command, timeoutMs) => run(command, { timeoutMs }),
      probe,
      log,
      changed: (order) => {
        this.reporter.change(order);
        this.reporterWakeup.wake();
      },
      signal,
    });
    this.exchange = new KeyExchange({
      api: this.api,
      identity,
      files,
      state: settings.state,
      keys: this.keys,
      settings: settings.keys,
      now: () => this.clock.now(),
      runCsrCommand: (command, input) =>
        run(command, { timeoutMs: csrCommandMs, input, maxOutputBytes: maxCsrOutputBytes }),
      log,
    });
    this.synchronizer = new Synchronizer({
      api: this.api,
      identity,
      settings,
      installer: this.installer,
      exchange: this.exchange,
      orders: this.orders,
      clock: this.clock,
      log,
    });
    this.reporter = new Reporter({
      api: this.api,
      files,
      state: settings.state,
      installer: this.installer,
      clock: this.clock,
      agent: parts.agent,
      isReportable: (order) => this.synchronizer.isReportable(order),
      withoutPoints: () => this.synchronizer.withoutPoints(),
      problem: () => this.problem(),
    });
  }

  /** What is wrong with this host, on one line; null: nothing. */
  problem(): string | null {
    const problems = [
      this.cloneProblem,
      this.journalProblem ?? this.diskProblem,
      this.clock.problem(),
      this.exchange.memberProblem,
      ...this.keys.problems(),
      ...this.installer.journals.problems(),
      ...this.synchronizer.problems(),
    ].filter((problem) => problem !== null);
    return problems.length === 0 ? null : printable(problems.join('; '));
  }

  /** Until the signal. The server is needed only to learn about changes: everything else goes on without it. */
  async run(): Promise<void> {
    this.restore();
    try {
      await this.checkClone();
      await Promise.all([this.install(), this.synchronize(), this.report(), this.inspect()]);
    } finally {
      await this.installer.stopped();
      this.saveJournals();
      this.http.close();
    }
  }

  /** One round: learn, do, install, report. @throws Unreachable, Refusal */
  async once(): Promise<void> {
    this.restore();
    try {
      await this.checkClone();
      this.installer.journals.retryNow();
      let failure: unknown = null;
      try {
        await this.synchronizer.poll(0);
        await this.synchronizer.work();
        const endMs = performance.now() + certificateMs;
        const isOpen = () => this.synchronizer.hasOpenWork || this.synchronizer.awaitsCertificate;
        while (isOpen() && !this.parts.signal.aborted && performance.now() < endMs) {
          await this.synchronizer.poll(this.synchronizer.hasOpenWork ? 0 : 10);
          await this.synchronizer.work();
        }
      } catch (error) {
        failure = error;
      }
      // What was learned earlier is installed without the server too.
      await this.installer.inspect();
      await this.installer.settle(onceMs);
      this.saveJournals();
      if (failure !== null) throw failure;
      await this.reporter.send();
    } finally {
      await this.installer.stopped();
      this.http.close();
    }
  }

  /** A disk that refuses changes does not keep the agent from starting: what is installed is served. */
  private restore(): void {
    this.installer.journals.restore();
    try {
      this.keys.removeLeftovers();
      for (const order of this.installer.journals.names()) this.orders.removeLeftovers(order);
    } catch (error) {
      this.parts.log.warn('leftovers cannot be removed', { error: fileFault(error) });
    }
    this.checkDisk();
  }

  /** A full or read-only disk is reported before a renewal needs it. */
  private checkDisk(): void {
    const { files, settings, log } = this.parts;
    try {
      replaceFile(
        files,
        path.join(settings.state, 'disk-check'),
        Buffer.from('written to check the disk\n'),
        secret,
      );
      this.diskProblem = null;
    } catch (error) {
      const problem = fileFault(error);
      if (this.diskProblem !== problem) log.warn('the state cannot be written', { error: problem });
      this.diskProblem = problem;
    }
  }

  private async install(): Promise<void> {
    const { signal } = this.parts;
    while (!signal.aborted) {
      const dueAt = this.installer.begin();
      this.saveJournals();
      const inMs = dueAt === null ? inspectMs : Math.max(dueAt.getTime() - this.clock.host().getTime(), 50);
      void this.installer.ended().then(() => this.installerWakeup.wake());
      await this.installerWakeup.wait(inMs, signal);
    }
  }

  private async synchronize(): Promise<void> {
    const { signal, log } = this.parts;
    for (let failures = 0; !signal.aborted;) {
      try {
        // Open work is tried again soon, not after the wait.
        await this.synchronizer.poll(this.synchronizer.hasOpenWork ? 0 : waitS);
        this.installerWakeup.wake();
        this.reporterWakeup.wake();
        await this.synchronizer.work();
        this.installerWakeup.wake();
        this.inspectionWakeup.wake();
        if (this.serverProblem !== null) log.info('server reached again');
        this.serverProblem = null;
        failures = 0;
        const { restMs } = this.synchronizer;
        if (restMs > 0) await pause(spread(restMs), signal);
      } catch (error) {
        if (signal.aborted) return;
        this.installerWakeup.wake();
        this.inspectionWakeup.wake();
        failures++;
        await pause(this.delayAfter(error, failures), signal);
      }
    }
  }

  private delayAfter(error: unknown, failures: number): number {
    const problem = printable(error instanceof Error ? error.message : String(error));
    const isExpected = error instanceof Unreachable || error instanceof Refusal;
    const isOfDisk = !isExpected && error instanceof Error && 'syscall' in error;
    if (isOfDisk) this.diskProblem = fileFault(error);
    const text = isOfDisk ? fileFault(error) : problem;
    if (this.serverProblem !== text)
      this.parts.log.warn('synchronization failed', { error: text, attempt: failures });
    this.serverProblem = text;
    if (error instanceof Refusal && error.retryAfterMs !== null)
      return error.retryAfterMs * (1 + Math.random() / 2);
    if (error instanceof Refusal && error.status === 401) {
      this.parts.log.warn(
        'the server refuses this agent; if it was removed on purpose, run uninstall, else run enrol again',
      );
      return spread(refusedMs);
    }
    return spread(Math.min(backOffMs.first * 2 ** Math.min(failures - 1, 10), backOffMs.last));
  }

  private async report(): Promise<void> {
    const { signal, log } = this.parts;
    for (let failures = 0; !signal.aborted;) {
      await this.reporterWakeup.wait(60_000, signal);
      if (signal.aborted) return;
      // Before the orders are known, nothing can be reported; after a failure, the synchronization says what is wrong.
      if (!this.synchronizer.isComplete || this.serverProblem !== null || !this.reporter.isDue) continue;
      await pause(reportDelayMs, signal);
      try {
        await this.reporter.send();
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        failures++;
        log.warn('report failed', { error: printable(String(error)), attempt: failures });
        await pause(
          Math.min(backOffMs.first * 2 ** Math.min(failures, 10), backOffMs.last) * (0.5 + Math.random() / 2),
          signal,
        );
        this.reporterWakeup.wake();
      }
    }
  }

  private async inspect(): Promise<void> {
    const { signal } = this.parts;
    // A state that was restored from a backup is older than what is installed, until the server says what is wanted.
    await this.inspectionWakeup.wait(firstRoundMs, signal);
    while (!signal.aborted) {
      await this.installer.inspect();
      this.synchronizer.findLost();
      this.checkDisk();
      this.prune();
      this.installerWakeup.wake();
      await pause(inspectMs * (0.9 + Math.random() / 5), signal);
      if (!signal.aborted) await this.checkClone();
    }
  }

  private prune(): void {
    try {
      const { installer, orders, keys, clock, synchronizer } = this;
      // Before, neither the time nor the keys of the cluster are known.
      if (!synchronizer.isComplete) return;
      pruneReplaced(installer, orders, keys, clock.now(), synchronizer.keysInUse());
    } catch (error) {
      this.parts.log.warn('old versions cannot be removed', { error: fileFault(error) });
    }
  }

  private saveJournals(): void {
    this.journalProblem = this.installer.journals.save();
  }

  /** A copy of the disk on another machine must not act as this agent. @throws ClonedFault after it was reported */
  private async checkClone(): Promise<void> {
    const { files, identity } = this.parts;
    const machineId = readMachineId(files);
    if (identity.machineId === null || machineId === null || machineId === identity.machineId) return;
    this.cloneProblem =
      'this machine is a copy of the one that was enrolled (its machine-id differs), so the agent stopped; run enrol on it';
    // The original goes on; its next report replaces this one.
    await this.reporter.sendProblem(this.cloneProblem).catch(() => undefined);
    throw new ClonedFault(this.cloneProblem);
  }
}

const spread = (ms: number) => ms * (0.5 + Math.random() / 2);

/** `once` waits so long for the certificate of a CSR that it sent. */
const certificateMs = 60_000;
/** `once` also waits for the gap between two reloads, but not for the end of a back-off. */
const onceMs = 15_000;
