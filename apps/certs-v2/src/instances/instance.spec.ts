import type { ApprovalWay, IssuanceState, NameApproval } from '@certwright/issuance';
import { type Attempt, isExpiring, stateOf, wayOf } from './instance';

const now = new Date('2026-11-21T12:00:00Z');
const dayMs = 86_400_000;
const inDays = (days: number) => new Date(now.getTime() + days * dayMs);

describe('the state of an instance', () => {
  const attempt = (state: IssuanceState) => ({ state });
  const valid = { notAfter: inDays(10), revokedAt: null };

  it.each<[IssuanceState, string]>([
    ['open', 'pending'],
    ['superseded', 'canceled'],
    ['canceled', 'canceled'],
    ['failed', 'canceled'],
  ])('of an issuance that is %s is %s', (state, expected) => {
    expect(stateOf({ attempt: attempt(state), certificate: null }, now)).toBe(expected);
  });

  it('is that of its certificate once there is one; time has the last word', () => {
    const of = (certificate: { notAfter: Date; revokedAt: Date | null }) =>
      stateOf({ attempt: attempt('issued'), certificate }, now);
    expect(of(valid)).toBe('active');
    expect(of({ ...valid, notAfter: now })).toBe('active');
    expect(of({ ...valid, notAfter: new Date(now.getTime() - 1) })).toBe('expired');
    expect(of({ ...valid, revokedAt: inDays(-1) })).toBe('revoked');
    expect(of({ notAfter: inDays(-1), revokedAt: inDays(-2) })).toBe('expired');
  });

  it('of an imported one is that of its certificate', () => {
    expect(stateOf({ attempt: null, certificate: valid }, now)).toBe('active');
  });
});

describe('an active instance expires imminently', () => {
  it.each([
    ['a year', 365, 30],
    ['90 days', 90, 30],
    ['45 days', 45, 15],
    ['6 days', 6, 2],
  ])('%s: from %i days of lifetime, when %i days are left', (_, lifetime, left) => {
    const valid = (leftDays: number) => ({
      notBefore: inDays(leftDays - lifetime),
      notAfter: inDays(leftDays),
    });
    expect(isExpiring(valid(left), now)).toBe(true);
    expect(isExpiring(valid(left + 0.01), now)).toBe(false);
  });
});

describe('how a name is approved', () => {
  const dns: ApprovalWay = { method: 'dns', approverEmail: null, recordAt: null };
  const email: ApprovalWay = { method: 'email', approverEmail: 'admin@example.com', recordAt: null };
  const approval = (dnsName: string, way?: ApprovalWay | null): NameApproval => ({
    dnsName,
    status: 'pending',
    method: null,
    problem: null,
    checkedAt: null,
    ...(way === undefined ? {} : { way }),
  });
  const attempt = (approvals: NameApproval[], approvalWays: Attempt['approvalWays']) =>
    ({ approvals, approvalWays }) as unknown as Attempt;

  it('is the one of its approval, else the one of the terms', () => {
    const terms = { 'example.com': dns };
    expect(wayOf(attempt([approval('example.com', email)], terms), 'example.com')).toBe(email);
    expect(wayOf(attempt([approval('example.com', null)], terms), 'example.com')).toBe(dns);
    expect(wayOf(attempt([approval('example.com')], terms), 'example.com')).toBe(dns);
    expect(wayOf(attempt([], terms), 'example.com')).toBe(dns);
    expect(wayOf(attempt([], terms), 'constructor')).toBeNull();
    expect(wayOf(attempt([], null), 'example.com')).toBeNull();
  });
});
