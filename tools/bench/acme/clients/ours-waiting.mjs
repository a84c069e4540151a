// Our client as the worker uses it: it respects every `Retry-After`, a waiting order blocks no worker, and as many
// exchanges run concurrently as the other clients have orders.
import { setTimeout as delay } from 'node:timers/promises';
import { openClient } from './ours.mjs';

export async function open(setting) {
  let free = setting.concurrency;
  const waiting = [];
  const gate = async (work) => {
    if (free > 0) free -= 1;
    else await new Promise((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
  const wait = async (until) => await delay(Math.max(0, until.getTime() - Date.now()));
  return await openClient(setting, { lanes: Infinity, gate, wait });
}
