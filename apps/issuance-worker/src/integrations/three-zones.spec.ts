import { Keeping } from '../testing/keeping';
import { openIssuance, opensslCsr } from '../testing/opened-issuance';

const zoneNames = ['example.com', 'example.net', 'example.org'];
const dnsNames = ['www.example.com', '*.example.net', 'a.b.example.org'];
const accountId = '3000001';

let keeping: Keeping;
beforeAll(async () => {
  keeping = await Keeping.open(zoneNames);
}, 30_000);
afterAll(async () => await keeping.close());

async function issuanceOf(issuanceId: string) {
  const [row] = await keeping.database.query<
    [
      {
        state: string;
        approvals: { dnsName: string; status: string; problem: string | null }[];
        due: boolean;
      },
    ]
  >(`SELECT state, approvals, due_at <= clock_timestamp() AS due FROM issuance WHERE id = $1`, [issuanceId]);
  return row;
}

const wakeUps = async () => {
  const [jobs] = await keeping.database.query<
    [{ job: string; payload: { integrationId?: string } }[], number]
  >(`DELETE FROM outbox RETURNING job, payload`);
  return jobs;
};

it('an order with three names in three zones at two integrations is approved by automatic records', async () => {
  const { gateway, issuing } = keeping;
  const one = await keeping.integration(accountId, ['example.com', 'example.org']);
  const other = await keeping.integration(accountId, ['example.net']);
  const { issuanceId, planId } = await openIssuance(
    issuing.repositories,
    dnsNames,
    opensslCsr(dnsNames),
    accountId,
  );
  await wakeUps();

  // The issuance stores its requests and waits; nothing is looked up meanwhile.
  await keeping.advance(issuanceId);
  const woken = (await wakeUps()).map(({ payload }) => payload.integrationId);
  expect(woken.sort()).toEqual([one, other].sort());
  const waiting = await issuanceOf(issuanceId);
  for (const { status, problem } of waiting.approvals) {
    expect(status).toBe('pending');
    expect(problem).toMatch(/^By DNS record: the record is being added through the integration \d+\.$/);
  }

  // Both integrations add; one server of every zone lags, and is reported.
  gateway.reaches = ['127.0.0.2'];
  await keeping.keep(one);
  await keeping.keep(other);
  expect(gateway.requests.sort()).toEqual([
    'add _acme-challenge.a.b.example.org',
    'add _acme-challenge.example.net',
    'add _acme-challenge.www.example.com',
  ]);
  await keeping.timePasses();
  await keeping.advance(issuanceId);
  for (const { problem } of (await issuanceOf(issuanceId)).approvals) {
    expect(problem).toMatch(
      /was added through the integration \d+; ns3\.dns\.test .* does not respond with the record yet/,
    );
  }

  // After propagation the records stand, and the issuance is checked at once.
  await wakeUps();
  gateway.arrive();
  await keeping.database.query(`UPDATE approval_record SET due_at = now()`);
  await keeping.keep(one);
  await keeping.keep(other);
  expect((await wakeUps()).map(({ job }) => job)).toContain('advance-issuance');
  expect(await issuanceOf(issuanceId)).toMatchObject({ state: 'open', due: true });
  await keeping.advance(issuanceId);
  expect((await issuanceOf(issuanceId)).state).toBe('issued');

  // A name is removed, then the whole order: the added records are removed.
  const { transactions, plans } = issuing.repositories;
  const fewer = dnsNames.slice(1);
  await transactions.run(async (tx) => {
    const terms = {
      product: 'free_ca',
      keyType: 'ecdsa',
      csr: Buffer.of(1),
      spkiSha256: Buffer.alloc(32),
    } as const;
    await plans.setTerms(tx, planId, { ...terms, dnsNames: fewer, approverEmails: {} });
  });
  gateway.reaches = ['127.0.0.2', '127.0.0.3'];
  await keeping.keep(one);
  await keeping.keep(other);
  expect([...gateway.records.keys()].sort()).toEqual([
    '_acme-challenge.a.b.example.org',
    '_acme-challenge.example.net',
  ]);
  await transactions.run(async (tx) => await plans.close(tx, planId));
  await keeping.keep(one);
  await keeping.keep(other);
  expect(gateway.records.size).toBe(0);
  expect((await keeping.records(accountId)).map(({ state }) => state)).toEqual(Array(3).fill('removed'));
}, 30_000);
