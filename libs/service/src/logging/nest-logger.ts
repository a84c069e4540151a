import type { LoggerService } from '@nestjs/common';
import type { Logger } from './logger';

/**
 * Nest's own lines in our format. What Nest says while it starts (each module, each route) is of interest to who
 * debugs Nest, so it becomes `debug`.
 */
export function nestLogger(log: Logger): LoggerService {
  const write =
    (level: 'debug' | 'warn' | 'error' | 'fatal') =>
    (message: unknown, ...rest: unknown[]): void => {
      const context = rest.at(-1);
      // Nest throws the same error to the caller of `NestFactory.create`, who reports it.
      if (context === 'ExceptionHandler') return;
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
