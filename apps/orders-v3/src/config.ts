import {
  defineSettings,
  durationMs,
  gatewaySettings,
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

/** The settings of the order API: what each means, its unit, and what holds without it. */
export const ordersSettings = defineSettings({
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
    meaning: 'Connections to the database that this process keeps at most; each request uses one at a time',
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
      'Redis, for rate limits over all processes and the news of disabled keys; while it is away each process limits by itself',
    schemes: ['redis', 'rediss'],
  }),
  HOST: string({ meaning: 'Address to listen on; a container needs 0.0.0.0', default: '127.0.0.1' }),
  PORT: port({ meaning: 'Port to listen on; 0 takes any free one', default: 4310 }),
  PUBLIC_URL: string({
    meaning: 'How callers reach this API, without /api/v3: it stands in front of download URLs',
    pattern: /^https?:\/\/[^\s?#]+[^\s?#/]$/,
    default: 'http://127.0.0.1:4310',
  }),
  APPROVAL_ZONE: string({
    meaning: 'The DNS zone that standing approval records point into; approval-responder answers for it',
    pattern: /^(?=.{1,200}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/,
    default: 'approve.certwright.test',
  }),
  APPROVAL_URL: string({
    meaning:
      'How approval-responder is reached from outside: web server rules redirect below it, on a port that CAs follow to (80 or 443)',
    pattern: /^https?:\/\/[^\s?#]+[^\s?#/]$/,
    default: 'http://127.0.0.1:4330',
  }),
  SEALING_KEYS: sealingKeys({
    meaning: 'Seal the secrets and credentials of webhooks; the same for every process that has the setting',
  }),
  ALLOWED_NETWORKS: list(string({ meaning: 'A network such as 10.0.0.0/8' }), {
    meaning:
      'Networks with private or other special-purpose addresses that webhooks may go to all the same; the same as of the notifier',
    default: [],
  }),
  ...gatewaySettings({ without: 'no DNS provider can be integrated' }),
  SETTLING_MS: durationMs({
    meaning:
      'A modification waits this long for further ones, so that several in a row make one certificate; a new order does not wait',
    minMs: 0,
    maxMs: 3_600_000,
    default: 10_000,
  }),
  ...limitSettings,
  TRUSTED_PROXIES: list(string({ meaning: 'address or network' }), {
    meaning: 'Addresses or networks (CIDR) of the proxies whose X-Forwarded-For is believed',
    default: [],
  }),
  ...processSettings({ opsPort: 4311 }),
});

export type OrdersConfig = SettingValues<typeof ordersSettings.table>;

/** Under which the configuration is injected. */
export const OrdersConfig = Symbol('OrdersConfig');

export function readConfig(): OrdersConfig {
  return ordersSettings.read(process.env);
}
