import { neutralMessage } from '@certwright/outcome-messages';
import { randomBytes } from 'node:crypto';
import { Outbox, Transactions } from '@certwright/core-schema';
import { Delegations } from '@certwright/approvals';
import { Issuances, LeasedIssuances, Plans } from '@certwright/ordering';
import type { DataSource } from 'typeorm';
import { issuanceCommands } from './issuances';
import { adminFixture } from './testing/admin-fixture';

const admin = adminFixture();
let database: DataSource;

beforeAll(async () => {
  database = admin.database;
  await database.query(
    `INSERT INTO account (id, name) VALUES (1000000000001, 'One'), (1000000000002, 'Other')`,
  );
});
beforeEach(async () => {
  await database.query(`UPDATE issuance SET state = 'canceled', closed_at = now() WHERE state = 'open'`);
});

/** Runs `npm run admin -- …`. @returns the output */
const run = async (...args: string[]) => (await admin.run([issuanceCommands], ...args)).join('\n');

/** An open issuance that failed three times, and is due tomorrow. */
async function failed(accountId = '1000000000001'): Promise<{ planId: string; id: string }> {
  const { planId, id } = await new Transactions(database).run(async (tx) => {
    const plan = {
      accountId,
      autoRenew: true,
      muted: false,
      paused: false,
      downloadToken: `${Math.random()}`,
    };
    const planId = await new Plans().create(tx, plan);
    const dnsNames = ['a.example.com'];
    const key = { keyType: 'ecdsa' as const, csr: Buffer.of(1), spkiSha256: Buffer.alloc(32, 1) };
    const terms = { product: 'free_ca', dnsNames, approverEmails: {}, approvalWays: null, ...key };
    const termsId = await new Plans().setTerms(tx, planId, terms);
    await new Delegations(database).ensure(tx, accountId, dnsNames, () => randomBytes(16).toString('hex'));
    const issuances = new Issuances(database, new Outbox(database));
    const opening = { planId, accountId, revision: 1, termsId, dnsNames, settlingMs: 0 };
    return { planId, id: await issuances.open(tx, opening) };
  });
  await database.query(
    `UPDATE issuance SET failures = 3, due_at = now() + interval '1 day', opened_at = now() - interval '1 h'
     WHERE id = $1`,
    [id],
  );
  return { planId, id };
}

const due = async () => (await new LeasedIssuances(database).due(10)).map(({ id }) => id);

describe('issuance retry', () => {
  it('starts an attempt at the issuance, or that of the plan, however often it has failed', async () => {
    const [one, other] = [await failed(), await failed()];
    expect(await due()).toEqual([]);
    expect(await run('issuance', 'retry', one.id)).toBe('1 open; each is attempted within seconds');
    expect(await due()).toEqual([one.id]);
    await run('issuance', 'retry', '--plan', other.planId);
    expect((await due()).sort()).toEqual([one.id, other.id].sort());
    const [{ failures }] = await database.query<[{ failures: number }]>(
      `SELECT failures FROM issuance WHERE id = $1`,
      [one.id],
    );
    expect(failures).toBe(3);
  });

  it('starts attempts at all issuances of an account, or at all', async () => {
    const [one, other] = [await failed(), await failed('1000000000002')];
    await run('issuance', 'retry', '--account', '1000000000001');
    expect(await due()).toEqual([one.id]);
    expect(await run('issuance', 'retry', '--all')).toContain('2 open;');
    expect((await due()).sort()).toEqual([one.id, other.id].sort());
  });

  it('says when issuances are held, since nothing is attempted then', async () => {
    await database.query(`INSERT INTO deployment (mode) VALUES ('sandbox')`);
    const { id } = await failed();
    await run('issuance', 'hold', '--reason', 'incident 7');
    expect(await run('issuance', 'retry', id)).toBe(
      '1 open, and held: each is attempted within seconds after "issuance release"',
    );
    const leased = new LeasedIssuances(database);
    expect([await leased.due(10), await leased.lease(id, 1_000)]).toEqual([[], null]);
    await run('issuance', 'release');
    expect((await leased.due(10)).map((each) => each.id)).toEqual([id]);
    expect(await due()).toEqual([id]);
  });

  it('refuses arguments that name no open issuance, or several options', async () => {
    const { id, planId } = await failed();
    await expect(run('issuance', 'retry')).rejects.toThrow('Give exactly one of');
    await expect(run('issuance', 'retry', id, '--plan', planId)).rejects.toThrow('Give exactly one of');
    await expect(run('issuance', 'retry', 'x')).rejects.toThrow('"x" is not an id');
    await expect(run('issuance', 'retry', '999999999')).rejects.toThrow('no such open issuance');
  });
});

describe('issuance waiting', () => {
  it('lists CAs that are down, with the number of waiting issuances', async () => {
    const { id } = await failed();
    const outcome = { code: 'ca_unreachable', authority: 'silent', detail: 'no response' } as const;
    await database.query(
      `INSERT INTO certificate_authority (name, directory_url, down_since, down_until, problem, outcome)
       VALUES ('silent', 'https://ca.example/', now(), now(), $1, $2), ('well', 'https://ca.example/', NULL, NULL, NULL, NULL)`,
      [neutralMessage(outcome), outcome],
    );
    await database.query(`UPDATE issuance SET waits_for = '{silent}' WHERE id = $1`, [id]);
    const [line = ''] = (await run('issuance', 'waiting')).split('\n');
    const [name, , , waiting, problem = ''] = line.split('\t');
    expect([name, waiting, JSON.parse(problem)]).toEqual(['silent', '1 waiting', outcome]);
  });
});
