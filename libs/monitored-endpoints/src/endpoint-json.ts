import {
  type EndpointState,
  isConfirmed,
  type ServedAddress,
  type ServedCertificate,
  type TrackedFinding,
} from '@certwright/endpoint-checks';
import type {
  EndpointAddressSchema,
  EndpointFindingSchema,
  MonitoredEndpointSchema,
  ServedCertificateSchema,
} from './endpoint-schema';

/** A row of `monitored_endpoint`, as read from the table. */
export interface EndpointRow {
  readonly dns_name: string;
  readonly muted: boolean;
  readonly ports: readonly number[];
  readonly state: EndpointState;
  readonly state_since: Date;
  readonly looked_at: Date | null;
  readonly findings: readonly TrackedFinding[];
  readonly served: readonly ServedAddress[];
}

// Servers choose how much they present. With these limits the JSON of an endpoint has less than 256 KiB, and usually a few.

/** Addresses with their port. */
const maxAddresses = 32;

/** Names of a certificate. */
const maxNames = 100;

/** Total length of the names of all addresses, without the first name of each. */
const maxNameCharacters = 4_000;

/** Findings, each counted for every address. */
const maxFindings = 100;

/** Total length of the texts of a list in a finding, without the first text of each address. */
const maxListCharacters = 1_000;

const maxText = 255;

/** The same in every API and message. */
export const endpointJson = (row: EndpointRow): MonitoredEndpointSchema => ({
  dns_name: row.dns_name,
  muted: row.muted,
  ports: row.ports,
  state: row.state,
  since: instant(row.state_since),
  findings: findingsJson(row.findings),
  addresses: storedServed(row.served).map(addressJson),
  looked_at: row.looked_at && instant(row.looked_at),
});

/**
 * The body of `monitoring.endpoint_problem` and `monitoring.endpoint_recovered`.
 *
 * @param row after the check
 * @param findings those that are reported, as `markReported` returns them, or withdrawn
 */
export const endpointEventBody = (row: EndpointRow, findings: readonly TrackedFinding[]): string =>
  JSON.stringify(endpointJson({ ...row, findings }));

/** What is stored of a check in `served`: not more than is shown. */
export function storedServed(served: readonly ServedAddress[]): readonly ServedAddress[] {
  const shown = served.slice(0, maxAddresses);
  const presented = shown.filter(({ certificate }) => certificate !== null).length;
  return shown.map((each) =>
    each.certificate === null
      ? each
      : { ...each, certificate: withFewerNames(each.certificate, maxNameCharacters / presented) },
  );
}

const withFewerNames = (certificate: ServedCertificate, maxCharacters: number): ServedCertificate => ({
  ...certificate,
  dnsNames: firstTexts(certificate.dnsNames.slice(0, maxNames), maxCharacters),
});

/** Those that fit, and at least one. */
function firstTexts(texts: readonly string[], maxCharacters: number): readonly string[] {
  let characters = 0;
  const shown = texts.map(cut);
  const end = shown.findIndex((text, at) => (characters += text.length) > maxCharacters && at > 0);
  return end === -1 ? shown : shown.slice(0, end);
}

const cut = (text: string): string => text.slice(0, maxText);

/** RFC 3339, UTC, without fractions. @param at a string is one of `toISOString`, as stored in JSON */
const instant = (at: Date | string): string =>
  `${(typeof at === 'string' ? at : at.toISOString()).slice(0, 19)}Z`;

function addressJson(served: ServedAddress): EndpointAddressSchema {
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
  not_before: certificate.notBefore && instant(certificate.notBefore),
  not_after: certificate.notAfter && instant(certificate.notAfter),
  dns_names: certificate.dnsNames,
});

/** Every finding has at least one item, however many addresses have others. */
function findingsJson(findings: readonly TrackedFinding[]): readonly EndpointFindingSchema[] {
  const maxOfFinding = Math.max(1, Math.floor(maxFindings / findings.length));
  return findings.slice(0, maxFindings).flatMap((finding) => {
    const addresses = finding.addresses.slice(0, maxOfFinding);
    return addresses.length === 0
      ? [findingJson(finding, null, 1)]
      : addresses.map((address) => findingJson(finding, address, addresses.length));
  });
}

/** @param addresses how many items repeat its parameters */
function findingJson(
  finding: TrackedFinding,
  address: string | null,
  addresses: number,
): EndpointFindingSchema {
  const { code, port, since, missing, reportedAt, parameters } = finding;
  const text = (name: string): string | undefined => {
    const value = parameters[name];
    return typeof value === 'string' ? cut(value) : undefined;
  };
  const time = (name: string): string | undefined => {
    const value = text(name);
    return value === undefined ? undefined : instant(value);
  };
  const list = (name: string): readonly string[] | undefined => {
    const value = parameters[name];
    return typeof value === 'object' ? firstTexts(value, maxListCharacters / addresses) : undefined;
  };
  return {
    finding: code,
    address,
    port,
    since: instant(since),
    confirmed: isConfirmed(finding),
    ending: missing > 0,
    reported_at: reportedAt && instant(reportedAt),
    not_after: time('notAfter'),
    not_before: time('notBefore'),
    dns_names: list('dnsNames'),
    reason: text('reason'),
    reasons: list('reasons'),
    revoked_at: time('revokedAt'),
    current_sha256: text('currentSha256'),
    tbs_sha256: text('tbsSha256'),
    pubkey_sha256: text('spkiSha256'),
    target: text('target'),
    problem: text('problem'),
  };
}
