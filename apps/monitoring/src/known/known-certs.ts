import { readIssued, tbsSha256, transparencyTbs } from '@certwright/ct';
import { Problem } from '@certwright/errors';
import { readCertificate } from '@certwright/pki';
import { type ReadMembers, SentBytes, TextLine, timestamp, validMembers } from '@certwright/service';
import { ApiProperty } from '@nestjs/swagger';
import { noSuchKnownCertificate, tooManyKnownObjects } from '../wire/problems';
import { Digest, documentedDigest } from './digest-member';
import type { KnownKind, NewKnownObject } from './known-kind';
import type { KnownRow } from './known-objects.repository';
import { derOf, pemType } from './sent-der';

const tbsDigest = 'SHA-256 over the DER TBSCertificate without poison and SCT list';

/** A certificate from elsewhere that the account recognizes. */
export class KnownCertSchema {
  @ApiProperty({ type: 'integer', maximum: Number.MAX_SAFE_INTEGER })
  id: number;

  @ApiProperty({
    ...documentedDigest(tbsDigest),
    description: `${tbsDigest}, in hexadecimal: the same for a certificate and its precertificate.`,
  })
  tbs_sha256: string;

  @ApiProperty()
  note: string;

  @ApiProperty({ format: 'date-time' })
  created_at: string;
}

/** The JSON body of a POST. */
export class KnownCertRequest {
  @Digest(tbsDigest)
  tbs_sha256: Buffer;

  @TextLine()
  note?: string;
}

export interface KnownCertRow extends KnownRow {
  readonly tbs_sha256: Buffer;
}

export const knownCerts: KnownKind<KnownCertRow> = {
  object: 'known_cert',
  resource: 'known_certs',
  json: ({ id, tbs_sha256, note, created_at }): KnownCertSchema => ({
    // Ids fit the integers of JSON's numbers: a constraint of the table.
    id: Number(id),
    tbs_sha256: tbs_sha256.toString('hex'),
    note,
    created_at: timestamp(created_at),
  }),
  notFound: noSuchKnownCertificate,
  tooMany: () => tooManyKnownObjects('known certificates'),
};

/** Media types of a certificate. */
export const certificateTypes: readonly string[] = [pemType, 'application/pkix-cert'];

/** @throws Problem `bad_request` with everything that is wrong */
export function knownCertOf(body: SentBytes | ReadMembers<KnownCertRequest>): NewKnownObject {
  if (body instanceof SentBytes)
    return { identity: { tbs_sha256: digestOfCertificate(body) }, note: undefined };
  const { tbs_sha256, note } = validMembers(body);
  return { identity: { tbs_sha256 }, note };
}

/** Of a certificate or a precertificate. */
function digestOfCertificate(body: SentBytes): Buffer {
  const der = derOf(body, ['CERTIFICATE']);
  if (der === null) throw notReadable('The body is not one PEM block with the label CERTIFICATE.');
  const reading = readCertificate(der);
  if (!reading.ok) throw notReadable(`The certificate is not valid DER: ${reading.detail}.`);
  const issued = readIssued(der, 'certificate');
  // The digest of something unreadable would be over all bytes, and match nothing.
  if (transparencyTbs(issued) === null) throw notReadable('The certificate has no TBSCertificate.');
  return Buffer.from(tbsSha256(issued), 'hex');
}

const notReadable = (message: string): Problem =>
  Problem.ofFields([{ field: 'certificate', code: 'invalid_value', message }]);
