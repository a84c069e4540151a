import { setTimeout as delay } from 'node:timers/promises';
import { statementsOf } from '@certwright/core-testing';
import { installedPebbles } from '../../acme/testing/pebble';
import { AcmeIssuing } from '../../testing/acme-issuing';
import { opensslCsr } from '../../testing/opened-issuance';

const dnsNames = ['a.example.com'];
const csr = opensslCsr(dnsNames);

let acme: AcmeIssuing;
beforeAll(async () => {
  acme = await AcmeIssuing.open();
  await acme.pebble('pebble');
  await acme.authoritiesAre('pebble');
}, 60_000);
afterAll(async () => await acme.close());

/** Of the name server of this spec. */
const isOfNameServer = (statement: string) =>
  statement.startsWith('SELECT value, dns_name FROM challenge_record');

/** Transactions that write: each is a flush of the log. */
function commitsOf(statements: readonly string[]): number {
  let isWithin = false;
  let commits = 0;
  for (const statement of statements) {
    if (statement.startsWith('START TRANSACTION')) isWithin = true;
    else if (statement.startsWith('COMMIT')) {
      isWithin = false;
      commits += 1;
    } else if (!isWithin && /\b(INSERT|UPDATE|DELETE)\b/.test(statement.replace(/FOR (NO KEY )?UPDATE/g, '')))
      commits += 1;
  }
  return commits;
}

const describeWithPebble = installedPebbles.length > 0 ? describe : describe.skip;

describeWithPebble('a certificate of a public CA', () => {
  /**
   * The commits: the lease; the wanted order, before newOrder; its URL, before anything else is done with the order; the
   * challenge value; `finalized_at`, before finalize; the certificate, with its URL and the removal of the value.
   */
  it('takes one run, 6 commits and at most 16 statements', async () => {
    const worker = acme.worker();
    const run = async () => {
      const opened = await acme.order(dnsNames, csr);
      // Longer than pebble needs to validate and to issue.
      const pause = async () => await delay(1_000, true);
      return [
        opened,
        await statementsOf(async () => await worker.run(opened.issuanceId, null, pause)),
      ] as const;
    };
    // Creates the account, and stores the chain.
    await run();
    const [opened, all] = await run();
    expect(await acme.state(opened.issuanceId)).toMatchObject({ state: 'issued', failures: 0 });
    const statements = all.filter((statement) => !isOfNameServer(statement));
    expect(commitsOf(statements)).toBe(6);
    expect(
      statements.filter((statement) => !/^(START TRANSACTION|COMMIT)/.test(statement)).length,
    ).toBeLessThanOrEqual(16);
  }, 60_000);
});
