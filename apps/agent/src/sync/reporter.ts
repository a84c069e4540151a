import path from 'node:path';
import { type InstallationMessage, limits, type ReportRequest } from '@certwright/agent-contract';
import { replaceFile, secret } from '../files/durable';
import type { Files } from '../files/files';
import type { Installer } from '../installation/installer';
import { placementOf } from '../installation/plan';
import { type AgentApi, printable, Refusal } from '../protocol/agent-api';
import type { CorrectedClock } from '../protocol/corrected-clock';
import { readJson } from '../state/json-file';
import { noPlacement } from '../state/order-store';

export interface ReporterParts {
  readonly api: AgentApi;
  readonly files: Files;
  readonly state: string;
  readonly installer: Installer;
  readonly clock: CorrectedClock;
  readonly agent: { readonly version: string; readonly platform: string };
  /** Orders that the server does not know are not reported. */
  readonly isReportable: (order: string) => boolean;
  /** Orders of the cluster that nothing on this host uses. */
  readonly withoutPoints: () => readonly string[];
  readonly problem: () => string | null;
}

/** Everything is reported again after this time, in case the server lost it. */
const fullReportMs = 3_600_000;
/** So that numbers fit into 32 bits for decades: 2025-01-01. */
const numberEpochMs = Date.UTC(2025, 0, 1);
/** So that not every report writes to the disk. */
const numbersAtOnce = 100;

export const numberFile = (state: string): string => path.join(state, 'report-number.json');

/** Reports installations that changed since the last report, and what is wrong with the host. */
export class Reporter {
  private readonly changed = new Set<string>();
  private readonly reportedWithoutPoints = new Set<string>();
  /** Of the newest report; null: of this process there is none. */
  private number: number | null = null;
  /** On the disk, for the next process. */
  private storedNumber = 0;
  private reportedProblem: string | null | undefined;
  private fullAtMs = 0;

  constructor(private readonly parts: ReporterParts) {}

  change(order: string): void {
    this.changed.add(order);
  }

  get isDue(): boolean {
    const isProblemOther =
      this.reportedProblem !== undefined && this.parts.problem() !== this.reportedProblem;
    const isOrderNew = this.parts.withoutPoints().some((order) => !this.reportedWithoutPoints.has(order));
    return isOrderNew || this.changed.size > 0 || isProblemOther || this.isFullDue;
  }

  /** Also when the clock was ahead at the last full report. */
  private get isFullDue(): boolean {
    const inMs = this.fullAtMs - this.parts.clock.host().getTime();
    return inMs <= 0 || inMs > fullReportMs;
  }

  /** Sends what changed. What fails is sent again with the next report. */
  async send(): Promise<void> {
    const { installer, clock } = this.parts;
    const nowMs = clock.host().getTime();
    const isFull = this.isFullDue;
    if (isFull) for (const order of installer.journals.names()) this.changed.add(order);
    const problem = this.parts.problem();
    const orders = [...this.changed];
    this.changed.clear();
    try {
      const reportable = orders.filter((order) => this.parts.isReportable(order));
      const groups = grouped(reportable.map((order) => bounded(this.installationsOf(order))));
      for (const [index, withoutPoints] of this.newWithoutPoints(isFull).entries()) {
        await this.report(problem, groups[index] ?? [], withoutPoints);
        for (const order of withoutPoints) this.reportedWithoutPoints.add(order);
        groups[index] = [];
      }
      const rest = groups.filter((group) => group.length > 0);
      for (const installations of rest) await this.report(problem, installations);
    } catch (error) {
      for (const order of orders) this.changed.add(order);
      throw error;
    }
    this.reportedProblem = problem;
    if (isFull) this.fullAtMs = nowMs + fullReportMs;
  }

  /** Only what is wrong with the host. */
  async sendProblem(problem: string): Promise<void> {
    await this.report(problem, []);
  }

  installationsOf(order: string): InstallationMessage[] {
    const { installer } = this.parts;
    const journal = installer.journals.of(order);
    return installer.journals.points(order).flatMap((point) => {
      const record = journal.points[point.id];
      if (record === undefined) return [];
      const { certificate } = journal.placements[placementOf(point)] ?? noPlacement;
      return [
        {
          order,
          point: printable(point.id, limits.maxPointLength),
          state: record.state,
          certificate_sha256: certificate,
          served: record.served.slice(0, limits.maxServedPerInstallation),
          since: record.since,
          problem: record.problem === null ? null : printable(record.problem),
        },
      ];
    });
  }

