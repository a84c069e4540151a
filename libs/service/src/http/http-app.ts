import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Server } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest, RawServerDefault } from 'fastify';
import { registerDocumentationRoutes } from '../documentation/documentation-routes';
import { nestLogger } from '../logging/nest-logger';
import { securityHeaders } from './answer';
import { registerBodyParsers } from './body-parsers';
import { answerUnknownExpectation, clientErrorHandler } from './connection-errors';
import { registerHealthRoutes } from './health-routes';
import { defaultJsonContentType, defaultTimeouts, type HttpAppOptions, largestBody } from './http-options';
import { type ProblemAnswering, ProblemFilter, sendProblem } from './problem-filter';
import { registerRequestHooks } from './request-hooks';
import { requestIdOf } from './request-id';
import { logWhenAnswered } from './request-log';
import { closeSilentConnections, watchConnections } from './silent-connections';
import { tlsServerOptions } from './tls';

/**
 * A name has at most 255 characters; the router counts UTF-16 units after decoding, of which a character has up to
 * two. Twice of that, so that an application can say itself that a name is too long.
 */
const longestParameter = 1_020;

/** Largest request header, its first line included, in bytes. */
const largestHeader = 16 * 1024;

/**
 * The Nest application of an API, on Fastify: bounded, authenticated before the body is read, every error in the
 * API's own dialect. It does not listen yet.
 *
 * @param module the application's root module
 * @throws when a route does not say who may call it
 */
export async function createHttpApp(
  module: RootModule,
  options: HttpAppOptions,
): Promise<NestFastifyApplication> {
  const answering: ProblemAnswering = {
    log: options.log,
    renderProblem: options.renderProblem,
    toProblem: options.toProblem ?? (() => undefined),
    jsonContentType: options.jsonContentType ?? defaultJsonContentType,
    headers: { ...securityHeaders, ...options.headers },
    largestBody: options.largestBody ?? largestBody,
  };
  const adapter = new FastifyAdapter(fastifyOptions(options, answering));
  const instance: FastifyInstance = adapter.getInstance();
  registerBodyParsers(instance, answering.largestBody, options.acceptForms ?? false);
  registerRequestHooks(instance, options);
  registerHealthRoutes(instance, options.readiness, answering);
  if (options.documentation !== undefined)
    registerDocumentationRoutes(instance, options.documentation, answering);
  answerUnknownExpectation(instance.server as Server, answering);
  watchConnections(instance.server as Server);
  const app = await NestFactory.create<NestFastifyApplication>(module, adapter, {
    logger: nestLogger(options.log),
    bodyParser: false,
    abortOnError: false,
  });
  app.useGlobalFilters(new ProblemFilter(answering));
  return app;
}

function fastifyOptions(options: HttpAppOptions, answering: ProblemAnswering): FastifyAdapterOptions {
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  const trustedProxies = [...(options.trustedProxies ?? [])];
  const http = {
    maxHeaderSize: largestHeader,
    headersTimeout: timeouts.headersMs,
    connectionsCheckingInterval: timeouts.checkEveryMs,
    // Checked by a hook, whose answer has a body.
    requireHostHeader: false,
  };
  return {
    bodyLimit: answering.largestBody,
    routerOptions: {
      ignoreTrailingSlash: true,
      ignoreDuplicateSlashes: true,
      maxParamLength: longestParameter,
    },
    trustProxy: trustedProxies.length > 0 ? trustedProxies : false,
    genReqId: requestIdOf,
    return503OnClosing: false,
    requestTimeout: timeouts.requestMs,
    keepAliveTimeout: timeouts.keepAliveMs,
    connectionTimeout: timeouts.idleMs,
    ...(options.tls === undefined
      ? { http }
      : { https: { ...http, ...tlsServerOptions(options.tls, timeouts.headersMs) } }),
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      // No hook runs for a URL that the router cannot read, so what they do for an answer is done here.
      logWhenAnswered(request, reply, options);
      reply.headers({ ...securityHeaders, ...options.headers, 'x-request-id': request.id });
      sendProblem(error, request, reply, answering);
    },
    clientErrorHandler: clientErrorHandler(answering, options.metrics),
  };
}

type RootModule = Parameters<typeof NestFactory.create>[0];
type FastifyAdapterOptions = NonNullable<ConstructorParameters<typeof FastifyAdapter<RawServerDefault>>[0]>;

/**
 * Stops listening, lets the requests under way finish, then closes the application.
 *
 * @param drainMs after which connections that are still open are cut
 */
export async function closeHttpApp(app: NestFastifyApplication, drainMs: number): Promise<void> {
  const server = app.getHttpServer() as Server;
  const cut = setTimeout(() => server.closeAllConnections(), drainMs);
  // Nest runs its own hooks before it stops listening, and they may close what a request under way still needs.
  const drained = new Promise<void>((resolve) => server.close(() => resolve()));
  closeSilentConnections(server);
  await drained;
  clearTimeout(cut);
  await app.close();
}
