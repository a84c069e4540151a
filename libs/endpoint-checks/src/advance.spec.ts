import { advance, agreeingChecks, markReported, withoutReports } from './advance';
import type { CheckOutcome, HostCheck } from './check-host';
import type { EndpointFinding, FindingCode, TrackedFinding } from './finding';

const minuteMs = 60_000;
const dayMs = 86_400_000;
const start = Date.parse('2026-11-23T12:00:00.000Z');

const finding = (code: FindingCode, more: Partial<EndpointFinding> = {}): EndpointFinding => ({
  ...{ code, port: 443, addresses: ['192.0.2.1'], parameters: {}, level: 0 },
  ...more,
});
const served = (...findings: readonly EndpointFinding[]): HostCheck => ({
  ...{ outcome: 'served', findings, undecidedPorts: [], undecided: [], served: [] },
});
const unreachable: HostCheck = {
  ...{
    outcome: 'unreachable',
    findings: [finding('unreachable')],
    undecidedPorts: [443],
    undecided: [],
    served: [],
  },
};
const gone: HostCheck = {
  ...{
    outcome: 'gone',
    findings: [finding('unreachable', { port: null })],
    undecidedPorts: [],
    undecided: [],
    served: [],
  },
};
const unknown: HostCheck = {
  outcome: 'unknown',
  findings: [],
  undecidedPorts: [],
  undecided: [],
  served: [],
};

/** An endpoint whose reports are always sent. */
class Endpoint {
  findings: readonly TrackedFinding[] = [];
  servedAt: Date | null = null;
  state = 'not_checked';
  isOpen = false;
  nowMs = start;
  readonly log: string[] = [];

  check(check: HostCheck, afterMs = 10 * minuteMs): this {
    this.nowMs += afterMs;
    const now = new Date(this.nowMs);
    const next = advance(this, check, now);
    if (next === null) return this;
    if (check.outcome === 'served') this.servedAt = now;
    this.findings = markReported(next.findings, next.toReport, now);
    ({ state: this.state, isOpen: this.isOpen } = next);
    for (const { code, level } of next.toReport) this.log.push(`${code}${level === 0 ? '' : ` ${level}`}`);
    for (const { code } of next.toWithdraw) this.log.push(`no ${code}`);
    return this;
  }

  times(count: number, check: HostCheck, afterMs?: number): this {
    for (let nth = 0; nth < count; nth += 1) this.check(check, afterMs);
    return this;
  }
}

it('reports what three checks agree on, once, and withdraws it once after three checks without it', () => {
  const endpoint = new Endpoint();
  endpoint.times(2, served(finding('wrong_name')));
  expect([endpoint.log, endpoint.state, endpoint.isOpen]).toEqual([[], 'suspect', true]);
  endpoint.times(5, served(finding('wrong_name')));
  expect([endpoint.log, endpoint.state, endpoint.isOpen]).toEqual([['wrong_name'], 'failing', false]);
  endpoint.times(2, served());
  expect([endpoint.log, endpoint.state, endpoint.isOpen]).toEqual([['wrong_name'], 'failing', true]);
  endpoint.times(4, served());
  expect([endpoint.log, endpoint.state, endpoint.isOpen]).toEqual([
    ['wrong_name', 'no wrong_name'],
    'ok',
    false,
  ]);
  expect(endpoint.findings).toEqual([]);
});

it('reports nothing of a host that changes back and forth, and a reported problem of it once', () => {
  const flapping = new Endpoint();
  for (let nth = 0; nth < 20; nth += 1) flapping.check(nth % 3 === 0 ? served() : served(finding('weak')));
  expect(flapping.log).toEqual([]);
  flapping.times(3, served(finding('weak')));
  for (let nth = 0; nth < 20; nth += 1) flapping.check(nth % 2 === 0 ? served() : served(finding('weak')));
  expect(flapping.log).toEqual(['weak']);
});

