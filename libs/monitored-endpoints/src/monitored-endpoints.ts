import type { Tx } from '@certwright/core-schema';
import type { EndpointState } from '@certwright/endpoint-checks';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { EndpointRow } from './endpoint-json';

export interface EndpointPage {
  /** Name of the last one of the page before; null: the first page. */
  readonly after: string | null;
  readonly limit: number;
  /** Empty: in any state. */
  readonly states: readonly EndpointState[];
}

/** The first ones by name, as many as fit into memory. */
export interface FirstEndpoints {
  readonly endpoints: readonly EndpointRow[];
  /** There are others after the last one. */
  readonly hasMore: boolean;
}

const columns = 'dns_name, muted, ports, state, state_since, looked_at, findings, served';

/** Total bytes of findings and of what was served that are read at once: those of thousands of usual endpoints. */
const maxBytes = 8_388_608;

/** Reads the endpoints of one account. */
@Injectable()
export class MonitoredEndpoints {
  constructor(private readonly database: DataSource) {}

  async get(
    accountId: string,
    name: string,
    tx: Pick<Tx, 'query'> = this.database,
  ): Promise<EndpointRow | null> {
    const [found] = await tx.query<EndpointRow[]>(
      `SELECT ${columns} FROM monitored_endpoint WHERE account_id = $1 AND dns_name = $2`,
      [accountId, name],
    );
    return found ?? null;
  }

  /** By name: at least one if there is one, and not always as many as `limit`. */
  async page(accountId: string, { after, limit, states }: EndpointPage): Promise<FirstEndpoints> {
    return await this.first(
      this.database,
      `SELECT ${columns} FROM monitored_endpoint
       WHERE account_id = $1 AND dns_name > $3 AND ($4::text[] = '{}' OR state = ANY ($4))
       ORDER BY dns_name LIMIT $5 + 1`,
      [accountId, after ?? '', states, limit],
      limit,
    );
  }

  /** Those that exist. */
  async ofNames(
    accountId: string,
    names: readonly string[],
    tx: Pick<Tx, 'query'> = this.database,
  ): Promise<FirstEndpoints> {
    return await this.first(
      tx,
      `SELECT ${columns} FROM monitored_endpoint WHERE account_id = $1 AND dns_name = ANY ($3)`,
      [accountId, names],
      names.length,
    );
  }

  /** @param values of `statement`: $1, $3, … */
  private async first(
    tx: Pick<Tx, 'query'>,
    statement: string,
    [accountId, ...values]: readonly unknown[],
    limit: number,
  ): Promise<FirstEndpoints> {
    const rows = await tx.query<(EndpointRow & { readonly found: number })[]>(
      `SELECT ${columns}, found FROM (
         SELECT endpoint.*, count(*) OVER ()::int AS found, row_number() OVER by_name AS number,
           sum(octet_length(findings::text) + octet_length(served::text)) OVER by_name AS bytes
         FROM (${statement}) AS endpoint WINDOW by_name AS (ORDER BY dns_name)) AS counted
       WHERE number = 1 OR bytes <= $2 ORDER BY dns_name`,
      [accountId, maxBytes, ...values],
    );
    const endpoints = rows.slice(0, limit);
    return { endpoints, hasMore: endpoints.length < (rows[0]?.found ?? 0) };
  }
}
