import type { IssuedMismatch } from '@certwright/pki';
import { acmeProblemTypes, type Outcome, type OutcomeCode, type OutcomeOf } from '@certwright/issuance';

const server = '192.0.2.1:53';
const [name, expected] = ['_acme-challenge.www.example.com', 'label.approval.example.net'];
const found = { first: ['one.example.org', 'two.example.org'], more: 2 };
const gateway = {
  code: 'dns_gateway_failed',
  fault: 'provider_auth_failed',
  saying: 'The provider refuses the token.',
} as const;
const unreachable = {
  code: 'ca_unreachable',
  authority: 'good-ca',
  detail: 'the connection was cut',
} as const;
const noNames = { first: [], more: 0 } as const;
const until = '2026-11-21T08:00:00Z';
const ended = ['approval_expired', 'approval_revoked', 'approval_deactivated', 'lapsed'] as const;
const reasons = [...acmeProblemTypes, 'other', 'no_challenge', ...ended] as const;

const mismatches: readonly IssuedMismatch[] = [
  { code: 'unreadable', place: 'leaf', detail: 'the structure is cut off' },
  { code: 'other_key' },
  { code: 'is_ca' },
  { code: 'no_server_auth' },
  {
    ...{ code: 'other_names', missing: ['a.example.com'], extra: ['b.example.com'] },
    ...{ otherKinds: ['IP address'], commonName: 'c.example.com' },
  },
  { code: 'not_yet_valid', place: 1, notBefore: until },
  { code: 'expired', place: 'root', notAfter: until },
  { code: 'too_long', notAfter: until, maxNotAfter: until },
  { code: 'broken_chain', fault: 'too_long', max: 8 },
  ...(['other_issuer', 'algorithm', 'signature', 'not_ca'] as const).map(
    (fault) => ({ code: 'broken_chain', fault, place: 'leaf', issuer: 1, algorithm: 'md5' }) as const,
  ),
];

