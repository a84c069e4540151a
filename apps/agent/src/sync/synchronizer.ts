import {
  encodeBase64url,
  limits,
  type OrderMessage,
  type SealKeyTask,
  type StateResponse,
} from '@certwright/agent-contract';
import { checkReceived, RefusedCertificate } from '../certificates/received-certificate';
import type { Settings } from '../configuration/settings';
import { isAccepted } from '../configuration/values';
import { fileFault } from '../files/durable';
import { formatFiles } from '../formats/format-files';
import type { Installer } from '../installation/installer';
import { KeyFault } from '../keys/certificate-request';
import type { KeyExchange } from '../keys/key-exchange';
import type { Log } from '../log/log';
import { type AgentApi, printable, Refusal } from '../protocol/agent-api';
import type { CorrectedClock } from '../protocol/corrected-clock';
import { Unreachable } from '../protocol/http-client';
import type { Identity } from '../state/identity';
import { StateFault } from '../state/json-file';
import type { OrderStore } from '../state/order-store';

export interface SynchronizerParts {
  readonly api: AgentApi;
  readonly identity: Identity;
  readonly settings: Settings;
  readonly installer: Installer;
  readonly exchange: KeyExchange;
  readonly orders: OrderStore;
  readonly clock: CorrectedClock;
  readonly log: Log;
}

/** Learns from the server what is to be installed, and does the tasks that it gives. */
export class Synchronizer {
  /** Of the last response; 0 requests everything. */
  private after = 0;
  private readonly known = new Map<string, OrderMessage>();
  /** Orders with something to do: a task, or a certificate to fetch. */
  private readonly open = new Set<string>();
  /** Of the responses since `after` was 0, to find orders that left; null when that is done. */
  private listed: Set<string> | null = new Set();
  /** Orders that are to be tried again without news. Milliseconds of the host's clock. */
  private readonly later = new Map<string, number>();
  /** Order → why this host cannot do its task. */
  private readonly taskProblems = new Map<string, string>();
  /** Orders that left the cluster while this process ran. */
  private readonly left = new Set<string>();
  /** Order → SHA-256 of the public key of the last CSR. */
  private readonly sentCsrs = new Map<string, string>();
  private readonly doneTasks = new Set<string>();
  /** Waits in a row that the server ended long before their time, without news. */
  private endedEarly = 0;

  constructor(private readonly parts: SynchronizerParts) {}

  /** Whether all orders of the cluster were received once. */
  get isComplete(): boolean {
    return this.listed === null;
  }

  get hasOpenWork(): boolean {
    return this.open.size > 0;
  }

  /** Whether a CSR of this host waits for its certificate. */
  get awaitsCertificate(): boolean {
    return [...this.sentCsrs].some(([name, spkiSha256]) => {
      const order = this.known.get(name);
      return order !== undefined && order.certificate?.spki_sha256 !== spkiSha256;
    });
  }

  /** The server refuses reports about orders of other clusters. */
  isReportable(order: string): boolean {
    return this.known.has(order) || this.left.has(order);
  }

  /** The server stops, or another process waits as this agent: requests at once would end each other's waits. ms */
  get restMs(): number {
    return this.endedEarly === 0 ? 0 : Math.min(earlyMs.first * 2 ** (this.endedEarly - 1), earlyMs.last);
  }

  /** SHA-256 of the public keys of CSRs and certificates of the cluster; null before all orders were received once. */
  keysInUse(): ReadonlySet<string> | null {
    if (!this.isComplete) return null;
    return new Set([...this.known.values()].flatMap(keysOf));
  }

  /** Orders of the cluster that nothing on this host uses. */
  withoutPoints(): readonly string[] {
    return [...this.known.keys()].filter((order) => this.parts.installer.journals.points(order).length === 0);
  }

  problems(): readonly string[] {
    const { settings } = this.parts;
    const unknown = new Set(
      settings.points.map(({ order }) => order).filter((order) => !this.known.has(order)),
    );
    return [
      ...(this.endedEarly >= minEarly ? [copyText] : []),
      ...[...this.taskProblems].map(([order, problem]) => `order ${order}: ${problem}`),
      ...(this.isComplete
        ? [...unknown].map(
            (order) => `the cluster has no order ${JSON.stringify(order)}; create it, or correct [[install]]`,
          )
        : []),
    ];
  }

  /** One request for changes. It waits at the server for up to `waitS`. */
  async poll(waitS: number): Promise<void> {
    let isReset = false;
    let response = await this.wait(this.isComplete ? waitS : 0);
    while (response !== null) {
      if (isReset && response.reset) throw new Unreachable('the server requests a new start again and again');
      if (!response.reset && response.more && response.version <= this.after)
        throw new Unreachable('the server has more orders, but the version does not grow');
      this.apply(response);
      if (!response.more && !response.reset) break;
      isReset ||= response.reset;
      response = await this.parts.api.state(this.after, 0);
    }
    this.complete();
  }

