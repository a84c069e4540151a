import { type NewTerms, Plans } from '@certwright/ordering';
import type { AccountSubject } from '@certwright/accounts';
import { baseNameInSql, inOrderOf, keysOf, SharedReads, type Tx } from '@certwright/core-schema';
import { baseName } from '@certwright/dns-names';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { CertsConfig } from '../config';
import { Refusal } from '../wire/reasons';
import { type ApprovalFactsRow, factsOf } from '../instances/approval-facts.repository';
import type { ApprovalFacts } from '../wire/approval-json';
import { type CertObject, defaultSanOf, type StoredCertObject } from './cert-object';

interface CertObjectRow extends Omit<StoredCertObject, 'csr'> {
  readonly csr: Buffer;
  readonly spkiSha256: Buffer;
  readonly keyType: CertObject['csr']['keyType'];
}

const columnsWith = (
  csr: string,
) => `object.plan_id AS "planId", object.account_id AS "accountId", object.cn, object.type,
         object.approval_method AS "approvalMethod", object.approver_email AS "approverEmail", object.sans, object.tags,
         ${csr} AS csr, object.spki_sha256 AS "spkiSha256", object.key_type AS "keyType",
         plan.terms_id AS "termsId", plan.revision, plan.auto_renew AS "autoRenew", plan.muted,
         plan.download_token AS "downloadToken", plan.paid_through AS "paidThrough",
         plan.paid_product AS "paidProduct",
         (SELECT not_after FROM certificate WHERE certificate.plan_id = plan.id AND certificate.is_current
            AND certificate.revoked_at IS NULL AND certificate.not_after >= now()) AS "activeUntil"`;

const objectsWith = (csr: string) =>
  `SELECT ${columnsWith(csr)} FROM cert_object_v2 AS object JOIN plan ON plan.id = object.plan_id`;

const objects = objectsWith('object.csr');

interface ObjectKey {
  readonly accountId: string;
  readonly cn: string;
}

type FoundRow = AccountSubject & ApprovalFactsRow & (CertObjectRow | { readonly planId: null });

/** What an account shows under a common name. */
export interface FoundCertObject {
  readonly subject: AccountSubject;
  /** Of the names of the object, or of those that it would have by default. */
  readonly approvals: ApprovalFacts;
  /** Null: the account has no object of this common name. */
  readonly object: StoredCertObject | null;
}

export interface Page {
  /** Common name of the last object of the page before; null: the first page. */
  readonly after: string | null;
  readonly limit: number;
  /** Only objects with this tag; null: all. */
  readonly tag: string | null;
  /** False: each object has an empty CSR. Those of a page can be many megabytes. */
  readonly withCsr: boolean;
}

/** LATERAL … LIMIT has one plan, whatever the planner knows of the tables. */
const wantedObjects = `
  SELECT wanted.nth::int, account.country, account.state, account.locality, account.organization, found.*,
    (SELECT secret FROM web_rule WHERE web_rule.account_id = wanted.account_id) AS secret,
    (SELECT coalesce(jsonb_object_agg(dns_name, label), '{}') FROM delegation
     WHERE delegation.account_id = wanted.account_id AND delegation.dns_name = ANY (ARRAY[wanted.base_cn, wanted.added] ||
       ARRAY(SELECT ${baseNameInSql(`san ->> 'value'`)} FROM jsonb_array_elements(found.sans) AS san))) AS labels
  FROM ${keysOf('bigint', 'text', 'text', 'text')} AS wanted (account_id, cn, base_cn, added, nth)
  CROSS JOIN LATERAL (SELECT * FROM account WHERE account.id = wanted.account_id LIMIT 1) AS account
  LEFT JOIN LATERAL (
    ${objects} WHERE object.account_id = wanted.account_id AND object.cn = wanted.cn LIMIT 1) AS found ON true`;

/** Certificate objects: their own table, and the plan that each points to. They are never deleted. */
@Injectable()
export class CertObjectsRepository {
  private readonly reads = new SharedReads<ObjectKey, FoundCertObject>((keys) => this.findAll(keys));

  constructor(
    private readonly database: DataSource,
    private readonly plans: Plans,
    @Inject(CertsConfig) private readonly config: Pick<CertsConfig, 'MAX_CERT_OBJECTS'>,
  ) {}

  async find(accountId: string, cn: string): Promise<StoredCertObject | null> {
    return (await this.findShown(accountId, cn)).object;
  }

  /** With what is shown although there is no object. */
  async findShown(accountId: string, cn: string): Promise<FoundCertObject> {
    return await this.reads.read({ accountId, cn });
  }

  private async findAll(keys: readonly ObjectKey[]): Promise<FoundCertObject[]> {
    const rows: (FoundRow & { readonly nth: number })[] = await this.database.query(wantedObjects, [
      keys.map(({ accountId }) => accountId),
      ...[(cn: string) => cn, baseName, (cn: string) => baseName(defaultSanOf(cn))].map((nameOf) =>
        keys.map(({ cn }) => nameOf(cn)),
      ),
    ]);
    return inOrderOf<FoundRow>(keys, rows).map((row, at) => {
      if (row === null) throw new Error(`account ${keys[at]?.accountId} does not exist`);
      const { country, state, locality, organization, secret, labels, ...object } = row;
      return {
        subject: { country, state, locality, organization },
        approvals: factsOf({ secret, labels }),
        object: object.planId === null ? null : storedCertObject(object),
      };
    });
  }

