import type { Point, Settings } from '../configuration/settings';
import { placementOf } from '../installation/plan';
import { readIdentity } from '../state/identity';
import {
  type Journal,
  JournalFault,
  newJournal,
  noPlacement,
  OrderStore,
  type PointRecord,
} from '../state/order-store';
import type { Host } from './host';
import { exitCodes, type ExitCode, type Output, printResult } from './output';
import { decodePem, readCertificate } from '@certwright/pki';

export interface PointState {
  readonly order: string;
  readonly point: string;
  readonly state: string;
  readonly certificate_sha256: string | null;
  readonly expires: string | null;
  readonly since: string | null;
  readonly retry_at: string | null;
  readonly problem: string | null;
  readonly is_fine: boolean;
  readonly text: string;
}

/** What the agent knows without the server. */
export function status(host: Host, settings: Settings, output: Output): ExitCode {
  const identity = readIdentity(host.files, settings.state);
  const orders = new OrderStore(host.files, settings.state);
  const problems = new Set<string>();
  const journalOf = (order: string): Journal => {
    try {
      return orders.journal(order) ?? newJournal(order);
    } catch (error) {
      if (!(error instanceof JournalFault)) throw error;
      problems.add(error.message);
      return newJournal(order);
    }
  };
  const states = pointStates(settings, journalOf, orders, new Date());
  const isEnrolled = identity !== null && identity.cluster !== null;
  printResult(
    output,
    {
      enrolled: isEnrolled,
      agent_id: identity?.agentId ?? null,
      cluster: identity?.cluster ?? null,
      server: settings.server.origin,
      problem: problems.size === 0 ? null : [...problems].join('; '),
      installations: states,
    },
    [
      isEnrolled
        ? `agent ${identity.agentId} of cluster ${JSON.stringify(identity.cluster)} at ${settings.server.origin}`
        : 'not enrolled; run certwright-agent enrol',
      ...states.map(({ text }) => text),
      ...[...problems].map((problem) => `problem: ${problem}`),
    ],
  );
  if (!isEnrolled) return exitCodes.notEnrolled;
  return problems.size === 0 && states.every(({ is_fine: isFine }) => isFine)
    ? exitCodes.fine
    : exitCodes.problem;
}

export function pointStates(
  { points }: Settings,
  journalOf: (order: string) => Journal,
  orders: OrderStore,
  now: Date,
): PointState[] {
  return points.map((point) => stateOf(point, journalOf(point.order), orders, now));
}

const good: ReadonlySet<string> = new Set(['serving', 'installed', 'installing', 'held']);

function stateOf(point: Point, journal: Journal, orders: OrderStore, now: Date): PointState {
  const record: PointRecord | undefined = journal.points[point.id];
  const { certificate } = journal.placements[placementOf(point)] ?? noPlacement;
  const expires = certificate === null ? null : expiryOf(orders, point.order, certificate);
  const state = record?.state ?? 'waiting';
  const isExpired = expires !== null && new Date(expires) <= now;
  const parts = [
    `${point.order}: ${point.id}: ${state}`,
    ...(certificate === null ? [] : [`certificate ${certificate.slice(0, 16)}`]),
    ...(expires === null ? [] : [`${isExpired ? 'EXPIRED' : 'expires'} ${expires}`]),
    ...(record?.retryAt === null || record?.retryAt === undefined ? [] : [`next attempt ${record.retryAt}`]),
    ...(record?.problem === null || record?.problem === undefined ? [] : [record.problem]),
  ];
  return {
    order: point.order,
    point: point.id,
    state,
    certificate_sha256: certificate,
    expires,
    since: record?.since ?? null,
    retry_at: record?.retryAt ?? null,
    problem: record?.problem ?? null,
    is_fine: good.has(state) && !isExpired,
    text: parts.join('; '),
  };
}

function expiryOf(orders: OrderStore, order: string, certificate: string): string | null {
  try {
    const decoded = decodePem(orders.read(order, certificate, 'cert.pem').toString('latin1'), 1);
    const [block] = decoded.ok ? decoded.blocks : [];
    const reading = block === undefined ? undefined : readCertificate(block.der);
    return reading?.ok === true ? reading.certificate.notAfter.toISOString() : null;
  } catch {
    return null;
  }
}
