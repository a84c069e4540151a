import pino, { type DestinationStream, type Logger as PinoLogger } from 'pino';
import { maskSecrets } from './mask-secrets';

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/** One JSON object per line. The first argument holds members, the second the message. */
export type Logger = PinoLogger;

/**
 * @param name of the process, on every line
 * @param destination standard output unless told; written synchronously, so that no line is lost when the process ends
 */
export function createLogger(
  name: string,
  level: LogLevel = 'info',
  destination?: DestinationStream,
): Logger {
  return pino(
    {
      name,
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
      hooks: { streamWrite: maskSecrets },
    },
    destination ?? pino.destination({ fd: 1, sync: true }),
  );
}

export interface DescribedError {
  readonly type: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
  readonly cause?: DescribedError;
}

/** A chain of causes longer than this says nothing new, and may be a ring. */
const longestCauseChain = 5;

/**
 * What a log line tells of an error: a closed list of members. An error's other members are left out because a
 * database driver hangs the statement's parameters there, CSRs and hashes among them.
 */
export function describeError(error: unknown, depth = 0): DescribedError {
  if (!(typeof error === 'object' && error !== null && 'message' in error)) {
    return { type: typeof error, message: String(error) };
  }
  const { name, message, code, stack, cause } = error as Partial<Record<string, unknown>>;
  return {
    type: String(name ?? 'Error'),
    message: String(message),
    ...(typeof code === 'string' ? { code } : {}),
    ...(typeof stack === 'string' ? { stack } : {}),
    ...(cause !== undefined && cause !== null && depth < longestCauseChain
      ? { cause: describeError(cause, depth + 1) }
      : {}),
  };
}
