import { Problem } from '@certwright/errors';

/** A Problem in the error format of an API. */
export interface RenderedProblem {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The object that becomes the JSON body. */
  readonly body: object;
}

/** Renders a Problem in an API's error format. Pure; handles every code. */
export type RenderProblem = (problem: Problem) => RenderedProblem;

export interface ProblemResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: string;
}

/** Both ways to send an API key; the header may be repeated (RFC 9110 §11.6.1). */
const challenges = ['Bearer realm="Certwright"', 'Basic realm="Certwright", charset="UTF-8"'];

/** The complete response to a Problem: the API's status and body, and the headers that HTTP requires. */
export function responseTo(
  problem: Problem,
  render: RenderProblem,
  jsonContentType: string,
): ProblemResponse {
  const { status, headers: rendered = {}, body } = render(problem);
  const headers: Record<string, string | string[]> = { 'content-type': jsonContentType };
  if (problem.retryAfterS !== undefined)
    headers['retry-after'] = String(Math.max(0, Math.ceil(problem.retryAfterS)));
  if (problem.allow !== undefined) headers['allow'] = problem.allow.join(', ');
  if (problem.code === 'bad_credentials') headers['www-authenticate'] = challenges;
  for (const [name, value] of Object.entries(rendered)) headers[name.toLowerCase()] = value;
  return { status, headers, body: JSON.stringify(body) };
}

/** Of every response: it is data for programs, never a page, and is not cached unless a route says so. */
export const securityHeaders: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};
