import type { Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { StoredInstance } from './instance';
import { type InstanceNeeds, type InstanceRow, sources, storedInstance } from './instance-rows';
import type { InstanceReference } from './instance-reference';

type Reader = Pick<Tx, 'query'>;

/** Instances as they are read: they have no table of their own. */
@Injectable()
export class InstancesRepository {
  constructor(private readonly database: DataSource) {}

  /** @returns `no object` when the account has none of this name; null when the object has no such instance */
  async find(
    accountId: string,
    cn: string,
    reference: InstanceReference,
    needs: InstanceNeeds,
  ): Promise<StoredInstance | 'no object' | null> {
    const { attempts, certificates } = sources(needs);
    const [ofAttempt, ofCertificate, value] =
      reference.kind === 'id'
        ? ['issuance.public_id = $3', 'certificate.id = $3', reference.id]
        : [
            'terms.spki_sha256 = $3',
            'certificate.spki_sha256 = $3',
            Buffer.from(reference.pubkeyHash, 'hex'),
          ];
    const rows: (InstanceRow | { readonly id: null })[] = await this.database.query(
      `SELECT instance.* FROM cert_object_v2 AS object LEFT JOIN LATERAL (
         SELECT * FROM (
           ${attempts} WHERE issuance.plan_id = object.plan_id AND ${ofAttempt}
           UNION ALL
           ${certificates} WHERE certificate.plan_id = object.plan_id AND certificate.imported AND ${ofCertificate}) AS found
         ORDER BY "isActive" DESC, "openedAt" DESC, id DESC LIMIT 1) AS instance ON true
       WHERE object.account_id = $1 AND object.cn = $2`,
      [accountId, cn, value],
    );
    const [row] = rows;
    if (row === undefined) return 'no object';
    return row.id === null ? null : storedInstance(row);
  }

  /** In any order. */
  async ofIssuances(
    issuanceIds: readonly string[],
    needs: InstanceNeeds,
    reader: Reader = this.database,
  ): Promise<StoredInstance[]> {
    if (issuanceIds.length === 0) return [];
    return await read(
      reader,
      `${sources(needs).attempts} WHERE issuance.id = ANY ($1::bigint[])`,
      issuanceIds,
    );
  }

  async ofImported(
    certificateIds: readonly string[],
    needs: InstanceNeeds,
    reader: Reader = this.database,
  ): Promise<StoredInstance[]> {
    const { certificates } = sources(needs);
    const statement = `${certificates} WHERE certificate.id = ANY ($1::bigint[]) AND certificate.imported`;
    return await read(reader, statement, certificateIds);
  }

  /** The instance of the current certificate of each plan that has one. An expired certificate is never current. */
  async currentOf(
    planIds: readonly string[],
    needs: InstanceNeeds,
    reader: Reader = this.database,
  ): Promise<StoredInstance[]> {
    const statement = `${sources(needs).certificates} WHERE certificate.plan_id = ANY ($1::bigint[])
       AND certificate.is_current AND certificate.revoked_at IS NULL AND certificate.not_after >= now()`;
    return await read(reader, statement, planIds);
  }

  /** The pending instance of each plan that has one. */
  async pendingOf(
    planIds: readonly string[],
    needs: InstanceNeeds,
    reader: Reader = this.database,
  ): Promise<StoredInstance[]> {
    const { attempts } = sources(needs);
    const statement = `${attempts} WHERE issuance.plan_id = ANY ($1::bigint[]) AND issuance.state = 'open'`;
    return await read(reader, statement, planIds);
  }

  /**
   * One page of an object's instances, newest first.
   *
   * @param after id of the last instance of the page before; null for the first page
   */
  async page(
    planId: string,
    after: string | null,
    limit: number,
    needs: InstanceNeeds,
  ): Promise<StoredInstance[]> {
    const { attempts, certificates } = sources(needs);
    const rows: InstanceRow[] = await this.database.query(
      `WITH instance AS (
         ${attempts} WHERE issuance.plan_id = $1
         UNION ALL
         ${certificates} WHERE certificate.plan_id = $1 AND certificate.imported)
       SELECT * FROM instance
       WHERE $2::bigint IS NULL
         OR ("openedAt", id) < (SELECT last."openedAt", last.id FROM instance AS last WHERE last.id = $2)
       ORDER BY "openedAt" DESC, id DESC LIMIT $3`,
      [planId, after, limit],
    );
    return rows.map(storedInstance);
  }

  /** Those of the issuances that are open no more; one that is gone counts as well. */
  async closedAmong(issuanceIds: readonly string[]): Promise<string[]> {
    const rows: { id: string }[] = await this.database.query(
      `SELECT requested.id FROM unnest($1::bigint[]) AS requested (id)
       LEFT JOIN issuance ON issuance.id = requested.id AND issuance.state = 'open' WHERE issuance.id IS NULL`,
      [issuanceIds],
    );
    return rows.map(({ id }) => id);
  }
}

async function read(reader: Reader, statement: string, ids: readonly string[]): Promise<StoredInstance[]> {
  return (await reader.query<InstanceRow[]>(statement, [ids])).map(storedInstance);
}
