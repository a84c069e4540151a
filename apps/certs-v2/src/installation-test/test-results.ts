import {
  type AddressLook,
  type HostLook,
  type Look,
  maxAddressesOfHost,
  maxAddressesOfLook,
  type NotPresentedReason,
  type Presented,
} from '@certwright/endpoint-checks';
import { sha256Hex } from '@certwright/pki';
import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { checkPresented, type Expected } from './check-presented';

const statuses = ['conclusive', 'connect_error', 'handshake_error', 'internal_error'] as const;
type InconclusiveStatus = Exclude<(typeof statuses)[number], 'conclusive'>;

@ApiSchema({ name: 'TestResult' })
export class TestResultJson {
  @ApiProperty({ description: 'Host that was tested.' }) hostname: string;
  @ApiProperty({ description: 'Address that was tested.' }) ip_address: string;
  @ApiProperty({ enum: statuses }) status: (typeof statuses)[number];
  @ApiPropertyOptional({ description: 'If and only if conclusive.' }) correct?: boolean;
  @ApiPropertyOptional({ description: 'If and only if conclusive.' }) chained?: boolean;
  @ApiPropertyOptional({ description: 'If and only if conclusive: a temporary certificate was served.' })
  dummy?: boolean;
  @ApiPropertyOptional({ description: 'If and only if not conclusive.' }) error?: string;
}

/** Up to the TCP connection it is one status, from there on the other. */
const statusOf = {
  refused_address: 'connect_error',
  connect: 'connect_error',
  busy: 'connect_error',
  handshake: 'handshake_error',
  timeout: 'handshake_error',
  too_large: 'handshake_error',
  internal: 'internal_error',
} as const satisfies Record<NotPresentedReason, InconclusiveStatus>;

/** Browsers refuse other versions (RFC 8996). */
const browserVersions: readonly string[] = ['TLSv1.2', 'TLSv1.3'];

/** One result per address: a host without an address has none, which shows that it could not be resolved. */
export function testResultsJson({ hosts, certificates }: Look, expected: Expected): TestResultJson[] {
  const digests = certificates.map((text) => sha256Hex(Buffer.from(text, 'base64')));
  return hosts.flatMap((host) => [
    ...host.addresses.map((each) => testResultJson(host.host, each, digests, expected)),
    ...omittedJson(host),
  ]);
}

function testResultJson(
  hostname: string,
  { address: ip_address, port, result }: AddressLook,
  digests: readonly string[],
  expected: Expected,
): TestResultJson {
  if (result.kind === 'not_presented')
    return { hostname, ip_address, status: statusOf[result.reason], error: result.problem };
  if (!browserVersions.includes(result.version)) {
    const error = `${ip_address} port ${port} speaks neither TLS 1.2 nor TLS 1.3.`;
    return { hostname, ip_address, status: 'handshake_error', error };
  }
  const { correct, chained, temporary } = checkPresented(chainOf(result, digests), expected);
  return { hostname, ip_address, status: 'conclusive', correct, chained, dummy: temporary };
}

const chainOf = ({ chain }: Presented, digests: readonly string[]): readonly string[] =>
  chain.map((index) => digests[index] ?? '');

/** In place of the first address that was left out: a partial test must not look like a complete one. */
function omittedJson({ host, addresses, omitted, firstOmitted }: HostLook): TestResultJson[] {
  if (firstOmitted === undefined) return [];
  const what = omitted === 1 ? 'This address was' : `This address and ${omitted - 1} more of the host were`;
  const why =
    addresses.length === maxAddressesOfHost
      ? `no more than ${maxAddressesOfHost} addresses of a host are.`
      : `one test connects to no more than ${maxAddressesOfLook} addresses. Ask for fewer hosts at once.`;
  const error = `${what} not tested: ${why}`;
  return [{ hostname: host, ip_address: firstOmitted, status: 'internal_error', error }];
}
