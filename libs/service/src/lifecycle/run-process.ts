import { setTimeout as delay } from 'node:timers/promises';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { StartFault } from '@certwright/errors';
import { createLogger, type Logger } from '../logging/logger';
import { Metrics } from '../operations/metrics';
import { startOperationsServer } from '../operations/operations-server';
import { Readiness, type ReadinessOptions } from '../operations/readiness';
import { startTraces, type Traces } from '../tracing/otlp-tracer';
import { fileFault, SettingsError } from '../config/settings';
import { type Close, ClosingOrder } from './closing-order';
import type { ProcessConfig } from './process-settings';

/** What a process has from its first moment on; also the token under which it is injected. */
export abstract class RunningProcess {
  abstract readonly name: string;
  abstract readonly log: Logger;
  abstract readonly metrics: Metrics;
  abstract readonly readiness: Readiness;
  /** Called for each resource as soon as it is open; the last one opened is closed first. */
  abstract opened(name: string, close: Close): void;
}

export interface ProcessDefinition<C extends ProcessConfig> {
  readonly name: string;
  /** Reads the environment. */
  readonly config: () => C;
  /** Opens everything. The process is ready when it resolves. */
  readonly start: (config: C, running: RunningProcess) => Promise<unknown>;
}

/** How often readiness is checked and changes are logged, also when no supervisor requests `/readyz`. */
const readinessEveryMs = 10_000;
/** After the start, failed checks are not logged for this long: connections are still being opened. */
const connectingMs = 3_000;
/** The first check that is logged in any case. */
const firstReadinessMs = 3_500;
/**
 * Garbage is collected at these times after the start. Three are needed for the bytecode that only the start used: V8 discards it after
 * six collections in which its function did not run, and each of these calls makes two.
 */
const collectAfterMs = [1_000, 10_000, 15_000];

/** Beyond the time that requests have to finish: for closing databases and queues. */
const closingMs = 5_000;

/**
 * Runs a process from its first line to its last: reads the configuration, serves health and metrics, starts the
 * application, and on SIGTERM or SIGINT is no longer ready, serves for `SHUTDOWN_DELAY`, closes everything and exits 0.
 * A second signal exits at once. An
 * uncaught error ends the process with 1, since its state is then unknown.
 */
export async function runProcess<C extends ProcessConfig>(definition: ProcessDefinition<C>): Promise<void> {
  const { name } = definition;
  let config: C;
  try {
    config = definition.config();
  } catch (error) {
    return abandonStart(name, error);
  }
  let traces: Traces | null;
  try {
    traces = await startTraces(name, config);
  } catch (error) {
    return abandonStart(name, error);
  }
  const log = createLogger(name, config.LOG_LEVEL);
  dieOfUncaughtErrors(log);
  const running = describeRunning(name, log);
  const closing = running.closing;
  traces?.observe(running);
  closing.opened('traces', async () => await traces?.close());
  try {
    if (config.PID_FILE !== null) process.once('exit', writePidFile(config.PID_FILE));
    stopOnSignal(running, { delayMs: config.SHUTDOWN_DELAY ?? 0, boundMs: config.DRAIN_TIME + closingMs });
    const { metrics, readiness } = running;
    const operations = await startOperationsServer({
      host: config.OPS_HOST,
      port: config.OPS_PORT,
      metrics,
      readiness,
    });
    closing.opened('operations', () => operations.close());
    await definition.start(config, running);
    running.readiness.started();
    log.info({ operations: operations.url }, 'started');
    watch(running.readiness);
    for (const afterMs of collectAfterMs) setTimeout(collectGarbage, afterMs).unref();
  } catch (error) {
    if (closing.begun) return;
    await bounded(closing.closeAll(), closingMs);
    abandonStart(name, error, log);
  }
}

/** A start leaves some 20 MB of garbage, which V8 would not collect until much later. Only with --expose-gc. */
function collectGarbage(): void {
  globalThis.gc?.({ type: 'major', flavor: 'last-resort' });
}

function watch(readiness: Readiness): void {
  const check = () => void readiness.report();
  setTimeout(check, firstReadinessMs).unref();
  setInterval(check, readinessEveryMs).unref();
}

