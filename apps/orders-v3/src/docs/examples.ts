import type { OperationExamples } from '@certwright/service';

/** PKCS #10 for example.com and *.example.com with an ECDSA key on P-256. */
const csr =
  'MIIBCjCBsAIBADAWMRQwEgYDVQQDDAtleGFtcGxlLmNvbTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABPsztgOP4zqe0oFEkK3pQRN8bTLMobrZoCSOuTvXi1CSAIWt1+iCTbMHIRsfOSdOPIT2YLoF/fNv8qc/Pw48ALKgODA2BgkqhkiG9w0BCQ4xKTAnMCUGA1UdEQQeMByCC2V4YW1wbGUuY29tgg0qLmV4YW1wbGUuY29tMAoGCCqGSM49BAMCA0kAMEYCIQCda44VQ2e/arQK9OVKgZrK6kbkOWrDFFzpZ43al7EULAIhAMAgJjXKoCACnLv8pPIK8D5DS1/bPUu/YUxe1ZLc9Bz4';
const pubkeySha256 = 'fba964c2a82e050203017cb56bc9abbd18f5c93a77848de42f95e264bfdafbbb';

const order = {
  name: 'example.com',
  dns_names: ['example.com', '*.example.com'],
  approver_emails: {},
  cluster: null,
  auto_renew: true,
  muted: false,
  paused: false,
  product: 'free_ca',
  key_type: 'ecdsa',
  revision: 1,
  current_cert_download: 'https://api.example.net/download/7Jv0qTn3cW2kYb9xLd5sRf8hZg4',
  pubkey_sha256: pubkeySha256,
};

const certificate = {
  id: 172594820411904,
  state: 'valid',
  current: true,
  dns_names: ['example.com', '*.example.com'],
  expiration: '2027-02-18T12:00:00Z',
  not_before: '2026-11-20T12:00:00Z',
  sha256: 'f79049dc16587aeeff9f02fb6f62cd4082059beb2baa56b68811f2860dda789d',
  key_type: 'ecdsa',
  pubkey_sha256: pubkeySha256,
};

const webhook = {
  id: 93482011746305,
  url: 'https://hooks.example.com/certificates',
  has_credentials: false,
  description: 'Reloads the load balancers',
  enabled: true,
  events: ['order.current_cert_changed', 'certificate.issued'],
  disabled_reason: null,
  previous_secret_valid_until: null,
  created_at: '2026-11-20T12:00:00Z',
};
const secret = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDTYKSVpSXxlQ=';

const delivery = {
  id: 'msg_2Xh8vJq0s1dQe4mCkq0yH7uWb3A',
  event: 'order.current_cert_changed',
  order: 'example.com',
  state: 'delivered',
  replay_of: null,
  created_at: '2026-11-20T12:00:05Z',
  next_attempt_at: null,
  finished_at: '2026-11-20T12:00:06Z',
  attempts: [{ started_at: '2026-11-20T12:00:05Z', duration_ms: 212, status: 204, problem: null }],
};
const waiting = {
  ...delivery,
  state: 'pending',
  next_attempt_at: '2026-11-20T12:05:00Z',
  finished_at: null,
  attempts: [],
};
const test = {
  event: 'test',
  webhook_id: webhook.id,
  created_at: '2026-11-20T12:05:00Z',
  message: 'A test of this webhook; nothing has changed.',
};

const integration = {
  id: 51230984412673,
  provider: 'desec',
  description: 'Our zones',
  state: 'ok',
  problem: null,
  checked_at: '2026-11-20T12:00:00Z',
  created_at: '2026-11-20T12:00:00Z',
};

const cluster = {
  name: 'berlin',
  cluster_key: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
  rotate_keys: true,
  created_at: '2026-11-20T12:00:00Z',
};
const enrolment = {
  id: 84120396514207,
  uses: 5,
  used: 0,
  state: 'active',
  expires_at: '2026-11-21T12:00:00Z',
  created_at: '2026-11-20T12:00:00Z',
};
const agent = {
  id: 'fT2n9Wq0s8LkM4vXc1Zb7A',
  name: 'web-1.example.net',
  version: '1.0.0',
  platform: 'linux x64',
  state: 'online',
  last_seen_at: '2026-11-20T12:34:00Z',
  clock_offset: 0,
  problem: null,
  enrolled_at: '2026-11-20T12:05:00Z',
};

