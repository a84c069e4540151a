import type { NameApproval } from '@certwright/issuance';
import { approver, nothingAt, pending, subject } from '../testing/recording-approver';
import type { Approver } from './approver';
import { checkApprovals } from './check-approvals';

const now = new Date('2026-11-20T12:00:00Z');
describe('checkApprovals', () => {
  it('checks once for a name and its wildcard by DNS, with the label of this tenant and name', async () => {
    const dns = approver('dns', ['example.com']);
    const progress = await checkApprovals(
      subject([pending('example.com'), pending('*.example.com')]),
      [dns],
      now,
    );
    expect(dns.questions).toEqual([
      {
        accountId: '1',
        planId: '2',
        record: null,
        dnsName: 'example.com',
        delegationLabel: 'label-of-example-com',
        parent: null,
        approverEmail: null,
        now,
      },
    ]);
    expect(progress.nextCheckAt).toBeNull();
    expect(progress.approvals.map(({ status, method }) => [status, method])).toEqual([
      ['approved', 'dns'],
      ['approved', 'dns'],
    ]);
  });

  it('checks in the order of the approvers and stops at the first that approves', async () => {
    const [dns, http, email] = [approver('dns'), approver('http', ['example.com']), approver('email')];
    const approverEmails = { 'example.com': 'admin@example.com' };
    const progress = await checkApprovals(
      subject([pending('example.com')], { approverEmails }),
      [dns, http, email],
      now,
    );
    expect([dns.checked, http.checked, email.checked]).toEqual([['example.com'], ['example.com'], []]);
    expect(progress.approvals).toEqual([
      {
        dnsName: 'example.com',
        status: 'approved',
        method: 'http',
        problem: null,
        checkedAt: '2026-11-20T12:00:00Z',
      },
    ]);
  });

  it('never uses a web server rule for a wildcard, and email for each name separately', async () => {
    const [dns, http, email] = [
      approver('dns'),
      approver('http', ['example.com']),
      approver('email', ['*.example.com']),
    ];
    const approverEmails = { 'example.com': 'admin@example.com', '*.example.com': 'webmaster@example.com' };
    const progress = await checkApprovals(
      subject([pending('example.com'), pending('*.example.com')], { approverEmails }),
      [dns, http, email],
      now,
    );
    expect(http.checked).toEqual(['example.com']);
    expect(email.questions.map(({ dnsName, approverEmail }) => [dnsName, approverEmail])).toEqual([
      ['*.example.com', 'webmaster@example.com'],
    ]);
    expect(progress.approvals.map(({ method }) => method)).toEqual(['http', 'email']);
  });

  it('reports per name the result of each method and the next check', async () => {
    const approvals = [pending('example.com'), pending('*.example.net')];
    const approverEmails = { '*.example.net': 'admin@example.net' };
    const progress = await checkApprovals(
      subject(approvals, { approverEmails }),
      [approver('dns', ['example.com']), approver('http'), approver('email')],
      now,
    );
    expect(progress.approvals[1]).toEqual({
      ...pending('*.example.net'),
      problem: {
        code: 'not_approved',
        ways: [
          { method: 'dns', outcome: nothingAt('*.example.net') },
          { method: 'email', outcome: nothingAt('*.example.net') },
        ],
      },
      checkedAt: '2026-11-20T12:00:00Z',
    });
    expect(progress.nextCheckAt).toEqual(new Date('2026-11-20T12:00:15Z'));
  });

  it('keeps the time of a person’s approval, so that it ages from then on', async () => {
    const approvedAt = new Date('2026-11-01T00:00:00Z');
    const progress = await checkApprovals(
      subject([pending('example.com')]),
      [approver('dns', ['example.com'], approvedAt)],
      now,
    );
    expect(progress.approvals[0]?.checkedAt).toBe('2026-11-01T00:00:00Z');
  });

  it('does not check approved names again', async () => {
    const approved: NameApproval = { ...pending('example.com'), status: 'approved', method: 'dns' };
    const dns = approver('dns', ['example.net']);
    const progress = await checkApprovals(subject([approved, pending('example.net')]), [dns], now);
    expect(dns.checked).toEqual(['example.net']);
    expect(progress.approvals[0]).toBe(approved);
  });

  it('never checks without a label: anyone could publish such a record', async () => {
    await expect(checkApprovals(subject([pending('example.org')]), [approver('dns')], now)).rejects.toThrow(
      'example.org',
    );
  });
});

describe('a check of many names', () => {
  const names = Array.from({ length: 30 }, (_, index) => `n${index}.example.com`);
  const manyLabels = new Map(names.map((name) => [name, 'label']));

  it('checks eight in parallel', async () => {
    let [running, max] = [0, 0];
    const dns: Approver = {
      ...approver('dns'),
      check: async () => {
        max = Math.max(max, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        return { approved: true };
      },
    };
    const approvals = names.map((name) => pending(name));
    const progress = await checkApprovals(subject(approvals, { labels: manyLabels }), [dns], now);
    expect(progress.nextCheckAt).toBeNull();
    expect(max).toBe(8);
  });

  it('ends within its time limit, and checks the remaining names next, at once', async () => {
    const hanging: Approver = {
      ...approver('dns'),
      check: async (_, signal) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        return { approved: false, problem: nothingAt('') };
      },
    };
    const approvals = names.map((name) => pending(name));
    const bounds = { withinMs: 60, sideBySide: 8 };
    const progress = await checkApprovals(subject(approvals, { labels: manyLabels }), [hanging], now, bounds);
    expect(progress.approvals).toEqual(approvals);
    expect(progress.nextCheckAt).toEqual(now);
  });

  it('starts with the least recently checked names', async () => {
    const dns = approver('dns');
    const approvals = [
      pending('example.com', '2026-11-20T11:59:30Z'),
      pending('example.net', '2026-11-20T11:59:00Z'),
    ];
    await checkApprovals(subject(approvals), [dns], now, { withinMs: 20_000, sideBySide: 1 });
    expect(dns.checked).toEqual(['example.net', 'example.com']);
  });
});