  private async wait(waitS: number): Promise<StateResponse | null> {
    const begunMs = performance.now();
    const response = await this.parts.api.state(this.after, waitS);
    if (waitS > 0) {
      const isEarly = response === null && performance.now() - begunMs < waitS * 500;
      this.endedEarly = isEarly ? this.endedEarly + 1 : 0;
    }
    return response;
  }

  /** Tasks and downloads of orders that changed. What fails because of the network stays open. */
  async work(): Promise<void> {
    const failures: unknown[] = [];
    const nowMs = this.parts.clock.host().getTime();
    const endMs = nowMs + maxWorkMs;
    for (const [name, atMs] of this.later)
      if (atMs <= nowMs || atMs > nowMs + retryMs.refused) this.open.add(name);
    for (const name of [...this.open]) {
      if (this.parts.clock.host().getTime() > endMs) break;
      const order = this.known.get(name);
      this.later.delete(name);
      try {
        if (order !== undefined) await this.workOn(order);
        this.open.delete(name);
      } catch (error) {
        if (!(error instanceof Unreachable || error instanceof Refusal)) throw error;
        if (isOfOrder(error)) this.refused(name, error);
        else failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  /** Fetches versions again that another program removed from the disk. */
  findLost(): void {
    const { installer, orders } = this.parts;
    for (const { name, certificate } of this.known.values()) {
      if (certificate === null || installer.journals.points(name).length === 0) continue;
      if (!orders.hasVersion(name, certificate.sha256)) this.open.add(name);
    }
  }

  /** A refusal that concerns one order does not keep the others from being done. */
  private refused(name: string, error: Error): void {
    this.open.delete(name);
    this.taskFailed(name, `the server refuses a request: ${printable(error.message)}`);
    this.tryLater(name, retryMs.refused);
  }

  /** Also without news about the order. */
  private tryLater(name: string, ms: number): void {
    this.later.set(name, this.parts.clock.host().getTime() + ms);
  }

  private apply(response: StateResponse): void {
    this.checkCluster(response);
    this.parts.exchange.membersVersion = response.members_version;
    if (response.reset) {
      this.after = 0;
      this.listed = new Set();
      return;
    }
    for (const order of response.orders) {
      // What kept this host from its task may be over.
      if (this.known.get(order.name)?.revision !== order.revision) this.taskProblems.delete(order.name);
      this.known.set(order.name, order);
      if (this.known.size > limits.maxOrdersPerCluster)
        throw new Unreachable(`the server lists more than ${limits.maxOrdersPerCluster} orders`);
      this.listed?.add(order.name);
      this.open.add(order.name);
      this.wantWithoutDownload(order);
    }
    for (const name of response.released) {
      this.left.add(name);
      this.leave(name);
    }
    this.after = response.version;
  }

  /** @throws Unreachable when this is not the cluster that the host joined */
  private checkCluster({ cluster }: StateResponse): void {
    const { clusterKey, cluster: name } = this.parts.identity;
    const expected = clusterKey === null ? null : encodeBase64url(clusterKey);
    if (cluster.name !== name || (expected !== null && cluster.cluster_key !== expected))
      throw new Unreachable(
        `the server names another cluster (${JSON.stringify(cluster.name)}) or cluster key than at enrolment; if that is intended, run enrol again`,
      );
  }

  /** The first complete list: what is not on it has left the cluster. */
  private complete(): void {
    if (this.listed === null) return;
    const { listed } = this;
    this.listed = null;
    for (const name of new Set([...this.known.keys(), ...this.parts.installer.journals.names()]))
      if (!listed.has(name)) this.leave(name);
  }

  private leave(name: string): void {
    this.known.delete(name);
    this.open.delete(name);
    this.later.delete(name);
    this.taskProblems.delete(name);
    this.parts.installer.journals.release(name);
  }

  /** Go and hold take effect at once, also when the download fails later. */
  private wantWithoutDownload(order: OrderMessage): void {
    const { installer, orders } = this.parts;
    if (installer.journals.points(order.name).length === 0) return;
    const { certificate } = order;
    if (certificate === null) this.want(order, installer.journals.of(order.name).wanted);
    else if (orders.hasVersion(order.name, certificate.sha256)) this.want(order, certificate.sha256);
  }

  private want(order: OrderMessage, sha256: string | null): void {
    const mayInstall = order.install === 'go';
    this.parts.installer.journals.want(order.name, sha256, { mayInstall, keysInUse: keysOf(order) });
  }

  private async workOn(order: OrderMessage): Promise<void> {
    for (const task of order.tasks) {
      if (task.type === 'make_key') await this.makeKey(order, task.id, new Date(task.until));
      else await this.sealFor(order.name, task);
    }
    await this.fetch(order);
  }

  private async makeKey(order: OrderMessage, task: string, until: Date): Promise<void> {
    if (this.doneTasks.has(task) || until <= this.parts.clock.now()) return;
    const refused = order.dns_names.find((name) => !isAccepted(this.parts.settings.names, name));
    if (refused !== undefined)
      return this.taskFailed(order.name, `makes no key: ${refused} is not in names of the configuration`);
    try {
      const sent = await this.parts.exchange.makeKey(order, task);
      this.doneTasks.add(task);
      if (sent !== null) this.sentCsrs.set(order.name, sent);
      this.taskProblems.delete(order.name);
    } catch (error) {
      if (error instanceof KeyFault) this.taskFailed(order.name, error.message);
      else if (isOfFile(error)) {
        this.taskFailed(order.name, `makes no key: ${fileFault(error)}`);
        this.tryLater(order.name, retryMs.disk);
      } else if (error instanceof Refusal && error.status < 429)
        this.taskFailed(order.name, `the server refuses the CSR: ${printable(error.message)}`);
      else throw error;
    }
  }

  private async sealFor(order: string, task: SealKeyTask): Promise<void> {
    try {
      await this.parts.exchange.sealFor(order, task);
    } catch (error) {
      if (!isOfFile(error)) throw error;
      this.taskFailed(order, `seals no key: ${fileFault(error)}`);
    }
  }

  private async fetch(order: OrderMessage): Promise<void> {
    const { installer, orders, settings, clock } = this.parts;
    const { name, certificate } = order;
    if (certificate === null || installer.journals.points(name).length === 0) return;
    const { sha256, spki_sha256: spkiSha256 } = certificate;
    if (orders.hasVersion(name, sha256)) return this.want(order, sha256);
    try {
      const key = await this.parts.exchange.obtain(name, spkiSha256);
      if (key === null) {
        this.tryLater(name, retryMs.noKey);
        return installer.journals.setStates(name, 'no_key', noKeyText);
      }
      const message = await this.parts.api.certificate(sha256);
      const accepted = settings.names;
      const received = checkReceived(message, { sha256, spkiSha256, accepted, now: clock.now() });
      const { leaf, chain, root } = received;
      const files = formatFiles({ leaf, chain, root, pkcs8: key.pkcs8 ?? new Uint8Array() });
      const kept = [...files].filter(
        ([file]) => key.pkcs8 !== null || !['privkey.pem', 'combined.pem'].includes(file),
      );
      orders.addVersion(name, sha256, new Map(kept));
      this.want(order, sha256);
    } catch (error) {
      if (!(error instanceof RefusedCertificate || isOfFile(error))) throw error;
      const isRefused = error instanceof RefusedCertificate;
      installer.journals.setStates(name, 'failed', isRefused ? error.message : fileFault(error));
      this.tryLater(name, isRefused ? retryMs.refused : retryMs.disk);
    }
  }

  private taskFailed(order: string, problem: string): void {
    if (this.taskProblems.get(order) !== problem) this.parts.log.warn('task failed', { order, problem });
    this.taskProblems.set(order, problem);
  }
}

const keysOf = ({ csr_spki_sha256: csrKey, certificate }: OrderMessage): readonly string[] =>
  [csrKey, certificate?.spki_sha256 ?? null].filter((key) => key !== null);

const retryMs = { disk: 60_000, noKey: 600_000, refused: 600_000 } as const;

/** After waits that the server ended early. */
const earlyMs = { first: 1_000, last: 60_000 } as const;
/** A server that stops ends several: so many last longer than the time in which it does. */
const minEarly = 5;

const copyText =
  'another process uses the identity of this host, such as a copy of this machine; run enrol --new on one of them';

const noKeyText =
  'no member of the cluster has sealed the key of the certificate for this host; start a host that has it, or call rekey';

/** Not of the agent as a whole: removed, or too many requests. */
const isOfOrder = (error: Unreachable | Refusal): boolean =>
  error instanceof Refusal && error.status >= 400 && error.status < 429 && error.status !== 401;

/** Afterwards the agent polls again, since tasks are given for a limited time: an RSA key takes up to a second. */
const maxWorkMs = 5000;

/** A system call of the file layer failed, or a file of the state is damaged. */
const isOfFile = (error: unknown): boolean =>
  error instanceof StateFault ||
  (error instanceof Error && 'syscall' in error && typeof (error as NodeJS.ErrnoException).code === 'string');
