import type { Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { ApprovalFacts } from '../wire/approval-json';

/** A name of an account, without `*.`. */
export interface NameOfAccount {
  readonly accountId: string;
  readonly dnsName: string;
}

/** Columns that facts are made of. */
export interface ApprovalFactsRow {
  readonly labels: Readonly<Record<string, string>>;
  readonly secret: string | null;
}

/** What names of many accounts are approved by, in one statement: instances of many are shown together. */
@Injectable()
export class ApprovalFactsRepository {
  constructor(private readonly database: DataSource) {}

  /** @returns by account */
  async ofNames(
    names: readonly NameOfAccount[],
    reader: Pick<Tx, 'query'> = this.database,
  ): Promise<ReadonlyMap<string, ApprovalFacts>> {
    const rows: (ApprovalFactsRow & { readonly account_id: string })[] = await reader.query(
      `SELECT named.account_id, web_rule.secret,
         coalesce(jsonb_object_agg(named.dns_name, delegation.label) FILTER (WHERE label IS NOT NULL), '{}') AS labels
       FROM (SELECT DISTINCT * FROM unnest($1::bigint[], $2::text[]) AS given (account_id, dns_name)) AS named
       LEFT JOIN delegation USING (account_id, dns_name)
       LEFT JOIN web_rule USING (account_id)
       GROUP BY named.account_id, web_rule.secret`,
      [names.map(({ accountId }) => accountId), names.map(({ dnsName }) => dnsName)],
    );
    return new Map(rows.map((row) => [row.account_id, factsOf(row)]));
  }
}

export function factsOf({ labels, secret }: ApprovalFactsRow): ApprovalFacts {
  return { labels: new Map(Object.entries(labels)), ruleSecret: secret };
}
