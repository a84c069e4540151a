import type { OperationExamples } from '@certwright/service';

/** PKCS #10 for www.example.com with an ECDSA key on P-256. */
const csr = `-----BEGIN CERTIFICATE REQUEST-----
MIIBHTCBwwIBADAnMQswCQYDVQQGEwJVUzEYMBYGA1UEAwwPd3d3LmV4YW1wbGUu
Y29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE+zO2A4/jOp7SgUSQrelBE3xt
MsyhutmgJI65O9eLUJIAha3X6IJNswchGx85J048hPZgugX982/ypz8/DjwAsqA6
MDgGCSqGSIb3DQEJDjErMCkwJwYDVR0RBCAwHoIPd3d3LmV4YW1wbGUuY29tggtl
eGFtcGxlLmNvbTAKBggqhkjOPQQDAgNJADBGAiEAlFgGbWA7MR1S3xfJG77x0P7C
LMsxTyaGUFFSIH8ln8MCIQD1DWDRNDOhixvN/D7BuNPrXrnxochDvQnE7GCaoN21
XQ==
-----END CERTIFICATE REQUEST-----
`;

/** A certificate of another CA for the same key, and its intermediate. */
const crt = `-----BEGIN CERTIFICATE-----
MIIB8zCCAZmgAwIBAgIUG8sKDS5OITUi0Em56sYU5F+5WLIwCgYIKoZIzj0EAwIw
NTEbMBkGA1UEAwwSRXhhbXBsZSBUcnVzdCBDQSAxMRYwFAYDVQQKDA1FeGFtcGxl
IFRydXN0MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAaMRgwFgYD
VQQDDA93d3cuZXhhbXBsZS5jb20wWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAT7
M7YDj+M6ntKBRJCt6UETfG0yzKG62aAkjrk714tQkgCFrdfogk2zByEbHzknTjyE
9mC6Bf3zb/KnPz8OPACyo4GfMIGcMA4GA1UdDwEB/wQEAwIHgDATBgNVHSUEDDAK
BggrBgEFBQcDATAMBgNVHRMBAf8EAjAAMCcGA1UdEQQgMB6CD3d3dy5leGFtcGxl
LmNvbYILZXhhbXBsZS5jb20wHQYDVR0OBBYEFKr4ddErSxTbsEnXDfoiBqgJIkPA
MB8GA1UdIwQYMBaAFAVgQyShR+3RNKlH4CK18wMiEgioMAoGCCqGSM49BAMCA0gA
MEUCIQCVpnwY70eMotTXwV70ebrPyR73bhAG14x4a/1h2LAiEAIgaPSp1K0DZI5S
CGVNPZwA0tJeVCk0Rkv0hj+EnK0wK6Q=
-----END CERTIFICATE-----
`;
const intermediate = `-----BEGIN CERTIFICATE-----
MIIB0jCCAXegAwIBAgIUE2jC/KKkV7942lpgfUX2Rig/J2IwCgYIKoZIzj0EAwIw
NTEbMBkGA1UEAwwSRXhhbXBsZSBUcnVzdCBSb290MRYwFAYDVQQKDA1FeGFtcGxl
IFRydXN0MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjA1MRswGQYD
VQQDDBJFeGFtcGxlIFRydXN0IENBIDExFjAUBgNVBAoMDUV4YW1wbGUgVHJ1c3Qw
WTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQ8KySYiD3s+3BWRu5bXsoUMRED+Rsw
DUTPYpvr8o6OswdEorKd8MAiTX/O88a5HpAUHDGgNIBQzYB5IkGXulQHo2MwYTAP
BgNVHRMBAf8EBTADAQH/MA4GA1UdDwEB/wQEAwIBBjAdBgNVHQ4EFgQUBWBDJKFH
7dE0qUfgIrXzAyISCKgwHwYDVR0jBBgwFoAUGzET1tnS1A2qlGQ+OH8l2SFl9AYw
CgYIKoZIzj0EAwIDSQAwRgIhAJiZtlmbiqvrN3qyLgsS4qspUpyAzJLqXuQwtpJp
O880AiEAhYY+5MlM89z2u1mjDSZ/4Rro3u1b2PG5JuLcf2477Z0=
-----END CERTIFICATE-----
`;