it('keeps the time of the first check, and shows the addresses of the last', () => {
  const endpoint = new Endpoint().check(served(finding('expired')));
  endpoint.check(served(finding('expired', { addresses: ['192.0.2.7'] })));
  expect(endpoint.findings).toEqual([
    expect.objectContaining({
      since: new Date(start + 10 * minuteMs).toISOString(),
      addresses: ['192.0.2.7'],
    }),
  ]);
});

it.each<FindingCode>(['unknown_key', 'expiring', 'not_current'])('reports %s by the first check', (code) => {
  expect(new Endpoint().times(3, served(finding(code))).log).toEqual([code]);
});

it('reports an expiry again at the second deadline, and no recovery when it comes', () => {
  const endpoint = new Endpoint().times(2, served(finding('expiring')));
  endpoint.times(2, served(finding('expiring', { level: 1 })));
  endpoint.times(4, served(finding('expired')));
  endpoint.times(4, served());
  expect(endpoint.log).toEqual(['expiring', 'expiring 1', 'expired', 'no expired']);
});

it('never reports addresses that differ', () => {
  const endpoint = new Endpoint().times(9, served(finding('addresses_differ'))).times(9, served());
  expect([endpoint.log, endpoint.state]).toEqual([[], 'ok']);
});

describe('unreachable', () => {
  it('is reported after a day, of what was served within a week', () => {
    const endpoint = new Endpoint().check(served()).times(4, unreachable, dayMs / 4);
    expect([endpoint.log, endpoint.state]).toEqual([[], 'unreachable']);
    endpoint.times(4, unreachable, dayMs / 4);
    expect(endpoint.log).toEqual(['unreachable']);
    expect(endpoint.times(4, served()).log).toEqual(['unreachable', 'no unreachable']);
    expect(new Endpoint().times(40, unreachable, dayMs / 4).log).toEqual([]);
    expect(
      new Endpoint()
        .check(served(), 0)
        .check(served())
        .times(3, unreachable, 8 * dayMs).log,
    ).toEqual([]);
  });

  it('withdraws nothing that was wrong before', () => {
    const endpoint = new Endpoint().times(3, served(finding('expired'))).times(5, unreachable);
    endpoint.times(3, served(finding('expired')));
    expect([endpoint.log, endpoint.state]).toEqual([['expired'], 'failing']);
  });

  it('goes on when the name disappears, and ends when it serves again', () => {
    const endpoint = new Endpoint()
      .check(served())
      .times(9, unreachable, dayMs / 4)
      .times(3, gone, dayMs / 4);
    expect([endpoint.log, endpoint.state]).toEqual([['unreachable'], 'gone']);
    expect(endpoint.times(3, served()).log).toEqual(['unreachable', 'no unreachable']);
  });
});

it('withdraws what a name served that is gone', () => {
  const endpoint = new Endpoint().times(3, served(finding('self_signed'))).times(3, gone);
  expect([endpoint.log, endpoint.state]).toEqual([['self_signed', 'no self_signed'], 'gone']);
});

it('changes nothing by a check that says nothing', () => {
  const endpoint = new Endpoint().times(2, served(finding('revoked')));
  const before = endpoint.findings;
  expect(endpoint.check(unknown).findings).toBe(before);
  expect(endpoint.check(served(finding('revoked'))).log).toEqual(['revoked']);
  const busy: HostCheck = { ...served(), undecidedPorts: [443] };
  expect(endpoint.times(5, busy).log).toEqual(['revoked']);
});

it('leaves what is not marked as reported to the next check', () => {
  let findings: readonly TrackedFinding[] = [];
  const now = new Date(start);
  const due: number[] = [];
  for (let nth = 0; nth < 5; nth += 1) {
    const next = advance({ findings, servedAt: null }, served(finding('weak')), now);
    findings = next?.findings ?? [];
    due.push(next?.toReport.length ?? -1);
  }
  expect(due).toEqual([0, 0, 1, 1, 1]);
  expect(advance({ findings, servedAt: null }, served(), now)?.toWithdraw).toEqual([]);
});

