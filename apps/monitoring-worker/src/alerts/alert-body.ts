import type { FindingAlert, FindingEndpoint, FindingReason } from '@certwright/core-schema';
import { timestamp } from '@certwright/service';
import type { IndexedIssuance } from './indexed-issuances';

/** What is sent of a finding. */
export interface AlertContent {
  readonly tbsSha256: Buffer;
  readonly endpoints: readonly FindingEndpoint[];
  readonly reason: FindingReason;
  readonly isTest: boolean;
  /** Null: an entry that cannot be read, one that is no longer stored, or a test. */
  readonly issuance: IndexedIssuance | null;
  readonly alert: FindingAlert;
}

/** Max bytes of a body. */
const maxBytes = 512 * 1024;

/** Names of a certificate in a body that would be too long with all of them. */
const maxNames = 1_000;

/** The body of `monitoring.unknown_certificate`. */
export function alertBody(content: AlertContent): string {
  const { issuance } = content;
  const body = JSON.stringify(membersOf(content, issuance === null ? null : issuanceMembers(issuance)));
  if (issuance === null || Buffer.byteLength(body) <= maxBytes) return body;
  const { cert_der: _, ...withoutCertificate } = issuanceMembers(issuance);
  const shorter = JSON.stringify({ ...membersOf(content, withoutCertificate), truncated: true });
  if (Buffer.byteLength(shorter) <= maxBytes) return shorter;
  const withSomeNames = { ...withoutCertificate, dns_names: someNames(issuance.dnsNames) };
  return JSON.stringify({ ...membersOf(content, withSomeNames), truncated: true });
}

/** The first ones, of half of the bytes in total. */
function someNames(names: readonly string[]): readonly string[] {
  let bytes = 0;
  return names
    .slice(0, maxNames)
    .filter((name) => (bytes += JSON.stringify(name).length + 1) <= maxBytes / 2);
}

function membersOf(
  { tbsSha256, endpoints, reason, isTest, issuance, alert }: AlertContent,
  json: object | null,
) {
  return {
    id: issuance?.position ?? null,
    html_url: alert.html_url === '' ? null : alert.html_url,
    endpoints: endpoints.map(({ dns_name, monitored_domain, wildcard, odd_name }) => ({
      dns_name,
      monitored_domain,
      wildcard,
      ...(odd_name ? { odd_name } : {}),
    })),
    issuance: json,
    ...(issuance === null ? { tbs_sha256: tbsSha256.toString('hex') } : {}),
    change: alert.change,
    caa: alert.caa,
    reason,
    ...(isTest ? { test: true } : {}),
  };
}

/** Like the issuance of the search API with `dns_names`, `issuer`, `problem_reporting` and `cert_der`. */
function issuanceMembers(issuance: IndexedIssuance) {
  const { issuer } = issuance;
  return {
    id: issuance.position,
    tbs_sha256: issuance.tbsSha256.toString('hex'),
    cert_sha256: issuance.certSha256.toString('hex'),
    pubkey_sha256: issuance.spkiSha256.toString('hex'),
    not_before: timestamp(issuance.notBefore),
    not_after: timestamp(issuance.notAfter),
    revoked: null,
    dns_names: issuance.dnsNames,
    issuer: {
      friendly_name: issuer.friendlyName,
      website: issuer.website,
      caa_domains: issuer.caaDomains,
      pubkey_sha256: issuer.spkiSha256.toString('hex'),
      name: issuer.name,
    },
    problem_reporting: issuer.problemReporting,
    cert_der: issuance.certDer.toString('base64'),
  };
}
