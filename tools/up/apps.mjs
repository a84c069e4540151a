// @ts-check
// Every process that `npm start` runs: program, ports and settings. The settings are documented in the app's config.ts;
// their values for a sandbox are here.
import path from 'node:path';
import { LOOPBACK } from '../embedded/ports.mjs';

/** The zone to which customers delegate approvals; in the sandbox the demo DNS serves it. */
export const APPROVAL_ZONE = 'approval.example.net';
/** Web servers and webhook receivers of the sandbox may be on loopback. */
const ALLOWED_NETWORKS = '127.0.0.0/8,::1/128';
/** Sender of every mail; the certificate API returns it too. */
const MAIL_FROM = 'Certwright Sandbox <certwright@example.net>';
const MAILBOX_HEALTH = '/api/healthz';
/** The zones of the demo DNS, for whose names the demo orders certificates. */
export const DEMO_ZONES = /** @type {const} */ (['example.com', 'example.net', 'example.org']);

/** @typedef {{ name: string, algorithm: string, secret: string }} DnsUpdateKey TSIG; the secret in base64 */

/**
 * @typedef {object} Deployment
 * @property {string} home data folder, absolute
 * @property {string} databaseUrl of the owner of the tables
 * @property {string} ctDatabaseUrl
 * @property {import('./database-roles.mjs').UrlOf} urlOf a database as the role of an app
 * @property {string} redisUrl
 * @property {string} sealingKeysFile file with the keys that encrypt secrets at rest
 * @property {string} caAccountKeysFile file with the keys that encrypt the keys of accounts at CAs
 * @property {DnsUpdateKey} dnsUpdateKey key for signed updates of the demo DNS
 * @property {string} logLevel
 * @property {(app: string, port: string) => number} port the port of an app, with PORT_OFFSET
 *
 * @typedef {object} App
 * @property {string} name
 * @property {string} source entry point, from the workspace root
 * @property {Readonly<Record<string, { preferred: number, udp?: boolean }>>} ports
 * @property {{ port: string, path: string }} health returns 200 when the app is ready
 * @property {string} [api] its member in start.json's `apis`, for a front end; its address is that of the port `http`
 * @property {boolean} [peer] simulates a part of the outside world: starts before the apps and stops after them
 * @property {(deployment: Deployment) => Readonly<Record<string, string>>} environment
 */

