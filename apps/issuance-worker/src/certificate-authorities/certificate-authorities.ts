import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { neutralMessage } from '@certwright/outcome-messages';
import { type CaOutage, CertificateAuthorityEntity } from '@certwright/core-schema';

/** An operator's change of a CA is seen by every process after this time at the latest. */
const keptMs = 5_000;
/** How often the list is read anew for a name that it lacks. */
const lackingMs = 250;

/** What an operator decides about a CA; what is left out gets its default. */
export type CertificateAuthorityChange = Partial<
  Omit<
    CertificateAuthorityEntity,
    'name' | 'downSince' | 'downUntil' | 'downFor' | 'problem' | 'outcome' | 'createdAt'
  >
>;

export type NewCertificateAuthority = CertificateAuthorityChange &
  Pick<CertificateAuthorityEntity, 'name' | 'directoryUrl'>;

/** The CAs that this deployment may ask, besides its own. */
@Injectable()
export class CertificateAuthorities {
  private kept: {
    readonly byName: ReadonlyMap<string, CertificateAuthorityEntity>;
    readonly until: number;
  } | null = null;

  constructor(private readonly database: DataSource) {}

  /** @param wanted names that a product has: when one is not known, an operator may have added it just now */
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

  /** @returns false when there is one of this name already */
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

  /** @returns false when there is none of this name */
  async change(name: string, change: CertificateAuthorityChange): Promise<boolean> {
    const { affected } = await this.repository().update({ name }, change);
    this.kept = null;
    return affected === 1;
  }

  /**
   * The CA gets no request before the next probe. When it is down already, `downSince` and the next probe stay.
   *
   * @param scope null: as it was
   * @param probeInMs from now, by the database's clock
   * @param notBeforeMs as the CA asks for: the next probe is not before, down already or not
   * @returns false when it was down already
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

  /** It responds again. @returns false when it was not down */
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
   * The right to send one request to a CA that is down: of all processes, one gets it per interval.
   *
   * @param probeInMs until the next one
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
