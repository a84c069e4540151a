import { AsyncResource } from 'node:async_hooks';
import { holdsPrivateKey, Problem } from '@certwright/errors';
import { isTracing } from '@certwright/tracing';
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { type Authenticator, methodsThatRead } from '../authentication/authenticator';
import { registerSignatureHooks, type SignedRequests } from '../authentication/signed-requests';
import { addressKey, withoutPorts } from '../limits/client-address';
import { securityHeaders } from './problem-response';
import { defaultJsonContentType, type HttpAppOptions } from './http-options';
import { privateKeySent, refusePastedKeys } from './pasted-keys';
import { logWhenSent } from './request-log';
import { inRequestSpan } from './request-span';

/**
 * Registers what runs on every request before its body is read, in this order, and on every response.
 *
 * @param admission its authenticator is set before the first request; undefined: every route is public
 */
export function registerRequestHooks(
  instance: FastifyInstance,
  options: HttpAppOptions,
  admission?: { readonly authenticator?: Authenticator; readonly signedRequests?: SignedRequests },
): void {
  const { jsonContentType = defaultJsonContentType } = options;
  const headersOfAll = { ...securityHeaders, ...options.headers };
  const allowedMethods = new AllowedMethods(instance);
  refuseRoutesWithoutAccess(instance, admission !== undefined);
  instance.decorateRequest('caller', null);

  if (isTracing()) runInside(instance, inRequestSpan(options.traceparents ?? 'link'));
  if (options.around !== undefined) runInside(instance, options.around);
  instance.addHook('onRequest', (request, reply, done) => {
    // Must run before `request.ip` is read, which evaluates the trusted proxies.
    const forwarded = request.raw.headers['x-forwarded-for'];
    if (typeof forwarded === 'string') request.raw.headers['x-forwarded-for'] = withoutPorts(forwarded);
    logWhenSent(request, reply, options);
    reply.headers(headersOfAll).header('x-request-id', request.id);
    const fault = faultInHeaders(request) ?? faultInRequestTarget(request.raw.url ?? '');
    done(fault === undefined ? undefined : new Problem('bad_request', fault));
  });

  instance.addHook('onRequest', (request, reply, done) => {
    if (!request.is404) return done();
    const allow = allowedMethods.of(request.raw.url ?? '');
    if (allow.length === 0) return done(new Problem('not_found', 'There is nothing at this address.'));
    if (request.method !== 'OPTIONS') {
      return done(new Problem('method_not_allowed', `This address accepts ${allow.join(', ')}.`, { allow }));
    }
    return void reply.code(204).header('allow', allow.join(', ')).send();
  });

  if (admission !== undefined) {
    instance.addHook('onRequest', async (request) => {
      const { access } = request.routeOptions.config;
      // Requests without a route were answered above; every route declares who may call it.
      if (access === undefined || access.kind === 'public' || access.kind === 'signed') return;
      request.caller = await (admission.authenticator as Authenticator).admit({
        authorization: request.headers.authorization,
        addressKey: addressKey(request.ip, request.socket.remoteAddress),
        method: request.method,
        access,
      });
    });
    registerSignatureHooks(instance, admission);
  }

  instance.addHook('preValidation', (request, _reply, done) => {
    refusePastedKeys(request.body);
    done();
  });

  if (options.beginWrite !== undefined) refuseTooManyWrites(instance, options.beginWrite);

  instance.addHook('onSend', (_request, reply, _payload, done) => {
    // Fastify adds a charset to every JSON type; RFC 8259 §11 does not define one.
    if (String(reply.getHeader('content-type')).startsWith('application/json'))
      reply.header('content-type', jsonContentType);
    // While the process stops, the client's next request should go to another process.
    if (options.readiness.isStopping || !instance.server.listening) reply.header('connection', 'close');
    done();
  });
}

/** Writes under way finish in less than a second. */
const overloadedRetryAfterS = 1;

/** Null: not known yet, such as that of a host that enrols. */
const accountOf = ({ caller, sender }: FastifyRequest): string | null =>
  caller?.accountId ?? (sender as { readonly accountId?: string } | null)?.accountId ?? null;

function refuseTooManyWrites(
  instance: FastifyInstance,
  beginWrite: NonNullable<HttpAppOptions['beginWrite']>,
): void {
  instance.addHook('preValidation', (request, reply, done) => {
    if (methodsThatRead.has(request.method)) return done();
    const end = beginWrite(accountOf(request));
    if (end === null) {
      const retryAfterS = overloadedRetryAfterS;
      return done(
        new Problem('service_outage', 'The service is overloaded. Please try again.', { retryAfterS }),
      );
    }
    // A client that disconnected before, such as during authentication, causes no further event.
    if (reply.raw.closed) end();
    else reply.raw.once('close', end);
    done();
  });
}