const pubkeyHash = 'fba964c2a82e050203017cb56bc9abbd18f5c93a77848de42f95e264bfdafbbb';
const fingerprints = {
  sha1_fingerprint: '51b8301edc53a1b1470090ce552d299aafd7c9a4',
  sha256_fingerprint: 'f79049dc16587aeeff9f02fb6f62cd4082059beb2baa56b68811f2860dda789d',
};
/** 2020-01-01 + 100 years. */
const expirationOfCrt = 4_733_510_400;

const dnsApproval = {
  approval_method: 'dns',
  dns_approval: {
    options: ['CNAME', 'NS'].map((type) => ({
      name: '_acme-challenge.example.com.',
      type,
      value: 'mfrggzdfmztwq2lknnwg23tpobyxe43u.approve.example.net.',
    })),
  },
};

const object = {
  exists: true,
  cn: 'www.example.com',
  wildcard: false,
  dn: { C: 'US', CN: 'www.example.com' },
  auto_renew: true,
  muted: false,
  ...dnsApproval,
  type: 'dv',
  sans: null,
  default_san: { type: 'dns', value: 'example.com', ...dnsApproval },
  tags: ['shop'],
  pubkey_hash: pubkeyHash,
  current_download: 'https://api.example.net/download/7Jv0qTn3cW2kYb9xLd5sRf8hZg4',
  billed_through: null,
  subscription_ending: true,
};

const pendingInstance = {
  id: 172594820411904,
  state: 'pending',
  expiring: false,
  source: 'service',
  type: 'dv',
  sans: null,
  pubkey_hash: pubkeyHash,
  ...fingerprints,
  expiration: null,
  invoice_id: null,
  approval_method: 'dns',
  approval: ['www.example.com', 'example.com'].map((name) => ({
    ...{ name, method: 'dns', status: 'pending', problem: null },
  })),
  last_error: null,
};
const activeInstance = {
  ...pendingInstance,
  state: 'active',
  expiration: 1_827_921_600,
  invoice_id: '2026-000117',
  approval: pendingInstance.approval.map((each) => ({ ...each, status: 'approved' })),
};
const importedInstance = {
  ...pendingInstance,
  state: 'active',
  source: 'import',
  type: null,
  expiration: expirationOfCrt,
  approval_method: null,
  approval: [],
};

const account = {
  id: 42,
  name: 'Example Ltd.',
  contact_email: 'certificates@example.com',
  country: 'GB',
  state: null,
  locality: 'London',
  organization: 'Example Ltd.',
  mail_when_issued: true,
  mail_when_revoked: false,
  balance_cents: 12_500,
  credit_limit_cents: 0,
  currency: 'USD',
};

const invoice = {
  number: '2026-000117',
  issued_at: 1_795_176_000,
  account: 'Example Ltd.',
  currency: 'USD',
  lines: [{ description: 'DV certificate, 2 names', quantity: 1, unit_price: 1_595, amount: 1_595 }],
  total: 1_595,
  note: 'Order 2026/17',
  email_to: 'billing@example.com',
  refunded_at: null,
};

