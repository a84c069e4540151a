import { Problem } from '@certwright/errors';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { parseFormBody } from './form-body';
import { parseJsonBody } from './json-body';

type Parse = (bytes: Buffer) => unknown;
type Done = (error: Error | null, body?: unknown) => void;

/** Accepts JSON, and forms if the API does. Any other type is 415, including Fastify's `text/plain`. */
export function registerBodyParsers(
  instance: FastifyInstance,
  maxBodyBytes: number,
  acceptForms: boolean,
): void {
  instance.removeAllContentTypeParsers();
  addParser(instance, 'application/json', maxBodyBytes, parseJsonBody);
  if (acceptForms) addParser(instance, 'application/x-www-form-urlencoded', maxBodyBytes, parseFormBody);
}

function addParser(instance: FastifyInstance, contentType: string, maxBodyBytes: number, parse: Parse): void {
  const parser = (request: FastifyRequest, bytes: Buffer, done: Done): void => {
    let body: unknown;
    try {
      checkEncoding(request);
      body = hasNoBody(request, bytes) ? undefined : parse(bytes);
    } catch (error) {
      done(error as Error);
      return;
    }
    done(null, body);
  };
  instance.addContentTypeParser(contentType, { parseAs: 'buffer', bodyLimit: maxBodyBytes }, parser);
}

/** Many clients send a `Content-Type` with a DELETE that has no body. */
const hasNoBody = (request: FastifyRequest, bytes: Buffer): boolean =>
  bytes.length === 0 && request.method === 'DELETE';

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
