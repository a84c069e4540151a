import { closeHttpApp, createHttpApp, renderErrorObject, type RunningProcess } from '@certwright/service';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { AppModule } from './app.module';
import type { SearchConfig } from './config';
import { databaseProblem } from './ct-index/database-problem';
import { openApiDocument } from './docs/openapi-document';

/** Headers of every response: pages of any origin may read it and these headers. */
const crossOriginHeaders: Readonly<Record<string, string>> = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'Link, Retry-After, X-Request-Id, ETag, WWW-Authenticate',
};

/** CORS preflight response for a page with an API key; valid for a day, which browsers limit to two hours or less. */
const preflightHeaders: Readonly<Record<string, string>> = {
  'access-control-allow-methods': 'GET, HEAD',
  'access-control-allow-headers': 'Authorization, If-None-Match, X-Request-Id',
  'access-control-max-age': '86400',
};

/**
 * Opens all resources and listens. Databases and Redis may be unavailable, also at the start: requests that need them get 503.
 *
 * @returns the application, which listens on `HOST` and `PORT`
 */
export async function start(config: SearchConfig, running: RunningProcess): Promise<NestFastifyApplication> {
  const { log, metrics, readiness } = running;
  const app = await createHttpApp(AppModule.forRoot(config, running), {
    log,
    metrics,
    readiness,
    timeouts: { keepAliveMs: config.KEEP_ALIVE_TIME },
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
  respondToPreflights(app.getHttpAdapter().getInstance() as unknown as FastifyInstance);
  await app.listen(config.PORT, config.HOST);
  log.info({ url: await app.getUrl() }, 'listening');
  return app;
}

/** A browser sends OPTIONS before a request with a key (Fetch Standard, "CORS-preflight fetch"). */
function respondToPreflights(instance: FastifyInstance): void {
  instance.addHook('onSend', (request, reply, _payload, done) => {
    if (request.method === 'OPTIONS') reply.headers(preflightHeaders);
    done();
  });
}