/** @type {readonly App[]} */
export const apps = [
  {
    // Authoritative DNS of customers, changeable over HTTP on the control port.
    name: 'demo-dns',
    source: 'tools/demo-dns/main.ts',
    peer: true,
    ports: { dns: { preferred: 4353, udp: true }, control: { preferred: 4354 } },
    health: { port: 'control', path: '/healthz' },
    environment: ({ home, port, dnsUpdateKey: { name, algorithm, secret } }) => ({
      // Records survive a restart, as those of a customer do.
      DATA_FILE: path.join(home, 'demo-dns.json'),
      DNS_HOST: LOOPBACK,
      DNS_PORT: String(port('demo-dns', 'dns')),
      CONTROL_PORT: String(port('demo-dns', 'control')),
      DEMO_ZONES: DEMO_ZONES.join(','),
      DEMO_TSIG_KEY: `${name}:${algorithm}:${secret}`,
    }),
  },
  {
    // Receives all mail of the sandbox and shows it in a browser.
    name: 'mailbox',
    source: 'tools/mailbox/main.ts',
    peer: true,
    ports: { web: { preferred: 4360 }, smtp: { preferred: 4361 } },
    health: { port: 'web', path: MAILBOX_HEALTH },
    environment: ({ home, port }) => ({
      MAILBOX_DIR: path.join(home, 'mailbox'),
      MAILBOX_WEB_PORT: String(port('mailbox', 'web')),
      MAILBOX_SMTP_PORT: String(port('mailbox', 'smtp')),
    }),
  },
  {
    // Two small Certificate Transparency logs, one per log API, with some hundred certificates.
    name: 'demo-log',
    source: 'tools/demo-log/main.ts',
    peer: true,
    ports: { http: { preferred: 4380 } },
    health: { port: 'http', path: '/healthz' },
    environment: ({ home, port, logLevel }) => ({
      DATA_DIR: path.join(home, 'demo-log'),
      HOST: LOOPBACK,
      PORT: String(port('demo-log', 'http')),
      ACCEPTED_ROOTS: path.join(caFolder(home), 'root.pem'),
      // Certificates that other CAs issue are what monitored domains are for.
      ACCEPT_ANY_ROOT: 'true',
      LOG_LEVEL: logLevel === 'debug' ? 'info' : logLevel,
    }),
  },
  {
    name: 'orders-v3',
    source: 'apps/orders-v3/src/main.ts',
    api: 'orders_v3',
    ports: { http: { preferred: 4310 }, ops: { preferred: 4311 } },
    health: { port: 'ops', path: '/readyz' },
    environment: (deployment) => ({
      ...common(deployment, 'orders-v3'),
      HOST: LOOPBACK,
      PORT: String(deployment.port('orders-v3', 'http')),
      PUBLIC_URL: publicUrl(deployment),
      APPROVAL_ZONE,
      APPROVAL_URL: approvalUrl(deployment),
      SEALING_KEYS_FILE: deployment.sealingKeysFile,
      ALLOWED_NETWORKS,
      ...gatewayClient(deployment, 'orders-v3'),
    }),
  },
  {
    name: 'certs-v2',
    source: 'apps/certs-v2/src/main.ts',
    api: 'certs_v2',
    ports: { http: { preferred: 4312 }, ops: { preferred: 4313 } },
    health: { port: 'ops', path: '/readyz' },
    environment: (deployment) => ({
      ...common(deployment, 'certs-v2'),
      HOST: LOOPBACK,
      PORT: String(deployment.port('certs-v2', 'http')),
      PUBLIC_URL: `http://${LOOPBACK}:${deployment.port('certs-v2', 'http')}`,
      DOWNLOAD_URL: `${publicUrl(deployment)}/download`,
      APPROVAL_ZONE,
      APPROVAL_URL: approvalUrl(deployment),
      MAIL_FROM,
      SEALING_KEYS_FILE: deployment.sealingKeysFile,
    }),
  },
  {
    name: 'monitoring',
    source: 'apps/monitoring/src/main.ts',
    api: 'monitoring',
    ports: { http: { preferred: 4316 }, ops: { preferred: 4317 } },
    health: { port: 'ops', path: '/readyz' },
    environment: (deployment) => ({
      ...common(deployment, 'monitoring'),
      CT_DATABASE_URL: deployment.urlOf('monitoring', deployment.ctDatabaseUrl),
      HOST: LOOPBACK,
      PORT: String(deployment.port('monitoring', 'http')),
      PUBLIC_URL: `http://${LOOPBACK}:${deployment.port('monitoring', 'http')}`,
    }),
  },
  {
    name: 'ct-search',
    source: 'apps/ct-search/src/main.ts',
    api: 'ct_search',
    ports: { http: { preferred: 4314 }, ops: { preferred: 4315 } },
    health: { port: 'ops', path: '/readyz' },
    environment: (deployment) => ({
      ...everyProcess(deployment, 'ct-search'),
      DATABASE_URL: deployment.urlOf('ct-search', deployment.databaseUrl),
      CT_DATABASE_URL: deployment.urlOf('ct-search', deployment.ctDatabaseUrl),
      REDIS_URL: deployment.redisUrl,
      HOST: LOOPBACK,
      PORT: String(deployment.port('ct-search', 'http')),
      PUBLIC_URL: `http://${LOOPBACK}:${deployment.port('ct-search', 'http')}`,
    }),
  },
  {
    name: 'ct-ingest',
    source: 'apps/ct-ingest/src/main.ts',
    ports: { ops: { preferred: 4395 } },
    health: { port: 'ops', path: '/readyz' },
    environment: (deployment) => ({
      ...everyProcess(deployment, 'ct-ingest'),
      CT_DATABASE_URL: deployment.urlOf('ct-ingest', deployment.ctDatabaseUrl),
      LOG_LIST: `${demoLog(deployment)}/log_list.json`,
      // The log is local, and an order should appear in the search within seconds.
      POLL_INTERVAL: '1s',
      REQUESTS_PER_SECOND: '50',
      ALLOWED_NETWORKS,
    }),
  },
  {
    name: 'issuance-worker',
    source: 'apps/issuance-worker/src/main.ts',
    ports: { ops: { preferred: 4321 } },
    health: { port: 'ops', path: '/readyz' },
    environment: (deployment) => ({
      ...common(deployment, 'issuance-worker'),
      DNS_RESOLVER: resolver(deployment),
      APPROVAL_ZONE,
      BUILT_IN_CA_DIR: caFolder(deployment.home),
      CA_PUBLICATION_URL: caPublicationUrl(deployment),
      SUBMIT_TO_LOGS: `${demoLog(deployment)}/rfc6962/,${demoLog(deployment)}/static/`,
      ALLOWED_NETWORKS,
      CA_ACCOUNT_KEYS_FILE: deployment.caAccountKeysFile,
      APPROVAL_RESPONDERS: `${LOOPBACK}:${deployment.port('approval-responder', 'dns')}`,
      // The demo DNS is the name server of the demo zones.
      AUTHORITY_DNS_PORT: String(deployment.port('demo-dns', 'dns')),
      ...gatewayClient(deployment, 'issuance-worker'),
    }),
  },
  {
    name: 'monitoring-worker',
    source: 'apps/monitoring-worker/src/main.ts',
    ports: { ops: { preferred: 4319 } },
    health: { port: 'ops', path: '/readyz' },
    environment: (deployment) => ({
      ...common(deployment, 'monitoring-worker'),
      CT_DATABASE_URL: deployment.urlOf('monitoring-worker', deployment.ctDatabaseUrl),
      // Certificates of the sandbox are of the built-in CA.
      TRUSTED_ROOTS_FILE: path.join(caFolder(deployment.home), 'root.pem'),
      // A problem and its end should be reported within half a minute.
      ENDPOINT_CHECK_EVERY: '15s',
      ENDPOINT_CONFIRM_EVERY: '3s',
      OPERATOR_MAIL: 'operator@example.net',
    }),
  },
  {
    name: 'dns-gateway',
    source: 'apps/dns-gateway/src/main.ts',
    ports: { https: { preferred: 4370 }, ops: { preferred: 4371 } },
    health: { port: 'ops', path: '/readyz' },
    environment: (deployment) => ({
      ...everyProcess(deployment, 'dns-gateway'),
      HOST: LOOPBACK,
      PORT: String(deployment.port('dns-gateway', 'https')),
      TLS_CERTIFICATE_FILE: gatewayFile(deployment.home, 'server.pem'),
      TLS_KEY_FILE: gatewayFile(deployment.home, 'server.key'),
      CLIENT_CA_FILE: gatewayFile(deployment.home, 'ca.pem'),
      GATEWAY_CLIENTS: gatewayClients,
      HANDLE_KEYS_FILE: gatewayFile(deployment.home, 'handle.keys'),
      CREDENTIALS_KEY_FILE: gatewayFile(deployment.home, 'credentials.key'),
      AUDIT_DIR: gatewayFile(deployment.home, 'audit'),
      APPROVAL_ZONES: APPROVAL_ZONE,
      // The worker publishes nothing else.
      OWN_LABELS: '_acme-challenge',
      ALLOWED_NETWORKS,
      DNS_RESOLVERS: resolver(deployment),
    }),
  },
  {
    name: 'approval-responder',
    source: 'apps/approval-responder/src/main.ts',
    ports: { http: { preferred: 4330 }, ops: { preferred: 4331 }, dns: { preferred: 4332, udp: true } },
    health: { port: 'ops', path: '/readyz' },
    environment: (deployment) => ({
      ...common(deployment, 'approval-responder'),
      HOST: LOOPBACK,
      PORT: String(deployment.port('approval-responder', 'http')),
      APPROVAL_URL: approvalUrl(deployment),
      DNS_HOST: LOOPBACK,
      DNS_PORT: String(deployment.port('approval-responder', 'dns')),
      APPROVAL_ZONE,
      APPROVAL_NAME_SERVERS: `ns1.${APPROVAL_ZONE}=${LOOPBACK}`,
    }),
  },
  {
    name: 'notifier',
    source: 'apps/notifier/src/main.ts',
    ports: { ops: { preferred: 4341 } },
    health: { port: 'ops', path: '/readyz' },
    environment: (deployment) => ({
      ...common(deployment, 'notifier'),
      APPROVAL_URL: approvalUrl(deployment),
      SEALING_KEYS_FILE: deployment.sealingKeysFile,
      ALLOWED_NETWORKS,
      SMTP_URL: `smtp://${LOOPBACK}:${deployment.port('mailbox', 'smtp')}`,
      SMTP_REQUIRE_TLS: 'false',
      SMTP_FROM: MAIL_FROM,
    }),
  },
  {
    name: 'prober',
    source: 'apps/prober/src/main.ts',
    ports: { ops: { preferred: 4351 } },
    health: { port: 'ops', path: '/readyz' },
    environment: (deployment) => ({
      ...everyProcess(deployment, 'prober'),
      REDIS_URL: deployment.redisUrl,
      DNS_RESOLVERS: resolver(deployment),
      ALLOWED_NETWORKS,
      // Port 80 needs privileges on most machines: PROBE_HTTP_PORT is the port of the web servers of the demo zone.
      HTTP_PORT: process.env.PROBE_HTTP_PORT ?? '80',
      REDIRECT_PORTS: `80,443,${deployment.port('approval-responder', 'http')}`,
    }),
  },
];

