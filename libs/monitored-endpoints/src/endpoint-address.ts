import type { ServedAddress, ServedCertificate } from '@certwright/endpoint-checks';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { firstTexts, instant, port, sha256, timestamp } from './json-values';

/** Addresses with their port. */
const maxAddresses = 32;

/** Certificates after that of the server, which are stored and not shown. */
const maxChain = 10;

/** Names of a certificate. */
const maxNames = 100;

/** Total length of the names of all addresses, without the first name of each. */
const maxNameCharacters = 4_000;

/** Texts are those of the server, unchecked. Members are null if the certificate cannot be read. */
@ApiSchema({ name: 'ServedCertificate' })
export class ServedCertificateSchema {
  @ApiProperty({ ...sha256, description: 'SHA-256 over the DER certificate.' })
  sha256: string;

  @ApiProperty({
    ...sha256,
    nullable: true,
    description: 'SHA-256 over the DER TBSCertificate without SCT list.',
  })
  tbs_sha256: string | null;

  @ApiProperty({ ...sha256, nullable: true, description: 'SHA-256 over the DER SubjectPublicKeyInfo.' })
  pubkey_sha256: string | null;

  @ApiProperty({ ...instant, nullable: true })
  not_before: string | null;

  @ApiProperty({ ...instant, nullable: true })
  not_after: string | null;

  @ApiProperty({ type: [String], description: 'The first ones: as many as fit.' })
  dns_names: readonly string[];
}

/** What an address presented in the last check. */
@ApiSchema({ name: 'EndpointAddress' })
export class EndpointAddressSchema {
  @ApiProperty({ description: 'IPv4 or IPv6.', example: '192.0.2.1' })
  address: string;

  @ApiProperty(port)
  port: number;

  @ApiProperty({
    type: ServedCertificateSchema,
    nullable: true,
    description: 'Null: none was presented; see problem.',
  })
  certificate: ServedCertificateSchema | null;

  @ApiProperty({ type: String, nullable: true, description: 'Negotiated TLS version.', example: 'TLSv1.3' })
  version: string | null;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Negotiated cipher suite.',
    example: 'TLS_AES_128_GCM_SHA256',
  })
  cipher: string | null;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    description: 'Status of HEAD /. Null: not requested, or no HTTP response.',
  })
  http_status: number | null;

  @ApiProperty({ type: String, nullable: true, description: 'Why no certificate was presented.' })
  problem: string | null;
}

/** What is stored of a check in `served`: not more than is shown. */
export function storedServed(served: readonly ServedAddress[]): readonly ServedAddress[] {
  const shown = served.slice(0, maxAddresses);
  const presented = shown.filter(({ certificate }) => certificate !== null).length;
  return shown.map(({ certificate, chainSha256, ...rest }) => ({
    ...rest,
    certificate: certificate && withFewerNames(certificate, maxNameCharacters / presented),
    chainSha256: chainSha256.slice(0, maxChain),
  }));
}

const withFewerNames = (certificate: ServedCertificate, maxCharacters: number): ServedCertificate => ({
  ...certificate,
  dnsNames: firstTexts(certificate.dnsNames.slice(0, maxNames), maxCharacters),
});

export function addressJson(served: ServedAddress): EndpointAddressSchema {
  const { address, port, certificate, version, cipher, httpStatus, problem } = served;
  return {
    address,
    port,
    certificate: certificate && certificateJson(certificate),
    version,
    cipher,
    http_status: httpStatus,
    problem,
  };
}

const certificateJson = (certificate: ServedCertificate): ServedCertificateSchema => ({
  sha256: certificate.sha256,
  tbs_sha256: certificate.tbsSha256,
  pubkey_sha256: certificate.spkiSha256,
  not_before: certificate.notBefore && timestamp(certificate.notBefore),
  not_after: certificate.notAfter && timestamp(certificate.notAfter),
  dns_names: certificate.dnsNames,
});