  /** Holds object and plan until the transaction ends. Both rows: of a row that is not locked, an older version may be seen. */
  async lock(tx: Tx, accountId: string, cn: string): Promise<StoredCertObject | null> {
    return await one(tx, 'WHERE object.account_id = $1 AND object.cn = $2 FOR UPDATE', accountId, cn);
  }

  /** The object of a plan that the caller holds; null: the plan is another API's. */
  async ofPlan(tx: Tx, planId: string): Promise<StoredCertObject | null> {
    return await one(tx, 'WHERE object.plan_id = $1', planId);
  }

  /** By common name, in code point order. */
  async page(accountId: string, { after, limit, tag, withCsr }: Page): Promise<StoredCertObject[]> {
    const rows: CertObjectRow[] = await this.database.query(
      `${withCsr ? objects : objectsWith(`''::bytea`)} WHERE object.account_id = $1 AND ($2::text IS NULL OR object.cn > $2)
         AND ($3::text IS NULL OR $3 = ANY (object.tags))
       ORDER BY object.cn LIMIT $4`,
      [accountId, after, tag, limit],
    );
    return rows.map(storedCertObject);
  }

  /**
   * @throws unique_violation of `cert_object_v2_cn` when the account has an object of this common name
   * @throws Refusal `too_many_certs`: then the transaction must not be committed
   */
  async insert(
    tx: Tx,
    accountId: string,
    object: CertObject,
    { terms, downloadToken }: { readonly terms: NewTerms; readonly downloadToken: string },
  ): Promise<StoredCertObject> {
    const { autoRenew, muted } = object;
    const plan = { accountId, autoRenew, muted, paused: false, downloadToken, owner: 'certs-v2' } as const;
    const planId = await this.plans.create(tx, plan);
    const { MAX_CERT_OBJECTS: max } = this.config;
    // Skips up to `max` entries of the index on account and common name: about 10 ms for 100,000 of them.
    const inserted = await tx.query<unknown[]>(
      `INSERT INTO cert_object_v2 (plan_id, account_id, cn, type, approval_method, approver_email, sans, tags, csr,
         spki_sha256, key_type)
       SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11
       WHERE NOT EXISTS (
         SELECT FROM cert_object_v2 WHERE account_id = $2 AND cn <> $3 ORDER BY cn OFFSET $12 - 1 LIMIT 1)
       RETURNING plan_id`,
      [planId, accountId, object.cn, ...modifiableColumns(object), max],
    );
    if (inserted.length === 0)
      throw new Refusal(
        'too_many_certs',
        `The account has ${max} certificate objects, the maximum. Reuse one, or ask the operator to raise MAX_CERT_OBJECTS.`,
      );
    const termsId = await this.plans.setTerms(tx, planId, terms);
    const nothingBought = { paidThrough: null, paidProduct: null, activeUntil: null };
    return { ...object, planId, accountId, termsId, revision: 1, downloadToken, ...nothingBought };
  }

  /**
   * The caller holds the rows of `before`.
   *
   * @param terms null: those that stand are kept
   */
  async modify(
    tx: Tx,
    before: StoredCertObject,
    after: CertObject,
    terms: NewTerms | null,
  ): Promise<StoredCertObject> {
    const { planId } = before;
    const { autoRenew, muted } = after;
    const revision = await this.plans.modify(tx, planId, { autoRenew, muted, paused: false });
    await tx.query(
      `UPDATE cert_object_v2 SET type = $2, approval_method = $3, approver_email = $4, sans = $5, tags = $6, csr = $7,
         spki_sha256 = $8, key_type = $9 WHERE plan_id = $1`,
      [planId, ...modifiableColumns(after)],
    );
    const termsId = terms === null ? before.termsId : await this.plans.setTerms(tx, planId, terms);
    return { ...before, ...after, termsId, revision };
  }
}

async function one(
  reader: Pick<Tx, 'query'>,
  condition: string,
  ...parameters: readonly string[]
): Promise<StoredCertObject | null> {
  const [row] = await reader.query<[CertObjectRow?]>(`${objects} ${condition}`, [...parameters]);
  return row === undefined ? null : storedCertObject(row);
}

function storedCertObject({ csr: der, spkiSha256, keyType, ...row }: CertObjectRow): StoredCertObject {
  return { ...row, csr: { der, spkiSha256, keyType } };
}

function modifiableColumns({ sans, csr, ...object }: CertObject): unknown[] {
  return [
    object.type,
    object.approvalMethod,
    object.approverEmail,
    sans === null ? null : JSON.stringify(sans),
    object.tags,
    csr.der,
    csr.spkiSha256,
    csr.keyType,
  ];
}
