import type { Certificate } from '@certwright/pki';
import { RequirePermission } from '@certwright/service';
import { Controller, Post, Res } from '@nestjs/common';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { jsonResponse, sendResponse } from '../wire/response';
import { Given, readArguments, type Sent } from '../wire/arguments';
import { ApiInteger, ApiList } from '../wire/openapi/members';
import { DescribesPost } from '../wire/openapi/operation';
import { CertificateRequest } from './import-request';
import { badCertificate } from './imported-certificate';

@ApiSchema({ name: 'ParsedName' })
class ParsedNameJson {
  @ApiProperty({ description: 'dns or other.' }) type: 'dns' | 'other';
  @ApiProperty({ description: 'The name; of others which kind it is.' }) value: string;
}

@ApiSchema({ name: 'ParsedCertificate' })
class ParsedCertificateJson {
  @ApiProperty({ description: 'Common name of the subject, else the first DNS name; in lower case.' })
  cn: string;
  @ApiList(ParsedNameJson, 'Alternative names.') sans: ParsedNameJson[];
  @ApiProperty({ description: 'Of the DER public key. SHA-256, lower-case hex.' }) pubkey_hash: string;
  @ApiProperty({ description: 'SHA-1 of the DER certificate, lower-case hex.' }) sha1_fingerprint: string;
  @ApiProperty({ description: 'Of the DER certificate. SHA-256, lower-case hex.' })
  sha256_fingerprint: string;
  @ApiInteger('End of its validity; UNIX time in seconds.') expiration: number;
  @ApiProperty({ description: 'Whether it states the policy of Extended Validation.' }) ev: boolean;
}

/** Clients up to version 1.7 use this to parse certificates before importing them; nothing is stored. */
@Controller('api/v2/utils/parse_crt')
@RequirePermission('Order and Manage Certificates')
export class ParseCrtController {
  @Post()
  @DescribesPost({
    summary: 'Parses a certificate; nothing is stored',
    takes: CertificateRequest,
    returns: ParsedCertificateJson,
    failsWith: ['missing_param', 'bad_certificate'],
  })
  parse(@Given() given: Sent, @Res() reply: FastifyReply) {
    const { crt } = readArguments(CertificateRequest, given);
    sendResponse(reply, jsonResponse(parsedCertificateJson(crt)));
  }
}

/** CA/Browser Forum, Extended Validation guidelines: the policy 2.23.140.1.1, as DER. */
const evPolicy = Buffer.from('060567810c0101', 'hex');

/**
 * Data that existing clients need about a certificate before they import it.
 *
 * @throws Refusal `bad_certificate` when it has no name
 */
function parsedCertificateJson(certificate: Certificate): ParsedCertificateJson {
  const { subjectCommonName, dnsNames, otherNameKinds, spkiSha256, sha1, sha256 } = certificate;
  const cn = subjectCommonName ?? dnsNames[0];
  if (cn === undefined) throw badCertificate('crt', 'has neither a common name nor a DNS name.');
  return {
    cn: cn.toLowerCase(),
    sans: [
      ...dnsNames.map((value) => ({ type: 'dns' as const, value })),
      ...otherNameKinds.map((value) => ({ type: 'other' as const, value })),
    ],
    pubkey_hash: spkiSha256,
    sha1_fingerprint: sha1,
    sha256_fingerprint: sha256,
    expiration: Math.floor(certificate.notAfter.getTime() / 1_000),
    ev: Buffer.from(certificate.tbsDer).includes(evPolicy),
  };
}
