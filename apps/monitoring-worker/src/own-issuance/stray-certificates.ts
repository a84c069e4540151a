import type { IssuanceState } from '@certwright/issuance';
import { type StrayProblem, Transactions } from '@certwright/core-schema';
import {
  concernedIssuances,
  indexRange,
  type IssuanceToMatch,
  type PageReader,
  readingAlone,
} from '@certwright/ct-index';
import { baseName, isWildcard } from '@certwright/dns-names';
import { RunningProcess } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { CtDatabase } from '../ct-database/ct-database.module';
import { lockTask, type TaskLease } from '../tasks/task-leases';
import { readCoverage } from './index-coverage';
import {
  type OwnObject,
  ownObjectColumns,
  OwnIssuanceEvents,
  ownObjectTables,
  type Stray,
} from './own-issuance-events';

/** Issuances of one round. */
const batch = 50;
const restMs = 10_000;
/** After an issuance ended, ms: its certificate arrived, and logs have published what they promised. */
const afterEndMs = 60 * 60 * 1_000;
/** Max difference of the clocks of both databases, ms. */
const clockSkewMs = 60_000;
/** Max issuances of the index that are compared with one issuance. */
const pages = { limit: 500, max: 20 };

interface EndedIssuance extends OwnObject {
  readonly issuanceId: string;
  readonly state: IssuanceState;
  readonly openedAt: Date;
  readonly spkiSha256: Buffer;
  readonly dnsNames: readonly string[];
  /** When the next issuance with this key was opened: what is discovered since then is compared with that one. */
  readonly nextAt: Date | null;
  /** Everything that the index discovered since the issuance was opened is after it. */
  readonly after: string;
}

/** Searches the index for certificates of issuances that the account did not receive. */
@Injectable()
export class StrayCertificates {
  private readonly log: RunningProcess['log'];

  constructor(
    private readonly database: DataSource,
    private readonly transactions: Transactions,
    private readonly ct: CtDatabase,
    private readonly events: OwnIssuanceEvents,
    { log }: RunningProcess,
  ) {
    this.log = log;
  }

  /** @returns how long to wait before the next issuances, ms */
  async check(lease: TaskLease): Promise<number> {
    const coverage = await readCoverage(this.ct);
    if (coverage === null) return restMs;
    const ended = await this.ended(coverage.readTo);
    const reader = readingAlone(this.ct);
    for (const issuance of ended) await this.checkOne(lease, reader, issuance);
    return ended.length < batch ? restMs : 0;
  }

  /** Not while a certificate with the key has no TBS digest yet: it would be taken for another one. */
  private async ended(readTo: Date): Promise<readonly EndedIssuance[]> {
    return await this.database.query(
      `SELECT issuance.id AS "issuanceId", issuance.state, issuance.opened_at AS "openedAt",
         terms.spki_sha256 AS "spkiSha256", terms.dns_names AS "dnsNames", ${ownObjectColumns},
         (SELECT min(later.opened_at) FROM terms AS same
          JOIN issuance AS later ON later.plan_id = same.plan_id AND later.terms_id = same.id
          WHERE same.spki_sha256 = terms.spki_sha256 AND later.account_id = issuance.account_id
            AND later.opened_at > issuance.opened_at AND (later.ca_reference IS NOT NULL OR later.state = 'open')
         ) AS "nextAt",
         coalesce((SELECT position FROM monitoring_checkpoint
           WHERE created_at < issuance.opened_at - $3::int * interval '1 millisecond'
           ORDER BY created_at DESC LIMIT 1), 0) AS "after"
       FROM issuance JOIN terms ON terms.id = issuance.terms_id JOIN plan ON plan.id = issuance.plan_id ${ownObjectTables}
       WHERE NOT issuance.strays_checked AND issuance.ca_reference IS NOT NULL AND issuance.state <> 'open'
         AND issuance.closed_at < least($1::timestamptz, now() - $2::int * interval '1 millisecond')
         AND NOT EXISTS (
           SELECT 1 FROM certificate WHERE certificate.account_id = issuance.account_id
             AND certificate.spki_sha256 = terms.spki_sha256 AND certificate.tbs_sha256 IS NULL)
       ORDER BY issuance.closed_at, issuance.id LIMIT ${batch}`,
      [readTo.toISOString(), afterEndMs, clockSkewMs],
    );
  }

