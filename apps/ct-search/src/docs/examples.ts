import type { OperationExamples } from '@certwright/service';

const issuance = {
  id: '48151623',
  tbs_sha256: '3595d0af0f0ba42721b917ff183f98a4f8208bee7c84efa02badb2d41e22d69f',
  cert_sha256: 'f79049dc16587aeeff9f02fb6f62cd4082059beb2baa56b68811f2860dda789d',
  pubkey_sha256: 'fba964c2a82e050203017cb56bc9abbd18f5c93a77848de42f95e264bfdafbbb',
  not_before: '2026-11-20T12:00:00Z',
  not_after: '2027-02-18T12:00:00Z',
  revoked: false,
};

const status = {
  as_of: '2026-11-20T12:00:00Z',
  issuances: { newest: '48151623', newest_at: '2026-11-20T11:59:58Z', per_second: 87.5 },
  lagging: false,
  logs: [
    {
      description: "Example 'Log2027h1'",
      operator: 'Example Logs',
      kind: 'static',
      url: 'https://log2027h1.example.com/',
      log_id: '+6lkwqguBQIDAXy1a8mrvRj1yTp3hI3kL5XiZL/a+7s=',
      list_state: 'usable',
      state: 'followed',
      size: 912_004_116,
      size_at: '2026-11-20T11:59:55Z',
      first: 0,
      position: 912_003_840,
      backlog: 276,
      verified_position: 912_003_840,
      unverified_entries: 0,
      entries_per_second: 143.2,
      newest_entry_at: '2026-11-20T11:59:52Z',
      odd_entries: 3,
      lag_seconds: 8,
      lagging: false,
      last_error: null,
      stopped_at: null,
      stopped_reason: null,
    },
  ],
};

/** For each operation with a JSON body, by its `operationId`. */
export const examples: Readonly<Record<string, OperationExamples>> = {
  getIssuances: { responses: { 200: [issuance] } },
  getIssuancesFirehose: { responses: { 200: [issuance] } },
  getIssuancesId: { responses: { 200: issuance } },
  getStatus: { responses: { 200: status } },
  getOpenapiJson: { responses: { 200: { openapi: '3.1.0', info: { title: '…', version: '1' }, paths: {} } } },
};
