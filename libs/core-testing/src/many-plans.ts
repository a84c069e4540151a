import type { DataSource, EntityManager } from 'typeorm';

/** Lifetimes in seconds: of the certificates that are there, and of those that replace them. */
const lifetimeS = 90 * 86_400;
const replacementLifetimeS = 200 * 86_400;

/** Spreads numbers over 47 bits, each to one of its own (the factor is odd), as random ids of certificates are. */
const spread = (number: string) => `(${number} * 2654435761 % 140737488355328)`;

/** renewalTime() and renewalJitter() in SQL. */
const renewAt = (certificateId: string, notAfter: string, lifetime: number) => `
  ${notAfter} - ${lifetime} * (1.0 / 3 + 0.03 * ((${certificateId} % 1048576) / 1048576.0)) * interval '1 second'`;

const end = (number: string) => `$1::timestamptz + ${spread(number)} % ${lifetimeS} * interval '1 second'`;

/** Statements over all rows at once, and without a look-up for every foreign key, which are right by construction. */
async function inBulk<T>(database: DataSource, work: (tx: EntityManager) => Promise<T>): Promise<T> {
  return await database.transaction(async (tx) => {
    await tx.query(`SET LOCAL session_replication_role = replica`);
    await tx.query(`SET LOCAL statement_timeout = '60s'`);
    return await work(tx);
  });
}

/**
 * Into an empty database: plans with terms and one current certificate each, whose ends spread evenly over the 90 days
 * after `start`.
 */
export async function manyPlans(
  database: DataSource,
  accountId: string,
  count: number,
  start: Date,
): Promise<void> {
  const statements = [
    `INSERT INTO certificate_chain (sha256, chain, root) VALUES ('\\x01', ARRAY['\\x02'::bytea], '\\x03')`,
    `INSERT INTO plan (id, account_id, terms_id, revision, auto_renew, muted, paused, download_token, renew_at)
     OVERRIDING SYSTEM VALUE
     SELECT n, ${accountId}, n, 1, true, false, false, n, ${renewAt(spread('n'), end('n'), lifetimeS)}
     FROM generate_series(1::bigint, ${count}) AS n`,
    `INSERT INTO terms (id, plan_id, product, dns_names, key_type, csr, spki_sha256, approver_emails)
     OVERRIDING SYSTEM VALUE
     SELECT n, n, 'free_ca', '{a.example.com}', 'ecdsa', '\\x00', decode(repeat('00', 32), 'hex'), '{}'
     FROM generate_series(1::bigint, ${count}) AS n`,
    `INSERT INTO issuance (id, plan_id, account_id, terms_id, revision, state, approvals, due_at, closed_at)
     OVERRIDING SYSTEM VALUE
     SELECT n, n, ${accountId}, n, 1, 'issued', '[]', $1::timestamptz, $1::timestamptz
     FROM generate_series(1::bigint, ${count}) AS n`,
    `INSERT INTO certificate (id, account_id, plan_id, issuance_id, is_current, dns_names, key_type, serial_number,
       not_before, not_after, sha256, spki_sha256, leaf, chain_sha256)
     SELECT ${spread('n')}, ${accountId}, n, n, true, '{a.example.com}', 'ecdsa', '01',
       ${end('n')} - ${lifetimeS} * interval '1 second', ${end('n')}, int8send(n), '\\x00', '\\x00', '\\x01'
     FROM generate_series(1::bigint, ${count}) AS n`,
    `SELECT setval(pg_get_serial_sequence('issuance', 'id'), ${count})`,
  ];
  await dropUnused(database);
  await inBulk(database, async (tx) => {
    for (const statement of statements) {
      await tx.query(statement, statement.includes('$1') ? [start] : []);
    }
  });
  // As a server that lives does by itself: without statistics a hundred thousand rows are taken for none.
  await database.query(`ANALYZE plan, terms, issuance, certificate`);
}

/** Indexes and foreign keys that nothing here needs: keeping them would cost more than all the rest. */
async function dropUnused(database: DataSource): Promise<void> {
  await database.query(
    `DROP INDEX plan_account, plan_download_token, plan_unannounced, terms_plan, issuance_due, issuance_due_of_account,
       certificate_sha256, certificate_plan, certificate_to_revoke`,
  );
  await database.query(`
    DO $$ DECLARE one record; BEGIN
      FOR one IN SELECT conname FROM pg_constraint WHERE contype = 'f' AND conrelid = 'issuance'::regclass LOOP
        EXECUTE format('ALTER TABLE issuance DROP CONSTRAINT %I', one.conname);
      END LOOP;
    END $$`);
}

/** What attaching does, for every open issuance at once. @returns how many there were */
export async function issueOpen(database: DataSource, now: Date): Promise<number> {
  return await inBulk(database, async (tx) => {
    await tx.query(
      `UPDATE certificate SET is_current = false FROM issuance
       WHERE issuance.state = 'open' AND certificate.id = issuance.replaces_certificate_id`,
    );
    const rows = await tx.query<unknown[]>(
      `WITH closed AS (
         UPDATE issuance SET state = 'issued', closed_at = $1 WHERE state = 'open' RETURNING id, plan_id, account_id),
       attached AS (
         INSERT INTO certificate (id, account_id, plan_id, issuance_id, is_current, dns_names, key_type, serial_number,
           not_before, not_after, sha256, spki_sha256, leaf, chain_sha256)
         SELECT ${spread('id')}, account_id, plan_id, id, true, '{a.example.com}', 'ecdsa', '01',
           $1::timestamptz, $1::timestamptz + ${replacementLifetimeS} * interval '1 second', int8send(id), '\\x00', '\\x00', '\\x01'
         FROM closed RETURNING plan_id, id, not_after),
       renewed AS (
         UPDATE plan SET renew_at = ${renewAt('attached.id', 'attached.not_after', replacementLifetimeS)}
         FROM attached WHERE attached.plan_id = plan.id)
       SELECT 1 FROM attached`,
      [now],
    );
    return rows.length;
  });
}
