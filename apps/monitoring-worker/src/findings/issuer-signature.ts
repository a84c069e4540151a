import { createPublicKey, X509Certificate } from 'node:crypto';
import { readIssued, tbsSha256 } from '@certwright/ct';
import { issuanceBodies, unpackBody } from '@certwright/ct-index';
import { readCertificate } from '@certwright/pki';
import { Injectable } from '@nestjs/common';
import { CtDatabase } from '../ct-database/ct-database.module';

/** A certificate in the index. */
export interface IndexedCertificate {
  readonly position: string;
  readonly tbsSha256: Buffer;
}

/** Max stored bytes of certificates that are read at once. */
const maxBytes = 8 * 1024 * 1024;

/** Verifies which CA signed certificates of the index. */
@Injectable()
export class IssuerSignatures {
  constructor(private readonly ct: CtDatabase) {}

  /**
   * The names in CAA records of the CA whose key signed a certificate: those that an operator's list has for the key. What
   * the certificate says of its issuer does not matter. A precertificate that was signed by a precertificate signing
   * certificate (RFC 6962, section 3.1) has the signature of another key: it has no verified CA.
   *
   * @returns by position; without certificates whose CA is not verified
   */
  async caaDomains(
    certificates: readonly IndexedCertificate[],
  ): Promise<ReadonlyMap<string, readonly string[]>> {
    const tbs = new Map(certificates.map(({ position, tbsSha256: digest }) => [position, digest]));
    const keys = await this.keysOf([...tbs.keys()]);
    const verified = new Map<string, readonly string[]>();
    let rest = [...keys.keys()];
    while (rest.length > 0) {
      const bodies = await issuanceBodies(this.ct, rest, maxBytes);
      const last = bodies.at(-1)?.position;
      for (const { position, precertificate, body } of bodies) {
        const key = keys.get(position);
        const digest = tbs.get(position);
        if (key === undefined || digest === undefined) continue;
        const der = unpackBody(body);
        const issued = readIssued(der, precertificate ? 'precertificate' : 'certificate');
        // After the index was restored, the position may be another certificate's.
        if (tbsSha256(issued) === digest.toString('hex') && isSignedBy(der, key.spkiDer))
          verified.set(position, key.caaDomains);
      }
      rest = last === undefined ? [] : rest.filter((position) => BigInt(position) > BigInt(last));
    }
    return verified;
  }

  private async keysOf(
    positions: readonly string[],
  ): Promise<ReadonlyMap<string, { readonly spkiDer: Buffer; readonly caaDomains: readonly string[] }>> {
    if (positions.length === 0) return new Map();
    const rows = await this.ct.query<{ position: string; spkiDer: Buffer; caaDomains: string[] }[]>(
      `SELECT issuance.position, spki_der AS "spkiDer", caa_domains AS "caaDomains"
       FROM ct_issuance AS issuance JOIN ct_issuer AS issuer ON issuer.id = issuance.issuer
       JOIN ct_issuer_profile AS profile ON profile.spki_sha256 = issuer.spki_sha256
       WHERE issuance.position = ANY ($1::bigint[]) AND spki_der IS NOT NULL AND caa_domains <> '{}'
         AND sha256(spki_der) = issuer.spki_sha256
       ORDER BY issuance.position`,
      [positions],
    );
    return new Map(rows.map(({ position, ...key }) => [position, key]));
  }
}

/** Never throws. Without SHA-1 and older hashes, for which another certificate with the same signature may be found. */
function isSignedBy(der: Buffer, spkiDer: Buffer): boolean {
  const reading = readCertificate(der);
  if (!reading.ok || reading.certificate.signatureAlgorithm.accepted === undefined) return false;
  try {
    const key = createPublicKey({ key: spkiDer, format: 'der', type: 'spki' });
    return new X509Certificate(der).verify(key);
  } catch {
    return false;
  }
}
