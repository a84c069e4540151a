import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { neutralMessage } from '@certwright/outcome-messages';
import { type CaOutage, CertificateAuthorityEntity } from '@certwright/core-schema';

/** Max delay until every process sees an operator's change of a CA. */
const keptMs = 5_000;
/** Min interval between reloads of the list for an unknown name. */
const lackingMs = 250;

/** Operator settings of a CA; omitted ones get their default. */
export type CertificateAuthorityChange = Partial<
  Omit<
    CertificateAuthorityEntity,
    'name' | 'downSince' | 'downUntil' | 'downFor' | 'problem' | 'outcome' | 'createdAt'
  >
>;

export type NewCertificateAuthority = CertificateAuthorityChange &
  Pick<CertificateAuthorityEntity, 'name' | 'directoryUrl'>;

/** The CAs that this deployment may use, besides the built-in one. */
@Injectable()
export class CertificateAuthorities {
  private kept: {
    readonly byName: ReadonlyMap<string, CertificateAuthorityEntity>;
    readonly until: number;
  } | null = null;

  constructor(private readonly database: DataSource) {}

  /** @param wanted names in a product; an unknown one may have just been added by an operator */
  async byName(wanted: readonly string[] = []): Promise<ReadonlyMap<string, CertificateAuthorityEntity>> {
    const now = performance.now();
    const lacks = wanted.some((name) => this.kept?.byName.has(name) === false);
    if (
      this.kept === null ||
      this.kept.until < now ||
      (lacks && this.kept.until - keptMs + lackingMs < now)
    ) {
      const rows = await this.repository().find();
      this.kept = {
        byName: new Map(rows.map((row) => [row.name, row])),
        until: now + keptMs,
      };
    }
    return this.kept.byName;
  }

  /** @returns false when the name already exists */
  async create(authority: NewCertificateAuthority): Promise<boolean> {
    const { raw } = await this.repository()
      .createQueryBuilder()
      .insert()
      .values(authority)
      .orIgnore()
      .returning('name')
      .execute();
    this.kept = null;
    return (raw as readonly unknown[]).length > 0;
  }

  /** @returns false when the name does not exist */
  async change(name: string, change: CertificateAuthorityChange): Promise<boolean> {
    const { affected } = await this.repository().update({ name }, change);
    this.kept = null;
    return affected === 1;
  }

  /**
   * Suspends requests to the CA until the next probe. If it is already down, `downSince` and the next probe are kept.
   *
   * @param scope null: unchanged
   * @param probeInMs from now, by the database's clock
   * @param notBeforeMs from Retry-After: earliest time of the next probe, also if already down
   * @returns false when it was already down
   */
  async markDown(
    name: string,
    { scope, problem }: Pick<CaOutage, 'problem'> & { readonly scope: CaOutage['scope'] | null },
    { probeInMs, notBeforeMs = 0 }: { readonly probeInMs: number; readonly notBeforeMs?: number },
  ): Promise<boolean> {
    const [rows] = await this.database.query<[{ is_news: boolean }[], number]>(
      `UPDATE certificate_authority AS authority SET
         down_since = coalesce(before.down_since, clock_timestamp()),
         down_until = greatest(authority.down_until, clock_timestamp() + interval '1 millisecond' * greatest(
           CASE WHEN before.down_since IS NULL THEN $2::float8 ELSE 0 END, $5::float8)),
         down_for = coalesce($3, authority.down_for, 'everything'), problem = $4, outcome = $6::jsonb
       FROM (SELECT name, down_since FROM certificate_authority WHERE name = $1 FOR NO KEY UPDATE) AS before
       WHERE authority.name = before.name RETURNING before.down_since IS NULL AS is_news`,
      [name, probeInMs, scope, neutralMessage(problem), notBeforeMs, JSON.stringify(problem)],
    );
    this.kept = null;
    return rows[0]?.is_news === true;
  }

  /** Marks the CA as up. @returns false when it was not down */
  async markUp(name: string): Promise<boolean> {
    const [, changed] = await this.database.query<[unknown, number]>(
      `UPDATE certificate_authority SET down_since = NULL, down_until = NULL, down_for = NULL, problem = NULL, outcome = NULL
       WHERE name = $1 AND (down_since IS NOT NULL OR down_until IS NOT NULL)`,
      [name],
    );
    this.kept = null;
    return changed > 0;
  }

  /**
   * Claims the right to send one request to a CA that is down: one process gets it per interval.
   *
   * @param probeInMs time until the next one
   */
  async claimProbe(name: string, probeInMs: number): Promise<boolean> {
    const [, changed] = await this.database.query<[unknown, number]>(
      `UPDATE certificate_authority SET down_until = clock_timestamp() + $2 * interval '1 millisecond'
       WHERE name = $1 AND down_since IS NOT NULL AND down_until <= clock_timestamp()`,
      [name, probeInMs],
    );
    this.kept = null;
    return changed > 0;
  }

  private repository() {
    return this.database.getRepository(CertificateAuthorityEntity);
  }
}
