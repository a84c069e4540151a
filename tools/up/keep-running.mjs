// @ts-check
// What an orchestrator does for one process: start it, start it again with growing pauses when it dies, stop it.
import { setTimeout as delay } from 'node:timers/promises';

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** A process that ran this long had recovered: its next death is a new story and the pauses begin anew. */
const STEADY_AFTER_MS = 60_000;

/**
 * @typedef {object} Running
 * @property {import('../embedded/child.mjs').Child} child
 * @property {() => Promise<void>} stop
 *
 * @typedef {object} Service
 * @property {string} name
 * @property {(signal: AbortSignal) => Promise<Running>} start resolves when it is ready; on failure nothing is left
 *
 * @typedef {object} Supervised
 * @property {() => Promise<void>} stop until `resume`, or for good
 * @property {() => void} resume after `stop` only: starts it in the background, and again until it is ready
 */

/**
 * @param {number} deaths in a row, this one included
 * @returns {number} milliseconds until the next attempt
 */
export function pauseMs(deaths) {
  return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (deaths - 1));
}

/**
 * Resolves when the service is ready for the first time; a failure of that first start is the caller's.
 * @param {Service} service
 * @param {{ report: (line: string) => void, signal: AbortSignal }} how signal: ends a first start that is under way
 * @returns {Promise<Supervised>}
 */
export async function keepRunning(service, { report, signal }) {
  /** @type {Running | undefined} */
  let running = await service.start(signal);
  let stopping = new AbortController();

  /**
   * @param {AbortSignal} stop
   * @param {number} deaths in a row; 0 starts at once
   */
  const untilReady = async (stop, deaths) => {
    for (;;) {
      if (deaths > 0) {
        report(`${service.name} starts again in ${pauseMs(deaths) / 1000} s.`);
        await delay(pauseMs(deaths), undefined, { signal: stop });
      }
      try {
        running = await service.start(stop);
        report(`${service.name} is running again (pid ${running.child.pid}).`);
        return deaths;
      } catch (error) {
        stop.throwIfAborted();
        report(error instanceof Error ? error.message : String(error));
        deaths += 1;
      }
    }
  };

  /** @param {AbortSignal} stop */
  const watch = async (stop) => {
    let deaths = 0;
    try {
      for (;;) {
        if (running === undefined) deaths = await untilReady(stop, deaths);
        // It may have become ready at the moment of the stop.
        if (stop.aborted) return await running?.stop();
        const since = Date.now();
        const how = await running?.child.ended;
        running = undefined;
        if (stop.aborted) return;
        if (Date.now() - since > STEADY_AFTER_MS) deaths = 0;
        report(`${service.name} ended (${how}).`);
        deaths += 1;
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
