import { type Fate, subjects, type Violation } from './audit/findings';
import type { Findings } from './audit/findings';
import type { FaultWindows } from './faults/fault-windows';
import type { Sabotage } from './sabotage';

export interface Report {
  readonly seed: string;
  readonly orders: number;
  readonly days: number;
  readonly faults: string;
  readonly stepHours: number;
  readonly activity: number;
  readonly sabotage: readonly Sabotage[];
  /** Defects that could be planted. */
  readonly planted: readonly Sabotage[];
  readonly tookS: number;
  readonly windows: FaultWindows;
  /** Number of events, by name. */
  readonly counts: Readonly<Record<string, number>>;
  readonly checked: Findings['checked'];
  readonly violations: readonly Violation[];
  /** User actions of the orders with violations. */
  readonly histories: readonly string[];
}

const fates: readonly Fate[] = ['late', 'duplicated', 'lost', 'wrong'];

/** Printed violations of one kind; the rest is counted. */
const maxPrinted = 20;

export function printed(report: Report): string {
  const { seed, orders, days, faults, stepHours, activity, tookS, violations } = report;
  const verdict =
    violations.length === 0
      ? 'Nothing was late, duplicated, lost or wrong.'
      : `${violations.length} violations. Repeat with: npm run simulate -- --orders ${orders} --days ${days} --seed ${seed} --faults ${faults} --step-hours ${stepHours} --activity ${activity}`;
  return [
    '',
    `${orders} orders, ${days} days, seed ${seed}, faults ${faults}: took ${tookS} s`,
    '',
    ...table(Object.entries(report.counts).map(([name, count]) => [name, String(count)])),
    '',
    ...faultLines(report.windows),
    ...table([
      ['checked', 'number', ...fates],
      ...subjects.map((subject) => [
        subject,
        String(report.checked[subject]),
        ...fates.map((fate) =>
          String(violations.filter((one) => one.subject === subject && one.fate === fate).length),
        ),
      ]),
    ]),
    '',
    ...subjects.flatMap((subject) => fates.flatMap((fate) => linesOf(violations, subject, fate))),
    ...report.histories.slice(0, maxPrinted),
    verdict,
  ].join('\n');
}

function linesOf(violations: readonly Violation[], subject: string, fate: Fate): string[] {
  const own = violations.filter((one) => one.subject === subject && one.fate === fate);
  const lines = own.slice(0, maxPrinted).map(({ id, text }) => `${fate}: ${subject}: ${id}: ${text}`);
  const rest = own.length - lines.length;
  return rest > 0 ? [...lines, `${fate}: ${subject}: and ${rest} more`] : lines;
}

function faultLines({ authority, database, workers, mailServer, endpoints }: FaultWindows): string[] {
  const dead = [...endpoints.values()].flat().length;
  if (authority.length + database.length + workers.length + mailServer.length + dead === 0) return [];
  return [
    ...table([
      ['outages of the CA', String(authority.length)],
      ['outages of the database', String(database.length)],
      ['outages of all workers', String(workers.length)],
      ['outages of the mail server', String(mailServer.length)],
      ['outages of a webhook endpoint', String(dead)],
    ]),
    '',
  ];
}

/** Aligns the first column left, the others right. */
function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart((widths[column] ?? 0) + 2),
      )
      .join(''),
  );
}
