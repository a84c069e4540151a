import { statementsOf } from '@certwright/core-testing';
import type { CertificateAuthority } from './certificate-authorities/certificate-authority';
import { AdvanceIssuance } from './issuance/advance-issuance';
import { Issuing } from './testing/issuing';
import { type OpenedIssuance, openIssuance, opensslCsr } from './testing/opened-issuance';
import { soleIssuer } from './testing/sole-issuer';

const dnsNames = ['a.example.com'];

let issuing: Issuing;
let csr: Buffer;

beforeAll(async () => {
  issuing = await Issuing.open();
  csr = opensslCsr(dnsNames);
}, 30_000);
afterAll(async () => await issuing.close());

/** All calls of a round return when the last of them has begun. */
function meetingOf(count: number): () => Promise<void> {
  let waiting: (() => void)[] = [];
  return async () =>
    await new Promise((resolve) => {
      waiting.push(resolve);
      if (waiting.length < count) return;
      waiting.forEach((each) => each());
      waiting = [];
    });
}

/** What the worker sends to the database for some issuances that are due at the same time. */
async function costsOf(count: number) {
  const opened = async () => await openIssuance(issuing.repositories, dnsNames, csr);
  const signatures = meetingOf(count);
  const collect: CertificateAuthority['collect'] = async (reference, request) => {
    const collected = await issuing.ca.collect(reference, request);
    await signatures();
    return collected;
  };
  const { ca } = issuing;
  const issuers = soleIssuer({
    submit: ca.submit.bind(ca),
    revoke: ca.revoke.bind(ca),
    collect,
  });
  const worker = new AdvanceIssuance({ ...issuing.ports(), issuers });
  // The first certificate of a process also stores the chain of its CA.
  await Promise.all(
    Array.from({ length: count }, opened).map(async (each) => await worker.run((await each).issuanceId)),
  );
  const issuances: OpenedIssuance[] = [];
  for (let each = 0; each < count; each += 1) issuances.push(await opened());
  const statements = await statementsOf(async () => {
    await Promise.all(issuances.map(async ({ issuanceId }) => await worker.run(issuanceId)));
  });
  const ofTransactions = /^(START TRANSACTION|COMMIT|SET LOCAL lock_timeout)/;
  const commits = statements.filter((statement) => statement === 'COMMIT').length;
  return { statements: statements.filter((statement) => !ofTransactions.test(statement)), commits };
}

it('issues a certificate of the built-in CA with 7 statements and 3 commits', async () => {
  const { statements, commits } = await costsOf(1);
  expect(
    statements.map((statement) => /\b(issuance|ca_signing|plan|certificate)\b/.exec(statement)?.[0]),
  ).toEqual([...['issuance', 'issuance'], ...['plan', 'certificate', 'issuance', 'certificate', 'plan']]);
  // The lease and the record of what will be signed are statements without a transaction around them.
  expect(commits).toBe(1);
});

it('shares three commits among issuances that are due at the same time, with 7 statements each', async () => {
  const { statements, commits } = await costsOf(8);
  expect(statements).toHaveLength(8 * 7);
  expect(commits).toBe(3);
});
