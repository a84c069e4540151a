// @ts-check
// HTTP requests over connections that stay open, and what became of each.
import http from 'node:http';

/** Longer than any long poll, and than any copy is frozen. */
const TIMEOUT_MS = 120_000;

/**
 * @typedef {object} Response
 * @property {number | string} status a string: no response arrived, and why
 * @property {boolean} mayRetry it has Retry-After
 * @property {string} text
 *
 * @typedef {object} Outcome
 * @property {string} kind
 * @property {boolean} isLongPoll waits by design
 * @property {number | string} status
 * @property {'ok' | 'refused' | 'failed'} result refused: 503 with Retry-After
 * @property {string} text of a failure
 * @property {number} atMs when it ended
 * @property {number} ms
 */

export class Requests {
  #agent = new http.Agent({ keepAlive: true, maxSockets: 4_000 });
  /** @type {Outcome[]} */
  outcomes = [];

  /**
   * @param {string} url
   * @param {{ method?: string, key?: string, json?: object, form?: Record<string, string>, idempotencyKey?: string }} [what]
   * @returns {Promise<Response>}
   */
  async send(url, { method, key, json, form, idempotencyKey } = {}) {
    const body = json === undefined ? form && new URLSearchParams(form).toString() : JSON.stringify(json);
    const type = json === undefined ? 'application/x-www-form-urlencoded' : 'application/json';
    const headers = {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined
        ? {}
        : { 'content-type': type, 'content-length': String(Buffer.byteLength(body)) }),
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    };
    return await new Promise((resolve) => {
      const lost = (/** @type {Error & { code?: string }} */ error) =>
        resolve({ status: error.code ?? error.message, mayRetry: false, text: error.message });
      const options = {
        agent: this.#agent,
        headers,
        method: method ?? (body === undefined ? 'GET' : 'POST'),
      };
      const request = http.request(url, options, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part) => (text += part));
        response.once('error', lost);
        response.once('end', () =>
          resolve({ status: Number(response.statusCode), mayRetry: 'retry-after' in response.headers, text }),
        );
      });
      request.setTimeout(TIMEOUT_MS, () => request.destroy(new Error('no response')));
      request.once('error', lost);
      request.end(body);
    });
  }

  /**
   * Records what became of a request.
   * @param {string} kind
   * @param {(response: Response) => boolean} isExpected
   * @param {() => Promise<Response>} send
   * @param {{ isLongPoll?: boolean }} [how]
   * @returns {Promise<Response>}
   */
  async record(kind, isExpected, send, { isLongPoll = false } = {}) {
    const begunMs = performance.now();
    const response = await send();
    const { status, mayRetry, text } = response;
    const result = isExpected(response) ? 'ok' : status === 503 && mayRetry ? 'refused' : 'failed';
    const ms = performance.now() - begunMs;
    this.outcomes.push({
      ...{ kind, isLongPoll, status, result, ms, atMs: Date.now() },
      text: result === 'failed' ? text.slice(0, 300) : '',
    });
    return response;
  }

  close() {
    this.#agent.destroy();
  }
}

/**
 * @param {readonly Outcome[]} outcomes
 * @returns {string[]} a table with a row for each kind
 */
export function tableOf(outcomes) {
  const rows = [['requests', 'sent', 'ok', '503', 'failed', 'p50', 'p99', 'max']];
  const row = (/** @type {string} */ what, /** @type {readonly Outcome[]} */ of) => {
    const count = (/** @type {Outcome['result']} */ result) =>
      String(of.filter((each) => each.result === result).length);
    const ms = (/** @type {number} */ share) => `${percentile(of, share).toFixed(0)} ms`;
    rows.push([
      what,
      String(of.length),
      count('ok'),
      count('refused'),
      count('failed'),
      ms(0.5),
      ms(0.99),
      ms(1),
    ]);
  };
  for (const kind of new Set(outcomes.map((each) => each.kind)))
    row(
      kind,
      outcomes.filter((each) => each.kind === kind),
    );
  row(
    'all but long polls',
    outcomes.filter(({ isLongPoll }) => !isLongPoll),
  );
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
  return rows.map((cells) =>
    cells
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths?.[0] ?? 0) : cell.padStart(widths?.[column] ?? 0),
      )
      .join('  '),
  );
}

/**
 * @param {readonly Outcome[]} outcomes
 * @param {number} share 0.99: the 99th percentile
 */
export function percentile(outcomes, share) {
  const sorted = outcomes.map(({ ms }) => ms).sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