/** Of each operation that has a body, by its `operationId`. */
const agentId = 'JPbtasv-EAnAMNfKVnwzyg';
const identityKey = 'Kay64UG8yvCyLhqU000LxzYeUm0L_hLIl5S8kyKWbdc';
const sealingKey = 'eaYx7t4b-cmPEgMs3q3Q56B5OY_HhriMyEbsia-FpRo';
const agentCluster = { name: 'web', cluster_key: 'A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg' };
const certificateHash = 'b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9';
const keyHash = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';
const checkedAt = '2026-11-24T12:00:00Z';
const sealed = {
  sender: agentId,
  receiver: 'aIlNWPGPLDTUnrL0sRDgQg',
  enc: sealingKey,
  ciphertext: 'q3Q56B5OY_HhriMyEbsia-FpRo',
  signature: `${identityKey}${sealingKey}`,
};

const agentState = {
  version: 812,
  more: false,
  cluster: agentCluster,
  members_version: 4,
  orders: [
    {
      name: 'shop',
      version: 810,
      revision: 3,
      dns_names: ['shop.example.com'],
      key_type: 'ecdsa',
      accepts: { rsa: [2048, 3072, 4096], ecdsa: ['P-256', 'P-384'] },
      paused: false,
      csr_spki_sha256: keyHash,
      certificate: {
        sha256: certificateHash,
        spki_sha256: keyHash,
        not_before: checkedAt,
        not_after: '2027-02-22T12:00:00Z',
      },
      install: 'go',
      tasks: [{ type: 'make_key', id: '123', until: '2026-11-24T12:01:00Z' }],
    },
  ],
  released: ['old'],
};

const agentReport = {
  number: 17,
  sent_at: checkedAt,
  agent: { version: '0.1.0', platform: 'linux-x64 Debian 12', problem: null },
  installations: [
    {
      order: 'shop',
      point: 'nginx',
      state: 'serving',
      certificate_sha256: certificateHash,
      served: [{ address: '127.0.0.1:443/shop.example.com', sha256: certificateHash, checked_at: checkedAt }],
      since: checkedAt,
      problem: null,
    },
  ],
  without_points: ['mail'],
};

