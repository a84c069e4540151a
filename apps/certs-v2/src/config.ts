import {
  defineSettings,
  durationMs,
  integer,
  limitSettings,
  list,
  oneOf,
  port,
  processSettings,
  sealingKeys,
  type SettingValues,
  string,
  url,
} from '@certwright/service';

/** The settings of the certificate API: what each means, its unit, and what holds without it. */
export const certsSettings = defineSettings({
  CERTWRIGHT_MODE: oneOf(['sandbox', 'production'], {
    meaning:
      'Which accounts and certificates these are; written into a new database, and a database of the other mode is refused',
    default: 'sandbox',
  }),
  DATABASE_URL: url<string>({
    meaning: 'The core database (PostgreSQL)',
    schemes: ['postgres', 'postgresql'],
  }),
  DATABASE_POOL_SIZE: integer({
    meaning:
      'Connections to the database that this process keeps at most; one that waits for a certificate holds none',
    unit: 'connections',
    min: 1,
    max: 200,
    default: 10,
  }),
  STATEMENT_TIMEOUT: durationMs({
    meaning: 'The database ends a statement that runs longer; requests are bounded by DATABASE_TIME',
    minMs: 100,
    maxMs: 600_000,
    default: 15_000,
  }),
  DATABASE_TIME: durationMs({
    meaning:
      'A request waits for the database this long in total, for a connection and for its statements; then it is answered 503, at most 0.5 s later',
    minMs: 300,
    maxMs: 60_000,
    default: 4_000,
  }),
  WRITE_CONNECTIONS: integer({
    meaning:
      'Connections to the database that writes may use at the same time, at most all but one: the rest is for reads. Twenty writes per connection may wait; further ones are answered 503',
    unit: 'connections',
    min: 1,
    max: 200,
    default: 5,
  }),
  REDIS_URL: url<string>({
    meaning:
      'Redis, for rate limits, news of issuances and questions to the prober; while it is away polls look into the database',
    schemes: ['redis', 'rediss'],
  }),
  HOST: string({ meaning: 'Address to listen on; a container needs 0.0.0.0', default: '127.0.0.1' }),
  PORT: port({ meaning: 'Port to listen on; 0 takes any free one', default: 4312 }),
  PUBLIC_URL: string({
    meaning: 'How callers reach this API, without /api/v2: it stands in front of the addresses of invoices',
    pattern: /^https?:\/\/[^\s?#]+[^\s?#/]$/,
    default: 'http://127.0.0.1:4312',
  }),
  DOWNLOAD_URL: string({
    meaning:
      'Where current certificates can be downloaded by anybody who knows the address: orders-v3 serves them',
    pattern: /^https?:\/\/[^\s?#]+[^\s?#/]$/,
    default: 'http://127.0.0.1:4310/download',
  }),
  APPROVAL_ZONE: string({
    meaning: 'The DNS zone that standing approval records point into; approval-responder answers for it',
    pattern: /^(?=.{1,200}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/,
    default: 'approve.certwright.test',
  }),
  APPROVAL_URL: string({
    meaning: 'How approval-responder is reached from outside: web server rules redirect below it',
    pattern: /^https?:\/\/[^\s?#]+[^\s?#/]$/,
    default: 'http://127.0.0.1:4330',
  }),
  MAIL_FROM: string({
    meaning: 'Sender of approval mails, as callers are told; the same as of the notifier',
    default: 'Certwright <certwright@localhost>',
  }),
  DV_PRODUCT: string({ meaning: 'Product that the type dv stands for', default: 'paid_ca' }),
  EV_PRODUCT: string({ meaning: 'Product that the type ev stands for', default: 'paid_ev_ca' }),
  LATEST_CLIENT_VERSION: string({
    meaning:
      'Newest version of the command-line client, offered to clients that ask for it; never to newer ones. Without it no version is offered',
    pattern: /^\d{1,6}(\.\d{1,6}){0,3}$/,
    default: null,
  }),
  SEALING_KEYS: sealingKeys({
    meaning:
      'Seal the API keys that users may ask for again; the same for every process that has the setting',
  }),
  ...limitSettings,
  INSTALLATION_TESTS_PER_MIN: integer({
    meaning: 'Tests of installations per account, as many at once: each connects to up to 64 addresses',
    unit: '1/min',
    min: 1,
    max: 100_000,
    default: 10,
  }),
  MAX_CERT_OBJECTS: integer({
    meaning:
      'Certificate objects per account; further ones are refused. The list of all of them is one response, and clients ' +
      'cannot delete any. Concurrent requests may exceed it by a few',
    unit: 'certificate objects',
    min: 1,
    max: 10_000_000,
    default: 100_000,
  }),
  TRUSTED_PROXIES: list(string({ meaning: 'address or network' }), {
    meaning: 'Addresses or networks (CIDR) of the proxies whose X-Forwarded-For is believed',
    default: [],
  }),
  ...processSettings({ opsPort: 4313 }),
});

export type CertsConfig = SettingValues<typeof certsSettings.table>;

/** Under which the configuration is injected. */
export const CertsConfig = Symbol('CertsConfig');

export function readConfig(): CertsConfig {
  return certsSettings.read(process.env);
}
