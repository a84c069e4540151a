import { issuancesAt, readingAlone, type StoredIssuance } from '@certwright/ct-index';
import {
  issuanceExpansion,
  IssuanceSchema,
  KnownCoverage,
  KnownIssuers,
  PresentIssuances,
} from '@certwright/issuance-json';
import { Injectable } from '@nestjs/common';
import { CtDatabase, type CtReader } from '../ct-database/ct-database.module';
import type { Finding } from './findings.repository';

/** The expansions of the webhook. */
const expanded = ['dns_names', 'issuer.website', 'issuer.caa_domains', 'problem_reporting'];
const inList = issuanceExpansion(expanded);
const alone = issuanceExpansion([...expanded, 'cert_der']);

/** By `tbs_sha256`, in hexadecimal. */
export type IssuancesOfPage = ReadonlyMap<string, IssuanceSchema>;

/** The first findings of a page. */
interface FirstFindings {
  readonly count: number;
  /** Without those that the index no longer has; none while it is unavailable. */
  readonly issuances: IssuancesOfPage;
}

/** The issuances of findings, as the search API shows them. */
@Injectable()
export class Issuances {
  private readonly presenting = new PresentIssuances(new KnownIssuers(), new KnownCoverage());

  constructor(private readonly ct: CtDatabase) {}

  /** As many as fit if names are very long, at least one. Without certificates. */
  async ofPage(accountId: string, findings: readonly Finding[]): Promise<FirstFindings> {
    return await this.of(accountId, findings, inList);
  }

  /** With its certificate. */
  async ofOne(accountId: string, finding: Finding): Promise<IssuancesOfPage> {
    return (await this.of(accountId, [finding], alone)).issuances;
  }

  private async of(
    accountId: string,
    findings: readonly Finding[],
    expansion: typeof alone,
  ): Promise<FirstFindings> {
    const all = { count: findings.length, issuances: new Map<string, IssuanceSchema>() };
    if (findings.every(({ position }) => position === null)) return all;
    const read = await this.ct.read(async (reader) => {
      const sinceMs = performance.now();
      const { count, stored } = await firstStored(reader, findings);
      const { json } = await this.presenting.page(reader, stored, expansion, sinceMs);
      return { count, shown: JSON.parse(json.toString()) as readonly IssuanceSchema[] };
    }, accountId);
    if (read === null) return all;
    // After a restore, the index may have another certificate at a position.
    const issuances = new Map(read.shown.map((issuance) => [issuance.tbs_sha256, issuance]));
    return { count: read.count, issuances };
  }
}

async function firstStored(
  reader: CtReader,
  findings: readonly Finding[],
): Promise<{ readonly count: number; readonly stored: readonly StoredIssuance[] }> {
  const pages = readingAlone(reader);
  for (let count = findings.length; ;) {
    const { issuances, isCut } = await issuancesAt(pages, positionsOf(findings.slice(0, count)), new Set());
    if (!isCut || count === 1) return { count, stored: issuances };
    // About as many fit of the first findings. Those that were read have the first positions.
    count = Math.min(issuances.length, count - 1);
  }
}

/** Ascending. */
function positionsOf(findings: readonly Finding[]): readonly number[] {
  return findings
    .flatMap(({ position }) => (position === null ? [] : [Number(position)]))
    .sort((one, other) => one - other);
}
