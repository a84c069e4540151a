import { HttpException } from '@nestjs/common';
import { Problem, type ProblemCode } from '@certwright/errors';

export interface ClassifiedError {
  readonly problem: Problem;
  /** Unexpected errors are logged with their stack; their message must not leave the process. */
  readonly unexpected: boolean;
}

/** Maps an error to a Problem, for example a refused database connection to `service_outage`. */
export type ToProblem = (error: unknown) => Problem | undefined;

const badUrl: readonly [ProblemCode, string] = [
  'bad_request',
  'The URL contains a percent-encoding that is not UTF-8.',
];

/** Errors of Fastify before a handler runs, by code (fastify/docs/Reference/Errors.md). */
const ofFastify: Readonly<Record<string, readonly [ProblemCode, string]>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported_media_type', 'A body of this Content-Type is not read here.'],
  FST_ERR_ROUTE_MISSING_CONTENT_TYPE: ['unsupported_media_type', 'The body needs a Content-Type.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['bad_request', 'The body is not as long as its Content-Length says.'],
  FST_ERR_BAD_URL: badUrl,
  FST_ERR_MAX_PARAM_LENGTH: ['bad_request', 'A part of the URL is too long.'],
};

/** Errors that Nest itself throws. Applications throw Problems. */
const ofStatus: Readonly<Record<number, readonly [ProblemCode, string]>> = {
  404: ['not_found', 'There is nothing at this address.'],
  405: ['method_not_allowed', 'This address does not accept that method.'],
  415: ['unsupported_media_type', 'A body of this Content-Type is not read here.'],
};

/**
 * Maps every error to a Problem; an unexpected error becomes `internal_error`.
 *
 * @param maxBodyBytes maximum body size, in bytes
 */
export function classifyError(error: unknown, toProblem: ToProblem, maxBodyBytes: number): ClassifiedError {
  if (error instanceof Problem) return { problem: error, unexpected: false };
  const known = toProblem(error) ?? problemOfFramework(error, maxBodyBytes);
  if (known !== undefined) return { problem: known, unexpected: false };
  return { problem: new Problem('internal_error', 'Something went wrong on our side.'), unexpected: true };
}

function problemOfFramework(error: unknown, maxBodyBytes: number): Problem | undefined {
  // Nest wraps errors of Fastify and keeps them as the cause.
  if (error instanceof HttpException && error.cause !== undefined) {
    const ofCause = problemOfFramework(error.cause, maxBodyBytes);
    if (ofCause !== undefined) return ofCause;
  }
  const { code, statusCode } = (error ?? {}) as { readonly code?: unknown; readonly statusCode?: unknown };
  const status = error instanceof HttpException ? error.getStatus() : statusCode;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE' || status === 413) {
    return new Problem('request_too_large', `The body is larger than ${maxBodyBytes / 1024} KiB.`);
  }
  const known =
    (typeof code === 'string' ? ofFastify[code] : undefined) ??
    (typeof status === 'number' ? ofStatus[status] : undefined);
  if (known !== undefined) return new Problem(...known);
  if (typeof status === 'number' && status >= 400 && status < 500) {
    return new Problem('bad_request', 'The request cannot be read.');
  }
  return undefined;
}
