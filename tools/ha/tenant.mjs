// @ts-check
// An account whose writes are recorded, to compare them with the rows of the database at the end.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { certificationRequest, subjectOf } from '../bench/issuance/certification-requests.mjs';
import { Customer } from '../faults/customer.mjs';
import { until } from '../faults/until.mjs';
import { DATABASES } from './platform.mjs';

/** Has a term: every issuance is charged for. */
const SOLD_PRODUCT = 'paid_ca';
const REPEAT_EVERY_MS = 500;
/** On a loaded machine, after the last fault. */
const SETTLED_WITHIN_MS = 240_000;
const POLL_S = 20;
/** A name whose approval never succeeds: its instance stays pending. */
const PENDING_NAME = 'never-approved.invalid-zone.example.edu';

/**
 * Rows of an account: everything that was ordered through an API, with its certificates and charges.
 * $1: the account. The order of API v3, the certificate object of API v2.
 */
const ROWS = `
  SELECT ordered.kind, ordered.name, ordered.account_id,
    (SELECT count(*)::int FROM certificate WHERE plan_id = ordered.plan_id) AS certificates,
    (SELECT count(*)::int FROM certificate WHERE plan_id = ordered.plan_id AND account_id <> ordered.account_id) AS foreign_certificates,
    (SELECT count(*)::int FROM charge WHERE plan_id = ordered.plan_id AND refunded_at IS NULL) AS charges,
    (SELECT count(*)::int FROM charge WHERE plan_id = ordered.plan_id AND account_id <> ordered.account_id) AS foreign_charges,
    (SELECT count(*)::int FROM webhook_delivery WHERE plan_id = ordered.plan_id AND state = 'pending') AS waiting_deliveries
  FROM (SELECT 'order' AS kind, name, account_id, plan_id FROM order_v3
    UNION ALL SELECT 'object', cn, account_id, plan_id FROM cert_object_v2) AS ordered
  WHERE ordered.account_id = $1`;

/**
 * @typedef {object} Write
 * @property {'order' | 'object'} kind
 * @property {string} name
 * @property {readonly { send: () => Promise<import('./requests.mjs').Response>, kind: string }[]} steps each can be repeated by its Idempotency-Key
 * @property {number} done steps that were acknowledged
 * @property {boolean} isRunning
 */

export class Tenant {
  /** @type {Map<string, Write>} by kind and name */
  #writes = new Map();
  #names = 0;
  #run = randomUUID().slice(0, 6);
  /** @type {{ name: string, csr: string }[]} */
  #prepared = [];
  /** @type {string | undefined} of the instance that stays pending */
  #pending;
  #integration = '';
  #download = '';
  /** An order that exists from the beginning. */
  #known = '';

  /**
   * @param {import('./platform.mjs').HaPlatform} platform
   * @param {{ account_id: string, api_key: string }} account
   * @param {import('./requests.mjs').Requests} requests
   */
  constructor(platform, account, requests) {
    this.platform = platform;
    this.account = account;
    this.requests = requests;
    this.customer = new Customer({ ...platform, account });
  }

  /** Webhook, DNS integration, a certificate to read, and an instance that stays pending. */
  async setUp() {
    await this.customer.setUp();
    const { text } = await this.#send(this.customer.orders('/account/dns_integrations'));
    this.#integration = JSON.parse(text)[0].id;
    this.#known = this.customer.newName();
    this.#download = (await this.customer.order(this.#known)).current_cert_download;
    const csr = certificationRequest(PENDING_NAME, subjectOf(PENDING_NAME));
    const form = { csr: pem(csr), approval_method: 'dns' };
    await this.#required(this.customer.certs(`/${PENDING_NAME}`), form);
    const bought = await this.#required(this.customer.certs(`/${PENDING_NAME}/buy`), {});
    this.#pending = String(JSON.parse(bought).id);
    await this.customer.checkWork();
  }

  /** Makes keys and CSRs before the load begins. @param {number} count */
  prepare(count) {
    while (this.#prepared.length < count) {
      const name = `w${(this.#names += 1)}-${this.#run}.example.com`;
      this.#prepared.push({ name, csr: certificationRequest(name, subjectOf(name)) });
    }
  }

