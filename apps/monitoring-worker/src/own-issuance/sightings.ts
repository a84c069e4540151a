import { Transactions } from '@certwright/core-schema';
import { issuancesToMatchAt, positionsOf } from '@certwright/ct-index';
import { RunningProcess } from '@certwright/service';
import { Inject, Injectable } from '@nestjs/common';
import { Gauge, Histogram } from 'prom-client';
import { DataSource } from 'typeorm';
import { Config } from '../config';
import { CtDatabase } from '../ct-database/ct-database.module';
import { lockTask, type TaskLease } from '../tasks/task-leases';
import { type IndexCoverage, readCoverage } from './index-coverage';
import { type NotLogged, ownObjectColumns, OwnIssuanceEvents, ownObjectTables } from './own-issuance-events';

const defaultBatch = 500;
const betweenBatchesMs = 100;
const betweenPassesMs = 10_000;

/** From the SCT of a certificate to its discovery in a log. */
const delayBucketsS = [1, 5, 15, 30, 60, 120, 300, 600, 1_800, 3_600, 21_600, 86_400, 172_800];

interface Unsighted {
  readonly id: string;
  readonly tbsSha256: Buffer;
  readonly notAfter: Date;
  readonly sctAt: Date;
  readonly isReported: boolean;
  /** By the clock of the core database. */
  readonly now: Date;
}

interface Sighting {
  readonly certificate: Unsighted;
  readonly discoveredAt: Date;
}

/** Looks up the certificates that were issued here in the index, until they are found or expire. */
@Injectable()
export class Sightings {
  batch = defaultBatch;
  /** The last certificate of this pass; null: the pass begins. */
  private after: Pick<Unsighted, 'notAfter' | 'id'> | null = null;
  private readonly log: RunningProcess['log'];
  private readonly delays: Histogram;

  constructor(
    private readonly database: DataSource,
    private readonly transactions: Transactions,
    private readonly ct: CtDatabase,
    private readonly events: OwnIssuanceEvents,
    @Inject(Config) private readonly config: Pick<Config, 'NOT_LOGGED_AFTER' | 'CT_INDEX_SCOPE'>,
    { log, metrics: { registry } }: RunningProcess,
  ) {
    this.log = log;
    this.delays = new Histogram({
      name: 'certwright_own_sighting_delay_seconds',
      help: 'From the SCT of a certificate that was issued here until the index discovered it',
      buckets: delayBucketsS,
      registers: [registry],
    });
    new Gauge({
      name: 'certwright_own_unsighted_certificates',
      help: 'Unexpired certificates that have an SCT for over an hour and are not in the index; reported: their accounts were notified',
      labelNames: ['state'],
      registers: [registry],
      async collect() {
        const [{ waiting, reported }] = await database.query<[{ waiting: number; reported: number }]>(
          `SELECT count(*) FILTER (WHERE not_logged_at IS NULL)::int AS waiting, count(not_logged_at)::int AS reported
           FROM certificate
           WHERE sct_at < now() - interval '1 hour' AND sighted_at IS NULL AND NOT imported AND not_after > now()`,
        );
        this.set({ state: 'waiting' }, waiting);
        this.set({ state: 'reported' }, reported);
      },
    });
  }

  /** The next certificates of a pass over all that were not found yet. @returns how long to wait before the next ones, ms */
  async look(lease: TaskLease): Promise<number> {
    const certificates = await this.unsighted();
    const last = certificates.at(-1);
    if (last === undefined) {
      this.after = null;
      return betweenPassesMs;
    }
    // Before the lookup: what is read into the index meanwhile is found, not missing.
    const coverage = await readCoverage(this.ct);
    const positions = await positionsOf(this.ct, certificates);
    const sightings = await this.sightingsOf(certificates, positions);
    const missing = certificates.filter(
      (certificate, nth) => positions[nth] === null && this.isMissing(certificate, coverage),
    );
    await this.record(lease, sightings, missing);
    this.after = last;
    if (certificates.length === this.batch) return betweenBatchesMs;
    this.after = null;
    return betweenPassesMs;
  }

  private async unsighted(): Promise<readonly Unsighted[]> {
    return await this.database.query(
      `SELECT id, tbs_sha256 AS "tbsSha256", not_after AS "notAfter", sct_at AS "sctAt",
         not_logged_at IS NOT NULL AS "isReported", clock_timestamp() AS now
       FROM certificate
       WHERE sct_at IS NOT NULL AND sighted_at IS NULL AND NOT imported AND tbs_sha256 IS NOT NULL
         AND (not_after, id) > (coalesce($1::timestamptz, now()), $2::bigint)
       ORDER BY not_after, id LIMIT $3`,
      [this.after?.notAfter ?? null, this.after?.id ?? 0, this.batch],
    );
  }