  /** In groups of a bounded size; at least one group. */
  private newWithoutPoints(isFull: boolean): string[][] {
    const all = this.parts.withoutPoints();
    const names = isFull ? all : all.filter((order) => !this.reportedWithoutPoints.has(order));
    const groups: string[][] = [[]];
    let bytes = 0;
    for (const name of names) {
      const size = bytesOf(name);
      const last = groups.at(-1) ?? [];
      if (bytes + size <= maxWithoutPointsBytes) last.push(name);
      else groups.push([name]);
      bytes = groups.at(-1) === last ? bytes + size : size;
    }
    return groups;
  }

  private async report(
    problem: string | null,
    installations: readonly InstallationMessage[],
    withoutPoints: readonly string[] = [],
  ): Promise<void> {
    let number = 0;
    try {
      await this.parts.api.report(() => {
        // By the clock at each attempt: with the number of a clock that is ahead, the server would ignore later reports.
        number = this.nextNumber();
        return this.newReport(number, problem, installations, withoutPoints);
      });
    } catch (error) {
      // The server may have received a report whose response was lost, and ignores another one with its number.
      if (!(error instanceof Refusal)) this.number = number;
      throw error;
    }
    this.number = number;
  }

  /** Seconds grow across restarts without the disk, which is used while reports are more than one per second. */
  private nextNumber(): number {
    this.number ??= this.restoredNumber();
    const seconds = Math.floor((this.parts.clock.now().getTime() - numberEpochMs) / 1000);
    const next = Math.max(this.number + 1, seconds);
    if (next > seconds && next > this.storedNumber) this.storeNumber(next + numbersAtOnce);
    return next;
  }

  private restoredNumber(): number {
    try {
      return readJson<{ number: number }>(this.parts.files, numberFile(this.parts.state))?.number ?? 0;
    } catch {
      return 0;
    }
  }

  private storeNumber(number: number): void {
    const { files, state } = this.parts;
    try {
      replaceFile(files, numberFile(state), Buffer.from(`${JSON.stringify({ number })}\n`), secret);
      this.storedNumber = number;
    } catch {
      // The disk is reported elsewhere; until its clock has caught up, reports after a restart are ignored.
    }
  }

  private newReport(
    number: number,
    problem: string | null,
    installations: readonly InstallationMessage[],
    withoutPoints: readonly string[],
  ): ReportRequest {
    const now = this.parts.clock.now();
    return {
      number,
      sent_at: now.toISOString(),
      agent: { ...this.parts.agent, problem: problem === null ? null : printable(problem) },
      installations,
      ...(withoutPoints.length === 0 ? {} : { without_points: withoutPoints }),
    };
  }
}

/** Names of orders of one report, which also has installations. */
const maxWithoutPointsBytes = limits.maxReportBytes / 4;

/** Leaves room for names and the rest of the report. */
const maxInstallationBytes = limits.maxReportBytes / 2;

const maxShortProblemLength = 100;

/** In JSON, with the comma after it. */
const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value)) + 1;

/**
 * The installations of one order, which a report replaces as a whole. When they are too many for one, they are
 * shortened, and the end of the list is left out: what is wrong comes first, and what is done last, so that the server
 * does not take the order for served.
 */
function bounded(installations: readonly InstallationMessage[]): InstallationMessage[] {
  if (bytesOf(installations) <= maxInstallationBytes) return [...installations];
  const short = installations
    .map((each) => ({
      ...each,
      served: [],
      problem: each.problem === null ? null : printable(each.problem, maxShortProblemLength),
    }))
    .sort((one, other) => rank(one) - rank(other));
  let bytes = 0;
  return short.filter((each) => (bytes += bytesOf(each)) <= maxInstallationBytes);
}

function rank({ state }: InstallationMessage): number {
  if (state === 'failed' || state === 'rolled_back') return 0;
  return state === 'serving' || state === 'installed' ? 2 : 1;
}

/** Reports of bounded size; the installations of an order stay together. */
function grouped(orders: readonly InstallationMessage[][]): InstallationMessage[][] {
  const groups: InstallationMessage[][] = [];
  let bytes = 0;
  for (const installations of orders) {
    const size = bytesOf(installations);
    const last = groups.at(-1);
    const fits =
      last !== undefined &&
      bytes + size <= maxInstallationBytes &&
      last.length + installations.length <= limits.maxInstallationsPerReport;
    if (fits) {
      last.push(...installations);
      bytes += size;
    } else {
      groups.push([...installations]);
      bytes = size;
    }
  }
  return groups;
}