/** At least one instance of every outcome; a code that is missing does not compile. */
const samples: { readonly [C in OutcomeCode]: readonly OutcomeOf<C>[] } = {
  not_approved: [
    {
      code: 'not_approved',
      ways: [
        { method: 'dns', outcome: { code: 'dns_zone_unknown', dnsName: 'www.example.com' } },
        {
          method: 'http',
          outcome: { code: 'web_server_unreachable', url: 'http://www.example.com/…', detail: null },
        },
        {
          method: 'email',
          outcome: { code: 'approval_way_unusable', dnsName: 'www.example.com', reason: 'no_approver' },
        },
      ],
    },
  ],
  no_approval_way: [{ code: 'no_approval_way', dnsName: 'www.example.com' }],
  approval_way_unusable: [
    { code: 'approval_way_unusable', dnsName: 'www.example.com', reason: 'not_offered' },
    { code: 'approval_way_unusable', dnsName: 'www.example.com', reason: 'no_approver' },
    { code: 'approval_way_unusable', dnsName: '*.example.com', reason: 'wildcard' },
    { code: 'approval_way_unusable', dnsName: 'www.example.com', reason: 'name' },
  ],
  dns_record_missing: [
    { code: 'dns_record_missing', name, expected, found: 'nxdomain', server },
    { code: 'dns_record_missing', name, expected, found: 'no_record', server },
  ],
  dns_record_differs: [
    { code: 'dns_record_differs', name, expected, type: 'CNAME', found, isPartial: false, server },
    { code: 'dns_record_differs', name, expected, type: 'NS', found, isPartial: false, server },
    { code: 'dns_record_differs', name, expected, type: 'NS', found, isPartial: true, server },
  ],
  dns_record_invalid: [
    { code: 'dns_record_invalid', name, fault: 'several', found, server },
    { code: 'dns_record_invalid', name, fault: 'circle', found, server },
    { code: 'dns_record_invalid', name, fault: 'too_long', found: noNames, server },
  ],
  dns_lookup_failed: [
    { code: 'dns_lookup_failed', name, at: name, expected, failure: 'servfail', server },
    { code: 'dns_lookup_failed', name, at: 'other.example.org', expected, failure: 'timeout', server },
  ],
  dns_zone_unknown: [{ code: 'dns_zone_unknown', dnsName: 'www.example.com' }],
  name_servers_unknown: [
    { code: 'name_servers_unknown', zone: 'example.com', failure: null, server },
    { code: 'name_servers_unknown', zone: 'example.com', failure: 'refused', server },
  ],
  name_servers_differ: [
    {
      code: 'name_servers_differ',
      servers: {
        first: [
          { kind: 'no_address', server: 'ns1.example.com', detail: 'its address is not public' },
          { kind: 'failure', server: 'ns2.example.com (192.0.2.1:53)', failure: 'unreachable' },
          { kind: 'lame', server: 'ns3.example.com (192.0.2.1:53)' },
          { kind: 'absent', server: 'ns4.example.com (192.0.2.1:53)', nxdomain: true },
          { kind: 'absent', server: 'ns5.example.com (192.0.2.1:53)', nxdomain: false },
          { kind: 'other', server: 'ns6.example.com (192.0.2.1:53)', type: 'CNAME', found },
          { kind: 'other', server: 'ns7.example.com (192.0.2.1:53)', type: 'NS', found },
        ],
        more: 3,
      },
    },
  ],
  record_not_ready: (['removing', 'replaced', 'failing', 'adding', 'added'] as const).flatMap((stage) => [
    { code: 'record_not_ready', integrationId: '7', stage, problem: null } as const,
    { code: 'record_not_ready', integrationId: '7', stage, problem: gateway } as const,
  ]),
  record_replaced: [
    {
      code: 'record_replaced',
      found: {
        code: 'name_servers_differ',
        servers: { first: [{ kind: 'other', server: 'ns1.example.com', type: 'CNAME', found }], more: 0 },
      },
    },
  ],
  integration_deleted: [{ code: 'integration_deleted' }],
  dns_gateway_failed: [gateway, { ...gateway, saying: '' }, { ...gateway, saying: 'no full stop' }],
  web_server_differs: [
    webServer({ status: 404, body: null }),
    webServer({ status: 404, body: null, leadsTo: '"https://www.example.org/…"' }),
    webServer({ body: 'empty' }),
    webServer({ body: 'html' }),
    webServer({ body: 'long_text' }),
    webServer({ body: 'other_value' }),
  ],
  web_server_unreachable: [
    { code: 'web_server_unreachable', url: 'http://www.example.com/…', detail: null },
    {
      code: 'web_server_unreachable',
      url: 'http://www.example.com/…',
      detail: 'The connection was refused.',
    },
  ],
  approval_mail_limit_reached: [{ code: 'approval_mail_limit_reached', address: 'admin@example.com', until }],
  approval_mail_undeliverable: [
    { code: 'approval_mail_undeliverable', address: 'admin@example.com', askedAt: until },
  ],
  approval_mail_unanswered: [
    { code: 'approval_mail_unanswered', address: 'admin@example.com', askedAt: until },
  ],
  ca_unreachable: [unreachable, { code: 'ca_unreachable', authority: null, detail: '' }],
  ca_refused: [
    ...reasons.map((reason) => refused({ reason })),
    refused({ stage: 'attempt', reason: 'lapsed', saying: '' }),
    refused({ names: { first: [{ dnsName: 'a.example.com', reason: 'dns', saying: 'NXDOMAIN' }], more: 4 } }),
    refused({
      stage: 'attempt',
      names: { first: [{ dnsName: 'a.example.com', reason: 'rejectedIdentifier', saying: '' }], more: 0 },
    }),
  ],
  ca_down: [
    { code: 'ca_down', authority: 'good-ca', since: until, nextProbeAt: until, problem: null },
    { code: 'ca_down', authority: 'good-ca', since: until, nextProbeAt: until, problem: unreachable },
  ],
  ca_not_in_use: [{ code: 'ca_not_in_use', authority: 'good-ca' }],
  ca_busy_with_names: [{ code: 'ca_busy_with_names' }],
  ca_still_issuing: [{ code: 'ca_still_issuing', authority: 'good-ca', since: until }],
  ca_attempt_ended: [{ code: 'ca_attempt_ended', authority: 'good-ca' }],
  cas_refused: [
    {
      code: 'cas_refused',
      refusals: [
        { authority: 'good-ca', outcome: unreachable },
        { authority: 'other-ca', outcome: { code: 'ca_not_in_use', authority: 'other-ca' } },
      ],
    },
  ],
  ca_needs_other_approval: [
    { code: 'ca_needs_other_approval', authority: 'good-ca', dnsNames: ['a.example.com', '*.example.com'] },
  ],
  ca_limit_reached: [
    limit({ limit: 'newOrders' }),
    limit({ limit: 'perRegisteredDomain', key: 'example.com', isShared: true }),
    limit({ limit: 'perNameSet', size: null }),
    limit({ limit: 'failedAuthorizations', key: 'www.example.com', size: { count: 5, perS: 3_600 } }),
  ],
  too_many_names: [
    { code: 'too_many_names', count: 26, max: 25, limitOf: { kind: 'product', product: 'free_ca' } },
    {
      code: 'too_many_names',
      count: 26,
      max: 25,
      limitOf: { kind: 'ca', authority: 'good-ca', profile: null },
    },
    {
      code: 'too_many_names',
      count: 26,
      max: 25,
      limitOf: { kind: 'ca', authority: 'good-ca', profile: 'short' },
    },
  ],
  caa_forbids: [
    caa({ kind: 'other_issuers', tag: 'issue', allowed: ['other.example'], issuer: 'ca.example' }),
    caa({ kind: 'other_issuers', tag: 'issuewild', allowed: [], issuer: 'ca.example' }),
    caa({ kind: 'other_account', accountUri: 'https://ca.example/account/1' }),
    caa({ kind: 'other_method', method: 'dns-01' }),
    { ...caa({ kind: 'unknown_critical' }), more: 2 },
  ],
  caa_unknown: [
    {
      code: 'caa_unknown',
      dnsName: 'www.example.com',
      at: 'example.com',
      failure: 'servfail',
      server,
      more: 1,
    },
  ],
  challenge_not_published: [{ code: 'challenge_not_published' }],
  challenge_not_visible: [
    { code: 'challenge_not_visible', places: { first: [{ name: expected, server }], more: 0 } },
    { code: 'challenge_not_visible', places: { first: [{ name: expected, server }], more: 5 } },
  ],
  approval_zone_unknown: [{ code: 'approval_zone_unknown', zone: 'approval.example.net' }],
  certificate_mismatch: [
    { code: 'certificate_mismatch', faults: mismatches },
    ...mismatches.map((fault) => ({ code: 'certificate_mismatch', faults: [fault] }) as const),
  ],
  certificate_unusable: [
    { code: 'certificate_unusable', authority: 'good-ca', detail: 'its chain leads to no trusted root' },
  ],
  key_compromised: [{ code: 'key_compromised' }],
  paid_term_over: [{ code: 'paid_term_over', endsAt: until }],
  product_unavailable: [{ code: 'product_unavailable' }],
  approval_timeout: [{ code: 'approval_timeout', dnsNames: ['www.example.com'], days: 30 }],
  text: [{ code: 'text', text: 'Stored by an earlier release.' }],
};

