import { inOrderOf, keysOf, SharedReads, type Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { StoredInstance } from './instance';
import { type InstanceNeeds, type InstanceRow, sources, storedInstance, withInvoices } from './instance-rows';
import type { InstanceReference } from './instance-reference';

type Reader = Pick<Tx, 'query'>;

interface InstanceKey {
  readonly accountId: string;
  readonly cn: string;
  /** Of the instance, or of its key. */
  readonly value: string | Buffer;
}

export interface NeedsOfPlans {
  /** Null: they are not read. */
  readonly current: InstanceNeeds | null;
  readonly pending: InstanceNeeds | null;
}

export interface InstancesOfPlans {
  readonly currents: readonly StoredInstance[];
  readonly pendings: readonly StoredInstance[];
}

interface RowOfPlan extends InstanceRow {
  readonly shown: 'current' | 'pending';
}

/** An issuance, or an imported certificate: the other id is null. */
interface InstanceOfPage {
  readonly id: string;
  readonly issuanceId: string | null;
  readonly importedId: string | null;
}

type FoundInstance = StoredInstance | 'no object' | null;

/** Newest issuances of an object among which a key is looked for; older ones are found only if they have a certificate. */
export const maxKeyedAttempts = 1_000;

/**
 * A key has no index over issuances without a certificate. An account may have any number of them, and other accounts
 * wait for the same statement: the newest are read.
 */
const conditions = {
  id: {
    type: 'bigint',
    ofAttempt: 'issuance.public_id = wanted.value',
    ofCertificate: 'certificate.imported AND certificate.id = wanted.value',
  },
  key: {
    type: 'bytea',
    ofAttempt: `terms.spki_sha256 = wanted.value AND certificate.id IS NULL AND issuance.id > coalesce((
      SELECT older.id FROM issuance AS older WHERE older.plan_id = object.plan_id
      ORDER BY older.id DESC OFFSET ${maxKeyedAttempts} LIMIT 1), 0)`,
    ofCertificate: 'certificate.spki_sha256 = wanted.value',
  },
} as const satisfies Record<InstanceReference['kind'], object>;

/**
 * $1: plan, $2: id of the last instance of the page before, or null, $3: limit. An object may have any number of issuances, so the
 * index finds those of the page: only the one of plans has the order of both columns. Of issuances that were opened at the
 * same time, the later one may seem older: it goes before the earlier ones all the same.
 */
const newestInstances = `
  WITH last AS (
    SELECT id AS issuance_id, 0 AS imported_id, opened_at AS at FROM issuance WHERE plan_id = $1 AND public_id = $2
    UNION ALL
    SELECT NULL, id, created_at FROM certificate WHERE plan_id = $1 AND imported AND id = $2
    UNION ALL
    SELECT NULL, 0, 'infinity' WHERE $2::bigint IS NULL)
  SELECT found.id, found."issuanceId", found."importedId" FROM last CROSS JOIN LATERAL (
    SELECT public_id AS id, newest.id AS "issuanceId", NULL::bigint AS "importedId", min(opened_at) OVER (ORDER BY newest.id DESC) AS at
    FROM (
      SELECT id, public_id, opened_at FROM issuance
      WHERE plan_id >= $1 AND (plan_id, id) < ($1, coalesce(last.issuance_id, 9223372036854775807))
        AND (last.issuance_id IS NOT NULL OR opened_at <= last.at)
      ORDER BY plan_id DESC, id DESC LIMIT $3) AS newest
    UNION ALL
    (SELECT id, NULL, id, created_at FROM certificate
     WHERE plan_id = $1 AND imported AND (created_at, id) < (last.at, last.imported_id)
     ORDER BY created_at DESC, id DESC LIMIT $3)) AS found
  ORDER BY found.at DESC, "importedId" DESC NULLS LAST, "issuanceId" DESC LIMIT $3`;

/** Instances as they are read: they have no table of their own. */
@Injectable()
export class InstancesRepository {
  /** By kind of the reference, and big columns: one statement each. */
  private readonly reads = new Map<string, SharedReads<InstanceKey, FoundInstance>>();
  /** By what is needed. */
  private readonly readsOfPlans = new Map<string, SharedReads<readonly string[], InstancesOfPlans>>();

  constructor(private readonly database: DataSource) {}

  /** @returns `no object` when the account has none of this name; null when the object has no such instance */
  async find(
    accountId: string,
    cn: string,
    reference: InstanceReference,
    needs: InstanceNeeds,
  ): Promise<FoundInstance> {
    const { kind } = reference;
    const value = reference.kind === 'id' ? reference.id : Buffer.from(reference.pubkeyHash, 'hex');
    const variant = `${kind} ${needs.csr} ${needs.chain}`;
    const reads =
      this.reads.get(variant) ??
      new SharedReads<InstanceKey, FoundInstance>((keys) => this.findAll(keys, kind, needs));
    this.reads.set(variant, reads);
    return await reads.read({ accountId, cn, value });
  }

  private async findAll(
    keys: readonly InstanceKey[],
    kind: InstanceReference['kind'],
    needs: InstanceNeeds,
  ): Promise<FoundInstance[]> {
    const { attempts, certificates } = sources(needs);
    const { type, ofAttempt, ofCertificate } = conditions[kind];
    const rows: ((InstanceRow | { readonly id: null }) & { readonly nth: number })[] =
      await this.database.query(
        `SELECT wanted.nth::int, instance.*
         FROM ${keysOf('bigint', 'text', type)} AS wanted (account_id, cn, value, nth)
         CROSS JOIN LATERAL (
           SELECT plan_id FROM cert_object_v2 WHERE account_id = wanted.account_id AND cn = wanted.cn LIMIT 1) AS object
         LEFT JOIN LATERAL (${withInvoices(`
           SELECT * FROM (
             ${attempts} WHERE issuance.plan_id = object.plan_id AND ${ofAttempt}
             UNION ALL
             ${certificates} WHERE certificate.plan_id = object.plan_id AND ${ofCertificate}) AS found
           ORDER BY "isActive" DESC, "openedAt" DESC, id DESC LIMIT 1`)}) AS instance ON true`,
        [keys.map(({ accountId }) => accountId), keys.map(({ cn }) => cn), keys.map(({ value }) => value)],
      );
    return inOrderOf<InstanceRow | { readonly id: null }>(keys, rows).map((row) => {
      if (row === null) return 'no object';
      return row.id === null ? null : storedInstance(row);
    });
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
      withInvoices(`${sources(needs).attempts} WHERE issuance.id = ANY ($1::bigint[])`),
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
    return await read(reader, withInvoices(statement), certificateIds);
  }

  /** The instance of the current certificate of each plan, which never has expired, and the pending one. */
  async ofPlans(planIds: readonly string[], needs: NeedsOfPlans, reader?: Reader): Promise<InstancesOfPlans> {
    // A list has a statement of its own: single objects, also of other accounts, would wait for it.
    if (reader !== undefined || planIds.length > 1)
      return instancesOfPlans(await this.rowsOfPlans(planIds, needs, reader ?? this.database));
    const variant = JSON.stringify(needs);
    const reads =
      this.readsOfPlans.get(variant) ??
      new SharedReads<readonly string[], InstancesOfPlans>(async (keys) => {
        const rows = await this.rowsOfPlans(keys.flat(), needs, this.database);
        const byPlan = Map.groupBy(rows, ({ planId }) => planId);
        return keys.map((ids) => instancesOfPlans(ids.flatMap((id) => byPlan.get(id) ?? [])));
      });
    this.readsOfPlans.set(variant, reads);
    return await reads.read(planIds);
  }

  private async rowsOfPlans(
    planIds: readonly string[],
    { current, pending }: NeedsOfPlans,
    reader: Reader,
  ): Promise<RowOfPlan[]> {
    // The number of plans is hidden from the planner, as in `keysOf`.
    const isOneOfThem = '= ANY ((SELECT $1::bigint[])::bigint[])';
    const currents =
      current &&
      `${sources(current, `'current' AS shown`).certificates} WHERE certificate.plan_id ${isOneOfThem}
         AND certificate.is_current AND certificate.revoked_at IS NULL AND certificate.not_after >= now()`;
    const pendings =
      pending &&
      `${sources(pending, `'pending' AS shown`).attempts} WHERE issuance.plan_id ${isOneOfThem}
         AND issuance.state = 'open'`;
    const statement = [currents, pendings].filter((each) => each !== null).join(' UNION ALL ');
    return statement === '' ? [] : await reader.query(withInvoices(statement), [[...new Set(planIds)]]);
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
    const found = await this.database.query<InstanceOfPage[]>(newestInstances, [planId, after, limit]);
    const idsOf = (member: 'issuanceId' | 'importedId') => found.flatMap((each) => each[member] ?? []);
    const read = [
      ...(await this.ofIssuances(idsOf('issuanceId'), needs)),
      ...(await this.ofImported(idsOf('importedId'), needs)),
    ];
    const byId = new Map(read.map((instance) => [instance.id, instance]));
    return found.flatMap(({ id }) => byId.get(id) ?? []);
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

function instancesOfPlans(rows: readonly RowOfPlan[]): InstancesOfPlans {
  const shownAs = (wanted: RowOfPlan['shown']) =>
    rows.filter(({ shown }) => shown === wanted).map(storedInstance);
  return { currents: shownAs('current'), pendings: shownAs('pending') };
}
