import type { ApprovalWay, NameApproval } from '@certwright/issuance';
import { approver, labels, nothingAt, pending, subject } from '../testing/recording-approver';
import type { ApprovalSubject } from './approval-subject';
import { checkApprovals } from './check-approvals';

const now = new Date('2026-11-20T12:00:00Z');

/** A name with the one method that counts for it. */
function by(dnsName: string, way: Partial<ApprovalWay> & Pick<ApprovalWay, 'method'>): NameApproval {
  return { ...pending(dnsName), way: { approverEmail: null, recordAt: null, ...way } };
}

describe('a name with its own approval method', () => {
  const all = (names: readonly string[]) =>
    [approver('dns', names), approver('http', names), approver('email', names)] as const;
  const both = ['example.com', 'example.net'];

  it.each(['dns', 'http', 'email'] as const)('is checked by %s alone', async (method) => {
    const approvers = all(both);
    const way = { method, approverEmail: method === 'email' ? 'admin@example.com' : null };
    const approverEmails = { 'example.com': 'webmaster@example.com' };
    const { approvals } = await checkApprovals(
      subject([by('example.com', way)], { approverEmails }),
      approvers,
      now,
    );
    const checked = approvers.flatMap(({ method: of, questions }) => questions.map(() => of));
    expect(checked).toEqual([method]);
    expect(approvals).toEqual([
      { ...by('example.com', way), status: 'approved', method, checkedAt: '2026-11-20T12:00:00Z' },
    ]);
  });

  it('is not approved by another method, and its problem describes its own method only', async () => {
    const [dns, http, email] = [approver('dns', both), approver('http'), approver('email', both)];
    const approverEmails = { 'example.com': 'admin@example.com' };
    const { approvals } = await checkApprovals(
      subject([by('example.com', { method: 'http' }), pending('example.net')], { approverEmails }),
      [dns, http, email],
      now,
    );
    expect(approvals.map(({ status, method }) => [status, method])).toEqual([
      ['pending', null],
      ['approved', 'dns'],
    ]);
    const ways = [{ method: 'http', outcome: nothingAt('example.com') }];
    expect(approvals[0]?.problem).toEqual({ code: 'not_approved', ways });
  });

  it('is requested at the address of its method, never at that of the terms', async () => {
    const email = approver('email', both);
    const approverEmails = { 'example.com': 'webmaster@example.com', 'example.net': 'admin@example.net' };
    const names = [
      by('example.com', { method: 'email', approverEmail: 'admin@example.com' }),
      by('example.net', { method: 'dns' }),
    ];
    await checkApprovals(subject(names, { approverEmails }), [approver('dns'), email], now);
    expect(email.questions.map(({ approverEmail }) => approverEmail)).toEqual(['admin@example.com']);
  });

  it('passes no secrets to approvers that do not count, and needs a label only for DNS', async () => {
    const [dns, http] = [approver('dns'), approver('http', ['example.org'])];
    const names = [by('example.org', { method: 'http' })];
    const { nextCheckAt } = await checkApprovals(subject(names), [dns, http], now);
    expect(nextCheckAt).toBeNull();
    expect(http.questions).toMatchObject([{ delegationLabel: null, parent: null, approverEmail: null }]);
  });

  it.each<[string, NameApproval, 'wildcard' | 'no_approver']>([
    ['http for a wildcard', by('*.example.com', { method: 'http' }), 'wildcard'],
    ['email without an address', by('example.com', { method: 'email' }), 'no_approver'],
  ])('that is impossible, %s, is checked nowhere and reports this', async (_, name, reason) => {
    const outcome = { code: 'approval_way_unusable', dnsName: name.dnsName, reason };
    const problem = { code: 'not_approved', ways: [{ method: name.way?.method, outcome }] };
    const approvers = all(['example.com', '*.example.com']);
    const approverEmails = { 'example.com': 'admin@example.com' };
    const progress = await checkApprovals(subject([name], { approverEmails }), approvers, now);
    expect(approvers.flatMap(({ checked }) => checked)).toEqual([]);
    expect(progress.approvals).toEqual([{ ...name, problem, checkedAt: '2026-11-20T12:00:00Z' }]);
    expect(progress.nextCheckAt).toEqual(new Date('2026-11-20T12:00:15Z'));
  });

  it('with a method that the product does not support is checked nowhere and reports this', async () => {
    const [dns, http] = [approver('dns', both), approver('http', both)];
    const name = by('example.com', { method: 'email', approverEmail: 'admin@example.com' });
    const { approvals } = await checkApprovals(subject([name]), [dns, http], now);
    expect([dns.checked, http.checked]).toEqual([[], []]);
    const outcome = { code: 'approval_way_unusable', dnsName: 'example.com', reason: 'not_offered' };
    expect(approvals[0]?.problem).toEqual({ code: 'not_approved', ways: [{ method: 'email', outcome }] });
  });
});

describe('a name that may be approved by the record of a parent name', () => {
  const www = by('www.example.com', { method: 'dns', recordAt: 'example.com' });
  const withLabels = new Map([
    ...labels,
    ['www.example.com', 'label-of-www'],
    ['com', 'label-of-com'],
    ['a.www.example.com', 'label'],
  ]);
  const parentOf = async (name: NameApproval, also: Partial<ApprovalSubject>) => {
    const dns = approver('dns');
    await checkApprovals(subject([name], { labels: withLabels, ...also }), [dns], now);
    return dns.questions[0]?.parent;
  };

  it('is checked there with the label of the parent name when the CA accepts it', async () => {
    expect(await parentOf(www, { acceptsParentRecords: true })).toEqual({
      dnsName: 'example.com',
      delegationLabel: 'label-of-example-com',
    });
  });

  it('is checked at its own record alone when the CA does not accept it', async () => {
    expect(await parentOf(www, { acceptsParentRecords: false })).toBeNull();
  });

  it.each<[string, string]>([
    ['the name itself', 'www.example.com'],
    ['a name of another tenant', 'example.net'],
    ['a name beneath', 'a.www.example.com'],
    ['a public suffix', 'com'],
  ])('never checks at %s', async (_, recordAt) => {
    const name = by('www.example.com', { method: 'dns', recordAt });
    expect(await parentOf(name, { acceptsParentRecords: true })).toBeNull();
  });

  it('is never checked there without a label: anyone could publish such a record', async () => {
    const own = new Map([['www.example.com', 'label-of-www']]);
    expect(await parentOf(www, { acceptsParentRecords: true, labels: own })).toBeNull();
  });
});
