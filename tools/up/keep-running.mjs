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
 * @returns {Promise<() => Promise<void>>} stops it for good
 */
export async function keepRunning(service, { report, signal }) {
  const stopping = new AbortController();
  let running = await service.start(signal);
  const watch = async () => {
    for (let deaths = 0; ;) {
      const since = Date.now();
      const how = await running.child.ended;
      if (stopping.signal.aborted) return;
      if (Date.now() - since > STEADY_AFTER_MS) deaths = 0;
      report(`${service.name} ended (${how}).`);
      for (let ready = false; !ready;) {
        deaths += 1;
        report(`${service.name} starts again in ${pauseMs(deaths) / 1000} s.`);
        try {
          await delay(pauseMs(deaths), undefined, { signal: stopping.signal });
          running = await service.start(stopping.signal);
          ready = true;
        } catch (error) {
          if (stopping.signal.aborted) return;
          report(error instanceof Error ? error.message : String(error));
        }
      }
      report(`${service.name} is running again (pid ${running.child.pid}).`);
    }
  };
  const watched = watch();
  return async () => {
    stopping.abort();
    await running.stop();
    await watched;
  };
}
