import { randomInt } from 'node:crypto';
import type { Tx } from '@certwright/core-schema';
import { logIdentity, sha256 } from '@certwright/pki';
import { Injectable } from '@nestjs/common';
import type { StoredCertObject } from '../cert-objects/cert-object';
import type { ImportedCertificate } from './imported-certificate';

/** Positive, random, and exact as a JSON number. */
const ids = { least: 1, below: 2 ** 48 - 1 };

/**
 * Stored instead of an unknown root: not a certificate, so that a chain without its root never equals another one.
 */
const noRoot = Buffer.from('root unknown');

/** Certificates that their owners bring along. The caller holds the plan. */
@Injectable()
export class ImportedCertificates {
  /** @returns the id of the instance that has this very certificate already, issued here or imported; null: none has */
  async instanceOf(tx: Tx, planId: string, { leaf }: ImportedCertificate): Promise<string | null> {
    const [row] = await tx.query<[{ id: string }?]>(
      `SELECT coalesce(issuance.public_id, certificate.id) AS id
       FROM certificate LEFT JOIN issuance ON issuance.id = certificate.issuance_id
       WHERE certificate.plan_id = $1 AND certificate.sha256 = $2`,
      [planId, Buffer.from(leaf.sha256, 'hex')],
    );
    return row?.id ?? null;
  }

  /** Not yet the current one, whatever it is. @returns its id, which is that of its instance */
  async insert(
    tx: Tx,
    { planId, accountId }: StoredCertObject,
    { leaf, keyType, dnsNames, chain, root }: ImportedCertificate,
  ): Promise<string> {
    const { tbsSha256, hasSctList } = logIdentity(leaf.der);
    const id = String(randomInt(ids.least, ids.below));
    await tx.query(
      `INSERT INTO certificate (id, account_id, plan_id, imported, is_current, dns_names, key_type, serial_number,
         not_before, not_after, sha256, spki_sha256, leaf, chain_sha256, tbs_sha256, sct_at)
       VALUES ($1, $2, $3, true, false, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
         CASE WHEN $14::boolean THEN clock_timestamp() END)`,
      [
        id,
        accountId,
        planId,
        dnsNames,
        keyType,
        leaf.serialNumber,
        leaf.notBefore,
        leaf.notAfter,
        Buffer.from(leaf.sha256, 'hex'),
        Buffer.from(leaf.spkiSha256, 'hex'),
        leaf.der,
        await this.storeChain(tx, { chain, root }),
        Buffer.from(tbsSha256, 'hex'),
        hasSctList,
      ],
    );
    return id;
  }

  /** @returns under which digest it is stored */
  private async storeChain(
    tx: Tx,
    { chain, root }: Pick<ImportedCertificate, 'chain' | 'root'>,
  ): Promise<Buffer> {
    const ders = chain.map(({ der }) => der);
    const digest = sha256(Buffer.concat([...ders, root?.der ?? noRoot]));
    await tx.query(
      `INSERT INTO certificate_chain (sha256, chain, root) VALUES ($1, $2::bytea[], $3) ON CONFLICT DO NOTHING`,
      [digest, ders, root?.der ?? Buffer.alloc(0)],
    );
    return digest;
  }
}
