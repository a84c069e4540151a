import type { ApprovalWay, NameApproval } from '@certwright/issuance';
import { byDns, byEmail, byHttp } from '../testing/approving';
import { Keeping } from '../testing/keeping';
import { openIssuance, opensslCsr } from '../testing/opened-issuance';

const accountId = '6000001';
const [a, b, c] = ['a.example.com', 'b.example.com', 'c.example.com'];

let keeping: Keeping;
beforeAll(async () => {
  keeping = await Keeping.open(['example.com']);
}, 30_000);
afterAll(async () => await keeping.close());

type Ways = Readonly<Record<string, ApprovalWay>>;

const statesOfRecords = async () =>
  Object.fromEntries((await keeping.records(accountId)).map(({ dns_name: name, state }) => [name, state]));

/** Runs the two jobs until nothing changes. */
async function settle(issuanceId: string, integrationId: string): Promise<readonly NameApproval[]> {
  for (let turn = 0; turn < 4; turn += 1) {
    await keeping.timePasses();
    await keeping.advance(issuanceId);
    await keeping.keep(integrationId);
  }
  const [row] = await keeping.database.query<[{ approvals: NameApproval[] }]>(
    `SELECT approvals FROM issuance WHERE id = $1`,
    [issuanceId],
  );
  return row.approvals;
}

/** The API's part of a change of approval methods while the issuance is open. */
async function redo(planId: string, approvalWays: Ways): Promise<void> {
  const { transactions, plans, issuances } = keeping.issuing.repositories;
  const dnsNames = Object.keys(approvalWays);
  await transactions.run(async (tx) => {
    const [row] = await tx.query<[{ csr: Buffer; spki_sha256: Buffer }]>(
      `SELECT csr, spki_sha256 FROM terms JOIN plan ON plan.terms_id = terms.id WHERE plan.id = $1 FOR UPDATE OF plan`,
      [planId],
    );
    const key = { keyType: 'ecdsa', csr: row.csr, spkiSha256: row.spki_sha256 } as const;
    const terms = { product: 'paid_ca', dnsNames, approverEmails: {}, approvalWays, ...key };
    const termsId = await plans.setTerms(tx, planId, terms);
    expect(await issuances.redoApprovals(tx, planId, approvalWays, termsId)).toBe(true);
  });
}

it('an integration publishes records for names with method dns or none, and follows changes of the method', async () => {
  const integrationId = await keeping.integration(accountId, ['example.com']);
  const dnsNames = [a, b, c, `*.${c}`];
  const mail = byEmail('admin@example.com');
  const approvalWays = { [a]: byDns(), [b]: mail, [`*.${c}`]: byHttp };
  const opened = await openIssuance(keeping.issuing.repositories, dnsNames, opensslCsr(dnsNames), accountId, {
    product: 'paid_ca',
    approvalWays,
  });
  const first = await settle(opened.issuanceId, integrationId);
  expect(await statesOfRecords()).toEqual({ [a]: 'standing', [c]: 'standing' });
  expect(first.map(({ dnsName, status }) => [dnsName, status])).toEqual([
    [a, 'approved'],
    [b, 'pending'],
    [c, 'approved'],
    [`*.${c}`, 'pending'],
  ]);

  await redo(opened.planId, { [a]: mail, [b]: byDns(), [c]: mail, [`*.${c}`]: mail });
  const second = await settle(opened.issuanceId, integrationId);
  expect(await statesOfRecords()).toEqual({ [a]: 'removed', [b]: 'standing', [c]: 'removed' });
  expect(second.map(({ dnsName, status, method }) => [dnsName, status, method])).toEqual([
    [a, 'pending', null],
    [b, 'approved', 'dns'],
    [c, 'pending', null],
    [`*.${c}`, 'pending', null],
  ]);
  expect([...keeping.gateway.records.keys()]).toEqual([`_acme-challenge.${b}`]);
});
