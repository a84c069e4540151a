import {
  baseUrl,
  databaseUrl,
  defineSettings,
  durationMs,
  httpSettings,
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
} from '@certwright/service';
import { dnsSettings } from './dns/dns-settings';

/** The settings of the approval responder: meaning, unit and default of each. */
export const responderSettings = defineSettings({
  CERTWRIGHT_MODE: oneOf(['sandbox', 'production'], {
    meaning: 'Which deployment this is; a database of the other mode is refused',
    default: 'sandbox',
  }),
  DATABASE_URL: databaseUrl({ meaning: 'The core database (PostgreSQL)' }),
  ...poolerSettings,
  DATABASE_POOL_SIZE: integer({
    meaning: 'Connections to the database that this process keeps at most; each request uses one at a time',
    unit: 'connections',
    min: 1,
    max: 200,
    default: 5,
  }),
  STATEMENT_TIMEOUT: durationMs({
    meaning: 'The database ends a statement that runs longer, and the request is answered 503',
    minMs: 100,
    maxMs: 600_000,
    default: 5_000,
  }),
  ...redisSettings({
    meaning:
      'Redis, for limits over all processes and values that CAs look for; while it is unavailable each process limits by itself, and the database is queried',
  }),
  HOST: string({ meaning: 'Address to listen on; a container needs 0.0.0.0', default: '127.0.0.1' }),
  PORT: port({ meaning: 'Port to listen on; 0 takes any free one', default: 4330 }),
  APPROVAL_URL: baseUrl({
    meaning:
      'How the public reaches this process: web server rules and the links of approval mails begin with it; the same for every process',
    default: 'http://127.0.0.1:4330',
  }),
  REQUESTS_PER_S: integer({
    meaning:
      'Requests per client address (IPv6: per /64), and through each web server rule (of all accounts together four times as many); ten times as many at once. A web server that proxies is one client for all of its names',
    unit: '1/s',
    min: 1,
    max: 100_000,
    default: 50,
  }),
  TRUSTED_PROXIES: list(network({ meaning: 'A proxy', orAddress: true }), {
    meaning:
      'Addresses or networks (CIDR) of our own proxies, whose X-Forwarded-For is believed; never those of customers',
    default: [],
  }),
  ...dnsSettings,
  ...httpSettings,
  ...processSettings({ opsPort: 4331 }),
});

export type ResponderConfig = SettingValues<typeof responderSettings.table>;

/** Injection token of the configuration. */
export const ResponderConfig = Symbol('ResponderConfig');

export function readConfig(): ResponderConfig {
  return responderSettings.read(process.env);
}
