import type { Problem, ProblemCode } from '@certwright/errors';
import type { RenderedProblem } from '@certwright/service';

/** Error codes of this process, and their status; one that it never throws is a mistake of ours. */
const statusOf: Partial<Record<ProblemCode, number>> = {
  bad_request: 400,
  unauthorized: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  service_outage: 503,
};

/** The same for every client: an unserved path looks like a missing resource. */
export function renderProblem({ code, message }: Problem): RenderedProblem {
  return { status: statusOf[code] ?? 500, body: { code, message } };
}
