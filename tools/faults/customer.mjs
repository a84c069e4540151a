// @ts-check
// A customer of the platform: one request through each process shows that it works.
import { randomBytes } from 'node:crypto';
import dgram from 'node:dgram';
import http from 'node:http';
import path from 'node:path';
import { certificationRequest } from '../bench/issuance/certification-requests.mjs';
import { run } from '../embedded/child.mjs';
import { LOOPBACK } from '../embedded/ports.mjs';
import { APPROVAL_ZONE, DEMO_ZONES } from '../up/apps.mjs';
import { home } from '../up/home.mjs';
import { until } from './until.mjs';

const [ZONE] = DEMO_ZONES;
const REQUEST_WITHIN_MS = 15_000;
/** From the order to the certificate, its webhook and its entry in the search, on a loaded machine. */
const WORK_WITHIN_MS = 180_000;

export class Customer {
  /** Webhooks that have arrived. @type {{ id: string, event: string, body: string }[]} */
  deliveries = [];
  #names = 0;
  /** Makes the names of each run unique. */
  #run = randomBytes(3).toString('hex');
  #receiver = http.createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text) => (body += text));
    request.on('end', () => {
      const { 'webhook-id': id, 'webhook-event': event } = request.headers;
      this.deliveries.push({ id: String(id), event: String(event), body });
      response.writeHead(204).end();
    });
  });
  installed = `installed-${this.#run}.${ZONE}`;

  /** @param {Pick<import('./platform.mjs').Platform, 'url' | 'port' | 'account' | 'dnsUpdateKey'>} platform */
  constructor(platform) {
    this.platform = platform;
  }

  newName() {
    return `n${(this.#names += 1)}-${this.#run}.${ZONE}`;
  }

  /**
   * @param {string} url
   * @param {{ method?: string, json?: object, form?: Record<string, string>, key?: boolean }} [what] key: default true
   * @returns {Promise<{ status: number, text: string }>}
   */
  async send(url, { method, json, form, key = true } = {}) {
    const body = json === undefined ? form && new URLSearchParams(form) : JSON.stringify(json);
    const response = await fetch(url, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        ...(key ? { authorization: `Bearer ${this.platform.account.api_key}` } : {}),
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body,
      signal: AbortSignal.timeout(REQUEST_WITHIN_MS),
    });
    return { status: response.status, text: await response.text() };
  }

  /** Webhook, DNS integration through the gateway, and a certificate object of the v2 API with an active instance. */
  async setUp() {
    await new Promise((resolve) => this.#receiver.listen(0, LOOPBACK, () => resolve(undefined)));
    const { port } = /** @type {import('node:net').AddressInfo} */ (this.#receiver.address());
    const { name, algorithm, secret } = this.platform.dnsUpdateKey;
    await this.#created(this.orders('/account/webhooks'), { json: { url: `http://${LOOPBACK}:${port}/` } });
    const credentials = {
      ...{ type: 'bearer', server: LOOPBACK, port: String(this.platform.port('demo-dns', 'dns')) },
      ...{ key_name: name, key_algorithm: algorithm, key_secret: secret, zones: ZONE },
    };
    await this.#created(this.orders('/account/dns_integrations'), {
      json: { provider: 'rfc2136', credentials },
    });
    const subject = ['-subj', `/C=US/CN=${this.installed}`, '-keyout', path.join(home, 'installed.key')];
    const { stdout: csr } = await run('openssl', [
      ...'req -new -newkey rsa:2048 -nodes'.split(' '),
      ...subject,
    ]);
    await this.#created(this.certs(`/${this.installed}`), { form: { approval_method: 'dns', csr } });
    await this.#created(this.certs(`/${this.installed}/buy`), { form: { invoice_note: 'faults' } });
  }

  /**
   * @returns {Promise<string>} durations
   * @throws {Error} when a step takes too long
   */
  async checkWork() {
    const begun = Date.now();
    const is = async (/** @type {string} */ what, /** @type {() => Promise<unknown> | unknown} */ probe) => {
      await until(probe, { what, withinMs: WORK_WITHIN_MS });
      return `${what} ${((Date.now() - begun) / 1000).toFixed(1)} s`;
    };
    const name = this.newName();
    let download = '';
    const ordered = await is(
      'order',
      async () => (download = (await this.order(name)).current_cert_download),
    );
    const issued = await is(
      'certificate',
      async () => (await this.send(download, { key: false })).status === 200,
    );
    const rest = await Promise.all([
      is('webhook', () => this.deliveries.some(({ body }) => body.includes(name))),
      is('in the search', async () => JSON.parse((await this.search(name)).text).some(() => true)),
      is('test of an installation', async () => (await this.testInstallation()).status === 200),
      is('approval over HTTP', async () => (await this.requestResponder()).status === 404),
      is('approval over DNS', async () => (await this.queryDns()) !== SERVFAIL),
    ]);
    return [ordered, issued, ...rest].join(', ');
  }

  /** @param {string} name @returns {Promise<{ current_cert_download: string }>} */
  async order(name) {
    const json = { dns_names: [name], csr: certificationRequest(name) };
    const { status, text } = await this.send(this.orders('/orders'), { json });
    // Created by an earlier request whose response was lost.
    if (status === 409) return JSON.parse((await this.send(this.orders(`/orders/${name}`))).text);
    if (status !== 201) throw Object.assign(new Error(`orders-v3 returned ${status}: ${text}`), { status });
    return JSON.parse(text);
  }

  /** @param {string} name */
  async search(name) {
    return await this.send(
      `${this.platform.url('ct-search', 'http')}/v1/issuances?domain=${name}&expand=issuer`,
      {
        key: false,
      },
    );
  }

  async testInstallation() {
    return await this.send(this.certs(`/${this.installed}/test?hostname=${LOOPBACK}&port=1`));
  }

  async requestResponder() {
    const url = `${this.platform.url('approval-responder', 'http')}/${secretLabel()}/.well-known/acme-challenge/${secretLabel()}`;
    return await this.send(url, { key: false });
  }

  /** Queries the approval zone. @returns {Promise<number>} RCODE */
  async queryDns() {
    const socket = dgram.createSocket('udp4');
    try {
      const response = new Promise((resolve, reject) => {
        socket.once('message', resolve).once('error', reject);
        setTimeout(() => reject(new Error('no DNS response')), REQUEST_WITHIN_MS).unref();
      });
      socket.send(
        query(`${secretLabel()}.${APPROVAL_ZONE}`),
        this.platform.port('approval-responder', 'dns'),
        LOOPBACK,
      );
      return (await response)[3] & 15;
    } finally {
      socket.close();
    }
  }

  /** @param {string} path */
  orders(path) {
    return `${this.platform.url('orders-v3', 'http')}/api/v3${path}`;
  }

  /** @param {string} path */
  certs(path) {
    return `${this.platform.url('certs-v2', 'http')}/api/v2/certs${path}`;
  }

  close() {
    this.#receiver.closeAllConnections();
    this.#receiver.close();
  }

  /**
   * @param {string} url
   * @param {{ json?: object, form?: Record<string, string> }} what
   */
  async #created(url, what) {
    const { status, text } = await this.send(url, what);
    if (status >= 300) throw new Error(`${url} returned ${status}: ${text}`);
  }
}

const SERVFAIL = 2;
const TXT = 16;

/** A random label of the platform's format, so the responder must look it up in the database. */
function secretLabel() {
  return [...randomBytes(32)].map((byte) => 'abcdefghijklmnopqrstuvwxyz234567'.charAt(byte & 31)).join('');
}

/** @param {string} name @returns {Buffer} a DNS query for its TXT records */
function query(name) {
  const labels = name
    .split('.')
    .map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`, 'latin1'));
  const header = Buffer.from([...randomBytes(2), 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
  return Buffer.concat([header, ...labels, Buffer.from([0, 0, TXT, 0, 1])]);
}
