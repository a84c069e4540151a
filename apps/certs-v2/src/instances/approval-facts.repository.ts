import { inOrderOf, SharedReads, type Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { ApprovalFacts } from '../wire/approval-json';

/** A name of an account, without `*.`. */
export interface NameOfAccount {
  readonly accountId: string;
  readonly dnsName: string;
}

interface NamesOfAccount {
  readonly accountId: string;
  readonly dnsNames: readonly string[];
}

interface Facts {
  readonly labels: Readonly<Record<string, string>>;
  readonly secret: string | null;
}

interface Row extends Facts {
  readonly account_id: string;
}

/** What names of many accounts are approved by, in one statement: instances of many are shown together. */
@Injectable()
export class ApprovalFactsRepository {
  private readonly reads = new SharedReads<NamesOfAccount, ApprovalFacts>((keys) => this.ofAll(keys));

  constructor(private readonly database: DataSource) {}

  /** @param dnsNames few, without `*.` */
  async of(accountId: string, dnsNames: readonly string[]): Promise<ApprovalFacts> {
    return await this.reads.read({ accountId, dnsNames });
  }

  private async ofAll(keys: readonly NamesOfAccount[]): Promise<ApprovalFacts[]> {
    const rows: (Facts & { readonly nth: number })[] = await this.database.query(
      `SELECT wanted.nth::int, (SELECT secret FROM web_rule WHERE web_rule.account_id = wanted.account_id) AS secret,
         (SELECT coalesce(jsonb_object_agg(dns_name, label), '{}') FROM delegation
          WHERE delegation.account_id = wanted.account_id
            AND delegation.dns_name = ANY (string_to_array(wanted.dns_names, ' '))) AS labels
       FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS wanted (account_id, dns_names, nth)`,
      // A name has no space.
      [keys.map(({ accountId }) => accountId), keys.map(({ dnsNames }) => dnsNames.join(' '))],
    );
    return inOrderOf<Facts>(keys, rows).map((row) => (row === null ? noFacts : factsOf(row)));
  }

  /** @returns by account */
  async ofNames(
    names: readonly NameOfAccount[],
    reader: Pick<Tx, 'query'> = this.database,
  ): Promise<ReadonlyMap<string, ApprovalFacts>> {
    const rows: Row[] = await reader.query(
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

export const noFacts: ApprovalFacts = { labels: new Map(), ruleSecret: null };

function factsOf({ labels, secret }: Facts): ApprovalFacts {
  return { labels: new Map(Object.entries(labels)), ruleSecret: secret };
}
