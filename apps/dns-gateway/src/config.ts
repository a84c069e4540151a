import {
  defineSettings,
  durationMs,
  filePath,
  hostPort,
  httpSettings,
  integer,
  list,
  network,
  port,
  processSettings,
  type SettingValues,
  string,
} from '@certwright/service';
import { clientGrant } from './clients/client-grants';
import { credentialKeys } from './credentials/credential-keys';
import { handleKeys } from './handles/handle-keys';
import { operatorSettings } from './operator-settings';
import { policySettings } from './policy-settings';

/** The settings of the gateway, with meaning, unit and default. */
export const gatewaySettings = defineSettings({
  HOST: string({ meaning: 'Address to listen on; a container needs 0.0.0.0', default: '127.0.0.1' }),
  PORT: port({ meaning: 'Port to listen on; 0 takes any free one', default: 4370 }),
  TLS_KEY_FILE: filePath({ meaning: 'Private key of the server, PEM; read again when it changes' }),
  TLS_CERTIFICATE_FILE: filePath({
    meaning: 'Certificate of the server and what leads to its root, PEM; read again when it changes',
  }),
  CLIENT_CA_FILE: filePath({
    meaning: 'Roots that client certificates must come from, PEM, and no others; read again when it changes',
  }),
  TLS_FILES_EVERY: durationMs({
    meaning: 'How often the three files are looked at',
    minMs: 100,
    maxMs: 86_400_000,
    default: 60_000,
  }),
  GATEWAY_CLIENTS: list(clientGrant, {
    meaning:
      'Who may use which endpoints; the identity is the one URI among the names of the client certificate. Who does not stand here may use none',
  }),
  CLIENT_RATE_PER_S: integer({
    meaning: 'Requests of one client; four times as many at once. Of this process alone',
    unit: '1/s',
    min: 1,
    max: 100_000,
    default: 50,
  }),
  REQUESTS_AT_ONCE: integer({
    meaning: 'Requests that are worked on at one time; each mostly waits for a provider',
    unit: 'requests',
    min: 1,
    max: 10_000,
    default: 200,
  }),
  REQUEST_TIME: durationMs({
    meaning:
      'How long a request may take; then the answer is a timeout, and the audit log records an unknown outcome',
    minMs: 100,
    maxMs: 120_000,
    default: 25_000,
  }),
  HANDLE_KEYS: handleKeys({
    meaning:
      'Keys that seal handles. A retired one stays behind the first until no handle under it is left: integrations come back re-sealed with their next use, records with their next publication',
  }),
  CREDENTIALS_KEY: credentialKeys({
    meaning:
      'Private keys that open credentials which were sealed to this gateway. A retired one may go ten minutes after the new one is in front',
  }),
  ZONES_KEPT: durationMs({
    meaning: 'How long the zones of an integration are cached before the provider is queried again',
    minMs: 0,
    maxMs: 60_000,
    default: 45_000,
  }),
  AUDIT_DIR: filePath({ meaning: 'Folder of the audit log; where it cannot be written, nothing is changed' }),
  AUDIT_INSTANCE: string({
    meaning: 'Name of this copy of the process in the audit log, one per copy; none: the name of the machine',
    pattern: /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/,
    default: null,
  }),
  DNS_RESOLVERS: list(hostPort({ meaning: 'A recursive resolver' }), {
    meaning: "Resolvers that hosts of customers are looked up at, tried in order; empty: the system's",
    default: [],
  }),
  ALLOWED_NETWORKS: list(network({ meaning: 'A network' }), {
    meaning:
      'Special-purpose networks (10.0.0.0/8, ::1/128) in which servers of customers are allowed nevertheless',
    default: [],
  }),
  ...policySettings,
  ...operatorSettings,
  ...httpSettings,
  ...processSettings({ opsPort: 4371 }),
  DRAIN_TIME: durationMs({
    meaning: 'How long requests under way may take to finish after SIGTERM; longer than REQUEST_TIME',
    minMs: 0,
    maxMs: 600_000,
    default: 30_000,
  }),
});

export type GatewayConfig = SettingValues<typeof gatewaySettings.table>;

/** Injection token. */
export const GatewayConfig = Symbol('GatewayConfig');

export const readConfig = (): GatewayConfig => gatewaySettings.read(process.env);
