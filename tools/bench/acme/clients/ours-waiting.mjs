// Our client as the worker runs it against a CA: every `Retry-After` is obeyed, an order that waits holds no worker, and as many
// exchanges are under way at a time as others have orders.
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