function runInside(
  instance: FastifyInstance,
  around: (handle: () => void, request: FastifyRequest, reply: FastifyReply) => void,
): void {
  const scopes = new WeakMap<FastifyRequest, AsyncResource>();
  instance.addHook('onRequest', (request, reply, done) =>
    around(
      () => {
        scopes.set(request, new AsyncResource('request'));
        done();
      },
      request,
      reply,
    ),
  );
  // The body arrives in events of the connection, outside the scope.
  instance.addHook('preValidation', (request, _reply, done) => {
    const scope = scopes.get(request);
    if (scope === undefined) done();
    else scope.runInAsyncScope(done);
  });
}

/** A route must not become public by omission, so the process does not start with one. */
function refuseRoutesWithoutAccess(instance: FastifyInstance, authenticates: boolean): void {
  instance.addHook('onRoute', ({ method, url, config }) => {
    const name = `${[method].flat().join(', ')} ${url}`;
    if (config?.access === undefined) {
      throw new Error(
        `${name} does not say who may call it: add @Public(), @Authenticated() or @RequirePermission(…)`,
      );
    }
    if (config.access.kind !== 'public' && !authenticates) {
      throw new Error(`${name} needs an API key, but the application was made without an authenticator`);
    }
  });
}

/**
 * RFC 9112 §3.2: exactly one Host in HTTP/1.1; RFC 9110 §5.3: at most one Authorization, which is no list. Node would
 * use the first of several and respond to a missing Host with an empty body; a proxy in front may have used the last.
 */
function faultInHeaders({ raw }: FastifyRequest): string | undefined {
  const hosts = countHeader(raw.rawHeaders, 'host');
  if (hosts > 1) return 'The request has more than one Host header.';
  if (hosts === 0 && raw.httpVersion === '1.1') return 'The request has no Host header.';
  return countHeader(raw.rawHeaders, 'authorization') > 1
    ? 'The request has more than one Authorization header.'
    : undefined;
}

/** @param rawHeaders names and values alternating, as received */
function countHeader(rawHeaders: readonly string[], name: string): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const given = rawHeaders[i];
    if (given !== undefined && given.length === name.length && given.toLowerCase() === name) count += 1;
  }
  return count;
}

/** Finds the methods of a URL, for `Allow` (RFC 9110 §10.2.1). Knows the routes registered after its construction. */
class AllowedMethods {
  readonly #seen = new Set<HTTPMethods>();

  constructor(private readonly instance: FastifyInstance) {
    instance.addHook('onRoute', ({ method }) => {
      for (const each of [method].flat()) this.#seen.add(each as HTTPMethods);
    });
  }

  /**
   * @param target of a request that the router could read
   * @returns sorted; empty when the URL has no route
   */
  of(target: string): readonly string[] {
    // `findRoute` matches as the router does: slashes, parameters and percent-encodings.
    const found = [...this.#seen].filter(
      (method) => this.instance.findRoute({ method, url: target }) !== null,
    );
    return found.length === 0 ? [] : [...new Set([...found, 'OPTIONS'])].sort();
  }
}

/**
 * Maximum length of the request target in bytes: a name of 255 characters, each four bytes of UTF-8 and
 * percent-encoded to twelve, needs 3,060; a query may contain a hundred names of ordinary length. Less than the
 * maximum header, 16 KiB.
 */
const maxRequestTargetBytes = 15_000;

/**
 * What is wrong with a request target, or `undefined`. Stricter than the router, so that no route needs to check:
 * only characters of a URI (RFC 3986 §2), complete percent-encodings of UTF-8, also in the query, no NUL, which
 * PostgreSQL cannot store, and no private key.
 */
function faultInRequestTarget(target: string): string | undefined {
  if (target.length > maxRequestTargetBytes) return `The URL is longer than ${maxRequestTargetBytes} bytes.`;
  if (!/^[\x21-\x7e]*$/.test(target)) return 'The URL contains characters that must be percent-encoded.';
  if (target.includes('%00')) return 'The URL contains a NUL character.';
  try {
    const decoded = target.includes('%') ? decodeURIComponent(target) : target;
    // In a query, + may be a space as well as itself.
    const containsKey =
      holdsPrivateKey(decoded) || (decoded.includes('+') && holdsPrivateKey(decoded.replaceAll('+', ' ')));
    return containsKey ? `The URL contains ${privateKeySent}` : undefined;
  } catch {
    return 'The URL contains a percent-encoding that is not UTF-8.';
  }
}
