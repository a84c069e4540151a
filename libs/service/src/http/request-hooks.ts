import { AsyncResource } from 'node:async_hooks';
import { holdsPrivateKey, Problem } from '@certwright/errors';
import type { FastifyInstance, FastifyRequest, HTTPMethods } from 'fastify';
import { methodsThatRead } from '../authentication/authenticator';
import { addressKey, withoutPorts } from '../limits/client-address';
import { securityHeaders } from './answer';
import { defaultJsonContentType, type HttpAppOptions } from './http-options';
import { privateKeySent, refusePastedKeys } from './pasted-keys';
import { logWhenAnswered } from './request-log';

/** What happens to every request before its body is read, in this order; and to every answer before it leaves. */
export function registerRequestHooks(instance: FastifyInstance, options: HttpAppOptions): void {
  const { authenticator, jsonContentType = defaultJsonContentType } = options;
  const headersOfAll = { ...securityHeaders, ...options.headers };
  const allowedMethods = new AllowedMethods(instance);
  refuseRoutesWithoutAccess(instance, authenticator !== undefined);
  instance.decorateRequest('caller', null);

  if (options.around !== undefined) runInside(instance, options.around);
  instance.addHook('onRequest', (request, reply, done) => {
    // Before `request.ip` is read, which follows the trusted proxies.
    const forwarded = request.raw.headers['x-forwarded-for'];
    if (typeof forwarded === 'string') request.raw.headers['x-forwarded-for'] = withoutPorts(forwarded);
    logWhenAnswered(request, reply, options);
    reply.headers(headersOfAll).header('x-request-id', request.id);
    const fault = faultInHeaders(request) ?? faultInRequestTarget(request.raw.url ?? '');
    done(fault === undefined ? undefined : new Problem('bad_request', fault));
  });

  instance.addHook('onRequest', (request, reply, done) => {
    if (!request.is404) return done();
    const allow = allowedMethods.of(request.raw.url ?? '');
    if (allow.length === 0) return done(new Problem('not_found', 'There is nothing at this address.'));
    if (request.method !== 'OPTIONS') {
      return done(new Problem('method_not_allowed', `This address answers ${allow.join(', ')}.`, { allow }));
    }
    return void reply.code(204).header('allow', allow.join(', ')).send();
  });

  if (authenticator !== undefined) {
    instance.addHook('onRequest', async (request) => {
      const { access } = request.routeOptions.config;
      // A request that no route matches has been answered above; every route says who may call it.
      if (access === undefined || access.kind === 'public') return;
      request.caller = await authenticator.admit({
        authorization: request.headers.authorization,
        addressKey: addressKey(request.ip, request.socket.remoteAddress),
        method: request.method,
        access,
      });
    });
  }

  instance.addHook('preValidation', (request, _reply, done) => {
    refusePastedKeys(request.body);
    done();
  });

  if (options.beginWrite !== undefined) refuseTooManyWrites(instance, options.beginWrite);

  instance.addHook('onSend', (_request, reply, _payload, done) => {
    // Fastify adds a charset to every JSON type of its own accord, which RFC 8259 §11 does not define.
    if (String(reply.getHeader('content-type')).startsWith('application/json'))
      reply.header('content-type', jsonContentType);
    // While the process stops, the client's next request belongs to another one.
    if (!instance.server.listening) reply.header('connection', 'close');
    done();
  });
}

/** A moment: so many writes are carried out in less than a second. */
const overloadedRetryAfterS = 1;

function refuseTooManyWrites(
  instance: FastifyInstance,
  beginWrite: NonNullable<HttpAppOptions['beginWrite']>,
): void {
  instance.addHook('preValidation', (request, reply, done) => {
    if (methodsThatRead.has(request.method)) return done();
    const end = beginWrite();
    if (end === null) {
      const retryAfterS = overloadedRetryAfterS;
      return done(
        new Problem('service_outage', 'The service is overloaded. Please try again.', { retryAfterS }),
      );
    }
    reply.raw.once('close', end);
    done();
  });
}

