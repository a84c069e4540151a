import { durationMs } from './setting-kinds';

/** How an HTTP server behaves behind load balancers; spread into an application's own table. */
export const httpSettings = {
  KEEP_ALIVE_TIME: durationMs({
    meaning:
      'How long an idle connection stays open: longer than the load balancer keeps it, or the balancer sends a request into a connection that is being closed. 60 s are common, balancers of Google Cloud keep connections for 600 s',
    minMs: 1_000,
    maxMs: 3_600_000,
    default: 65_000,
  }),
  SHUTDOWN_DELAY: durationMs({
    meaning:
      'How long the process still serves new connections after SIGTERM, while /readyz is 503: at least as long as load balancers take to learn of it, 5 s in a container',
    minMs: 0,
    maxMs: 600_000,
    default: 0,
  }),
};
