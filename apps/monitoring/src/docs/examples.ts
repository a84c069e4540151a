import type { OperationExamples } from '@certwright/service';

/** PKCS #10 for example.com and *.example.com with an ECDSA key on P-256. */
const csr = `-----BEGIN CERTIFICATE REQUEST-----
MIHxMIGaAgEAMAAwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASGZkFQ4prwkqcq
VgcjC8+QLn+TNi5a8Nzw4NGocE2BtqDSIQGfy4WAHWdmXD2HFrWXpRjD1uLAsCSx
+2LxrP4YoDgwNgYJKoZIhvcNAQkOMSkwJzAlBgNVHREEHjAcggtFeGFtcGxlLmNv
bYINKi5leGFtcGxlLmNvbTAKBggqhkjOPQQDAgNGADBDAh8uY26b+L7dA7fkloFU
ijum6kjnz/AxmXy1P4eWME74AiBLCGWM0uhwBbCsjf8/F1bL43u1vdqX5oLlgqE3
qwhaMw==
-----END CERTIFICATE REQUEST-----
`;
const pubkeySha256 = '8bbfb1f2916f9ca45160fcd0a113d8ac2ac1eedef8a6208e8b1f886184527183';

/** Self-signed, for the same names. */
const certificate = `-----BEGIN CERTIFICATE-----
MIIBdzCCAR6gAwIBAgICEjQwCgYIKoZIzj0EAwIwFjEUMBIGA1UEAwwLZXhhbXBs
ZS5jb20wHhcNMjYwMTAxMDAwMDAwWhcNMjYxMjMxMDAwMDAwWjAWMRQwEgYDVQQD
DAtleGFtcGxlLmNvbTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABIZmQVDimvCS
pypWByMLz5Auf5M2Llrw3PDg0ahwTYG2oNIhAZ/LhYAdZ2ZcPYcWtZelGMPW4sCw
JLH7YvGs/hijXDBaMCUGA1UdEQQeMByCC2V4YW1wbGUuY29tgg0qLmV4YW1wbGUu
Y29tMBIGCisGAQQB1nkCBAIEBAQCq80wHQYDVR0OBBYEFDbIff3WkD4behFRhvxA
AB/wyuT1MAoGCCqGSM49BAMCA0cAMEQCICkfGDLFHeihXSnE9KtJAKUL+Pgw1Vvt
oTu8WmAxSSoQAiAhuC5gJyyyh+vVqt/4rVgGEDCMbOp5o8oL7rt2D/LFhg==
-----END CERTIFICATE-----
`;
const tbsSha256 = '6f8a53911feca9ea005b4a87ab623cf6d239d33608ebac1996219fefcd88bbdb';

const domain = { name: '.example.com', enabled: true };

const knownKey = {
  id: 93482011746305,
  pubkey_sha256: pubkeySha256,
  dns_names: ['*.example.com', 'example.com'],
  note: '',
  created_at: '2026-11-20T12:00:00Z',
};

const knownCert = {
  id: 51230984412673,
  tbs_sha256: tbsSha256,
  note: '',
  created_at: '2026-11-20T12:00:00Z',
};

const settings = {
  authorized_cas: ['letsencrypt.org'],
  alert_delay_minutes: 5,
  mail: { certificates: 'digest', endpoints: 'off' },
  digest_hour_utc: 6,
  heartbeat: 'weekly',
};

const found = {
  tbs_sha256: tbsSha256,
  id: '8913214092',
  state: 'unknown',
  reason: 'unknown',
  order: null,
  cn: null,
  endpoints: [
    {
      dns_name: 'www.example.com',
      monitored_domain: '.example.com',
      wildcard: false,
      odd_name: false,
    },
  ],
  endpoint_count: 1,
  change: ['new_issuer', 'new_key'],
  found_at: '2026-11-20T12:00:00Z',
  source: 'stream',
  alerted_at: '2026-11-20T12:00:02Z',
  acknowledged_at: null,
  note: '',
  issuance: {
    id: '8913214092',
    tbs_sha256: tbsSha256,
    cert_sha256: '5bd6e2b1c7c2e3ac5e05d3a2b7f5d9d5a1f3a1c5f0e8f7a3b4c5d6e7f8091a2b',
    pubkey_sha256: pubkeySha256,
    not_before: '2026-11-20T11:00:00Z',
    not_after: '2027-02-18T10:59:59Z',
    revoked: false,
    dns_names: ['www.example.com'],
    issuer: {
      friendly_name: 'Example CA',
      pubkey_sha256: '8d02536c887482bc34ff54e41d2ba659bf85b341a0a20afadb5813dcfbcf286d',
      name: 'C=US, O=Example CA, CN=E1',
      website: 'https://ca.example.net',
      caa_domains: ['ca.example.net'],
    },
    problem_reporting: 'Send an email to problems@ca.example.net.',
  },
};

/** As a single certificate is shown. */
const foundAlone = { ...found, issuance: { ...found.issuance, cert_der: 'MIIDeDCCAx6gAwIB' } };

