import {
  closeHttpApp,
  createHttpApp,
  followTls,
  MemoryTokenBuckets,
  observeCertificate,
  renewTls,
  type RunningProcess,
} from '@certwright/service';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { AppModule } from './app.module';
import { admitClients } from './clients/admit-clients';
import { ClientGrants } from './clients/client-grants';
import { ClientClocks } from './clients/client-clocks';
import { assertUsable, readTls } from './clients/tls-files';
import type { GatewayConfig } from './config';
import { openApiDocument } from './docs/openapi-document';
import { renderProblem } from './wire/problem';

/** Max size of a request, bytes. A record, two handles and a name need a fifth of it. */
const maxBodyBytes = 64 * 1024;

/** Max burst of a client's requests, in seconds of its rate. */
const burstS = 4;

/**
 * Opens all resources and starts the server.
 *
 * @returns the application, which listens on `HOST` and `PORT`
 */
export async function start(config: GatewayConfig, running: RunningProcess): Promise<NestFastifyApplication> {
  const { log, metrics, readiness } = running;
  const tls = await readTls(config);
  assertUsable(tls);
  let current = tls;
  observeCertificate(running, {
    check: 'tls certificate',
    setting: 'TLS_CERTIFICATE_FILE',
    isRequired: true,
    current: () => current.certificate,
  });
  const clocks = new ClientClocks();
  readiness.add('clocks of clients', async () => await Promise.resolve(clocks.serverTime()));
  const app = await createHttpApp(AppModule.forRoot(config, running), {
    log,
    metrics,
    readiness,
    timeouts: { keepAliveMs: config.KEEP_ALIVE_TIME },
    renderProblem,
    maxBodyBytes,
    // Every caller is a process of the platform, with a client certificate.
    traceparents: 'parent',
    tls,
    logOf: ({ client }) => ({ client }),
    documentation: { path: '', statusPath: '/readyz', document: openApiDocument },
  });
  const ratePerS = config.CLIENT_RATE_PER_S;
  admitClients(app.getHttpAdapter().getInstance() as unknown as FastifyInstance, {
    clients: new ClientGrants(config.GATEWAY_CLIENTS),
    buckets: new MemoryTokenBuckets(),
    rate: { ratePerS, burst: burstS * ratePerS },
    now: () => new Date(),
    clocks,
  });
  running.opened('http', () => closeHttpApp(app, config.DRAIN_TIME));
  const following = followTls(async () => await readTls(config), tls, {
    everyMs: config.TLS_FILES_EVERY,
    log,
    use: (renewed) => {
      assertUsable(renewed);
      renewTls(app, renewed);
      current = renewed;
    },
  });
  running.opened('tls files', () => following.stop());
  await app.listen(config.PORT, config.HOST);
  log.info({ url: await app.getUrl() }, 'listening');
  return app;
}
