// @ts-check
// How a supervisor learns that it should end: a signal, or the disappearance of the npm that started it.

/** npm forwards signals to its child, but a shell in between may die of one without passing it on. */
const PARENT_CHECK_MS = 1_000;

/**
 * Further signals change nothing: a terminal and npm may both deliver the same Ctrl-C, and the stop is bounded anyway.
 * @returns {AbortSignal}
 */
export function stopRequest() {
  const controller = new AbortController();
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(name, () => controller.abort(new Error(`stopped by ${name}`)));
  }
  // The terminal may be gone when the last lines are written.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  if (process.env.npm_lifecycle_event) {
    const parent = process.ppid;
    const timer = setInterval(() => {
      if (process.ppid !== parent) controller.abort(new Error('stopped with its parent'));
    }, PARENT_CHECK_MS);
    timer.unref();
  }
  return controller.signal;
}
