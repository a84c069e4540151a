// @ts-check
// The accounts of a run: what each must be notified of, and what arrived at its webhook.
import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { LOOPBACK } from '../../embedded/ports.mjs';
import { until } from '../until.mjs';

const REQUEST_WITHIN_MS = 120_000;
/** Retries of webhooks, and of processes that reconnect, on a loaded machine. */
const SETTLED_WITHIN_MS = 600_000;
/** A delivery is finished in the database after it arrived, and never arrives after that. */
const QUIET_MS = 3_000;

/** $1: accounts. A delivery that is retried arrived already, with the same id. */
const UNFINISHED = `
  SELECT (SELECT count(*) FROM monitoring_finding
      WHERE account_id = ANY ($1::bigint[]) AND (alert_due_at IS NOT NULL OR classify_at IS NOT NULL))
    + (SELECT count(*) FROM webhook_delivery WHERE account_id = ANY ($1::bigint[]) AND state = 'pending' AND attempts = 0) AS count`;

/**
 * @typedef {object} Delivery
 * @property {string} id of the delivery: the same for its retries
 * @property {string} event
 * @property {any} body
 * @property {number} bytes
 * @property {number} atMs
 *
 * @typedef {import('./certificates.mjs').Certificate} Certificate
 * @typedef {import('./platform.mjs').MonitoringPlatform} Platform
 */

export class Tenant {
  /** @type {Delivery[]} */
  deliveries = [];
  /** By TBS digest, when the log accepted them, ms. @type {Map<string, number>} */
  unknown = new Map();
  /** @type {Set<string>} */
  known = new Set();

  /**
   * @param {Platform} platform
   * @param {string} name
   * @param {{ account_id: string, api_key: string }} account
   */
  constructor(platform, name, account) {
    this.platform = platform;
    this.name = name;
    this.account = account;
  }

  /**
   * @param {string} url
   * @param {{ json?: object, method?: string }} [what]
   */
  async call(url, { json, method } = {}) {
    const response = await fetch(url, {
      method: method ?? (json === undefined ? 'GET' : 'POST'),
      headers: {
        authorization: `Bearer ${this.account.api_key}`,
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: json === undefined ? undefined : JSON.stringify(json),
      signal: AbortSignal.timeout(REQUEST_WITHIN_MS),
    });
    return { status: response.status, text: await response.text(), link: response.headers.get('link') };
  }

  /**
   * @param {string} path below /api/v3/monitoring
   * @param {object} [json]
   * @param {number} [copy] of the front end
   */
  async monitoring(path, json, copy = 0) {
    const url = `${this.platform.fronts[copy]?.url}/api/v3/monitoring${path}`;
    const { status, text } = await this.call(url, { json });
    if (status >= 300) throw new Error(`${url} returned ${status}: ${text}`);
    return JSON.parse(text);
  }

  /** Every certificate that a copy of the front end lists. @param {number} copy @returns {Promise<any[]>} */
  async certificates(copy) {
    const all = [];
    const base = this.platform.fronts[copy]?.url;
    /** @type {string | undefined} */
    let next = '/api/v3/monitoring/certificates?limit=100';
    while (next !== undefined) {
      const { status, text, link } = await this.call(`${base}${next}`);
      if (status !== 200) throw new Error(`the list of ${this.name} returned ${status}: ${text}`);
      all.push(...JSON.parse(text));
      const found = /<([^>]+)>;\s*rel="next"/.exec(link ?? '')?.[1];
      next = found === undefined ? undefined : found.replace(/^https?:\/\/[^/]+/, '');
    }
    return all;
  }

  /** @param {string} event */
  eventsOf(event) {
    return this.deliveries.filter((each) => each.event === event);
  }

  /** Ids of the deliveries about each certificate. @returns {Map<string, Set<string>>} */
  alerts() {
    const alerts = new Map();
    for (const { id, body } of this.eventsOf('monitoring.unknown_certificate')) {
      const digest = body.issuance?.tbs_sha256 ?? body.tbs_sha256;
      alerts.set(digest, (alerts.get(digest) ?? new Set()).add(id));
    }
    return alerts;
  }

  /** Digests of which it was not notified yet. */
  missing() {
    const alerts = this.alerts();
    return [...this.unknown.keys()].filter((digest) => !alerts.has(digest));
  }

  /** From the acceptance by the log to the first delivery, ms, in ascending order. @param {number} fromMs */
  latencies(fromMs) {
    const first = new Map();
    for (const { body, atMs } of this.eventsOf('monitoring.unknown_certificate')) {
      const digest = body.issuance?.tbs_sha256;
      if (!first.has(digest)) first.set(digest, atMs);
    }
    return [...this.unknown]
      .filter(([digest, loggedMs]) => loggedMs >= fromMs && first.has(digest))
      .map(([digest, loggedMs]) => first.get(digest) - loggedMs)
      .sort((one, other) => one - other);
  }
}

export class Tenants {
  /** @type {Tenant[]} */
  all = [];
  /** What they get is not compared with anything. @type {Tenant[]} */
  #busy = [];
  #random;
  #platform;
  #problems = /** @type {string[]} */ ([]);
  /** Share of the requests that the receiver refuses. */
  refusals = 0;

