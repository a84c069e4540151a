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

/** Reads of the index for one page: each ends early if names are very long. */
const maxReads = 4;

/** By `tbs_sha256`, in hexadecimal. */
export type IssuancesOfPage = ReadonlyMap<string, IssuanceSchema>;

/** The issuances of findings, as the search API shows them. */
@Injectable()
export class Issuances {
  private readonly presenting = new PresentIssuances(new KnownIssuers(), new KnownCoverage());

  constructor(private readonly ct: CtDatabase) {}

  /** Without certificates. Without those that the index no longer has; none while the index is unavailable. */
  async ofPage(findings: readonly Finding[]): Promise<IssuancesOfPage> {
    return await this.of(findings, inList);
  }

  /** With its certificate. */
  async ofOne(finding: Finding): Promise<IssuancesOfPage> {
    return await this.of([finding], alone);
  }

  private async of(findings: readonly Finding[], expansion: typeof alone): Promise<IssuancesOfPage> {
    const positions = findings
      .flatMap(({ position }) => (position === null ? [] : [Number(position)]))
      .sort((one, other) => one - other);
    if (positions.length === 0) return new Map();
    const shown = await this.ct.read(async (reader) => {
      const stored = await storedAt(reader, positions);
      const { json } = await this.presenting.page(reader, stored, expansion);
      return JSON.parse(json.toString()) as readonly IssuanceSchema[];
    });
    // After a restore, the index may have another certificate at a position.
    return new Map((shown ?? []).map((issuance) => [issuance.tbs_sha256, issuance]));
  }
}

async function storedAt(reader: CtReader, positions: readonly number[]): Promise<readonly StoredIssuance[]> {
  const stored: StoredIssuance[] = [];
  let rest = positions;
  for (let reads = 0; reads < maxReads && rest.length > 0; reads += 1) {
    const { issuances, isCut } = await issuancesAt(readingAlone(reader), rest, new Set());
    stored.push(...issuances);
    const last = Number(issuances.at(-1)?.position);
    rest = isCut ? rest.filter((position) => position > last) : [];
  }
  return stored;
}
