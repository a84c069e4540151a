import {
  defineSettings,
  hostPort,
  integer,
  list,
  network,
  oneOf,
  port,
  processSettings,
  redisSettings,
  type SettingValues,
} from '@certwright/service';

/** All settings of the prober. It has no database and no secret except the password of Redis. */
export const settings = defineSettings({
  ...processSettings({ opsPort: 4351 }),
  CERTWRIGHT_MODE: oneOf(['sandbox', 'production'], {
    meaning: 'Which deployment this is; a REDIS_PREFIX that a deployment of the other mode uses is refused',
    default: 'sandbox',
  }),
  ...redisSettings({
    meaning:
      'Queue of questions, where results are published, and which addresses have a connection; nothing is probed while it is unavailable',
  }),
  DNS_RESOLVERS: list(hostPort({ meaning: 'A recursive resolver' }), {
    meaning:
      "Resolvers for probed names and CAA records, tried in order; names are looked up again every 5 s; empty: the system's",
    default: [],
  }),
  ALLOWED_NETWORKS: list(network({ meaning: 'A network' }), {
    meaning:
      'Special-purpose networks (10.0.0.0/8, ::1/128) that may be probed nevertheless; users who name hosts can explore them',
    default: [],
  }),
  HTTP_PORT: port({
    meaning:
      'Port at which names are probed; another one than 80 for a test network only, as no CA would look there',
    default: 80,
  }),
  REDIRECT_PORTS: list(port({ meaning: 'A port' }), {
    meaning: 'Ports that a redirect may lead to, besides HTTP_PORT; others for a test network only',
    default: [80, 443],
  }),
  PROBE_CONCURRENCY: integer({
    meaning:
      'Questions answered side by side; each mostly waits: for a web server rule up to 10 s with at most 64 KiB, for a look at hosts up to 15 s with at most 16 connections of 64 KiB and 1 MiB of certificates. More than twice ENDPOINT_CHECKS_AT_ONCE of monitoring-worker, so that looks at slow hosts do not delay the questions of an issuance',
    unit: 'probes',
    min: 1,
    max: 1_000,
    default: 64,
  }),
});

export type Config = SettingValues<typeof settings.table>;

/** Under which the configuration is injected. */
export const Config = Symbol('ProberConfig');

export const config = (): Config => settings.read(process.env);
