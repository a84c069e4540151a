import type { FindingAlert, FindingEndpoint, FindingReason } from '@certwright/core-schema';
import { issuanceExpansion, issuanceJson } from '@certwright/issuance-json';
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

const shortMembers = ['issuer', 'issuer.website', 'issuer.caa_domains', 'problem_reporting'];
const withoutCertificate = issuanceExpansion(['dns_names', ...shortMembers]);
const withEverything = issuanceExpansion(['dns_names', ...shortMembers, 'cert_der']);

/** The body of `monitoring.unknown_certificate`. */
export function alertBody(content: AlertContent): string {
  const { issuance } = content;
  if (issuance === null) return bodyWith(content, 'null', false);
  const body = bodyWith(content, issuanceJson(issuance, withEverything), false);
  if (Buffer.byteLength(body) <= maxBytes) return body;
  const shorter = bodyWith(content, issuanceJson(issuance, withoutCertificate), true);
  if (Buffer.byteLength(shorter) <= maxBytes) return shorter;
  const dnsNames = firstNames(issuance.issuance.dnsNames);
  const withSomeNames = { ...issuance, issuance: { ...issuance.issuance, dnsNames } };
  return bodyWith(content, issuanceJson(withSomeNames, withoutCertificate), true);
}

/** As many as half of the body takes. */
function firstNames(names: readonly string[]): readonly string[] {
  let bytes = 0;
  const end = names.findIndex(
    (name) => (bytes += Buffer.byteLength(JSON.stringify(name)) + 1) > maxBytes / 2,
  );
  return end < 0 ? names : names.slice(0, end);
}

function bodyWith(content: AlertContent, json: string, isTruncated: boolean): string {
  const { tbsSha256, endpoints, reason, isTest, issuance, alert } = content;
  const before = {
    id: issuance?.issuance.position ?? null,
    html_url: alert.html_url === '' ? null : alert.html_url,
    endpoints: endpoints.map(({ dns_name, monitored_domain, wildcard, odd_name }) => ({
      dns_name,
      monitored_domain,
      wildcard,
      ...(odd_name ? { odd_name } : {}),
    })),
  };
  const after = {
    ...(issuance === null ? { tbs_sha256: tbsSha256.toString('hex') } : {}),
    change: alert.change,
    caa: alert.caa,
    reason,
    ...(isTest ? { test: true } : {}),
    ...(isTruncated ? { truncated: true } : {}),
  };
  return `${JSON.stringify(before).slice(0, -1)},"issuance":${json},${JSON.stringify(after).slice(1)}`;
}
