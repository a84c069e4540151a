import pino, { type DestinationStream, type Logger as PinoLogger } from 'pino';
import { isTracing, spanOfLogLine } from '@certwright/tracing';
import type { LoggerService } from '@nestjs/common';

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/** One JSON object per line. The first argument holds members, the second the message. */
export type Logger = PinoLogger;

/**
 * With tracing on, a line that is written in a span has its `trace_id` and `span_id`.
 *
 * @param name of the process, on every line
 * @param destination default: standard output, see `LinesOfTurn`
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
      timestamp: timeMember,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
      hooks: { streamWrite: maskSecrets },
      ...(isTracing() ? { mixin: spanOfLogLine } : {}),
    },
    destination ?? standardOutput(),
  );
}

let lastTime = { ms: NaN, member: '' };

/** The member of a line, as JSON. Lines of the same millisecond share its text. */
function timeMember(): string {
  const ms = Date.now();
  if (ms !== lastTime.ms) lastTime = { ms, member: `,"time":"${new Date(ms).toISOString()}"` };
  return lastTime.member;
}

/** `warn`, as pino counts levels. */
const urgentLevel = 40;

/**
 * Writes the lines of one turn of the event loop together, and warnings at once. Synchronously, so that no line is lost when
 * the process ends; only a process that is killed may lose those of its last turn.
 */
export class LinesOfTurn implements DestinationStream {
  /** Makes pino set `lastLevel` before each line. */
  readonly [pino.symbols.needsMetadataGsym] = true;
  lastLevel = 0;
  private lines = '';

  /** @param sink writes synchronously */
  constructor(private readonly sink: DestinationStream) {}

  write(line: string): void {
    if (this.lines === '' && this.lastLevel < urgentLevel) setImmediate(() => this.flush());
    this.lines += line;
    if (this.lastLevel >= urgentLevel) this.flush();
  }

  flush(): void {
    const { lines } = this;
    this.lines = '';
    if (lines !== '') this.sink.write(lines);
  }
}

function standardOutput(): LinesOfTurn {
  const lines = new LinesOfTurn(pino.destination({ fd: 1, sync: true }));
  process.on('exit', () => lines.flush());
  return lines;
}

export interface DescribedError {
  readonly type: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
  readonly cause?: DescribedError;
}

/** Bounds cycles of causes. */
const maxCauseDepth = 5;

/**
 * The logged members of an error: a closed list, since database drivers attach statement parameters such as CSRs and
 * hashes.
 */
function describeError(error: unknown, depth = 0): DescribedError {
  if (!(typeof error === 'object' && error !== null && 'message' in error)) {
    return { type: typeof error, message: String(error) };
  }
  const { name, message, code, stack, cause } = error as Partial<Record<string, unknown>>;
  return {
    type: String(name ?? 'Error'),
    message: String(message),
    ...(typeof code === 'string' ? { code } : {}),
    ...(typeof stack === 'string' ? { stack } : {}),
    ...(cause !== undefined && cause !== null && depth < maxCauseDepth
      ? { cause: describeError(cause, depth + 1) }
      : {}),
  };
}

/** Writes Nest's own messages in our format. Its startup messages (each module, each route) become `debug`. */
export function nestLogger(log: Logger): LoggerService {
  const write =
    (level: 'debug' | 'warn' | 'error' | 'fatal') =>
    (message: unknown, ...rest: unknown[]): void => {
      const context = rest.at(-1);
      // Nest throws the same error to the caller of `NestFactory.create`, who reports it. A bundle renames the class.
      if (context === 'ExceptionHandler' || context === '_ExceptionHandler') return;
      const members = typeof context === 'string' ? { context } : {};
      if (typeof message === 'object' && message !== null) log[level]({ ...members, err: message }, 'nest');
      else log[level](members, String(message));
    };
  return {
    log: write('debug'),
    debug: write('debug'),
    verbose: write('debug'),
    warn: write('warn'),
    error: write('error'),
    fatal: write('fatal'),
  };
}

/**
 * Masks whatever looks like a secret before a log line leaves the process. A last resort: messages contain no secrets
 * in the first place.
 */
const patterns: readonly (readonly [RegExp, string])[] = [
  // Members that contain secrets or a CSR, at any depth, as text or list.
  [
    /"(authorization|cookie|set-cookie|password|api_key|apiKey|secret|csr)":(?:"[^"\\]*(?:\\.[^"\\]*)*"|\[[^\]]*\])/gi,
    '"$1":"[masked]"',
  ],
  // An API key: account id, underscore, base64url of 24 random bytes, which is 32 characters.
  [/_[\w-]{32}(?![\w-])/g, '_[masked]'],
  // A handle of the DNS gateway.
  [/\bcw([ir])1\.[\w-]{16,}/g, 'cw$11.[masked]'],
  // Value of an Authorization header (RFC 9110 §11.4).
  [/\b(Bearer|Basic)\s+[A-Za-z0-9._~+/-]+=*/gi, '$1 [masked]'],
  // User information in a URL (RFC 3986 §3.2.1), as in the URL of a database.
  [/:\/\/[^/\s"@]+@/g, '://[masked]@'],
  // PEM: a private key, or a CSR. Stops at a quote, so that the line remains valid JSON.
  [
    /-----BEGIN (?<kind>[A-Z0-9 ]{0,30}(?:PRIVATE KEY|REQUEST))-----[^"]*?(?:-----END \k<kind>-----|(?=")|$)/g,
    '[masked $<kind>]',
  ],
];

/** Matches every line that one of the patterns matches: most lines match none, and are searched once. */
const suspicious = new RegExp(patterns.map(([{ source }]) => source).join('|'), 'i');

export function maskSecrets(line: string): string {
  if (!suspicious.test(line)) return line;
  let masked = line;
  for (const [pattern, mask] of patterns) masked = masked.replace(pattern, mask);
  return masked;
}
