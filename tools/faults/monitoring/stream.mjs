// @ts-check
// Logs certificates of several accounts and reads the API, until stopped.
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Ca, newKey } from './certificates.mjs';

const CERTIFICATE_EVERY_MS = 150;
const REQUEST_EVERY_MS = 400;
const LOGS = ['rfc6962', 'static'];

export class Stream {
  #tenants;
  #random;
  #ca = new Ca('Unrelated CA');
  #run = randomBytes(3).toString('hex');
  #key = newKey();
  #logged = 0;
  /** @type {string[]} */
  #errors = [];
  /** @type {import('./tenants.mjs').Tenant[]} */
  #of = [];

  /**
   * @param {import('./tenants.mjs').Tenants} tenants
   * @param {() => number} random
   */
  constructor(tenants, random) {
    this.#tenants = tenants;
    this.#random = random;
  }

  /**
   * Two accounts monitor the same tree, and one of them knows a key for a name in it; a third monitors another tree.
   * @param {import('./tenants.mjs').Tenants} tenants
   * @param {() => number} random
   */
  static async open(tenants, random) {
    const stream = new Stream(tenants, random);
    const [first, second] = [
      await tenants.add('first', [`.${stream.shared}`, `.${stream.domain('first')}`]),
      await tenants.add('second', [`.${stream.shared}`, `.${stream.domain('second')}`]),
    ];
    const third = await tenants.add('third', [`.${stream.domain('third')}`]);
    stream.#of = [first, second, third];
    const known = { pubkey_sha256: stream.#key.sha256, dns_names: [`known.${stream.shared}`] };
    await first.monitoring('/known_keys', known);
    return stream;
  }

  get shared() {
    return this.domain('shared');
  }

  /** A domain of this run. @param {string} label */
  domain(label) {
    return `${label}-${this.#run}.com`;
  }

  /** Logs one certificate. */
  async next() {
    const [first, second] = this.#of;
    const nth = (this.#logged += 1);
    const chance = this.#random();
    const both = this.#random() < 0.3;
    const logs = both ? LOGS : [LOGS[Math.floor(this.#random() * LOGS.length)] ?? ''];
    if (first === undefined || second === undefined) return;
    if (chance < 0.25) {
      const certificate = this.#ca.issue([`n${nth}.${this.shared}`, `*.${this.shared}`]);
      await this.#tenants.log(certificate, { unknownTo: [first, second], logs });
    } else if (chance < 0.35) {
      const certificate = this.#ca.issue([`known.${this.shared}`], { spki: this.#key.spki });
      await this.#tenants.log(certificate, { unknownTo: [second], knownTo: [first], logs });
    } else if (chance < 0.5) {
      const names = [`n${nth}.${this.domain('elsewhere')}`, `${this.shared}.example.net`];
      await this.#tenants.log(this.#ca.issue(names), { logs });
    } else {
      const tenant = this.#of[Math.floor(this.#random() * this.#of.length)] ?? first;
      const certificate = this.#ca.issue([`n${nth}.${this.domain(tenant.name)}`]);
      await this.#tenants.log(certificate, { unknownTo: [tenant], logs });
    }
  }

  /**
   * Certificates are logged and the API is read until `work` is done.
   * @param {() => Promise<void>} work
   * @returns {Promise<{ logged: number, problems: string[] }>}
   */
  async during(work) {
    const before = this.#logged;
    this.#errors = [];
    let stopping = false;
    const repeat = async (/** @type {() => Promise<void>} */ step, /** @type {number} */ everyMs) => {
      while (!stopping) {
        await step();
        await delay(everyMs);
      }
    };
    const loops = Promise.all([
      repeat(async () => await this.next(), CERTIFICATE_EVERY_MS),
      repeat(async () => await this.#read(), REQUEST_EVERY_MS),
    ]);
    // Thrown below, after the work: a rejection without a handler would end this process without its cleanup.
    loops.catch(() => undefined);
    try {
      await work();
    } finally {
      stopping = true;
    }
    await loops;
    return { logged: this.#logged - before, problems: this.#errors };
  }

  /** A copy of the front end may respond that a database is down, and nothing worse. */
  async #read() {
    const tenant = this.#of[Math.floor(this.#random() * this.#of.length)];
    if (tenant === undefined) return;
    const { fronts } = tenant.platform;
    const front = fronts[Math.floor(this.#random() * fronts.length)];
    const path = this.#random() < 0.5 ? 'status' : 'certificates?limit=20';
    const response = await tenant.call(`${front?.url}/api/v3/monitoring/${path}`).catch(() => undefined);
    if (response !== undefined && response.status !== 200 && response.status !== 503)
      this.#errors.push(`${path} returned ${response.status}: ${response.text.slice(0, 200)}`);
  }
}
