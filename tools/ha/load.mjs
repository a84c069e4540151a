// @ts-check
// Sends requests of all tenants at fixed rates, without waiting for responses.
import { setTimeout as delay } from 'node:timers/promises';

const EVERY_MS = 5;
/** Of all kinds of `Tenant.load` together, per tenant. */
const BASE_PER_S = 100;

/**
 * @param {readonly import('./tenant.mjs').Tenant[]} tenants
 * @param {number} perS requests per second of all tenants together
 * @returns {{ stop: () => Promise<void> }} stop: resolves when every response has arrived
 */
export function startLoad(tenants, perS) {
  const factor = perS / (tenants.length * BASE_PER_S);
  const kinds = tenants.flatMap((tenant) => tenant.load());
  // Kinds of equal rates are not due at the same moment.
  const sent = kinds.map(() => Math.random());
  /** @type {Set<Promise<unknown>>} */
  const open = new Set();
  let isStopping = false;
  const begunMs = performance.now();
  const sending = (async () => {
    const before = [...sent];
    while (!isStopping) {
      const elapsedS = (performance.now() - begunMs) / 1_000;
      for (const [index, kind] of kinds.entries()) {
        const due = (before[index] ?? 0) + elapsedS * kind.perS * factor;
        for (; (sent[index] ?? 0) + 1 <= due; sent[index] = (sent[index] ?? 0) + 1) {
          const request = kind.send().finally(() => open.delete(request));
          open.add(request);
        }
      }
      await delay(EVERY_MS);
    }
  })();
  return {
    stop: async () => {
      isStopping = true;
      await sending;
      await Promise.all(open);
    },
  };
}
