import type { NameApproval } from './issuance';
import { nextAttemptAt, phaseOf } from './phase';

const now = new Date('2026-11-20T12:00:00Z');
const later = new Date(now.getTime() + 1_000);
const plan = { paused: false, termsId: '1' };
const name: NameApproval = {
  dnsName: 'a.example.com',
  status: 'approved',
  method: 'dns',
  problem: null,
  checkedAt: null,
};
const open = {
  state: 'open' as const,
  termsId: '1',
  approvals: [name],
  failures: 0,
  dueAt: now,
  lastError: null,
};

describe('phaseOf', () => {
  it('is paused before anything else', () => {
    expect(phaseOf({ paused: true, termsId: null }, open, now)).toBe('paused');
  });

  it('is awaiting_csr while the CSR is missing', () => {
    expect(phaseOf({ paused: false, termsId: null }, { ...open, state: 'issued' }, now)).toBe('awaiting_csr');
  });

  it('is idle when the last issuance is done', () => {
    expect(phaseOf(plan, { ...open, state: 'issued' }, now)).toBe('idle');
    expect(phaseOf(plan, null, now)).toBe('idle');
  });

  it('is awaiting_approval while a name is pending', () => {
    expect(phaseOf(plan, { ...open, approvals: [name, { ...name, status: 'pending' }] }, now)).toBe(
      'awaiting_approval',
    );
  });

  it('is issuing once all names are approved', () => {
    expect(phaseOf(plan, open, now)).toBe('issuing');
  });

  it('is backoff between a failure and the next attempt', () => {
    const lastError = { code: 'ca_unavailable', outcome: { code: 'text', text: '' } } as const;
    expect(phaseOf(plan, { ...open, failures: 1, dueAt: later, lastError }, now)).toBe('backoff');
    expect(phaseOf(plan, { ...open, failures: 1, dueAt: now, lastError }, now)).toBe('issuing');
  });

  it('is backoff while it waits for a CA that is down, without a failure of its own', () => {
    const lastError = { code: 'ca_unavailable', outcome: { code: 'text', text: '' } } as const;
    const waiting = { ...open, dueAt: later, lastError };
    expect(phaseOf(plan, { ...waiting, waitsFor: ['ca'] }, now)).toBe('backoff');
    expect(phaseOf(plan, { ...waiting, waitsFor: null }, now)).toBe('issuing');
    expect(phaseOf(plan, { ...waiting, dueAt: now, waitsFor: ['ca'] }, now)).toBe('issuing');
  });

  it('is issuing while an attempt after a failure waits for the CA', () => {
    expect(phaseOf(plan, { ...open, failures: 1, dueAt: later }, now)).toBe('issuing');
  });

  it('is rate_limited until a limit of the CA frees', () => {
    const lastError = { code: 'rate_limited', outcome: { code: 'text', text: '' } } as const;
    expect(phaseOf(plan, { ...open, dueAt: later, lastError }, now)).toBe('rate_limited');
    expect(phaseOf(plan, { ...open, dueAt: now, lastError }, now)).toBe('issuing');
  });

  it.each(['failed', 'canceled'] as const)('is failed when the last issuance is %s', (state) => {
    expect(phaseOf(plan, { ...open, state }, now)).toBe('failed');
  });
});

describe('nextAttemptAt', () => {
  it('returns the time of the next automatic step, or null when only the caller can continue', () => {
    expect(nextAttemptAt('backoff', { dueAt: later }, null)).toBe(later);
    expect(nextAttemptAt('failed', { dueAt: later }, null)).toBeNull();
    expect(nextAttemptAt('paused', { dueAt: later }, later)).toBeNull();
    expect(nextAttemptAt('issuing', null, later)).toBeNull();
  });

  it('is the renewal while no issuance is open, also after one that failed', () => {
    expect(nextAttemptAt('idle', { dueAt: now }, later)).toBe(later);
    expect(nextAttemptAt('failed', { dueAt: now }, later)).toBe(later);
    expect(nextAttemptAt('issuing', { dueAt: now }, later)).toBe(now);
  });
});