  private async checkOne(lease: TaskLease, reader: PageReader, issuance: EndedIssuance): Promise<void> {
    const found = await this.unknownOnes(issuance, await this.loggedFor(reader, issuance));
    const problem: StrayProblem = issuance.state === 'issued' ? 'second-certificate' : 'not-received';
    const reported = await this.transactions.run(async (tx) => {
      await lockTask(tx, lease);
      const inserted = await tx.query<{ tbs: string }[]>(
        `INSERT INTO stray_certificate (account_id, tbs_sha256, issuance_id, problem)
         SELECT $1, tbs_sha256, $3, $4 FROM unnest($2::bytea[]) AS tbs_sha256
         ON CONFLICT DO NOTHING RETURNING encode(tbs_sha256, 'hex') AS tbs`,
        [issuance.accountId, found.map(({ tbsSha256 }) => tbsSha256), issuance.issuanceId, problem],
      );
      await tx.query(`UPDATE issuance SET strays_checked = true WHERE id = $1`, [issuance.issuanceId]);
      const fresh = new Set(inserted.map(({ tbs }) => tbs));
      const strays = found
        .filter(({ tbsSha256 }) => fresh.has(tbsSha256.toString('hex')))
        .map((logged): Stray => ({ ...issuance, ...logged, problem }));
      await this.events.strays(tx, strays);
      return strays;
    });
    for (const { accountId, issuanceId, tbsSha256 } of reported) {
      this.log.error(
        { account: accountId, issuance: issuanceId, tbs_sha256: tbsSha256.toString('hex'), problem },
        'ALARM: a certificate with the key of an issuance was logged and not received',
      );
    }
  }

  /** With the key and all names of the issuance, discovered since it was opened. */
  private async loggedFor(
    reader: PageReader,
    { issuanceId, dnsNames, spkiSha256, openedAt, nextAt, after }: EndedIssuance,
  ): Promise<readonly IssuanceToMatch[]> {
    const single = dnsNames.find((name) => !isWildcard(name));
    const domain = single ?? `.${baseName(dnsNames[0] ?? '')}`;
    const since = openedAt.getTime() - clockSkewMs;
    const upTo = String(BigInt((await indexRange(reader)).next) - 1n);
    const logged: IssuanceToMatch[] = [];
    let at = after;
    for (let page = 0; page < pages.max; page += 1) {
      const { issuances, isCut } = await concernedIssuances(reader, domain, {
        after: at,
        upTo,
        limit: pages.limit,
      });
      logged.push(
        ...issuances.filter(
          (issuance) =>
            issuance.spkiSha256.equals(spkiSha256) &&
            issuance.discoveredAt.getTime() >= since &&
            (nextAt === null || issuance.discoveredAt < nextAt) &&
            dnsNames.every((name) => issuance.dnsNames.includes(name)),
        ),
      );
      const last = issuances.at(-1);
      if (last === undefined || (issuances.length < pages.limit && !isCut)) return logged;
      at = last.position;
    }
    this.log.warn({ issuance: issuanceId, domain }, 'too many certificates to compare; the newest were not');
    return logged;
  }

  private async unknownOnes(
    { accountId }: EndedIssuance,
    logged: readonly IssuanceToMatch[],
  ): Promise<readonly IssuanceToMatch[]> {
    if (logged.length === 0) return [];
    const known: { tbs: string }[] = await this.database.query(
      `SELECT encode(tbs_sha256, 'hex') AS tbs FROM certificate
       WHERE account_id = $1 AND tbs_sha256 = ANY ($2::bytea[])`,
      [accountId, logged.map(({ tbsSha256 }) => tbsSha256)],
    );
    const own = new Set(known.map(({ tbs }) => tbs));
    return logged.filter(({ tbsSha256 }) => !own.has(tbsSha256.toString('hex')));
  }
}
