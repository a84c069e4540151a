// @ts-check
// Runs one process as an orchestrator does: starts it, restarts it with growing pauses when it exits, stops it.
import { setTimeout as delay } from 'node:timers/promises';

const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;
/** After a process has run this long, its next exit is a new failure with the first pause. */
const STEADY_AFTER_MS = 60_000;

/**
 * @typedef {object} Running
 * @property {import('../embedded/child.mjs').Child} child
 * @property {() => Promise<void>} stop
 *
 * @typedef {object} Service
 * @property {string} name
 * @property {(signal: AbortSignal) => Promise<Running>} start resolves when it is ready; leaves no process on failure
 *
 * @typedef {object} Supervised
 * @property {() => Promise<void>} stop until `resume`, or permanently
 * @property {() => void} resume only after `stop`: starts it in the background, and retries until it is ready
 */

/**
 * @param {number} exits consecutive, including this one
 * @returns {number} milliseconds until the next attempt
 */
export function pauseMs(exits) {
  return Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (exits - 1));
}

/**
 * Resolves when the service is ready for the first time; rejects when that first start fails.
 * @param {Service} service
 * @param {{ report: (line: string) => void, signal: AbortSignal }} how signal: aborts the first start
 * @returns {Promise<Supervised>}
 */
export async function keepRunning(service, { report, signal }) {
  /** @type {Running | undefined} */
  let running = await service.start(signal);
  let stopping = new AbortController();

  /**
   * @param {AbortSignal} stop
   * @param {number} exits consecutive; 0 starts at once
   */
  const untilReady = async (stop, exits) => {
    for (;;) {
      if (exits > 0) {
        report(`Restarting ${service.name} in ${pauseMs(exits) / 1000} s.`);
        await delay(pauseMs(exits), undefined, { signal: stop });
      }
      try {
        running = await service.start(stop);
        report(`${service.name} is running again (pid ${running.child.pid}).`);
        return exits;
      } catch (error) {
        stop.throwIfAborted();
        report(error instanceof Error ? error.message : String(error));
        exits += 1;
      }
    }
  };

  /** @param {AbortSignal} stop */
  const watch = async (stop) => {
    let exits = 0;
    try {
      for (;;) {
        if (running === undefined) exits = await untilReady(stop, exits);
        // It may have become ready at the same time.
        if (stop.aborted) return await running?.stop();
        const since = Date.now();
        const how = await running?.child.ended;
        running = undefined;
        if (stop.aborted) return;
        if (Date.now() - since > STEADY_AFTER_MS) exits = 0;
        report(`${service.name} exited (${how}).`);
        exits += 1;
      }
    } catch (error) {
      if (!stop.aborted) throw error;
    }
  };

  let watched = watch(stopping.signal);
  return {
    stop: async () => {
      stopping.abort();
      await running?.stop();
      await watched;
      running = undefined;
    },
    resume: () => {
      stopping = new AbortController();
      watched = watch(stopping.signal);
    },
  };
}
