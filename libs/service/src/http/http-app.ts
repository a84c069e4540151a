import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { Server as TlsServer, TLSSocket } from 'node:tls';
import type { NestApplicationOptions } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  RawServerDefault,
  RouteShorthandOptions,
} from 'fastify';
import type { Authenticator } from '../authentication/authenticator';
import type { SignedRequests } from '../authentication/signed-requests';
import { registerDocumentationRoutes } from '../documentation/documentation-routes';
import { nestLogger } from '../logging/logger';
import type { Readiness } from '../operations/readiness';
import { securityHeaders } from './problem-response';
import { registerBodyParsers } from './body-parsers';
import { rejectUnknownExpectation, clientErrorHandler } from './connection-errors';
import { defaultJsonContentType, defaultTimeouts, type HttpAppOptions, maxBodyBytes } from './http-options';
import { type ProblemHandling, ProblemFilter, sendProblem } from './problem-filter';
import { registerRequestHooks } from './request-hooks';
import { requestIdOf } from './request-id';
import { logWhenSent } from './request-log';
import { tlsServerOptions } from './tls';

/**
 * A name has at most 255 characters. The router counts UTF-16 units after decoding, up to two per character. Twice
 * that, so that the application can report a name that is too long itself.
 */
const maxParameterLength = 1_020;

/** Maximum size of the request header, including the request line, in bytes. */
const maxHeaderBytes = 16 * 1024;

/**
 * The Nest application of an API, on Fastify: bounded, authenticated before the body is read, every error in the
 * API's own format. It does not listen yet.
 *
 * @param module the application's root module
 * @param create builds it from the module
 * @throws Error when a route does not declare who may call it
 */
export async function createHttpApp(
  module: RootModule,
  options: HttpAppOptions,
  create: CreateApplication = async (root, adapter, nestOptions) =>
    await NestFactory.create<NestFastifyApplication>(root, adapter, nestOptions),
): Promise<NestFastifyApplication> {
  const handling: ProblemHandling = {
    log: options.log,
    renderProblem: options.renderProblem,
    toProblem: options.toProblem ?? (() => undefined),
    jsonContentType: options.jsonContentType ?? defaultJsonContentType,
    headers: { ...securityHeaders, ...options.headers },
    maxBodyBytes: options.maxBodyBytes ?? maxBodyBytes,
  };
  const adapter = new FastifyAdapter(fastifyOptions(options, handling));
  const instance: FastifyInstance = adapter.getInstance();
  registerBodyParsers(instance, handling.maxBodyBytes, options.acceptForms ?? false);
  const { authenticator } = options;
  const admission: { authenticator?: Authenticator; signedRequests?: SignedRequests } = {};
  registerRequestHooks(instance, options, authenticator === undefined ? undefined : admission);
  registerHealthRoutes(instance, options.readiness, handling);
  if (options.documentation !== undefined)
    registerDocumentationRoutes(instance, options.documentation, handling);
  rejectUnknownExpectation(instance.server as Server, handling);
  watchConnections(instance.server as Server);
  const app = await create(module, adapter, {
    logger: nestLogger(options.log),
    bodyParser: false,
    abortOnError: false,
  });
  if (authenticator !== undefined)
    admission.authenticator = typeof authenticator === 'function' ? app.get(authenticator) : authenticator;
  if (options.signedRequests !== undefined)
    admission.signedRequests = app.get(options.signedRequests, { strict: false });
  app.useGlobalFilters(new ProblemFilter(handling));
  return app;
}

function fastifyOptions(options: HttpAppOptions, handling: ProblemHandling): FastifyAdapterOptions {
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  const trustedProxies = [...(options.trustedProxies ?? [])];
  const http = {
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: timeouts.headersMs,
    connectionsCheckingInterval: timeouts.checkEveryMs,
    // Checked by a hook, whose response has a body.
    requireHostHeader: false,
  };
  return {
    bodyLimit: handling.maxBodyBytes,
    routerOptions: {
      ignoreTrailingSlash: true,
      ignoreDuplicateSlashes: true,
      maxParamLength: maxParameterLength,
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
      // No hook runs for a URL that the router cannot read, so their work is repeated here.
      logWhenSent(request, reply, options);
      reply.headers({ ...securityHeaders, ...options.headers, 'x-request-id': request.id });
      sendProblem(error, request, reply, handling);
    },
    clientErrorHandler: clientErrorHandler(handling, options.metrics),
  };
}

type RootModule = Parameters<typeof NestFactory.create>[0];
type CreateApplication = (
  module: RootModule,
  adapter: FastifyAdapter,
  options: NestApplicationOptions,
) => Promise<NestFastifyApplication>;
type FastifyAdapterOptions = NonNullable<ConstructorParameters<typeof FastifyAdapter<RawServerDefault>>[0]>;

/**
 * Stops listening, waits for requests under way, then closes the application.
 *
 * @param drainMs after which open connections are cut
 */
export async function closeHttpApp(app: NestFastifyApplication, drainMs: number): Promise<void> {
  const server = app.getHttpServer() as Server;
  const cut = setTimeout(() => server.closeAllConnections(), drainMs);
  // Nest runs its shutdown hooks before it stops listening; they may close what a request still needs.
  const drained = new Promise<void>((resolve) => server.close(() => resolve()));
  closeSilentConnections(server);
  await drained;
  clearTimeout(cut);
  await app.close();
}

/** `/healthz` and `/readyz` on the API's port, for load balancers that reach no other. */
function registerHealthRoutes(
  instance: FastifyInstance,
  readiness: Readiness,
  handling: ProblemHandling,
): void {
  const options: RouteShorthandOptions = {
    config: { access: { kind: 'public' } },
    // Nest installs its error handler only for routes registered later.
    errorHandler: (error, request, reply) => sendProblem(error, request, reply, handling),
  };
  instance.get('/healthz', options, () => ({ alive: true }));
  instance.get('/readyz', options, async (_request, reply) => {
    const { ready, state } = await readiness.report();
    // The operations port reports which check failed; the public response does not reveal dependencies.
    return reply.code(ready ? 200 : 503).send({ ready, state });
  });
}

/** By the peer's address and port. Under TLS the TCP socket, replaced by the TLS socket after the handshake. */
const connections = new WeakMap<Server, Map<string, Socket>>();

/** Tracks a server's connections from now on, for `closeSilentConnections`. */
function watchConnections(server: Server): void {
  const open = new Map<string, Socket>();
  connections.set(server, open);
  const watch = (socket: Socket): void => {
    const peer = `${socket.remoteAddress} ${socket.remotePort}`;
    open.set(peer, socket);
    socket.once('close', () => {
      if (open.get(peer) === socket) open.delete(peer);
    });
  };
  server.on('connection', watch);
  server.on('secureConnection', watch);
}

/**
 * Closes connections that have sent no byte of a request: load balancers and browsers open some in advance, and some
 * never finish their handshake. Node counts them as busy and would wait for them until the timeout.
 */
function closeSilentConnections(server: Server): void {
  const isSecure = server instanceof TlsServer;
  for (const socket of connections.get(server)?.values() ?? []) {
    const isInHandshake = isSecure && !(socket instanceof TLSSocket);
    if (isInHandshake || socket.bytesRead === 0) socket.destroy();
  }
}