interface StoppableProcess extends RunningProcess {
  readonly closing: ClosingOrder;
}

function describeRunning(name: string, log: Logger): StoppableProcess {
  const closing = new ClosingOrder();
  const readiness = new Readiness({ connectingMs, onChange: logReadiness(log) });
  const metrics = new Metrics(name);
  metrics.observeDependencies(readiness);
  return {
    name,
    log,
    metrics,
    readiness,
    closing,
    opened: (resource, close) => closing.opened(resource, close),
  };
}

/** One line per change, without the stack: what failed is the service that was checked, not our code. */
export const logReadiness =
  (log: Logger): ReadinessOptions['onChange'] =>
  (check, result, error) => {
    if (result === 'ok') return log.info({ check }, 'readiness check passed');
    log.warn(
      { check, result, error: error === undefined ? undefined : briefly(error) },
      'readiness check failed',
    );
  };

/** An AggregateError of several addresses has no message, but a code. */
function briefly(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as { readonly code?: unknown };
  return error.message || (typeof code === 'string' ? code : error.name);
}

/** @param delayMs from the signal until resources are closed. A start that the signal interrupts is not delayed */
function stopOnSignal(
  { log, readiness, closing }: StoppableProcess,
  { delayMs, boundMs }: { readonly delayMs: number; readonly boundMs: number },
): void {
  let stopping = false;
  const stop = async (signal: string): Promise<void> => {
    if (stopping) {
      log.warn({ signal }, 'stopped at once by a second signal');
      process.exit(1);
    }
    stopping = true;
    const hasStarted = readiness.hasStarted;
    readiness.stopping();
    log.info({ signal, delay_ms: delayMs }, 'stopping');
    if (hasStarted) await delay(delayMs);
    const failures = await bounded(closing.closeAll(), boundMs);
    if (failures === 'late') {
      log.error({ resource: closing.current, bound_ms: boundMs }, 'did not close in time');
      process.exit(1);
    }
    for (const { name, error } of failures) log.error({ resource: name, err: error }, 'failed to close');
    log.info('stopped');
    process.exit(failures.length === 0 ? 0 : 1);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal));
}

function dieOfUncaughtErrors(log: Logger): void {
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      log.fatal({ err: error }, event);
      process.exit(1);
    });
  }
}

function abandonStart(name: string, error: unknown, log?: Logger): void {
  const explanation = explainStartFault(error);
  if (explanation === undefined && log !== undefined) log.fatal({ err: error }, 'cannot start');
  else process.stderr.write(`${name} cannot start: ${explanation ?? String(error)}\n`);
  process.exit(1);
}

async function bounded<T>(pending: Promise<T>, ms: number): Promise<T | 'late'> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, ms, 'late');
  });
  const first = await Promise.race([pending, late]);
  clearTimeout(timer);
  return first;
}

/**
 * Writes this process's id.
 *
 * @throws SettingsError when it cannot be written
 * @returns removes the file, unless a later process has written its own id meanwhile; works while the process exits
 */
function writePidFile(file: string): () => void {
  const id = `${process.pid}\n`;
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, id);
  } catch (error) {
    throw new SettingsError([{ name: 'PID_FILE', fault: `cannot be written: ${fileFault(error)}` }]);
  }
  return () => {
    try {
      if (readFileSync(file, 'utf8') === id) rmSync(file);
    } catch {
      // Somebody removed it already, which is what was to be done.
    }
  };
}

/**
 * Why a process did not start, for the person who started it; `undefined` when the reason is none that this
 * person can fix, so that the stack is more helpful.
 */
function explainStartFault(error: unknown): string | undefined {
  if (error instanceof StartFault) return error.message;
  const { code, address, port } = (error ?? {}) as {
    readonly code?: unknown;
    readonly address?: unknown;
    readonly port?: unknown;
  };
  const where = `port ${String(port)} on ${String(address)}`;
  switch (code) {
    case 'EADDRINUSE':
      return `${where} is taken by another process: stop that one, or set another port`;
    case 'EACCES':
      return port === undefined ? undefined : `${where} may not be used by this user: set a port above 1023`;
    case 'EADDRNOTAVAIL':
      return `${String(address)} is no address of this machine: set another host`;
    default:
      return undefined;
  }
}