  /** @param positions of the certificates in the index */
  private async sightingsOf(
    certificates: readonly Unsighted[],
    positions: readonly (string | null)[],
  ): Promise<readonly Sighting[]> {
    const ascending = positions.flatMap((position) => (position === null ? [] : [Number(position)]));
    if (ascending.length === 0) return [];
    // If the answer is cut because of its size, the next pass finds the others.
    const { issuances } = await issuancesToMatchAt(
      this.ct,
      [...new Set(ascending)].sort((a, b) => a - b),
    );
    const byPosition = new Map(issuances.map((issuance) => [issuance.position, issuance]));
    return certificates.flatMap((certificate, nth) => {
      const issuance = byPosition.get(positions[nth] ?? '');
      return issuance?.tbsSha256.equals(certificate.tbsSha256) === true
        ? [{ certificate, discoveredAt: issuance.discoveredAt }]
        : [];
    });
  }

  /** An index of monitored names only, or one that is behind, proves nothing. */
  private isMissing({ sctAt, now, isReported }: Unsighted, coverage: IndexCoverage | null): boolean {
    if (isReported || coverage === null || this.config.CT_INDEX_SCOPE !== 'all') return false;
    return (
      now.getTime() - sctAt.getTime() > this.config.NOT_LOGGED_AFTER &&
      sctAt < coverage.loggedTo &&
      sctAt >= coverage.since
    );
  }

  private async record(
    lease: TaskLease,
    sightings: readonly Sighting[],
    missing: readonly Unsighted[],
  ): Promise<void> {
    if (sightings.length + missing.length === 0) return;
    const { sighted, reported } = await this.transactions.run(async (tx) => {
      await lockTask(tx, lease);
      const [seen] = await tx.query<[{ id: string; wasReported: boolean }[], number]>(
        `UPDATE certificate SET sighted_at = found.discovered_at
         FROM unnest($1::bigint[], $2::timestamptz[]) AS found (id, discovered_at)
         WHERE certificate.id = found.id AND sighted_at IS NULL
         RETURNING certificate.id, not_logged_at IS NOT NULL AS "wasReported"`,
        [
          sightings.map(({ certificate }) => certificate.id),
          sightings.map(({ discoveredAt }) => discoveredAt.toISOString()),
        ],
      );
      const [noted] = await tx.query<[NotLogged[], number]>(
        `UPDATE certificate SET not_logged_at = clock_timestamp()
         FROM plan ${ownObjectTables}
         WHERE certificate.id = ANY ($1::bigint[]) AND plan.id = certificate.plan_id AND not_logged_at IS NULL
         RETURNING certificate.id AS "certificateId", certificate.tbs_sha256 AS "tbsSha256", certificate.sha256,
           certificate.spki_sha256 AS "spkiSha256", certificate.dns_names AS "dnsNames",
           certificate.not_after AS "notAfter", certificate.sct_at AS "sctAt", ${ownObjectColumns}`,
        [missing.map(({ id }) => id)],
      );
      await this.events.notLogged(tx, noted);
      return { sighted: seen, reported: noted };
    });
    for (const { accountId, certificateId, tbsSha256, sctAt } of reported) {
      this.log.error(
        {
          account: accountId,
          certificate: certificateId,
          tbs_sha256: tbsSha256.toString('hex'),
          sct_at: sctAt,
        },
        'ALARM: a certificate that was issued here is not in the index of public certificates',
      );
    }
    this.observe(sightings, sighted);
  }

  private observe(
    sightings: readonly Sighting[],
    sighted: readonly { readonly id: string; readonly wasReported: boolean }[],
  ): void {
    const byId = new Map(sightings.map((sighting) => [sighting.certificate.id, sighting]));
    for (const { id, wasReported } of sighted) {
      const sighting = byId.get(id);
      if (sighting === undefined) continue;
      const { certificate, discoveredAt } = sighting;
      // A log may publish the precertificate before the CA returns the certificate.
      const delayS = Math.max(0, (discoveredAt.getTime() - certificate.sctAt.getTime()) / 1_000);
      this.delays.observe(delayS);
      if (wasReported)
        this.log.warn(
          { certificate: id, delay_s: delayS },
          'a certificate that was reported missing is in the index',
        );
    }
  }
}
