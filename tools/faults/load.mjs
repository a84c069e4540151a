// @ts-check
// Sends concurrent requests to every process that accepts some, until stopped. They create work for the other processes.
import { setTimeout as delay } from 'node:timers/promises';

/** Between two requests of one client; a machine with two cores also runs the processes and the stores. */
const PAUSE_MS = 15;
/** Each order becomes a certificate, two log entries and webhooks. */
const ORDER_PAUSE_MS = 700;

/**
 * @param {import('./customer.mjs').Customer} customer
 * @returns {{ stop: () => Promise<void>, counts: () => string, errors: () => string[] }} errors: responses with 500, although only a store was down
 */
export function startLoad(customer) {
  /** @type {Map<string, Map<string, number>>} */
  const counted = new Map();
  /** @type {string[]} */
  const errors = [];
  let stopping = false;
  const client = async (
    /** @type {string} */ name,
    /** @type {() => Promise<{ status: number, text?: string }>} */ request,
    pauseMs = PAUSE_MS,
  ) => {
    while (!stopping) {
      const { status, text } = await request().catch((error) => ({
        status: error.status ?? error.cause?.code ?? error.name,
        text: '',
      }));
      const counts = counted.get(name) ?? new Map();
      counted.set(name, counts.set(String(status), (counts.get(String(status)) ?? 0) + 1));
      if (status === 500) errors.push(`${name}: 500 ${text?.slice(0, 200)}`);
      await delay(pauseMs);
    }
  };
  const times = (/** @type {number} */ count, /** @type {() => Promise<void>} */ start) =>
    Array.from({ length: count }, start);
  const ordersList = customer.orders('/orders?limit=20');
  const searchAll = `${customer.platform.url('ct-search', 'http')}/v1/issuances?domain=example.com&include_subdomains=true&expand=issuer`;
  const clients = [
    ...times(3, () => client('orders-v3 list', () => customer.send(ordersList))),
    ...times(4, () => client('ct-search anonymous', () => customer.send(searchAll, { key: false }))),
    client('ct-search key', () => customer.send(searchAll)),
    ...times(2, () => client('certs-v2 list', () => customer.send(customer.certs('')))),
    client('certs-v2 installation test', () => customer.testInstallation(), ORDER_PAUSE_MS),
    client('approval-responder http', () => customer.requestResponder()),
    ...times(2, () => client('approval-responder dns', async () => ({ status: await customer.queryDns() }))),
    client(
      'orders-v3 order',
      async () => {
        await customer.order(customer.newName());
        return { status: 201 };
      },
      ORDER_PAUSE_MS,
    ),
  ];
  return {
    stop: async () => {
      stopping = true;
      await Promise.all(clients);
    },
    counts: () =>
      [...counted]
        .map(
          ([name, counts]) =>
            `  ${name}: ${[...counts].map(([status, count]) => `${count} × ${status}`).join(', ')}`,
        )
        .join('\n'),
    errors: () => errors,
  };
}
