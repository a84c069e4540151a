import type { Pool } from 'pg';
import { CertificateRevocationList } from 'pkijs';

/** A threshold that a current certificate passed, of a plan that is neither muted nor closed. */
export interface Crossing {
  readonly certificateId: string;
  readonly days: number;
  readonly planId: string;
  readonly atMs: number;
}

/** Observes the database after each step, for rules that cannot be checked at the end. */
export class Observations {
  readonly crossings: Crossing[] = [];
  /** Serial number in lower-case hex → when it was first seen on the list. */
  readonly listed = new Map<string, number>();
  /** Serial numbers that left the list, and when. */
  readonly unlisted = new Map<string, number>();
  readonly problems: string[] = [];
  /** Plans with a valid certificate but no current one, by id. */
  readonly withoutCurrent = new Map<string, number>();
  lists = 0;
  private number = 0n;
  private present = new Set<string>();
  private nextUpdateMs = 0;

  constructor(
    private readonly auditor: Pool,
    private readonly stepMs: number,
  ) {}

  /** @param isIdle the platform could not work in this step */
  async look(atMs: number, isIdle: boolean): Promise<void> {
    await this.lookAtList(atMs, isIdle);
    await this.lookAtThresholds(atMs);
    if (atMs % 86_400_000 === 0 && !isIdle) await this.lookAtPlans(atMs);
  }

  private async lookAtList(atMs: number, isIdle: boolean): Promise<void> {
    const { rows } = await this.auditor.query<{ crl: Buffer | null; number: string }>(
      `SELECT CASE WHEN crl_number > $1 THEN crl END AS crl, crl_number AS number FROM ca_issuer WHERE name = 'intermediate'`,
      [String(this.number)],
    );
    const [row] = rows;
    if (row !== undefined && BigInt(row.number) < this.number) this.problem(atMs, 'its number decreased');
    if (row?.crl) this.read(row.crl, BigInt(row.number), atMs);
    if (this.nextUpdateMs <= atMs && !(this.lists === 0 && isIdle)) this.problem(atMs, 'it is not current');
  }

  private read(der: Buffer, number: bigint, atMs: number): void {
    const list = CertificateRevocationList.fromBER(der);
    this.lists += 1;
    this.number = number;
    this.nextUpdateMs = list.nextUpdate?.value.getTime() ?? 0;
    if (list.thisUpdate.value.getTime() > atMs) this.problem(atMs, 'its thisUpdate is in the future');
    const serials = new Set(
      (list.revokedCertificates ?? []).map(({ userCertificate }) =>
        Buffer.from(userCertificate.valueBlock.valueHexView).toString('hex'),
      ),
    );
    for (const serial of serials) if (!this.listed.has(serial)) this.listed.set(serial, atMs);
    for (const serial of this.present) if (!serials.has(serial)) this.unlisted.set(serial, atMs);
    this.present = serials;
  }

  private problem(atMs: number, text: string): void {
    this.problems.push(`at ${new Date(atMs).toISOString().slice(0, 16)} ${text}`);
  }

  private async lookAtThresholds(atMs: number): Promise<void> {
    const { rows } = await this.auditor.query<Omit<Crossing, 'atMs'>>(
      `SELECT certificate.id AS "certificateId", days, plan_id AS "planId"
       FROM unnest('{30,14,7,3,1}'::int[]) AS days
       JOIN certificate ON is_current AND revoked_at IS NULL
         AND not_after <= to_timestamp($1::float8) + days * interval '24 hours'
         AND not_after > to_timestamp($1::float8 - $2::float8) + days * interval '24 hours'
         AND not_after - days * interval '24 hours' > not_before
       JOIN plan ON plan.id = plan_id AND closed_at IS NULL AND NOT muted`,
      [atMs / 1_000, this.stepMs / 1_000],
    );
    this.crossings.push(...rows.map((row) => ({ ...row, atMs })));
  }

  private async lookAtPlans(atMs: number): Promise<void> {
    const { rows } = await this.auditor.query<{ id: string }>(
      `SELECT plan.id FROM plan WHERE closed_at IS NULL
         AND EXISTS (SELECT 1 FROM certificate WHERE plan_id = plan.id AND revoked_at IS NULL AND not_after >= now())
         AND NOT EXISTS (SELECT 1 FROM certificate WHERE plan_id = plan.id AND is_current)`,
    );
    for (const { id } of rows) this.withoutCurrent.set(id, atMs);
  }
}
