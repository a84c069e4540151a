import { closeHttpApp, createHttpApp, renderErrorObject, type RunningProcess } from '@certwright/service';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { AppModule } from './app.module';
import type { SearchConfig } from './config';
import { databaseProblem } from './ct-index/database-problem';
import { openApiDocument } from './docs/openapi-document';
import { answerPreflights, crossOriginHeaders } from './wire/cross-origin';

/**
 * Opens everything and listens. Databases and Redis may be unavailable, at the start too: requests that need them get 503.
 *
 * @returns the application, which listens on `HOST` and `PORT`
 */
export async function start(config: SearchConfig, running: RunningProcess): Promise<NestFastifyApplication> {
  const { log, metrics, readiness } = running;
  const app = await createHttpApp(AppModule.forRoot(config, running), {
    log,
    metrics,
    readiness,
    renderProblem: renderErrorObject,
    toProblem: databaseProblem,
    trustedProxies: config.TRUSTED_PROXIES,
    headers: crossOriginHeaders,
    documentation: {
      path: '/v1',
      publicUrl: config.PUBLIC_URL,
      statusPath: '/v1/status',
      document: openApiDocument,
    },
  });
  running.opened('http', () => closeHttpApp(app, config.DRAIN_TIME));
  answerPreflights(app.getHttpAdapter().getInstance() as unknown as FastifyInstance);
  await app.listen(config.PORT, config.HOST);
  log.info({ url: await app.getUrl() }, 'listening');
  return app;
}