/**
 * orders-v3 publishes certificates and revocation lists of the built-in CA at this URL.
 * @param {Pick<Deployment, 'port'>} deployment
 */
export function caPublicationUrl(deployment) {
  return `${publicUrl(deployment)}/ca`;
}

/** @param {string} home */
export function caFolder(home) {
  return path.join(home, 'ca');
}

/** Requests that each client may send to the gateway; tools/gateway-keys issues certificates for these identities. */
const gatewayClients = [
  'spiffe://certwright.internal/issuance-worker=get_zones+add_record+remove_record',
  'spiffe://certwright.internal/orders-v3=make_integration+get_zones+description',
  'spiffe://certwright.internal/admin=make_integration+get_zones+description',
].join(',');

/** @param {string} home */
export function gatewayFolder(home) {
  return path.join(home, 'gateway');
}

/**
 * @param {string} home
 * @param {string} file
 */
function gatewayFile(home, file) {
  return path.join(gatewayFolder(home), file);
}

/** @param {Pick<Deployment, 'port'>} deployment */
export function gatewayUrl({ port }) {
  return `https://${LOOPBACK}:${port('dns-gateway', 'https')}`;
}

/**
 * @param {Deployment} deployment
 * @param {string} client
 */
function gatewayClient(deployment, client) {
  return {
    GATEWAY_URL: gatewayUrl(deployment),
    GATEWAY_CA_FILE: gatewayFile(deployment.home, 'ca.pem'),
    GATEWAY_CERTIFICATE_FILE: gatewayFile(deployment.home, `${client}.pem`),
    GATEWAY_KEY_FILE: gatewayFile(deployment.home, `${client}.key`),
  };
}

