import type { Issuance, NameApproval } from './issuance';
import { type StepInputs, nextStep } from './next-step';

const now = new Date('2026-11-20T12:00:00Z');
const approved: NameApproval = {
  dnsName: 'a.example.com',
  status: 'approved',
  method: 'dns',
  problem: null,
  checkedAt: '2026-11-20T11:59:59Z',
};
const pending: NameApproval = {
  ...approved,
  dnsName: 'b.example.com',
  status: 'pending',
  method: null,
  checkedAt: null,
};
const open: Issuance = {
  id: '1',
  planId: '2',
  accountId: '3',
  termsId: '4',
  revision: 1,
  state: 'open',
  approvals: [approved],
  caReference: null,
  failures: 0,
  lastError: null,
  expiresBy: null,
  openedAt: new Date('2026-11-20T11:00:00Z'),
  dueAt: now,
};
const inputs: StepInputs = {
  paused: false,
  planClosed: false,
  productAvailable: true,
  keyBlocked: false,
  mayBeIssued: false,
  unpublished: [],
  certificateFaults: null,
};

describe('nextStep', () => {
  it.each(['issued', 'superseded', 'canceled', 'failed'] as const)(
    'does nothing for an issuance that is %s',
    (state) => {
      expect(nextStep({ ...open, state }, inputs, now)).toEqual({ kind: 'done' });
    },
  );

  it('does not issue while the plan is paused', () => {
    const ready = { ...open, caReference: 'x' };
    expect(nextStep(ready, { ...inputs, paused: true, certificateFaults: [] }, now)).toEqual({
      kind: 'cancel',
      error: null,
    });
  });

  it('has records published before it checks them, and checks the others meanwhile', () => {
    const waiting = { ...open, approvals: [approved, pending] };
    const uncovered = { ...inputs, unpublished: ['b.example.com'] };
    expect(nextStep(waiting, uncovered, now)).toEqual({
      kind: 'publish-approvals',
      dnsNames: ['b.example.com'],
    });
    expect(nextStep(waiting, inputs, now)).toEqual({ kind: 'check-approvals', dnsNames: ['b.example.com'] });
  });

  it('does not issue for a closed plan', () => {
    expect(nextStep(open, { ...inputs, planClosed: true }, now).kind).toBe('cancel');
  });

  it('waits until it is due', () => {
    const dueAt = new Date(now.getTime() + 1);
    expect(nextStep({ ...open, dueAt }, inputs, now)).toEqual({ kind: 'wait', until: dueAt });
  });

  it('checks only the names that are not approved yet', () => {
    const step = nextStep({ ...open, approvals: [approved, pending] }, inputs, now);
    expect(step).toEqual({ kind: 'check-approvals', dnsNames: ['b.example.com'] });
  });

  it('never contacts the CA while a name is pending, even with an old reference', () => {
    const step = nextStep({ ...open, approvals: [approved, pending], caReference: 'x' }, inputs, now);
    expect(step.kind).toBe('check-approvals');
  });

  it('fails after 30 days without approval and lists the missing names', () => {
    const openedAt = new Date(now.getTime() - 30 * 24 * 60 * 60 * 1_000);
    const step = nextStep({ ...open, openedAt, approvals: [pending] }, inputs, now);
    expect(step).toMatchObject({ kind: 'cancel', error: { code: 'approval_timeout' } });
    expect(step).toMatchObject({ error: { outcome: { dnsNames: ['b.example.com'], days: 30 } } });
  });

  it('checks names that were approved again after 30 days, and cancels for those that are not', () => {
    const openedAt = new Date(now.getTime() - 31 * 24 * 60 * 60 * 1_000);
    const late = (...approvals: NameApproval[]) => nextStep({ ...open, openedAt, approvals }, inputs, now);
    const again: NameApproval = { ...approved, status: 'pending', method: null };
    expect(late(again)).toEqual({ kind: 'check-approvals', dnsNames: ['a.example.com'] });
    const gone: NameApproval = { ...again, problem: { code: 'text', text: 'nothing there' } };
    for (const step of [late(gone), late({ ...again, dnsName: 'c.example.com' }, gone)]) {
      expect(step).toMatchObject({ kind: 'cancel', error: { outcome: { dnsNames: ['a.example.com'] } } });
    }
  });

  it('rejects a key that was blocked after the order was created', () => {
    const step = nextStep(
      { ...open, caReference: 'x' },
      { ...inputs, keyBlocked: true, certificateFaults: [] },
      now,
    );
    expect(step).toMatchObject({ kind: 'fail', final: true, error: { code: 'key_compromised' } });
  });

  it('collects a certificate with a blocked key that the CA may have issued, and revokes it', () => {
    const submitted = { ...open, caReference: 'x' };
    const blocked = { ...inputs, keyBlocked: true, mayBeIssued: true };
    expect(nextStep(submitted, blocked, now)).toEqual({ kind: 'collect' });
    for (const ended of [{}, { paused: true }, { planClosed: true }]) {
      for (const state of ['open', 'superseded', 'canceled'] as const) {
        const issuance = { ...submitted, state };
        expect(nextStep(issuance, { ...blocked, ...ended }, now)).toEqual({ kind: 'collect' });
        expect(nextStep(issuance, { ...blocked, ...ended, certificateFaults: [] }, now)).toMatchObject({
          kind: 'attach-revoked',
          error: { code: 'key_compromised' },
        });
      }
    }
    const other = { ...blocked, certificateFaults: [{ code: 'other_key' }] } as const;
    expect(nextStep(submitted, other, now)).toMatchObject({ kind: 'fail', final: true });
  });

  it('fails when less than an hour of the paid time is left, approved or not', () => {
    const inMs = (ms: number) => ({ ...open, expiresBy: new Date(now.getTime() + ms) });
    const hourMs = 60 * 60 * 1_000;
    for (const leftMs of [hourMs - 1, 0, -hourMs]) {
      const step = nextStep(inMs(leftMs), inputs, now);
      expect(step).toMatchObject({ kind: 'fail', final: true, error: { code: 'ca_rejected' } });
    }
    expect(nextStep({ ...inMs(0), approvals: [pending] }, inputs, now)).toMatchObject({
      error: { outcome: { code: 'paid_term_over', endsAt: '2026-11-20T12:00:00Z' } },
    });
    expect(nextStep(inMs(hourMs), inputs, now).kind).toBe('submit-to-ca');
  });

  it('accepts a certificate that was requested in time, although the time has ended', () => {
    const submitted = { ...open, caReference: 'x', expiresBy: now };
    expect(nextStep(submitted, inputs, now).kind).toBe('collect');
    expect(nextStep(submitted, { ...inputs, certificateFaults: [] }, now).kind).toBe('attach');
  });

  it('submits once everything is approved', () => {
    expect(nextStep(open, inputs, now).kind).toBe('submit-to-ca');
  });

  it('resumes a submitted request instead of submitting again', () => {
    expect(nextStep({ ...open, caReference: 'x' }, inputs, now).kind).toBe('collect');
  });

  it('waits for a product that is not available', () => {
    const step = nextStep(open, { ...inputs, productAvailable: false }, now);
    expect(step).toMatchObject({ kind: 'fail', final: false, error: { code: 'product_unavailable' } });
  });

  it('attaches a certificate without errors', () => {
    expect(nextStep({ ...open, caReference: 'x' }, { ...inputs, certificateFaults: [] }, now).kind).toBe(
      'attach',
    );
  });

  it('waits for a certificate that begins within five minutes, as when the clock of the CA is ahead', () => {
    const begins = (at: string) => ({ code: 'not_yet_valid', place: 'leaf', notBefore: at }) as const;
    const stepWith = (...certificateFaults: NonNullable<StepInputs['certificateFaults']>) =>
      nextStep({ ...open, caReference: 'x' }, { ...inputs, certificateFaults }, now);
    const soon = begins('2026-11-20T12:00:01.000Z');
    expect(stepWith(soon)).toEqual({ kind: 'wait', until: new Date('2026-11-20T12:00:01Z') });
    expect(stepWith(soon, { ...begins('2026-11-20T12:05:00.000Z'), place: 1 })).toEqual({
      kind: 'wait',
      until: new Date('2026-11-20T12:05:00Z'),
    });
    expect(stepWith(begins('2026-11-20T12:05:01.000Z'))).toMatchObject({ kind: 'fail', final: true });
    expect(stepWith(soon, { code: 'other_key' })).toMatchObject({ kind: 'fail', final: true });
  });

  it('never attaches a certificate that does not match its terms', () => {
    const step = nextStep(
      { ...open, caReference: 'x' },
      { ...inputs, certificateFaults: [{ code: 'other_key' }] },
      now,
    );
    expect(step).toMatchObject({ kind: 'fail', final: true, error: { code: 'certificate_mismatch' } });
  });
});