export const everyOutcome: readonly Outcome[] = Object.values(samples).flatMap<Outcome>((each) => {
  if (each.length === 0) throw new Error('an outcome has no sample');
  return each;
});

function webServer(also: Partial<OutcomeOf<'web_server_differs'>>): OutcomeOf<'web_server_differs'> {
  const answer = { leadsTo: null, status: 200, body: 'empty', bodyCharacters: 12 } as const;
  return { code: 'web_server_differs', url: 'http://www.example.com/…', ...answer, ...also };
}

function refused(also: Partial<OutcomeOf<'ca_refused'>>): OutcomeOf<'ca_refused'> {
  const request = { stage: 'request', reason: 'other', saying: 'No more today', names: noNames } as const;
  return { code: 'ca_refused', authority: 'good-ca', ...request, ...also };
}

function limit(also: Partial<OutcomeOf<'ca_limit_reached'>>): OutcomeOf<'ca_limit_reached'> {
  const reached = {
    limit: 'newOrders',
    key: '',
    size: { count: 50, perS: 604_800 },
    isShared: false,
  } as const;
  return { code: 'ca_limit_reached', authority: 'good-ca', ...reached, until, ...also };
}

function caa(reason: OutcomeOf<'caa_forbids'>['reason']): OutcomeOf<'caa_forbids'> {
  const records = ['0 issue "other.example"'];
  return { code: 'caa_forbids', dnsName: 'www.example.com', at: 'example.com', reason, records, more: 0 };
}