/** @param {Pick<Deployment, 'port'>} deployment */
function demoLog({ port }) {
  return `http://${LOOPBACK}:${port('demo-log', 'http')}`;
}

/** @param {Pick<Deployment, 'port'>} deployment */
export function resolver({ port }) {
  return `${LOOPBACK}:${port('demo-dns', 'dns')}`;
}

/**
 * The bundle of an app: dist/apps/orders-v3 for apps/orders-v3/src/main.ts.
 * @param {string} source
 */
export function bundleFolder(source) {
  return path.posix.join('dist', path.posix.dirname(source).replace(/\/src$/, ''));
}

/** @param {Pick<Deployment, 'port'>} deployment */
function publicUrl({ port }) {
  return `http://${LOOPBACK}:${port('orders-v3', 'http')}`;
}

/** @param {Deployment} deployment */
function approvalUrl({ port }) {
  return `http://${LOOPBACK}:${port('approval-responder', 'http')}`;
}

/**
 * Settings of every process.
 * @param {Deployment} deployment
 * @param {string} app
 */
function everyProcess({ logLevel, port }, app) {
  return {
    LOG_LEVEL: logLevel,
    OPS_HOST: LOOPBACK,
    OPS_PORT: String(port(app, 'ops')),
    // Running requests are aborted before the supervisor kills the process, after ten seconds.
    DRAIN_TIME: '5s',
  };
}

/**
 * Settings of every process that uses the database.
 * @param {Deployment} deployment
 * @param {string} app
 */
function common(deployment, app) {
  const { databaseUrl, urlOf, redisUrl } = deployment;
  return {
    ...everyProcess(deployment, app),
    DATABASE_URL: urlOf(app, databaseUrl),
    REDIS_URL: redisUrl,
    CERTWRIGHT_MODE: 'sandbox',
  };
}