function runInside(instance: FastifyInstance, around: NonNullable<HttpAppOptions['around']>): void {
  const scopes = new WeakMap<FastifyRequest, AsyncResource>();
  instance.addHook('onRequest', (request, _reply, done) =>
    around(() => {
      scopes.set(request, new AsyncResource('request'));
      done();
    }),
  );
  // The body arrives with events of the connection, which are outside.
  instance.addHook('preValidation', (request, _reply, done) => {
    const scope = scopes.get(request);
    if (scope === undefined) done();
    else scope.runInAsyncScope(done);
  });
}

/** Open by omission is the one mistake nobody notices, so the process does not start with it. */
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
 * RFC 9112 §3.2: exactly one Host in HTTP/1.1; RFC 9110 §5.3: at most one Authorization, which is no list. Node would take
 * the first of several and answer a missing Host with an empty body, while a proxy in front may have read the last.
 */
function faultInHeaders({ raw }: FastifyRequest): string | undefined {
  const hosts = countHeader(raw.rawHeaders, 'host');
  if (hosts > 1) return 'The request has more than one Host header.';
  if (hosts === 0 && raw.httpVersion === '1.1') return 'The request has no Host header.';
  return countHeader(raw.rawHeaders, 'authorization') > 1
    ? 'The request has more than one Authorization header.'
    : undefined;
}

/** @param rawHeaders names and values in turn, as they came */
function countHeader(rawHeaders: readonly string[], name: string): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const given = rawHeaders[i];
    if (given !== undefined && given.length === name.length && given.toLowerCase() === name) count += 1;
  }
  return count;
}

/** Which methods an address answers, for `Allow` (RFC 9110 §10.2.1). Knows the routes registered after it was made. */
class AllowedMethods {
  readonly #seen = new Set<HTTPMethods>();

  constructor(private readonly instance: FastifyInstance) {
    instance.addHook('onRoute', ({ method }) => {
      for (const each of [method].flat()) this.#seen.add(each as HTTPMethods);
    });
  }

  /**
   * @param target of a request that the router could read
   * @returns sorted; empty when the address answers nothing at all
   */
  of(target: string): readonly string[] {
    // `findRoute` goes the router's own way, so this follows its slashes, parameters and percent-encodings.
    const found = [...this.#seen].filter(
      (method) => this.instance.findRoute({ method, url: target }) !== null,
    );
    return found.length === 0 ? [] : [...new Set([...found, 'OPTIONS'])].sort();
  }
}

/**
 * Longest request target in bytes: a name of 255 characters, each four bytes of UTF-8 and percent-encoded to twelve,
 * makes 3,060; a query may hold a hundred names of ordinary length. Below the bound of the whole header, 16 KiB.
 */
const longestRequestTarget = 15_000;

/**
 * What is wrong with a request target, or `undefined`. Stricter than the router, so that no route has to think of it:
 * only the characters of a URI (RFC 3986 §2), every percent-encoding whole and UTF-8, in the query too, no NUL, which
 * PostgreSQL's text cannot hold, and no private key.
 */
function faultInRequestTarget(target: string): string | undefined {
  if (target.length > longestRequestTarget) return `The URL is longer than ${longestRequestTarget} bytes.`;
  if (!/^[\x21-\x7e]*$/.test(target)) return 'The URL holds characters that must be percent-encoded.';
  if (target.includes('%00')) return 'The URL holds a NUL character.';
  try {
    // In a query, + may be a space as well as itself.
    const decoded = decodeURIComponent(target);
    const isKeyThere = holdsPrivateKey(decoded) || holdsPrivateKey(decoded.replaceAll('+', ' '));
    return isKeyThere ? `The URL holds ${privateKeySent}` : undefined;
  } catch {
    return 'The URL holds a percent-encoding that is not UTF-8.';
  }
}
