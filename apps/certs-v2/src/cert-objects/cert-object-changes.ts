import { randomBytes } from 'node:crypto';
import { secretBytes } from '@certwright/dns-names';
import type { Product } from '@certwright/issuance';
import { StandingApprovals } from '@certwright/approvals';
import { type Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { termsOf } from './approval-ways';
import { type CertObject, dnsNamesOf, type StoredCertObject } from './cert-object';
import { CertObjectsRepository } from './cert-objects.repository';
import { changesOf } from './desired-cert-object';

/** Side effects of creating or modifying an object, all in the caller's transaction. It issues no certificate. */
@Injectable()
export class CertObjectChanges {
  constructor(
    private readonly objects: CertObjectsRepository,
    private readonly standing: StandingApprovals,
  ) {}

  async create(tx: Tx, accountId: string, object: CertObject, product: Product): Promise<StoredCertObject> {
    const stored = await this.objects.insert(tx, accountId, object, {
      terms: termsOf(object, product.name),
      downloadToken: randomBytes(secretBytes).toString('base64url'),
    });
    await this.ensureSecrets(tx, stored);
    return stored;
  }

  /**
   * The caller holds the rows of `before`. Without changes, no row is written.
   *
   * @param product of the modified object's type; null only when the terms stay
   */
  async modify(
    tx: Tx,
    before: StoredCertObject,
    after: CertObject,
    product: Product | null,
  ): Promise<StoredCertObject> {
    const changes = changesOf(before, after);
    if (!changes.any) return before;
    const terms = changes.terms && product !== null ? termsOf(after, product.name) : null;
    const stored = await this.objects.modify(tx, before, after, terms);
    if (changes.terms) await this.ensureSecrets(tx, stored);
    return stored;
  }

  /** Labels that the customer's records and servers point to; a new name of the account gets a fresh label. */
  private async ensureSecrets(tx: Tx, object: StoredCertObject): Promise<void> {
    const ways = [object, ...(object.sans ?? [])];
    const webRule = ways.some(({ approvalMethod }) => approvalMethod === 'http');
    const { accountId } = object;
    await this.standing.ensure(tx, { accountId, dnsNames: dnsNamesOf(object) }, { webRule });
  }
}
