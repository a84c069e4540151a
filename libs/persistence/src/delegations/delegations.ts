import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Tx } from '../transactions/transactions';

/** Name (without `*.`) → the secret label that its standing record points to. */
export type DelegationLabels = ReadonlyMap<string, string>;

interface DelegationRow {
  readonly dns_name: string;
  readonly label: string;
}

@Injectable()
export class Delegations {
  constructor(private readonly database: DataSource) {}

  /**
   * Makes sure that each name has its label in this account; a label that stands is kept for ever, since the customer's
   * record points to it.
   *
   * @param names without `*.`; each once
   * @param freshLabel called once per name; used only where none stands yet
   */
  async ensure(
    tx: Tx,
    accountId: string,
    names: readonly string[],
    freshLabel: () => string,
  ): Promise<DelegationLabels> {
    const standing = await this.ofNames(accountId, names, tx);
    // Sorted, so that two transactions of one account never wait for each other in a circle.
    const missing = names.filter((name) => !standing.has(name)).sort();
    if (missing.length === 0) return standing;
    const rows: DelegationRow[] = await tx.query(
      `INSERT INTO delegation (account_id, dns_name, label)
       SELECT $1, * FROM unnest($2::text[], $3::text[])
       ON CONFLICT (account_id, dns_name) DO UPDATE SET dns_name = excluded.dns_name
       RETURNING dns_name, label`,
      [accountId, missing, missing.map(() => freshLabel())],
    );
    return new Map([...standing, ...labels(rows)]);
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
}

function labels(rows: readonly DelegationRow[]): DelegationLabels {
  return new Map(rows.map(({ dns_name, label }) => [dns_name, label]));
}
