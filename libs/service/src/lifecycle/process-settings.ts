import { durationMs, filePath, oneOf, port, string } from '../config/setting-kinds';
import { logLevels } from '../logging/logger';
import { type TraceConfig, traceSettings } from '../tracing/trace-settings';

/** The settings that every process has; spread into an application's own table. */
export const processSettings = ({ opsPort }: { readonly opsPort: number }) => ({
  LOG_LEVEL: oneOf(logLevels, { meaning: 'The least severe log lines that are written', default: 'info' }),
  OPS_HOST: string({
    meaning: 'Address of health and metrics; 127.0.0.1 keeps them on this machine, a container needs 0.0.0.0',
    default: '127.0.0.1',
  }),
  OPS_PORT: port({
    meaning: 'Port of /healthz, /readyz and /metrics; 0 takes any free one',
    default: opsPort,
  }),
  PID_FILE: filePath({
    meaning: 'Where the process id is written; removed when the process ends',
    default: null,
  }),
  DRAIN_TIME: durationMs({
    meaning:
      'How long requests under way may take to finish once the process accepts no more; then their connections are cut',
    minMs: 0,
    maxMs: 600_000,
    default: 10_000,
  }),
  ...traceSettings,
});

/** What `runProcess` needs of an application's settings. */
export interface ProcessConfig extends Partial<TraceConfig> {
  readonly LOG_LEVEL: (typeof logLevels)[number];
  readonly OPS_HOST: string;
  readonly OPS_PORT: number;
  readonly PID_FILE: string | null;
  /** Milliseconds. Only processes that accept requests have it. */
  readonly SHUTDOWN_DELAY?: number;
  /** Milliseconds. */
  readonly DRAIN_TIME: number;
}