const endpoint = {
  dns_name: 'www.example.com',
  muted: false,
  ports: [443],
  state: 'failing',
  since: '2026-11-20T12:20:00Z',
  findings: [
    {
      finding: 'expired',
      address: '192.0.2.1',
      port: 443,
      since: '2026-11-20T12:00:00Z',
      confirmed: true,
      ending: false,
      reported_at: '2026-11-20T12:20:00Z',
      not_after: '2026-11-20T11:00:00Z',
    },
  ],
  addresses: [
    {
      address: '192.0.2.1',
      port: 443,
      certificate: {
        sha256: '1f9c3e0b8a7d6c5f4e3d2c1b0a99887766554433221100ffeeddccbbaa998877',
        tbs_sha256: tbsSha256,
        pubkey_sha256: pubkeySha256,
        not_before: '2026-08-22T11:00:00Z',
        not_after: '2026-11-20T11:00:00Z',
        dns_names: ['example.com', '*.example.com'],
      },
      version: 'TLSv1.3',
      cipher: 'TLS_AES_128_GCM_SHA256',
      http_status: 200,
      problem: null,
    },
  ],
  looked_at: '2026-11-20T18:00:00Z',
};

const status = {
  watching: true,
  followed_to: '2026-11-20T12:00:00Z',
  lag_seconds: 2,
  logs: [
    {
      description: "Example 'Log2026h2'",
      operator: 'Example',
      url: 'https://log.example.net/2026h2/',
      state: 'lagging',
      read_to: '2026-11-20T11:30:00Z',
    },
  ],
  backfills: [
    {
      monitored_domain: '.example.com',
      state: 'running',
      found: 12,
      unknown: 1,
      since: '2026-11-20T11:59:00Z',
    },
  ],
  endpoints: {
    states: { not_checked: 0, ok: 2, suspect: 0, failing: 1, unreachable: 0, gone: 0 },
    late_seconds: 0,
    held_since: null,
  },
  limits: { monitored_domains: 1_000, endpoints: 1_000, findings_per_day: 10_000 },
  usage: { monitored_domains: 1, endpoints: 3, findings_per_day: 12, throttled: 0 },
};

const domainStatus = {
  followed_since: '2026-11-20T11:59:00Z',
  complete: false,
  holds_since: '2026-10-01T00:00:00Z',
  backfill: { state: 'running', found: 12, unknown: 1 },
  certificates: 12,
  unknown: 1,
  throttled: false,
};

const pem = (value: string) => ({ schema: { type: 'string' }, examples: { pem: { value } } });
const der = (description: string) => ({ schema: { description } });

/** Of each operation that has a body, by its `operationId`. */
export const examples: Readonly<Record<string, OperationExamples>> = {
  listMonitoredDomains: { responses: { 200: [domain] } },
  getMonitoredDomain: { responses: { 200: { ...domain, status: domainStatus } } },
  setMonitoredDomain: {
    request: { default: {}, disabled: { enabled: false } },
    responses: { 201: domain, 200: { ...domain, enabled: false } },
  },
  listCertificates: { responses: { 200: [found] } },
  getCertificate: { responses: { 200: foundAlone } },
  changeCertificate: {
    request: {
      acknowledge: { acknowledged: true, note: 'Ordered by the marketing department' },
      authorize_key: { authorize_key: true },
    },
    responses: {
      200: {
        ...foundAlone,
        state: 'acknowledged',
        acknowledged_at: '2026-11-20T12:30:00Z',
        note: 'Ordered by the marketing department',
      },
    },
  },
  addKnownKey: {
    request: {
      digest: {
        pubkey_sha256: pubkeySha256,
        dns_names: ['example.com', '*.example.com'],
        note: 'Content delivery network',
      },
    },
    otherTypes: {
      'application/x-pem-file': pem(csr),
      'application/pkcs10': der('A CSR in DER.'),
    },
    responses: { 201: knownKey, 200: knownKey },
  },
  listKnownKeys: { responses: { 200: [knownKey] } },
  addKnownCert: {
    request: { digest: { tbs_sha256: tbsSha256, note: 'Content delivery network' } },
    otherTypes: {
      'application/x-pem-file': pem(certificate),
      'application/pkix-cert': der('A certificate in DER.'),
    },
    responses: { 201: knownCert, 200: knownCert },
  },
  listKnownCerts: { responses: { 200: [knownCert] } },
  listEndpoints: { responses: { 200: [endpoint] } },
  getEndpoint: { responses: { 200: endpoint } },
  changeEndpoint: {
    request: { ports: { muted: true, ports: [443, 8443] } },
    responses: { 200: { ...endpoint, muted: true, ports: [443, 8443] } },
  },
  getMonitoringStatus: { responses: { 200: status } },
  testAlerts: {
    responses: {
      202: {
        ...found,
        id: null,
        state: 'waiting',
        reason: 'waiting',
        change: null,
        source: 'test',
        alerted_at: null,
        issuance: null,
      },
    },
  },
  getMonitoringSettings: { responses: { 200: settings } },
  changeMonitoringSettings: {
    request: {
      quiet: {
        authorized_cas: ['letsencrypt.org'],
        alert_delay_minutes: 5,
        mail: { certificates: 'digest', endpoints: 'off' },
      },
    },
    responses: { 200: settings },
  },
};
