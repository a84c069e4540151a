import {
  boolean,
  databaseUrl,
  defineSettings,
  durationMs,
  gatewaySettings,
  hostPort,
  integer,
  list,
  network,
  oneOf,
  poolerSettings,
  port,
  processSettings,
  redisSettings,
  type SettingValues,
  string,
  url,
} from '@certwright/service';
import { caKeySettings } from './certificate-authorities/built-in/keys/key-settings';

/** Every setting of the issuance worker. */
export const settings = defineSettings({
  ...processSettings({ opsPort: 4321 }),
  CERTWRIGHT_MODE: oneOf(['sandbox', 'production'], {
    meaning:
      'Which deployment this is; the database remembers it. In a sandbox the built-in CA issues everything, unless SANDBOX_AUTHORITIES',
  }),
  DATABASE_URL: databaseUrl({ meaning: 'The core database' }),
  ...poolerSettings,
  DATABASE_POOL_SIZE: integer({
    meaning: 'Max database connections; must exceed JOB_CONCURRENCY, or jobs wait for each other',
    unit: 'connections',
    min: 2,
    max: 200,
    default: 40,
  }),
  ...redisSettings({ meaning: 'Where wake-ups are queued; losing it costs time, never work' }),
  JOB_CONCURRENCY: integer({
    meaning: 'Issuances advanced concurrently; the more of them share a commit, the less each costs',
    unit: 'jobs',
    min: 1,
    max: 100,
    default: 32,
  }),
  DNS_RESOLVER: hostPort({
    meaning: 'Recursive resolver for lookups of standing approval records; it should validate DNSSEC',
  }),
  APPROVAL_ZONE: string({
    meaning: 'Zone of the targets of standing approval records; the same for every process',
    pattern: /^(?=.{1,200}$)[a-z0-9-]+(\.[a-z0-9-]+)+$/,
  }),
  ...gatewaySettings({
    without: 'no integration is served, and names are approved as in accounts without any',
  }),
  ALLOWED_NETWORKS: list(network({ meaning: 'A network' }), {
    meaning:
      'Special-purpose networks (10.0.0.0/8, ::1/128) where authoritative DNS servers, which customers choose, may be queried, and where logs may receive certificates',
    default: [],
  }),
  ACME_ANSWER_TIMEOUT: durationMs({
    meaning: 'Max silence of a CA within one response; then the step is retried later',
    minMs: 500,
    maxMs: 20_000,
    default: 10_000,
  }),
  AUTHORITY_DNS_PORT: port({
    meaning: 'Port of authoritative DNS servers, UDP and TCP; other than 53 only in a test network',
    default: 53,
  }),
  APPROVAL_ZONE_INTEGRATION: string<null>({
    meaning:
      'Id of the DNS integration, of any account, that publishes what CAs look for at the targets, where the operator’s own DNS servers host APPROVAL_ZONE; needs GATEWAY_URL. Empty: approval-responder serves it',
    pattern: /^[1-9]\d{0,15}$/,
    default: null,
  }),
  APPROVAL_RESPONDERS: list(hostPort({ meaning: 'A copy of approval-responder' }), {
    meaning:
      'DNS addresses of the copies of approval-responder, or names of all copies, which are looked up again every 5 s: each address is queried before a CA is requested to validate. Empty: DNS_RESOLVER is queried, which may return cached values',
    default: [],
  }),
  DNS_PERSIST: boolean({
    meaning:
      'Whether a name may be proven to a CA by a standing dns-persist-01 record of our account there, if the CA offers it and the record is valid',
    default: false,
  }),
  SANDBOX_AUTHORITIES: boolean({
    meaning:
      'Whether a sandbox uses the CAs that its products name, for instance a test server, in place of the built-in one',
    default: false,
  }),
  ACME_USER_AGENT: string({
    meaning:
      'User-Agent of requests to CAs: the program, and where its operator can be found (RFC 8555, section 6.1)',
    pattern: /^[\x20-\x7e]{1,200}$/,
    default: 'certwright',
  }),
  PROBE_TIMEOUT: durationMs({
    meaning:
      'Timeout of a check of one web server by the prober, redirects included; then the name counts as not approved for now',
    minMs: 100,
    maxMs: 3_500,
    default: 3_000,
  }),
  APPROVAL_REUSE_DAYS: integer({
    meaning:
      'Validity period of an approval. Public CAs are limited to 200 days since 2026-03-15, 100 from 2027-03-15, 10 from 2029-03-15',
    unit: 'days',
    min: 1,
    max: 200,
    default: 200,
  }),
  BUILT_IN_CA: boolean({
    meaning:
      'Whether this deployment has its built-in CA: always in a sandbox; in production only for a private CA',
    default: false,
  }),
  ...caKeySettings,
  SUBMIT_TO_LOGS: list(string({ meaning: 'A URL', pattern: /^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/ }), {
    meaning:
      'Submission URLs of the Certificate Transparency logs that receive the certificates of the built-in CA when they are issued, and unexpired earlier ones when the first log is set',
    default: [],
  }),
  CA_PUBLICATION_URL: url({
    schemes: ['http'],
    meaning:
      'URL at which certificates and revocation lists of the built-in CA are published; http, and part of issued certificates',
  }),
});

export type Config = SettingValues<typeof settings.table>;

/** Injection token of the configuration. */
export const Config = Symbol('WorkerConfig');

export const config = (): Config => settings.read(process.env);
