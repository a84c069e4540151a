import { StartFault } from '@certwright/errors';

/**
 * Why a process did not start, for the person who started it; `undefined` when the reason is none that this
 * person can fix, so that the stack is more helpful.
 */
export function explainStartFault(error: unknown): string | undefined {
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
