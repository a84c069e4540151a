import { LeaseLost } from '@certwright/postgres';
import type { ApprovalWay } from '@certwright/issuance';

import type { Approver } from '../approvals/approver';
import type { CertificateRequest } from '../certificate-authorities/certificate-authority';
import { Approving, byDns, byEmail } from '../testing/approving';
import type { OpenedIssuance } from '../testing/opened-issuance';

const name = 'www.example.com';
const address = 'admin@example.com';

let approving: Approving;
beforeAll(async () => {
  approving = await Approving.open('8000001', ['example.com']);
}, 30_000);
afterAll(async () => await approving.close());

async function redo(
  { planId }: OpenedIssuance,
  ways: Readonly<Record<string, ApprovalWay>>,
): Promise<unknown> {
  const { transactions, issuances } = approving.issuing.repositories;
  return await transactions.run(async (tx) => {
    const [row] = await tx.query<[{ terms_id: string }]>(
      `SELECT terms_id FROM plan WHERE id = $1 FOR UPDATE`,
      [planId],
    );
    return await issuances.redoApprovals(tx, planId, ways, row.terms_id);
  });
}

it('a worker that checks the old method at that moment issues nothing, and the next run uses the new one', async () => {
  const opened = await approving.order({ [name]: byDns() });
  await approving.publishRecord(name);
  const lost: LeaseLost[] = [];
  const slow: Approver = {
    method: 'dns',
    placeOf: ({ dnsName }) => dnsName,
    check: async () => {
      expect(await redo(opened, { [name]: byEmail(address) })).toBe(true);
      return { approved: true };
    },
  };
  const ports = approving.issuing.ports();
  const events = { ...ports.events, leaseLost: (_: unknown, error: LeaseLost) => void lost.push(error) };
  const found = await approving.advance(opened, approving.worker({ approvers: [slow], events }));
  expect(lost).toHaveLength(1);
  expect(found).toMatchObject({ state: 'open', methods: { [name]: null } });
  expect(found.approvals[0]?.way).toEqual(byEmail(address));

  // The record exists, but no longer counts.
  expect(await approving.advance(opened)).toMatchObject({ state: 'open', methods: { [name]: null } });
  expect(await approving.askedByEmail(opened.planId)).toEqual([`${name} ${address}`]);
  await approving.approveByEmail(opened.planId, name);
  expect(await approving.advance(opened)).toMatchObject({ state: 'issued', methods: { [name]: 'email' } });
});

it('an issuance submitted to the CA is not bought twice, and waits for the new approval', async () => {
  const opened = await approving.order({ [name]: byDns() });
  await approving.publishRecord(name);
  const { ca } = approving.issuing;
  const issuers = {
    ...approving.issuing.ports().issuers,
    collect: async (reference: string, request: CertificateRequest) => {
      await redo(opened, { [name]: byEmail(address) });
      return await ca.collect(reference, request);
    },
  };
  expect(await approving.advance(opened, approving.worker({ issuers }))).toMatchObject({ state: 'open' });
  expect(await approving.advance(opened)).toMatchObject({ state: 'open', methods: { [name]: null } });
  await approving.approveByEmail(opened.planId, name);
  expect(await approving.advance(opened)).toMatchObject({ state: 'issued' });
  const signings = await approving.database.query<unknown[]>(
    `SELECT 1 FROM ca_signing WHERE issuance_id = $1`,
    [opened.issuanceId],
  );
  expect(signings).toHaveLength(1);
});