/** Of each operation that has a body, by its `operationId`. */
export const examples: Readonly<Record<string, OperationExamples>> = {
  getCerts: { responses: { 200: { data: [object] } } },
  getCertsCN: { responses: { 200: object } },
  postCertsCN: {
    request: {
      create: { csr, approval_method: 'dns', tags: ['shop'] },
      with_sans: {
        csr,
        approval_method: 'dns',
        sans: [{ type: 'dns', value: 'shop.example.com', approval_method: 'dns' }],
        auto_renew: false,
      },
    },
    form: {
      create: { csr, approval_method: 'dns', tags: '["shop"]' },
      with_sans: {
        csr,
        approval_method: 'dns',
        sans: '[{"type":"dns","value":"shop.example.com","approval_method":"dns"}]',
        auto_renew: false,
      },
    },
    responses: { 200: object },
  },
  postCertsCNBuy: {
    request: { buy: { invoice_note: 'Order 2026/17', email_invoice_to: 'billing@example.com' } },
    responses: { 200: pendingInstance },
  },
  postCertsCNReissue: { responses: { 200: pendingInstance } },
  postCertsCNRedoApproval: { responses: { 200: pendingInstance } },
  postCertsCNRevoke: {
    request: { all: { all: true } },
    responses: { 200: { status: 'pending', num_revoked: 2, num_active: 0, num_imported: 0 } },
  },
  getCertsCNTest: {
    responses: {
      200: {
        result: [
          {
            hostname: 'www.example.com',
            ip_address: '192.0.2.10',
            status: 'conclusive',
            correct: true,
            chained: true,
            dummy: false,
          },
          {
            hostname: 'www.example.com',
            ip_address: '2001:db8::10',
            status: 'connect_error',
            error: 'Nothing listens on port 443.',
          },
        ],
      },
    },
  },
  getCertsCNInstances: { responses: { 200: { data: [activeInstance] } } },
  postCertsCNInstances: {
    request: { import: { crt, chain: [intermediate] } },
    form: { import: { crt, chain: intermediate } },
    responses: { 200: importedInstance },
  },
  getCertsCNInstancesINSTANCEID: { responses: { 200: activeInstance } },
  postUtilsParseCrt: {
    request: { certificate: { crt } },
    responses: {
      200: {
        cn: 'www.example.com',
        sans: ['www.example.com', 'example.com'].map((value) => ({ type: 'dns', value })),
        pubkey_hash: pubkeyHash,
        ...fingerprints,
        expiration: expirationOfCrt,
        ev: false,
      },
    },
  },
  getPricing: {
    responses: {
      200: {
        dns_names: ['www.example.com', 'example.com'],
        duration: 1,
        duration_unit: 'year',
        currency: 'USD',
        price: 1_595,
        description: 'DV certificate, 2 names',
        payment: { method: 'balance' },
      },
    },
  },
  getProductsType: {
    responses: {
      200: {
        cn: 'www.example.com',
        default_sans: ['www.example.com', 'example.com'],
        description: 'DV certificate, 2 names',
        years: 1,
        price: { currency: 'USD', base_price: 1_595, discount: 0, amount_due: 1_595 },
        payment: { method: 'balance' },
        approval_methods: ['email', 'dns', 'http'],
        approver_emails: ['admin@example.com', 'hostmaster@example.com'],
      },
    },
  },
  getProductsTypeApproval: {
    responses: {
      200: {
        email: { available: true, addresses: ['admin@example.com', 'hostmaster@example.com'] },
        dns: { available: true, integrated: false },
        http: { available: true, integrated: false },
      },
    },
  },
  getConfigTemplates: { responses: { 200: { data: [{ name: 'apache' }, { name: 'nginx' }] } } },
  getConfigTemplatesName: { responses: { 200: { name: 'nginx' } } },
  getLatestClientVersion: { responses: { 200: { latest_client_version: '1.10.0' } } },
  getApiCredentials: { responses: { 200: { api_key: '42_Ks8vQ2mX7cT1nYb4Rj9wLf3hZ6dPg0a' } } },
  getAccount: { responses: { 200: account } },
  postAccount: {
    request: { subject: { country: 'GB', locality: 'London', organization: 'Example Ltd.' } },
    responses: { 200: account },
  },
  getInvoices: { responses: { 200: { data: [invoice] } } },
  getInvoicesNumber: { responses: { 200: invoice } },
};
