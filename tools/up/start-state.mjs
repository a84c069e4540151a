// @ts-check
// Describes the running system: start.json for programs, a few lines for users.
import path from 'node:path';
import { LOOPBACK } from '../embedded/ports.mjs';
import { apps, caFolder, DEMO_ZONES, gatewayFolder, gatewayUrl, resolver } from './apps.mjs';
import { home, places } from './home.mjs';

/**
 * @param {object} what
 * @param {import('./apps.mjs').Deployment} what.deployment
 * @param {readonly string[]} what.embedded the stores that run here: `postgres`, `redis`
 * @param {import('./sandbox-account.mjs').Account} what.account
 * @returns {import('./home.mjs').StartState}
 */
export function describe({ deployment, embedded, account }) {
  const { port, databaseUrl, ctDatabaseUrl, redisUrl } = deployment;
  const url = (/** @type {string} */ app, /** @type {string} */ name) =>
    `http://${LOOPBACK}:${port(app, name)}`;
  const processes = [...embedded, ...apps.map(({ name }) => name)];
  const storeLogs = embedded.map((name) => [name, path.join(home, name, `${name}.log`)]);
  return {
    supervisor: process.pid,
    mode: 'sandbox',
    apis: Object.fromEntries(apps.flatMap(({ name, api }) => (api ? [[api, url(name, 'http')]] : []))),
    api_key: account.api_key,
    account_id: account.account_id,
    resolver: resolver(deployment),
    demo_zone: DEMO_ZONES[0],
    dns_update_key: deployment.dnsUpdateKey,
    gateway: gatewayUrl(deployment),
    gateway_keys: gatewayFolder(home),
    dns_control: url('demo-dns', 'control'),
    demo_log: url('demo-log', 'http'),
    mailbox: url('mailbox', 'web'),
    sandbox_root: path.join(caFolder(home), 'root.pem'),
    database_url: databaseUrl,
    ct_database_url: ctDatabaseUrl,
    redis_url: redisUrl,
    ops: Object.fromEntries(
      apps.flatMap(({ name, ports }) => ('ops' in ports ? [[name, url(name, 'ops')]] : [])),
    ),
    pid_files: Object.fromEntries(processes.map((name) => [name, places.pidFile(name)])),
    logs: Object.fromEntries([...storeLogs, ...apps.map(({ name }) => [name, places.log(name)])]),
  };
}

/**
 * @param {import('./home.mjs').StartState} state
 * @returns {string}
 */
export function announcement({ apis, api_key, mailbox }) {
  const rows = [
    ...Object.entries(apis),
    ['API key', api_key],
    ['mailbox', mailbox],
    ['data', path.relative(process.cwd(), home) || '.'],
  ];
  return [
    '',
    'Certwright is running as a sandbox: no client trusts its CA.',
    ...rows.map(([name = '', value]) => `  ${name.padEnd(10)}  ${value}`),
    '',
    'To issue a first certificate, run in a second terminal:  npm run demo',
    'Ctrl-C stops everything.',
  ].join('\n');
}
