import { processSettings } from '../lifecycle/process-settings';
import { limitSettings } from '../limits/request-limits';
import { databaseUrl, poolerSettings } from './database-settings';
import { httpSettings } from './http-settings';
import { redisSettings } from './redis-settings';
import { baseUrl, durationMs, integer, list, network, oneOf, port, string } from './setting-kinds';

/**
 * The settings of an API front end with the core database; spread into its own table.
 *
 * @param path of the API, such as `/api/v3`
 */
export const frontSettings = (front: {
  readonly path: string;
  readonly port: number;
  readonly opsPort: number;
}) => ({
  CERTWRIGHT_MODE: oneOf(['sandbox', 'production'], {
    meaning:
      'Which accounts and certificates these are; written into a new database, and a database of the other mode is refused',
    default: 'sandbox',
  }),
  DATABASE_URL: databaseUrl({ meaning: 'The core database (PostgreSQL)' }),
  ...poolerSettings,
  DATABASE_POOL_SIZE: integer({
    meaning:
      'Maximum number of connections to the database; each request uses one at a time, and one that waits for a certificate uses none',
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
      'A request waits for the database this long in total, for a connection and for its statements; then the response is 503, at most 0.5 s later',
    minMs: 300,
    maxMs: 60_000,
    default: 4_000,
  }),
  WRITE_CONNECTIONS: integer({
    meaning:
      'Connections to the database that writes may use at the same time, at most all but one: the rest is for reads. One account may use all but one of them. Twenty writes per connection may wait; the response to further ones is 503',
    unit: 'connections',
    min: 1,
    max: 200,
    default: 5,
  }),
  ...redisSettings({
    meaning:
      'Redis, for rate limits over all processes, disabled keys, changed issuances and questions to the prober; while it is down each process limits by itself and queries the database',
  }),
  HOST: string({ meaning: 'Address to listen on; a container needs 0.0.0.0', default: '127.0.0.1' }),
  PORT: port({ meaning: 'Port to listen on; 0 takes any free one', default: front.port }),
  PUBLIC_URL: baseUrl({
    meaning: `How callers reach this API, without ${front.path}: URLs that it returns begin with it`,
    default: `http://127.0.0.1:${front.port}`,
  }),
  APPROVAL_ZONE: string({
    meaning: 'The DNS zone that standing approval records point into; approval-responder serves it',
    pattern: /^(?=.{1,200}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/,
    default: 'approve.certwright.test',
  }),
  APPROVAL_URL: baseUrl({
    meaning:
      'How approval-responder is reached from outside: web server rules redirect below it, on a port that CAs follow to (80 or 443)',
    default: 'http://127.0.0.1:4330',
  }),
  ...limitSettings,
  TRUSTED_PROXIES: list(network({ meaning: 'A proxy', orAddress: true }), {
    meaning: 'Addresses or networks (CIDR) of the proxies whose X-Forwarded-For is believed',
    default: [],
  }),
  TRACEPARENT_OF_CALLERS: oneOf(['link', 'parent'], {
    meaning:
      'What the traceparent header of a request is to its span. link: the request begins a trace, which refers to the caller; parent: it belongs to the trace of the caller, who also decides whether it is recorded: only where the proxy in front removes or sets the header',
    default: 'link',
  }),
  ...httpSettings,
  ...processSettings({ opsPort: front.opsPort }),
});
