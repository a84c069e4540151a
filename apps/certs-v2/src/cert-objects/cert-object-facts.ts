import type { AccountSubject } from '@certwright/accounts';
import { Delegations, WebRules } from '@certwright/approvals';
import { type Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { ApprovalFacts } from '../wire/approval-json';
import type { PlacedWay } from './approval-ways';

/** Reads the data shown with the objects of an account; with a transaction, on its connection. */
@Injectable()
export class CertObjectFactsReader {
  constructor(
    private readonly database: DataSource,
    private readonly delegations: Delegations,
    private readonly webRules: WebRules,
  ) {}

  async subject(accountId: string, reader: Pick<Tx, 'query'> = this.database): Promise<AccountSubject> {
    const [row] = await reader.query<[AccountSubject?]>(
      `SELECT country, state, locality, organization FROM account WHERE id = $1`,
      [accountId],
    );
    if (row === undefined) throw new Error(`account ${accountId} does not exist`);
    return row;
  }

  /** Data that a method does not need is not read. */
  async approvals(accountId: string, ways: readonly PlacedWay[], tx?: Tx): Promise<ApprovalFacts> {
    const places = ways.filter(({ method }) => method === 'dns').map(({ recordPlace }) => recordPlace);
    const byHttp = ways.some(({ method }) => method === 'http');
    return {
      labels:
        places.length === 0
          ? new Map<string, string>()
          : await this.delegations.ofNames(accountId, [...new Set(places)], tx),
      ruleSecret: byHttp ? await this.webRules.ofAccount(accountId, tx) : null,
    };
  }
}