it('reports and withdraws in turn, and only what the checks before it agree on, in any sequence', () => {
  const codes = ['expired', 'wrong_name', 'weak', 'unreachable', 'expiring'] as const;
  for (let seed = 1; seed <= 300; seed += 1) {
    let state = seed * 2_654_435_761;
    const random = (max: number) => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return (state >>> 8) % max;
    };
    const endpoint = new Endpoint();
    const seen: HostCheck[] = [];
    for (let nth = 0; nth < 60; nth += 1) {
      const outcomes: readonly CheckOutcome[] = [
        'served',
        'served',
        'served',
        'unreachable',
        'gone',
        'unknown',
      ];
      const outcome = outcomes[random(outcomes.length)];
      const found = codes
        .filter((code) => code !== 'unreachable' && random(3) > 0)
        .map((code) => finding(code));
      const check =
        outcome === 'unreachable'
          ? unreachable
          : outcome === 'gone'
            ? gone
            : outcome === 'unknown'
              ? unknown
              : served(...found);
      const before = endpoint.log.length;
      endpoint.check(check, 5 * 3_600_000);
      if (check !== unknown) seen.push(check);
      for (const entry of endpoint.log.slice(before)) {
        const code = entry.replace(/^no | 1$/g, '');
        const last = seen
          .filter(({ outcome: kind }) => kind === 'served' || kind === 'gone')
          .slice(-agreeingChecks);
        const isIn = ({ findings }: HostCheck) => findings.some((each) => each.code === code);
        if (entry.startsWith('no ') && code !== 'unreachable') expect(last.some(isIn)).toBe(false);
        else if (['expired', 'wrong_name', 'weak'].includes(entry))
          expect(
            seen
              .filter((each) => each.outcome !== 'unreachable')
              .slice(-agreeingChecks)
              .every(isIn),
          ).toBe(true);
      }
    }
    for (const code of codes) {
      const ofCode = endpoint.log.filter((entry) => entry === code || entry === `no ${code}`);
      if (code === 'expiring' || code === 'unreachable') continue;
      ofCode.forEach((entry, nth) => expect(entry).toBe(nth % 2 === 0 ? code : `no ${code}`));
    }
  }
});

it('neither withdraws what a check cannot decide without facts, nor counts it as gone', () => {
  const endpoint = new Endpoint().times(3, served(finding('revoked'), finding('unknown_key')));
  expect(endpoint.log).toEqual(['unknown_key', 'revoked']);
  const undecided = (['revoked', 'unknown_key'] as const).map((code) => ({ code, port: 443 }));
  endpoint.times(5, { ...served(), undecided });
  expect([endpoint.log.length, endpoint.findings.map(({ missing }) => missing)]).toEqual([2, [0, 0]]);
  endpoint.times(3, { ...served(), undecided: [{ code: 'unknown_key', port: 443 }] });
  expect(endpoint.log.slice(2)).toEqual(['no revoked']);
  endpoint.times(3, served());
  expect(endpoint.log.slice(3)).toEqual(['no unknown_key']);
});

it('withdraws later what ended while nothing may be reported, and not what came back', () => {
  const reported = new Endpoint().times(3, served(finding('expired'), finding('weak'))).findings;
  const now = new Date(start + dayMs);
  let held = reported;
  for (let nth = 0; nth < 4; nth += 1) {
    const next = advance({ findings: held, servedAt: null }, served(), now);
    if (next === null) throw new Error('the check says something');
    expect(next.toWithdraw).toHaveLength(nth < 2 ? 0 : 2);
    held = withoutReports(next);
  }
  const after = advance({ findings: held, servedAt: null }, served(finding('weak')), now);
  expect(after?.toWithdraw.map(({ code }) => code)).toEqual(['expired']);
  expect(after?.toReport).toEqual([]);
});
