import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { CertificateAuthorityEntity } from './certificate-authority.entity';

/** An operator's change of a CA is seen by every process after this time at the latest. */
const keptMs = 5_000;
/** How often the list is read anew for a name that it lacks. */
const lackingMs = 250;

/** What an operator decides about a CA; what is left out gets its default. */
export type CertificateAuthorityChange = Partial<
  Omit<CertificateAuthorityEntity, 'name' | 'downUntil' | 'problem' | 'createdAt'>
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

  /** The next CA of a product is asked until then. @param problem why, in words for an operator */
  async markDown(name: string, until: Date, problem: string): Promise<void> {
    await this.database.query(
      `UPDATE certificate_authority SET down_until = greatest(down_until, $2), problem = $3 WHERE name = $1`,
      [name, until, problem],
    );
    this.kept = null;
  }

  /** It answers again. */
  async markUp(name: string): Promise<void> {
    if ((await this.byName()).get(name)?.downUntil === null) return;
    await this.database.query(
      `UPDATE certificate_authority SET down_until = NULL, problem = NULL WHERE name = $1`,
      [name],
    );
    this.kept = null;
  }

  private repository() {
    return this.database.getRepository(CertificateAuthorityEntity);
  }
}
