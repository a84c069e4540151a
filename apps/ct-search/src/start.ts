import { ctSchema } from '@certwright/ct-schema';
import { warnOfExcessPrivileges } from '@certwright/postgres';
import { closeHttpApp, createHttpApp, renderErrorObject, type RunningProcess } from '@certwright/service';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { openAccess } from './access/open-access';
import { SearchAccess } from './access/search-access';
import { AppModule } from './app.module';
import type { SearchConfig } from './config';
import { databaseProblem } from './ct-index/database-problem';
import { IndexReaders } from './ct-index/index-readers';
import { openApiDocument } from './docs/openapi-document';
import { answerPreflights, crossOriginHeaders } from './wire/cross-origin';

const readinessTimeoutMs = 2_000;

/**
 * Opens everything and listens. Databases and Redis may be away, at the start too: what needs them is answered 503 meanwhile.
 *
 * @param open opens what decides who may search
 * @returns the application, which listens on `HOST` and `PORT`
 */
export async function start(
  config: SearchConfig,
  running: RunningProcess,
  open: (config: SearchConfig, running: RunningProcess) => SearchAccess = openAccess,
): Promise<NestFastifyApplication> {
  const { log, metrics, readiness } = running;
  const readers = new IndexReaders({
    url: config.CT_DATABASE_URL,
    poolSize: config.CT_DATABASE_POOL_SIZE,
    isSharded: config.CT_DATABASE_SHARDED,
    log,
  });
  running.opened('ct database', async () => await readers.close());
  let isRoleKnown = false;
  readiness.add('ct database', async () => {
    const reader = readers.within({ kind: 'readiness', timeLimitMs: readinessTimeoutMs });
    await reader.query('SELECT 1');
    if (isRoleKnown) return;
    isRoleKnown = true;
    await warnOfExcessPrivileges(reader, ctSchema, 'ct-search', log);
  });
  const surroundings = [
    { provide: IndexReaders, useValue: readers },
    { provide: SearchAccess, useValue: open(config, running) },
  ];
  const app = await createHttpApp(AppModule.forRoot(config, surroundings), {
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
