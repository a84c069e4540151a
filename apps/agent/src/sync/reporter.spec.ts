import { limits, type ReportRequest } from '@certwright/agent-contract';
import type { AgentApi } from '../protocol/agent-api';
import { CorrectedClock } from '../protocol/corrected-clock';
import { Unreachable } from '../protocol/http-client';
import { LossyDisk } from '../testing/lossy-disk';
import { Certificates, type Configured, SimulatedHost, state } from '../testing/simulated-host';
import { Reporter } from './reporter';

const now = new Date('2026-11-24T12:00:00Z');
const certificates = new Certificates(now);
const order = 'www.example.com';

/** What the host reports, each in bytes and read again. The response to the first one may be lost. */
async function reportsOf(host: SimulatedHost, withoutPoints: readonly string[] = [], isLost = false) {
  const sent: { readonly bytes: number; readonly report: ReportRequest }[] = [];
  const report = (newReport: () => ReportRequest) => {
    const request = newReport();
    sent.push({ bytes: Buffer.byteLength(JSON.stringify(request)), report: request });
    return isLost && sent.length === 1 ? Promise.reject(new Unreachable('spec')) : Promise.resolve();
  };
  const reporter = new Reporter({
    api: { report } as unknown as AgentApi,
    files: host.disk,
    state,
    installer: host.installer,
    clock: new CorrectedClock(() => now),
    agent: { version: '1.0.0', platform: 'linux-x64' },
    isReportable: () => true,
    withoutPoints: () => withoutPoints,
    problem: () => null,
  });
  if (isLost) await expect(reporter.send()).rejects.toThrow(Unreachable);
  await reporter.send();
  return sent;
}

const newHost = (configured: Configured) =>
  new SimulatedHost(new LossyDisk([]), certificates, configured, now);

it('is within its limit also when an order has very many points, and what is wrong comes first', async () => {
  const points = Array.from({ length: 400 }, (_, index) => ({
    order,
    id: `/srv/${index}/${'x'.repeat(60)}.pem`,
    format: 'combined' as const,
    path: `/srv/${index}/${'x'.repeat(60)}.pem`,
  }));
  const host = newHost({ points });
  host.want(order, 'first');
  for (const [index, point] of host.settings.points.entries())
    host.installer.journals.record(order, point, {
      state: index === 399 ? 'failed' : 'installed',
      problem: index % 2 === 0 ? null : 'p'.repeat(500),
    });
  const [first, ...others] = await reportsOf(host);
  expect(others).toEqual([]);
  expect(first?.bytes).toBeLessThan(limits.maxReportBytes);
  expect(first?.report.installations.length).toBeGreaterThan(50);
  expect(first?.report.installations[0]).toMatchObject({ point: points[399]?.id, state: 'failed' });
});

it('has all addresses of an order with few points, and is within its limit when there are many', async () => {
  const newPoints = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ order, id: `folder:${index}` }));
  const served = Array.from({ length: 50 }, (_, index) => ({
    address: `127.0.0.1:443/${'n'.repeat(50)}${index}.example.com`,
    sha256: 'a'.repeat(64),
    checked_at: now.toISOString(),
  }));
  for (const [count, addresses] of [
    [2, 50],
    [20, 0],
  ] as const) {
    const host = newHost({ points: newPoints(count) });
    host.want(order, 'first');
    for (const point of host.settings.points)
      host.installer.journals.record(order, point, { state: 'serving', served });
    const [first] = await reportsOf(host);
    expect(first?.bytes).toBeLessThan(limits.maxReportBytes);
    expect(first?.report.installations.map((each) => each.served.length)).toEqual(
      Array(count).fill(addresses),
    );
  }
});

it('is within its limit also with long names of orders of which the host uses nothing', async () => {
  const host = newHost({
    points: Array.from({ length: 45 }, (_, index) => ({ order, id: `folder:${index}` })),
  });
  host.want(order, 'first');
  host.installer.journals.setStates(order, 'failed', 'p'.repeat(500));
  const names = Array.from({ length: 120 }, (_, index) => `${'証'.repeat(250)}${index}`);
  const sent = await reportsOf(host, names);
  for (const { bytes } of sent) expect(bytes).toBeLessThan(limits.maxReportBytes);
  expect(sent.flatMap(({ report }) => report.without_points ?? [])).toEqual(names);
  expect(sent.flatMap(({ report }) => report.installations)).toHaveLength(45);
});

it('has a larger number than those before a restart, also when these were more than one per second', async () => {
  const host = newHost({ points: [{ order, id: 'folder' }] });
  host.want(order, 'first');
  const names = Array.from({ length: 120 }, (_, index) => `${'証'.repeat(250)}${index}`);
  const numbers: number[] = [];
  for (let run = 0; run < 3; run++)
    numbers.push(...(await reportsOf(host, names)).map(({ report }) => report.number));
  expect(numbers.length).toBeGreaterThan(10);
  expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
});

it('has another number than one whose response was lost: the server may have received that', async () => {
  const host = newHost({ points: [{ order, id: 'folder' }] });
  const [lost, next] = await reportsOf(host, [order], true);
  expect(next?.report.number).toBeGreaterThan(lost?.report.number ?? Infinity);
});

it('has no half of a character where a problem is cut: the server refuses such a report', async () => {
  const host = newHost({ points: [{ order, id: 'folder' }] });
  host.want(order, 'first');
  host.installer.journals.setStates(order, 'failed', `${'p'.repeat(limits.maxProblemLength - 1)}🔥`);
  const [first] = await reportsOf(host);
  const problems = first?.report.installations.map(({ problem }) => problem) ?? [];
  expect(problems).not.toEqual([]);
  for (const problem of problems) expect(problem).toBe(`${'p'.repeat(limits.maxProblemLength - 1)} `);
});
