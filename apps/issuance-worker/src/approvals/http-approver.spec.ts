import { HttpChallenges, WebRules } from '@certwright/approvals';
import { noProbeAnswer, type WebRuleQuestion } from '@certwright/jobs';
import { Issuing } from '../testing/issuing';
import { HttpApprover } from './http-approver';

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