export const examples: Readonly<Record<string, OperationExamples>> = {
  enrolAgent: {
    request: {
      with_cluster_key: {
        token: '4OHi4-Tl5ufo6err7O3u7_Dx8vP09fb3-Pn6-_z9_v8',
        identity_key: identityKey,
        sealing_key: sealingKey,
        statement: 'eyJhbGciOiJFZERTQSIsInR5cCI6ImNlcnR3cmlnaHQtbWVtYmVyK2p3cyJ9.eyJ0aW1lIjoi.YJWYW9eH',
        name: 'web-1',
        version: '0.1.0',
        platform: 'linux-x64 Debian 12',
      },
    },
    responses: { 200: { agent_id: agentId, cluster: agentCluster } },
  },
  getAgentState: { responses: { 200: agentState } },
  listMembers: {
    responses: {
      200: {
        version: 4,
        members: [
          {
            agent_id: agentId,
            name: 'web-1',
            identity_key: identityKey,
            sealing_key: sealingKey,
            statement: null,
          },
        ],
      },
    },
  },
  getAgentCertificate: { responses: { 200: { leaf: csr, chain: [csr], root: csr } } },
  getSealedKeys: { responses: { 200: { keys: [sealed] } } },
  sealKey: { request: { for_a_late_member: { keys: [sealed] } } },
  submitCsr: {
    request: { new_key: { task: '123', csr, keys: [sealed] } },
    responses: { 200: { revision: 4 } },
  },
  reportInstallations: { request: { served: agentReport } },
  createOrder: {
    request: {
      unmanaged: { dns_names: ['example.com', '*.example.com'], csr },
      managed: { name: 'shop', dns_names: ['shop.example.com'], cluster: 'web' },
      approved_by_email: {
        name: 'paid',
        dns_names: ['www.example.com'],
        product: 'paid_ca',
        approver_emails: { 'www.example.com': 'hostmaster@example.com' },
        csr,
      },
    },
    responses: { 201: order },
  },
  listOrders: { responses: { 200: [order] } },
  getOrder: { responses: { 200: order } },
  updateOrder: {
    request: { new_key: { csr }, renew_by_hand: { auto_renew: false, muted: true } },
    responses: { 200: { ...order, revision: 2 } },
  },
  listCertificates: { responses: { 200: [certificate] } },
  getCertificate: { responses: { 200: certificate } },
  revokeCertificate: {
    request: { superseded: { reason: 'superseded' }, key_compromise: { reason: 'keyCompromise' } },
    responses: { 200: { ...certificate, state: 'revoked', current: false } },
  },
  createCluster: {
    request: {
      of_several_hosts: { name: cluster.name, cluster_key: cluster.cluster_key },
      of_one_host: { name: 'mail' },
    },
    responses: { 201: cluster },
  },
  listClusters: { responses: { 200: [cluster] } },
  getCluster: { responses: { 200: cluster } },
  updateCluster: {
    request: { keep_keys: { rotate_keys: false } },
    responses: { 200: { ...cluster, rotate_keys: false } },
  },
  rekeyCluster: { request: { at_once: { now: true } }, responses: { 200: { orders: 12 } } },
  createEnrolment: {
    request: { of_five_hosts: { uses: 5, expires_in: 86_400 } },
    responses: { 201: { ...enrolment, token: 'n5cJq1M0vW8kq0bF2y3Zc4tXh6sRzYp7uE9aLdGm1oQ' } },
  },
  listEnrolments: { responses: { 200: [enrolment] } },
  listAgents: { responses: { 200: [agent] } },
  getAgent: { responses: { 200: agent } },
  listWebhooks: { responses: { 200: [webhook] } },
  createWebhook: {
    request: {
      plain: { url: webhook.url, description: webhook.description },
      with_password: { url: 'https://certwright:a-long-password@hooks.example.com/', enabled: false },
      of_monitoring: { url: webhook.url, events: ['order.current_cert_changed', 'monitoring.*'] },
    },
    responses: { 201: { ...webhook, secret } },
  },
  getWebhook: { responses: { 200: webhook } },
  updateWebhook: {
    request: {
      switch_off: { enabled: false },
      add_monitoring: { events: [...webhook.events, 'monitoring.*'] },
    },
    responses: { 200: { ...webhook, enabled: false } },
  },
  rotateWebhookSecret: {
    responses: { 200: { ...webhook, previous_secret_valid_until: '2026-11-21T12:00:00Z', secret } },
  },
  listDeliveries: { responses: { 200: [delivery] } },
  getDelivery: {
    responses: { 200: { ...delivery, event: 'test', order: null, body: JSON.stringify(test) } },
  },
  replayDelivery: {
    responses: {
      201: {
        ...waiting,
        ...{ id: 'msg_5Kd1nPz7w3rTy9bVfXm2cLqJh8G', event: 'test', order: null },
        ...{ replay_of: delivery.id, body: JSON.stringify(test) },
      },
    },
  },
  testWebhook: {
    responses: { 201: { ...waiting, event: 'test', order: null, body: JSON.stringify(test) } },
  },
  listDnsProviders: {
    responses: {
      200: {
        encryption_key: {
          kty: 'EC',
          crv: 'P-256',
          x: '-zO2A4_jOp7SgUSQrelBE3xtMsyhutmgJI65O9eLUJI',
          y: 'AIWt1-iCTbMHIRsfOSdOPIT2YLoF_fNv8qc_Pw48ALI',
          kid: '2026-11',
        },
        providers: [
          {
            name: 'desec',
            title: 'deSEC',
            advice: 'Make a token that may change these domains only.',
            credentials: [
              {
                type: 'bearer',
                members: [{ name: 'token', meaning: 'An API token', secret: true, required: true }],
                authorization_url: null,
                principal: null,
                external_id: null,
              },
            ],
          },
        ],
      },
    },
  },
  listDnsIntegrations: { responses: { 200: [integration] } },
  createDnsIntegration: {
    request: {
      token: {
        provider: 'desec',
        description: integration.description,
        credentials: { type: 'bearer', token: 'i-T3b1h_OI-H9ab8tRS98stGtURe' },
      },
    },
    responses: { 201: integration },
  },
  getDnsIntegration: { responses: { 200: integration } },
  listDnsZones: { responses: { 200: [{ id: 'example.com', name: 'example.com' }] } },
};
