import { HttpChallenges, WebRules } from '@certwright/approvals';
import { noProbeAnswer, type WebRuleQuestion } from '@certwright/jobs';
import { eventually } from '@certwright/testing';
import { Issuing } from '../testing/issuing';
import { HttpApprover, maxProbesOfAccount } from './http-approver';

let issuing: Issuing;
beforeAll(async () => void (issuing = await Issuing.open()), 60_000);
afterAll(async () => await issuing.close());

const accountId = '1000000000001';
const question = {
  ...{ accountId, planId: '1', dnsName: 'example.com', delegationLabel: '', now: new Date() },
  ...{ parent: null, record: null, approverEmail: null },
};

it('creates the web server rule of an account without one, and keeps it', async () => {
  await issuing.database.query(`INSERT INTO account (id, name) VALUES ($1, 'A') ON CONFLICT DO NOTHING`, [
    accountId,
  ]);
  await issuing.database.query('DELETE FROM web_rule');
  const rules = new WebRules(issuing.asWorker);
  const probed: WebRuleQuestion[] = [];
  const approver = new HttpApprover(new HttpChallenges(issuing.asWorker), rules, async (question) => {
    probed.push(question);
    return await Promise.resolve(noProbeAnswer);
  });
  const signal = new AbortController().signal;
  expect(await rules.ofAccount(accountId)).toBeNull();
  expect(await approver.check(question, signal)).toMatchObject({ approved: false });
  const rule = await rules.ofAccount(accountId);
  expect(rule).toMatch(/^[a-z2-7]{32}$/);
  expect(await approver.check(question, signal)).toMatchObject({ approved: false });
  expect(await rules.ofAccount(accountId)).toBe(rule);
  expect(probed.map(({ dnsName }) => dnsName)).toEqual(['example.com', 'example.com']);
});

describe('an account with many slow servers', () => {
  const [busy, other] = ['1000000000002', '1000000000003'];
  /** Probes under way, each with its end. */
  const probes: { readonly dnsName: string; readonly end: () => void }[] = [];
  const approverWithRules = () => {
    probes.length = 0;
    const rules = new WebRules(issuing.asWorker);
    return new HttpApprover(
      new HttpChallenges(issuing.asWorker),
      rules,
      async ({ dnsName }) =>
        await new Promise((resolve) => probes.push({ dnsName, end: () => resolve(noProbeAnswer) })),
    );
  };
  const namesOf = (count: number) => Array.from({ length: count }, (_, at) => `n${at}.example.com`);
  const probed = () => probes.map(({ dnsName }) => dnsName).sort();

  beforeAll(async () => {
    for (const id of [busy, other])
      await issuing.database.query(`INSERT INTO account (id, name) VALUES ($1, 'A')`, [id]);
  });

  it('does not fill the places of the prober, which others need, and each of its servers gets a turn', async () => {
    const approver = approverWithRules();
    const { signal } = new AbortController();
    const names = namesOf(3 * maxProbesOfAccount);
    const checks = names.map(
      async (dnsName) => await approver.check({ ...question, accountId: busy, dnsName }, signal),
    );
    await eventually(() => expect(probes).toHaveLength(maxProbesOfAccount));
    checks.push(approver.check({ ...question, accountId: other, dnsName: 'other.example.net' }, signal));
    await eventually(() => expect(probed()).toContain('other.example.net'));
    expect(probes).toHaveLength(maxProbesOfAccount + 1);
    for (let ended = 0; ended < checks.length; ended += 1) {
      await eventually(() => expect(probes.length).toBeGreaterThan(ended));
      probes[ended]?.end();
    }
    expect(await Promise.all(checks)).toHaveLength(checks.length);
    expect(probed()).toEqual([...names, 'other.example.net'].sort());
  });

  it('does not probe for a check whose time is over', async () => {
    const approver = approverWithRules();
    const [running, ended] = [new AbortController(), new AbortController()];
    const check = async (dnsName: string, { signal }: AbortController) =>
      await approver.check({ ...question, accountId: busy, dnsName }, signal);
    const checks = namesOf(maxProbesOfAccount).map(async (name) => await check(name, running));
    await eventually(() => expect(probes).toHaveLength(maxProbesOfAccount));
    const late = check('late.example.com', ended);
    ended.abort();
    await late;
    const next = check('next.example.com', running);
    for (const { end } of [...probes]) end();
    await Promise.all(checks);
    await eventually(() => expect(probed()).toContain('next.example.com'));
    probes.at(-1)?.end();
    await next;
    expect(probed()).not.toContain('late.example.com');
  });
});
