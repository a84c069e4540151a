import { databaseOutage } from '@certwright/errors';
import { closeHttpApp, createHttpApp, ProcessModule, type RunningProcess } from '@certwright/service';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from './app.module';
import { ResponderConfig } from './config';
import { renderProblem } from './wire/problem';

/** Approval pages must not be framed or indexed; in newer browsers, CSP also prevents framing. */
const headersOfAll = { 'x-frame-options': 'DENY', 'x-robots-tag': 'noindex' };

/**
 * Opens everything and listens. Waits for the database for half a minute; Redis may be down, at the start too.
 *
 * @returns the application, which listens on `HOST` and `PORT`
 */
export async function start(
  config: ResponderConfig,
  running: RunningProcess,
): Promise<NestFastifyApplication> {
  const { log, metrics, readiness } = running;
  const root = { module: AppModule, imports: [ProcessModule.forRoot(ResponderConfig, config, running)] };
  const app = await createHttpApp(root, {
    log,
    metrics,
    readiness,
    timeouts: { keepAliveMs: config.KEEP_ALIVE_TIME },
    renderProblem,
    toProblem: databaseOutage,
    acceptForms: true,
    headers: headersOfAll,
    trustedProxies: config.TRUSTED_PROXIES,
  });
  running.opened('http', () => closeHttpApp(app, config.DRAIN_TIME));
  await app.listen(config.PORT, config.HOST);
  log.info({ url: await app.getUrl() }, 'listening');
  return app;
}
