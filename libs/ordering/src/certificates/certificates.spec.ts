import { randomBytes } from 'node:crypto';
import { attachedCertificate, attachOpen, CoreDatabaseFixture, validity } from '@certwright/core-testing';
import { eventually } from '@certwright/testing';
import { Certificates, validCertificates } from './certificates';

const accountId = '1000000000001';
const dnsNames = ['a.example.com'];

let core: CoreDatabaseFixture;
beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  await core.account(accountId);
});
afterAll(async () => await core.close());

const setTerms = async (tx: Parameters<typeof core.plans.setTerms>[0], planId: string, spkiSha256: Buffer) =>
  await core.plans.setTerms(tx, planId, {
    ...{
      product: 'free_ca',
      dnsNames,
      keyType: 'ecdsa',
      csr: randomBytes(8),
      spkiSha256,
      approverEmails: {},
    },
  });

it('selects by the terms that are set while it waits for the plan, when a certificate has expired', async () => {
  const { database, transactions, issuances } = core;
  const { planId, certificateId: expired } = await attachedCertificate(core, accountId, validity(-90, 1));
  const keys = [randomBytes(32), randomBytes(32)] as const;
  const ids: string[] = [];
  // The second of them expires last.
  for (const [at, key] of keys.entries()) {
    await transactions.run(async (tx) => {
      const termsId = await setTerms(tx, planId, key);
      await issuances.open(tx, { planId, accountId, termsId, revision: at + 2, dnsNames, settlingMs: 0 });
    });
    ids.push((await attachOpen(core, planId, validity(-10, 80 + at))).certificateId);
  }
  await database.query(`UPDATE certificate SET is_current = false WHERE plan_id = $1`, [planId]);
  await database.query(
    `UPDATE certificate SET is_current = true, not_after = now() - interval '1 second' WHERE id = $1`,
    [expired],
  );
  const selecting = await transactions.run(async (tx) => {
    await tx.query(`SELECT 1 FROM plan WHERE id = $1 FOR UPDATE`, [planId]);
    const selected = new Certificates(database, transactions).reselectExpired(10);
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    await eventually(async () => expect(await database.query(waiting)).toHaveLength(1));
    await setTerms(tx, planId, keys[0]);
    return { selected };
  });
  expect(await selecting.selected).toBe(1);
  expect(
    await database.query(`SELECT id FROM certificate WHERE plan_id = $1 AND is_current`, [planId]),
  ).toEqual([{ id: ids[0] }]);
});

it('reads no names of certificates that cannot match, of which a plan can have many', async () => {
  const { planId, certificateId } = await attachedCertificate(core, accountId, validity(-1, 89));
  const [{ spki }] = await core.database.query<[{ spki: Buffer }]>(
    `INSERT INTO certificate (id, account_id, plan_id, imported, is_current, dns_names, key_type, serial_number,
       not_before, not_after, sha256, spki_sha256, leaf, chain_sha256)
     SELECT random_id(), account_id, plan_id, true, false, names, key_type, serial_number, not_before, not_after,
       sha256(names::text::bytea), spki, leaf, chain_sha256
     FROM certificate CROSS JOIN (VALUES
       (ARRAY(SELECT 'n' || at || '.example.com' FROM generate_series(1, 1000) AS at), true),
       (ARRAY['b.example.com'], true), (ARRAY['a.example.com'], false)) AS imported (names, has_key)
     CROSS JOIN LATERAL (SELECT CASE WHEN has_key THEN spki_sha256 ELSE sha256(spki_sha256) END AS spki) AS key
     WHERE certificate.id = $1 ORDER BY has_key DESC RETURNING spki_sha256 AS spki`,
    [certificateId],
  );
  const wanted = { dnsNames, spkiSha256: spki };
  const { candidates } = await core.transactions.run(
    async (tx) => await validCertificates(tx, planId, wanted),
  );
  const counts = candidates.map((certificate) => certificate.dnsNames.length);
  expect(counts.sort()).toEqual([0, 0, 1, 1]);
});