  /**
   * @param {Platform} platform
   * @param {() => number} random
   */
  constructor(platform, random) {
    this.#platform = platform;
    this.#random = random;
  }

  #receiver = http.createServer((request, response) => {
    const chunks = /** @type {Buffer[]} */ ([]);
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const isRefused = this.#random() < this.refusals;
      const tenant = [...this.all, ...this.#busy].find(
        ({ account }) => request.url === `/${account.account_id}`,
      );
      if (tenant === undefined) this.#problems.push(`a delivery arrived at ${request.url}`);
      tenant?.deliveries.push({
        id: String(request.headers['webhook-id']),
        event: String(request.headers['webhook-event']),
        body: JSON.parse(body.toString()),
        bytes: body.length,
        atMs: Date.now(),
      });
      response.writeHead(isRefused ? 500 : 204).end();
    });
  });

  async listen() {
    await new Promise((resolve) => this.#receiver.listen(0, LOOPBACK, () => resolve(undefined)));
  }

  /**
   * With a webhook for everything that is monitored.
   * @param {string} name
   * @param {readonly string[]} domains
   * @param {{ isBusy?: boolean }} [how] isBusy: it has more certificates than can be compared
   */
  async add(name, domains, { isBusy = false } = {}) {
    const tenant = new Tenant(this.#platform, name, await this.#platform.newAccount());
    (isBusy ? this.#busy : this.all).push(tenant);
    const { port } = /** @type {import('node:net').AddressInfo} */ (this.#receiver.address());
    const url = `http://${LOOPBACK}:${port}/${tenant.account.account_id}`;
    const { status, text } = await tenant.call(
      `${this.#platform.process('orders-v3').url}/api/v3/account/webhooks`,
      {
        json: { url, events: ['monitoring.*'] },
      },
    );
    if (status >= 300) throw new Error(`the webhook of ${name}: ${status} ${text}`);
    for (const domain of domains) await tenant.monitoring(`/monitored_domains/${domain}`, {});
    return tenant;
  }

  /**
   * Submits a certificate to the demo logs.
   * @param {Certificate} certificate
   * @param {{ unknownTo?: readonly Tenant[], knownTo?: readonly Tenant[], logs?: readonly string[] }} what
   */
  async log({ chain, tbsSha256 }, { unknownTo = [], knownTo = [], logs = ['rfc6962'] }) {
    for (const tenant of knownTo) tenant.known.add(tbsSha256);
    for (const log of logs) {
      const response = await fetch(`${this.#platform.process('demo-log').url}/${log}/ct/v1/add-chain`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ chain }),
        signal: AbortSignal.timeout(REQUEST_WITHIN_MS),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`the log ${log} returned ${response.status}: ${text.slice(0, 500)}`);
    }
    const nowMs = Date.now();
    for (const tenant of unknownTo) tenant.unknown.set(tbsSha256, nowMs);
  }

  /** Until every tenant was notified of everything, and nothing is left that could be sent. `problems` shows what is missing. */
  async settled() {
    const isSettled = async () =>
      this.all.every((tenant) => tenant.missing().length === 0) &&
      (await this.#unfinished()) === 0 &&
      (await this.problems()).length === 0;
    await until(isSettled, { what: 'every alert', withinMs: SETTLED_WITHIN_MS }).catch(() => undefined);
    await delay(QUIET_MS);
  }

  /** Findings and deliveries of the compared tenants that wait. */
  async #unfinished() {
    const [{ count }] = await this.#platform.core.query(UNFINISHED, [
      this.all.map(({ account }) => account.account_id),
    ]);
    return Number(count);
  }

  /** What was lost, duplicated or sent to the wrong tenant. @returns {Promise<string[]>} */
  async problems() {
    const problems = [...this.#problems];
    for (const tenant of this.all) {
      const { name, unknown, known } = tenant;
      const alerts = tenant.alerts();
      for (const digest of tenant.missing()) problems.push(`${name}: no alert for ${digest}`);
      for (const [digest, ids] of alerts) {
        if (!unknown.has(digest))
          problems.push(`${name}: an alert for ${digest}, which is not theirs or known`);
        if (ids.size > 1) problems.push(`${name}: ${ids.size} deliveries for ${digest}`);
      }
      for (const copy of this.#platform.fronts.keys())
        problems.push(...listProblems(name, await tenant.certificates(copy), unknown, known));
    }
    return problems;
  }

  close() {
    this.#receiver.closeAllConnections();
    this.#receiver.close();
  }
}

/**
 * @param {string} name
 * @param {readonly { tbs_sha256: string, state: string }[]} listed
 * @param {ReadonlyMap<string, number>} unknown
 * @param {ReadonlySet<string>} known
 */
function listProblems(name, listed, unknown, known) {
  const problems = [];
  const states = new Map(listed.map(({ tbs_sha256, state }) => [tbs_sha256, state]));
  if (states.size !== listed.length) problems.push(`${name}: the list has a certificate twice`);
  for (const [digest, state] of states) {
    const expected = unknown.has(digest) ? 'unknown' : known.has(digest) ? 'known' : 'absent';
    if (state !== expected)
      problems.push(`${name}: ${digest} is ${state} in the list instead of ${expected}`);
  }
  for (const digest of [...unknown.keys(), ...known])
    if (!states.has(digest)) problems.push(`${name}: ${digest} is not in the list`);
  return problems;
}