  /** Kinds of requests, and their share of the load. @returns {readonly { perS: number, send: () => Promise<unknown> }[]} */
  load() {
    const { customer } = this;
    const ok = (/** @type {import('./requests.mjs').Response} */ { status }) => status === 200;
    const read =
      (/** @type {string} */ kind, /** @type {() => string} */ url, key = this.account.api_key) =>
      async () =>
        await this.requests.record(kind, ok, async () => await this.requests.send(url(), { key }));
    const search = `${this.platform.url('ct-search', 'http')}/v1/issuances?domain=example.com&include_subdomains=true&expand=issuer`;
    const monitoring = (/** @type {string} */ path) => () =>
      `${this.platform.url('monitoring', 'http')}/api/v3/monitoring${path}`;
    const known = () => customer.orders(`/orders/${this.#acknowledged('order') ?? ''}`);
    return [
      { perS: 15, send: read('orders-v3: list', () => customer.orders('/orders?limit=20')) },
      { perS: 15, send: read('orders-v3: order', known) },
      { perS: 2.5, send: read('orders-v3: download', () => this.#download) },
      {
        perS: 1,
        send: read('orders-v3: zones (dns-gateway)', () =>
          customer.orders(`/account/dns_integrations/${this.#integration}/zones`),
        ),
      },
      { perS: 1.5, send: async () => await this.order() },
      { perS: 10, send: read('certs-v2: list', () => customer.certs('')) },
      { perS: 10, send: read('certs-v2: object', () => customer.certs(`/${customer.installed}`)) },
      { perS: 0.25, send: async () => await this.object() },
      { perS: 0.25, send: async () => await this.#pollPending() },
      { perS: 12.5, send: read('ct-search: domain', () => search) },
      {
        perS: 2.5,
        send: read('ct-search: status', () => `${this.platform.url('ct-search', 'http')}/v1/status`),
      },
      { perS: 6, send: read('monitoring: domains', monitoring('/monitored_domains')) },
      { perS: 6, send: read('monitoring: certificates', monitoring('/certificates')) },
      { perS: 7, send: async () => await this.#requestResponder() },
      { perS: 10, send: async () => await this.#queryDns() },
    ];
  }

  /** Orders a certificate of a sold product. @returns {Promise<string>} its name */
  async order() {
    const { name, csr } = this.#next();
    const json = { name, dns_names: [name], csr, product: SOLD_PRODUCT };
    const step = this.#step('orders-v3: new order', this.customer.orders('/orders'), { json });
    await this.#write({ kind: 'order', name, steps: [step], done: 0, isRunning: false });
    return name;
  }

  /** Buys a certificate over API v2, and waits for it with long polls. */
  async object() {
    const { name, csr } = this.#next();
    const url = this.customer.certs(`/${name}`);
    /** @type {Write} */
    const write = {
      kind: 'object',
      name,
      steps: [
        this.#step('certs-v2: new object', url, { form: { csr: pem(csr), approval_method: 'dns' } }),
        this.#step('certs-v2: buy', `${url}/buy`, { form: { invoice_note: 'ha' } }),
      ],
      done: 0,
      isRunning: false,
    };
    const bought = await this.#write(write);
    if (bought?.status !== 200) return;
    const { id } = JSON.parse(bought.text);
    // `problems` reports a certificate that does not come.
    const untilMs = performance.now() + SETTLED_WITHIN_MS;
    while (performance.now() < untilMs) {
      const { status } = await this.#poll(`${url}/instances/${id}?poll=${POLL_S}`, [200, 412]);
      if (status !== 412) return;
    }
  }

  /** Steps that were not acknowledged, again with the same Idempotency-Key, as a client does after an error. */
  async repeat() {
    const open = [...this.#writes.values()].filter(
      ({ done, steps, isRunning }) => done < steps.length && !isRunning,
    );
    await Promise.all(open.map(async (write) => await this.#continue(write)));
    return open.length;
  }

  /** Until every write is acknowledged, and its certificate and webhook exist. @returns {Promise<string[]>} what is missing, too much, or of another account */
  async problems() {
    const settled = async () => (await this.repeat()) === 0 && (await this.#compare()).length === 0;
    await until(settled, { what: 'every certificate', withinMs: SETTLED_WITHIN_MS }).catch(() => undefined);
    return await this.#compare();
  }

  /** @returns {string} how many orders and objects were written */
  summary() {
    const count = (/** @type {Write['kind']} */ kind) =>
      [...this.#writes.values()].filter((each) => each.kind === kind).length;
    return `account ${this.account.account_id}: ${count('order')} orders, ${count('object')} certificate objects, ${this.customer.deliveries.length} webhooks`;
  }

  /** @param {string} name of an order */
  async isIssued(name) {
    return (await this.#rows()).some((row) => row.name === name && row.certificates > 0);
  }

  close() {
    this.customer.close();
  }

  async #rows() {
    return await this.platform.postgres.query(DATABASES.core, ROWS, [this.account.account_id]);
  }

  async #compare() {
    const problems = [];
    const { account_id } = this.account;
    const rows = await this.#rows();
    const found = new Map(rows.map((row) => [`${row.kind} ${row.name}`, row]));
    /** @type {Map<string, Set<string>>} */
    const webhooks = new Map();
    for (const { id, event, body } of this.customer.deliveries) {
      if (event !== 'order.current_cert_changed') continue;
      const { name } = JSON.parse(body);
      webhooks.set(name, (webhooks.get(name) ?? new Set()).add(id));
    }
    for (const [key, { kind, name, done, steps }] of this.#writes) {
      const row = found.get(key);
      if (done < steps.length)
        problems.push(`${account_id}: ${key} could not be repeated until it was acknowledged`);
      if (row === undefined) problems.push(`${account_id}: ${key} was acknowledged and is lost`);
      if (row === undefined) continue;
      if (row.certificates !== 1) problems.push(`${account_id}: ${key} has ${row.certificates} certificates`);
      if (row.charges !== 1) problems.push(`${account_id}: ${key} has ${row.charges} charges`);
      if (row.foreign_certificates + row.foreign_charges > 0)
        problems.push(`${account_id}: ${key} has rows of another account`);
      const count = webhooks.get(name)?.size ?? 0;
      if (kind === 'order' && count !== 1) problems.push(`${account_id}: ${key} has ${count} webhooks`);
    }
    for (const [key, { name }] of found)
      if (name.includes(this.#run) && !this.#writes.has(key))
        problems.push(`${account_id}: ${key} was never ordered`);
    for (const name of webhooks.keys())
      if (/^w\d+-/.test(name) && !name.includes(this.#run))
        problems.push(`${account_id}: a webhook for ${name} of another account`);
    return problems;
  }

  /** @param {Write['kind']} kind */
  #acknowledged(kind) {
    const names = [...this.#writes.values()].filter((each) => each.kind === kind && each.done > 0);
    return names[Math.floor(Math.random() * names.length)]?.name ?? this.#known;
  }

  #next() {
    if (this.#prepared.length === 0) this.prepare(1);
    return /** @type {{ name: string, csr: string }} */ (this.#prepared.pop());
  }

  /**
   * @param {string} kind
   * @param {string} url
   * @param {{ json?: object, form?: Record<string, string> }} what
   */
  #step(kind, url, what) {
    const idempotencyKey = randomUUID();
    return { kind, send: async () => await this.#send(url, { ...what, idempotencyKey }) };
  }

  /** @param {Write} write */
  async #write(write) {
    this.#writes.set(`${write.kind} ${write.name}`, write);
    return await this.#continue(write);
  }

  /** @param {Write} write @returns {Promise<import('./requests.mjs').Response | undefined>} to the last step that was sent */
  async #continue(write) {
    write.isRunning = true;
    try {
      let response;
      for (const { kind, send } of write.steps.slice(write.done)) {
        response = await this.requests.record(kind, isDone, send);
        if (!isDone(response)) return response;
        write.done += 1;
      }
      return response;
    } finally {
      write.isRunning = false;
    }
  }

  async #pollPending() {
    await this.#poll(
      this.customer.certs(`/${PENDING_NAME}/instances/${this.#pending}?poll=${POLL_S}`),
      [412],
    );
  }

  /** @param {string} url @param {readonly number[]} expected */
  async #poll(url, expected) {
    return await this.requests.record(
      'certs-v2: long poll',
      ({ status }) => expected.includes(Number(status)),
      async () => await this.#send(url),
      { isLongPoll: true },
    );
  }

  async #requestResponder() {
    const url = `${this.platform.url('approval-responder', 'http')}/${'a'.repeat(32)}/.well-known/acme-challenge/${this.#run}`;
    await this.requests.record(
      'approval-responder: HTTP',
      ({ status }) => status === 404,
      async () => await this.requests.send(url),
    );
  }

  async #queryDns() {
    const SERVFAIL = 2;
    await this.requests.record(
      'approval-responder: DNS',
      ({ status }) => status === 200,
      async () => {
        try {
          const rcode = await this.customer.queryDns();
          // The response code that says "try again later".
          return rcode === SERVFAIL
            ? { status: 503, mayRetry: true, text: 'SERVFAIL' }
            : { status: 200, mayRetry: false, text: '' };
        } catch (error) {
          return { status: String(error), mayRetry: false, text: String(error) };
        }
      },
    );
  }

  /**
   * @param {string} url
   * @param {{ json?: object, form?: Record<string, string>, idempotencyKey?: string }} [what]
   */
  async #send(url, what = {}) {
    return await this.requests.send(url, { ...what, key: this.account.api_key });
  }

  /** @param {string} url @param {Record<string, string>} form */
  async #required(url, form) {
    const { status, text } = await this.#send(url, { form });
    if (status !== 200) throw new Error(`${url} returned ${status}: ${text}`);
    return text;
  }
}

/** @param {string} base64 */
function pem(base64) {
  const lines = base64.match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE REQUEST-----', ...lines, '-----END CERTIFICATE REQUEST-----'].join('\n');
}

/** @param {import('./requests.mjs').Response} response */
function isDone({ status }) {
  return status === 200 || status === 201;
}

/** Repeats what was not acknowledged, until stopped. @param {readonly Tenant[]} tenants */
export function startRepeating(tenants) {
  let isStopping = false;
  const repeating = (async () => {
    while (!isStopping) {
      await Promise.all(tenants.map(async (tenant) => await tenant.repeat()));
      await delay(REPEAT_EVERY_MS);
    }
  })();
  return {
    stop: async () => {
      isStopping = true;
      await repeating;
    },
  };
}
