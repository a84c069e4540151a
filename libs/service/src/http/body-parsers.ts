import { Problem } from '@certwright/errors';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { parseFormBody } from './form-body';
import { parseJsonBody } from './json-body';
import { addRouteConfig } from './route-config';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Media types of bodies that the route takes besides JSON. Default: none. */
    bodyTypes?: readonly string[];
    /** Whether an empty body of any accepted type is no body. Default: only of a DELETE. */
    bodyMayBeEmpty?: boolean;
    /** Bytes. Default: that of the application. */
    maxBodyBytes?: number;
  }
}

/** A body that is not JSON, as it was sent. */
export class SentBytes {
  constructor(
    /** Without parameters, in lower case. */
    readonly mediaType: string,
    readonly bytes: Buffer,
  ) {}
}

type Parse = (bytes: Buffer, mediaType: string) => unknown;
type Done = (error: Error | null, body?: unknown) => void;

/**
 * Accepts JSON, forms if the API does, and what the route takes besides. Any other type is 415, including Fastify's
 * `text/plain`.
 */
export function registerBodyParsers(
  instance: FastifyInstance,
  maxBodyBytes: number,
  acceptForms: boolean,
): void {
  instance.removeAllContentTypeParsers();
  // Where forms are accepted, an empty JSON body is like an empty form: many clients send the type with every POST.
  const parseJson: Parse = (bytes) => (acceptForms && bytes.length === 0 ? undefined : parseJsonBody(bytes));
  addParser(instance, 'application/json', maxBodyBytes, parseJson);
  if (acceptForms) addParser(instance, 'application/x-www-form-urlencoded', maxBodyBytes, parseFormBody);
  // Routes are registered later, so a parser for their types is found when a request has one.
  const registered = new Set<string>();
  instance.addHook('onRoute', (route) => {
    const { config } = route;
    // The limit of a route takes precedence over that of a parser.
    if (config?.maxBodyBytes !== undefined) route.bodyLimit = config.maxBodyBytes;
    for (const type of config?.bodyTypes ?? []) {
      if (registered.has(type)) continue;
      registered.add(type);
      addParser(instance, type, maxBodyBytes, (bytes, mediaType) => new SentBytes(mediaType, bytes));
    }
  });
}

function addParser(instance: FastifyInstance, contentType: string, maxBodyBytes: number, parse: Parse): void {
  const isOfRoute = contentType !== 'application/json' && contentType !== 'application/x-www-form-urlencoded';
  const parser = (request: FastifyRequest, bytes: Buffer, done: Done): void => {
    let body: unknown;
    try {
      if (isOfRoute && request.routeOptions.config.bodyTypes?.includes(contentType) !== true)
        throw new Problem('unsupported_media_type', 'A body of this Content-Type is not read here.');
      checkEncoding(request);
      if (request.routeOptions.config.access?.kind === 'signed') request.sentBody = bytes;
      body = hasNoBody(request, bytes) ? undefined : parse(bytes, contentType);
    } catch (error) {
      done(error as Error);
      return;
    }
    done(null, body);
  };
  instance.addContentTypeParser(contentType, { parseAs: 'buffer', bodyLimit: maxBodyBytes }, parser);
}

/** Many clients send a `Content-Type` with a request that has no body. */
const hasNoBody = ({ method, routeOptions }: FastifyRequest, bytes: Buffer): boolean =>
  bytes.length === 0 && (method === 'DELETE' || routeOptions.config.bodyMayBeEmpty === true);

function checkEncoding({ headers }: FastifyRequest): void {
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
    throw new Problem('unsupported_media_type', 'The body must be UTF-8.');
  }
  const coding = headers['content-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'identity') {
    throw new Problem(
      'unsupported_media_type',
      'Compressed bodies are not supported; send the body uncompressed.',
    );
  }
}

/** A method with a limit of its own for bodies. */
export const MaxBody =
  (maxBodyBytes: number): MethodDecorator =>
  (_target, _name, descriptor) =>
    addRouteConfig(descriptor.value as object, { maxBodyBytes });
