// @ts-check
// Signals a supervisor to stop: on a signal, or when the npm that started it is gone.

/** npm forwards signals to its child, but a shell in between may exit without forwarding them. */
const PARENT_CHECK_MS = 1_000;

/**
 * Further signals are ignored: a terminal and npm may both deliver the same Ctrl-C, and stopping has a time limit.
 * @returns {AbortSignal}
 */
export function stopRequest() {
  const controller = new AbortController();
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(name, () => controller.abort(new Error(`stopped by ${name}`)));
  }
  // The terminal may be closed before the last lines are written.
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
