import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { baseNameInSql, type Tx } from '@certwright/core-schema';

/** Name (without `*.`) → the secret label that its standing record points to. */
export type DelegationLabels = ReadonlyMap<string, string>;

interface DelegationRow {
  readonly dns_name: string;
  readonly label: string;
}

/** The last delegation that a round checked. */
interface Cursor {
  readonly accountId: string;
  readonly dnsName: string;
}

const beforeAll: Cursor = { accountId: '0', dnsName: '' };

@Injectable()
export class Delegations {
  private lookedAt: Cursor = beforeAll;

  constructor(private readonly database: DataSource) {}

  /**
   * Ensures that each name has a label in this account; an existing label never changes, since the customer's record
   * points to it. Retired labels are used again.
   *
   * @param names without `*.`; each once
   * @param freshLabel called once per name; used only if there is no label yet
   */
  async ensure(
    tx: Tx,
    accountId: string,
    names: readonly string[],
    freshLabel: () => string,
  ): Promise<DelegationLabels> {
    // Sorted, so that two transactions of one account never deadlock.
    const sorted = [...names].sort();
    const known = labels(await heldRows(tx, accountId, sorted));
    const missing = sorted.filter((name) => !known.has(name));
    if (missing.length === 0) return known;
    const rows: DelegationRow[] = await tx.query(
      `INSERT INTO delegation (account_id, dns_name, label)
       SELECT $1, * FROM unnest($2::text[], $3::text[])
       ON CONFLICT (account_id, dns_name) DO UPDATE SET retired_at = NULL
       RETURNING dns_name, label`,
      [accountId, missing, missing.map(() => freshLabel())],
    );
    return new Map([...known, ...labels(rows)]);
  }

  async ofNames(
    accountId: string,
    names: readonly string[],
    reader: Pick<Tx, 'query'> = this.database,
  ): Promise<DelegationLabels> {
    const rows: DelegationRow[] = await reader.query(
      `SELECT dns_name, label FROM delegation WHERE account_id = $1 AND dns_name = ANY($2::text[])`,
      [accountId, names],
    );
    return labels(rows);
  }

  /**
   * Retires delegations that no open plan of their account names any more, and restores those that are named again.
   * Continues where the last call ended, account by account, since the names of an account are read once for all its
   * delegations.
   *
   * @returns number of delegations checked; fewer than `limit`: the next call starts over
   */
  async retireUnused(limit: number): Promise<number> {
    const { looked, end } = await this.database.transaction(
      async (tx) => await retireNext(tx, this.lookedAt, limit),
    );
    this.lookedAt = looked < limit || end === null ? beforeAll : end;
    return looked;
  }
}

/**
 * Locked until the end of the transaction, so that no other process retires a name that its order is about to use.
 * Retired ones are excluded: they are written like missing ones, and a row that is locked for sharing first and
 * written then would deadlock two transactions. LATERAL, so that it looks up each name: a plan for a small table would
 * read all names of the account, and be kept when there are many. The sub-select hides the number of names from the planner
 * (see `keysOf`).
 */
async function heldRows(
  tx: Tx,
  accountId: string,
  names: readonly string[],
): Promise<readonly DelegationRow[]> {
  return await tx.query(
    `SELECT held.dns_name, held.label FROM unnest((SELECT $2::text[])) AS named (dns_name) CROSS JOIN LATERAL (
       SELECT dns_name, label FROM delegation
       WHERE account_id = $1 AND delegation.dns_name = named.dns_name AND retired_at IS NULL FOR SHARE) AS held`,
    [accountId, names],
  );
}

/**
 * Two statements: the second one sees what was committed before the rows were locked. Rows locked by others are being
 * named at the moment.
 */
async function retireNext(
  tx: Tx,
  { accountId, dnsName }: Cursor,
  limit: number,
): Promise<{ readonly looked: number; readonly end: Cursor | null }> {
  const rows: readonly (Cursor & { readonly retired: boolean })[] = await tx.query(
    `SELECT account_id AS "accountId", dns_name AS "dnsName" FROM delegation
     WHERE (account_id, dns_name) > ($1::bigint, $2::text)
     ORDER BY account_id, dns_name LIMIT $3 FOR UPDATE SKIP LOCKED`,
    [accountId, dnsName, limit],
  );
  await tx.query(retireStatement, [rows.map((row) => row.accountId), rows.map((row) => row.dnsName)]);
  return { looked: rows.length, end: rows.at(-1) ?? null };
}

/** Names of orders without terms count too: they wait for a CSR, and their records should be in place by then. */
const retireStatement = `
  WITH held AS (SELECT * FROM unnest($1::bigint[], $2::text[]) AS held (account_id, dns_name)),
  listed AS (
    SELECT plan.account_id, terms.dns_names FROM plan JOIN terms ON terms.id = plan.terms_id
    WHERE plan.closed_at IS NULL AND plan.account_id IN (SELECT account_id FROM held)
    UNION ALL
    SELECT plan.account_id, order_v3.dns_names FROM order_v3 JOIN plan ON plan.id = order_v3.plan_id
    WHERE plan.closed_at IS NULL AND order_v3.account_id IN (SELECT account_id FROM held)
    UNION ALL
    SELECT issuance.account_id, terms.dns_names FROM issuance JOIN terms ON terms.id = issuance.terms_id
    WHERE issuance.state = 'open' AND issuance.account_id IN (SELECT account_id FROM held)),
  named AS (
    SELECT DISTINCT account_id, ${baseNameInSql('name')} COLLATE "C" AS dns_name
    FROM listed CROSS JOIN unnest(dns_names) AS name),
  checked AS (
    SELECT held.account_id, held.dns_name, named.dns_name IS NOT NULL AS wanted
    FROM held LEFT JOIN named USING (account_id, dns_name))
  UPDATE delegation SET retired_at = CASE WHEN wanted THEN NULL ELSE clock_timestamp() END
  FROM checked
  WHERE delegation.account_id = checked.account_id AND delegation.dns_name = checked.dns_name
    AND wanted = (delegation.retired_at IS NOT NULL)`;

function labels(rows: readonly DelegationRow[]): DelegationLabels {
  return new Map(rows.map(({ dns_name, label }) => [dns_name, label]));
}
