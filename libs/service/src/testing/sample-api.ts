import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Problem, type ProblemCode } from '@certwright/errors';
import type { AddressInfo, Server } from 'node:net';
import { apiKeySha256 } from '../authentication/api-key';
import { Authenticator } from '../authentication/authenticator';
import { ApiKeyCache, type KnownApiKey } from '../authentication/key-cache';
import { createHttpApp } from '../http/http-app';
import type { HttpAppOptions } from '../http/http-options';
import type { RenderedProblem } from '../http/problem-response';
import { MemoryTokenBuckets } from '../limits/token-buckets';
import { createLogger } from '../logging/logger';
import { Metrics } from '../operations/metrics';
import { Readiness } from '../operations/readiness';
import { SampleModule } from './sample-module';

const statusOf: Partial<Record<ProblemCode, number>> = {
  bad_credentials: 401,
  unauthorized: 403,
  disabled_credentials: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  internal_error: 500,
  service_outage: 503,
};

export function renderSampleProblem(problem: Problem): RenderedProblem {
  if (problem.message === 'unrenderable') throw new TypeError('cannot render');
  const { code, message, faults } = problem;
  return {
    status: statusOf[code] ?? 400,
    body: { code, message, ...(faults.length > 0 ? { sub_errors: faults } : {}) },
  };
}

export const sampleKeys = {
  owner: `42_${'o'.repeat(32)}`,
  searcher: `42_${'s'.repeat(32)}`,
  disabled: `42_${'d'.repeat(32)}`,
  busy: `42_${'b'.repeat(32)}`,
};

const known = (keyId: string, permission: string, disabled = false): KnownApiKey => ({
  keyId,
  accountId: '42',
  permissions: [permission],
  disabled,
});

const keys = new Map<string, KnownApiKey>([
  [apiKeySha256(sampleKeys.owner).toString('hex'), known('1', 'Full Access')],
  [apiKeySha256(sampleKeys.searcher).toString('hex'), known('2', 'Search Certificates')],
  [apiKeySha256(sampleKeys.disabled).toString('hex'), known('3', 'Full Access', true)],
  [apiKeySha256(sampleKeys.busy).toString('hex'), known('4', 'Order and Manage Certificates')],
]);

export interface SampleApi {
  readonly app: NestFastifyApplication;
  readonly port: number;
  readonly origin: string;
  /** Every log line so far. */
  readonly lines: string[];
  readonly metrics: Metrics;
  readonly readiness: Readiness;
}

/** A small API with everything in place, listening on a free port of 127.0.0.1. */
export async function startSampleApi(options: Partial<HttpAppOptions> = {}): Promise<SampleApi> {
  const lines: string[] = [];
  const metrics = new Metrics('sample');
  const readiness = new Readiness();
  readiness.started();
  const source = { find: (sha256: Buffer) => Promise.resolve(keys.get(sha256.toString('hex')) ?? null) };
  const app = await createHttpApp(SampleModule, {
    log: createLogger('sample', 'info', { write: (line) => lines.push(line) }),
    metrics,
    readiness,
    renderProblem: renderSampleProblem,
    authenticator: new Authenticator(new ApiKeyCache(source), new MemoryTokenBuckets(), {
      reads: { ratePerS: 1_000_000, burst: 1_000_000 },
      writes: { ratePerS: 1, burst: 4 },
      failedAuthentication: { ratePerS: 1 / 6, burst: 10 },
    }),
    toProblem: (error) =>
      (error as { code?: unknown } | undefined)?.code === 'ECONNREFUSED'
        ? new Problem('service_outage', 'Try again soon.', { retryAfterS: 5 })
        : undefined,
    ...options,
  });
  await app.listen(0, '127.0.0.1');
  const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
  return { app, port, origin: `http://127.0.0.1:${port}`, lines, metrics, readiness };
}
