import { quoteInput } from '@certwright/dns-names';
import type { Outcome } from '@certwright/issuance';
import { noProbeAnswer, type WebRuleAnswer } from '@certwright/jobs';
import type { HttpChallenge } from '@certwright/approvals';
import type { ApprovalResult } from './approver';

const pathPrefix = '/.well-known/acme-challenge/';

export function challengePath({ token }: HttpChallenge): string {
  return `${pathPrefix}${token}`;
}

/** Approves only a response 200 whose body is the content of the challenge. */
export function checkWebResponse(
  dnsName: string,
  challenge: HttpChallenge,
  response: WebRuleAnswer,
): ApprovalResult {
  // Servers and editors add line breaks, which ACME servers ignore as well (RFC 8555, section 8.3).
  if (response.kind === 'answered' && response.status === 200 && response.body.trim() === challenge.content) {
    return { approved: true };
  }
  return { approved: false, problem: found(dnsName, challenge, response) };
}

function found(dnsName: string, challenge: HttpChallenge, response: WebRuleAnswer): Outcome {
  const url = `http://${dnsName}${pathPrefix}…`;
  if (response === noProbeAnswer) return { code: 'web_server_unreachable', url, detail: null };
  if (response.kind === 'failed') {
    return { code: 'web_server_unreachable', url, detail: withoutToken(response.problem, challenge) };
  }
  const { status, hops } = response;
  const last = hops.length > 1 ? hops.at(-1) : undefined;
  const leadsTo = last === undefined ? null : quoteInput(withoutToken(last.url, challenge));
  const text = response.body.trim();
  const body = status === 200 ? kindOfBody(text) : null;
  return { code: 'web_server_differs', url, leadsTo, status, body, bodyCharacters: text.length };
}

/** Max body characters for which a message includes the length. */
const maxTellingLength = 1_000;

/** Not the body itself: a message must not reveal content of a host that the reader cannot reach. */
function kindOfBody(body: string): 'empty' | 'html' | 'long_text' | 'other_value' {
  if (body === '') return 'empty';
  if (/^<(?:!doctype )?html\b/i.test(body)) return 'html';
  return body.length > maxTellingLength ? 'long_text' : 'other_value';
}

/** Useless to readers, and different each time. */
function withoutToken(text: string, { token }: HttpChallenge): string {
  return text.replaceAll(token, '…');
}
