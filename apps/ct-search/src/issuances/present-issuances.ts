import { setImmediate as otherRequests } from 'node:timers/promises';
import {
  issuanceBodies,
  type IssuanceBody,
  revocationFacts,
  type RevocationFacts,
  type StoredIssuance,
} from '@certwright/ct-persistence';
import { certificateOf } from '../certificates/certificate';
import type { IndexReader } from '../ct-index/index-readers';
import type { KnownIssuers } from '../issuers/known-issuers';
import type { Issuer } from '../issuers/issuer';
import type { IssuanceExpansion } from '../wire/expansion';
import { issuanceJson, needsCertificate, needsIssuer } from '../wire/issuance-json';

/**
 * Characters of one page, about. A hundred certificates are half a megabyte; what logs hold may be thirty times as long as any
 * real one. The page then ends early, behind its first issuance at least.
 */
const longestPage = 32 * 1024 * 1024;

/** Octets of certificates that are read at once, as they are stored. */
const mostBodyOctets = 16 * 1024 * 1024;

/** Issuances that are written without giving way to other requests. */
const writtenAtOnce = 100;

export interface PresentedPage {
  /** A JSON array. */
  readonly json: string;
  /** How many there are on it. */
  readonly count: number;
}

const unknown: RevocationFacts = { status: 'unknown', revokedAt: null, reason: null, checkedAt: null };

/** Issuances as the API shows them, with what else is known of them. */
export class PresentIssuances {
  constructor(private readonly issuers: KnownIssuers) {}

  /** @throws Problem `timeout`, `service_outage` */
  async page(
    reader: IndexReader,
    issuances: readonly StoredIssuance[],
    expansion: IssuanceExpansion,
  ): Promise<PresentedPage> {
    if (issuances.length === 0) return { json: '[]', count: 0 };
    const [revocations, issuers, bodies] = await Promise.all([
      revocationFacts(reader, issuances),
      this.issuersOf(reader, issuances, expansion),
      bodiesOf(reader, issuances, expansion),
    ]);
    let json = '';
    let count = 0;
    for (const [nth, issuance] of issuances.entries()) {
      const body = bodies?.get(issuance.position);
      if (bodies !== null && body === undefined) break;
      if (nth > 0 && nth % writtenAtOnce === 0) await otherRequests();
      const facts = {
        issuance,
        revocation: revocations[nth] ?? unknown,
        issuer: issuers?.get(issuance.issuer) ?? null,
        certificate: body === undefined ? null : certificateOf(body),
      };
      json += `${nth === 0 ? '' : ','}${issuanceJson(facts, expansion)}`;
      count += 1;
      if (json.length > longestPage) break;
    }
    return { json: `[${json}]`, count };
  }

  /** One alone, a JSON object. @param issuance with its body @throws Problem `timeout`, `service_outage` */
  async one(reader: IndexReader, issuance: StoredIssuance, expansion: IssuanceExpansion): Promise<string> {
    const [[revocation], issuers] = await Promise.all([
      revocationFacts(reader, [issuance]),
      this.issuersOf(reader, [issuance], expansion),
    ]);
    const { body } = issuance;
    const facts = {
      issuance,
      revocation: revocation ?? unknown,
      issuer: issuers?.get(issuance.issuer) ?? null,
      certificate:
        body === null || !needsCertificate(expansion) ? null : certificateOf({ ...issuance, body }),
    };
    return issuanceJson(facts, expansion);
  }

  private async issuersOf(
    reader: IndexReader,
    issuances: readonly StoredIssuance[],
    expansion: IssuanceExpansion,
  ): Promise<ReadonlyMap<number, Issuer> | null> {
    if (!needsIssuer(expansion)) return null;
    return await this.issuers.of(reader, new Set(issuances.map(({ issuer }) => issuer)));
  }
}

async function bodiesOf(
  reader: IndexReader,
  issuances: readonly StoredIssuance[],
  expansion: IssuanceExpansion,
): Promise<ReadonlyMap<string, IssuanceBody> | null> {
  if (!needsCertificate(expansion)) return null;
  const positions = issuances.map(({ position }) => position);
  const bodies = await issuanceBodies(reader, positions, mostBodyOctets);
  return new Map(bodies.map((body) => [body.position, body]));
}
