import { quoteInput } from '@certwright/dns-names';
import { noProbeAnswer, type WebRuleAnswer } from '@certwright/jobs';
import type { HttpChallenge } from '@certwright/approvals';
import type { ApprovalAnswer } from './approver';

const pathPrefix = '/.well-known/acme-challenge/';

export function challengePath({ token }: HttpChallenge): string {
  return `${pathPrefix}${token}`;
}

/** Approved is only an answer 200 whose body is the content of the challenge. */
export function judgeWebAnswer(
  dnsName: string,
  challenge: HttpChallenge,
  answer: WebRuleAnswer,
): ApprovalAnswer {
  // Servers and editors add line breaks, which ACME servers ignore as well (RFC 8555, section 8.3).
  if (answer.kind === 'answered' && answer.status === 200 && answer.body.trim() === challenge.content) {
    return { approved: true };
  }
  return { approved: false, problem: `${found(dnsName, challenge, answer)}; ${wanted}.` };
}

const wanted = 'it should redirect or proxy to the address that is shown as the rule of the account';

function found(dnsName: string, challenge: HttpChallenge, answer: WebRuleAnswer): string {
  const asked = `http://${dnsName}${pathPrefix}…`;
  if (answer === noProbeAnswer) return `${asked} gave no answer in time`;
  if (answer.kind === 'failed') return withoutToken(answer.problem, challenge).replace(/\.$/, '');
  const last = answer.hops.length > 1 ? answer.hops.at(-1) : undefined;
  const place =
    last === undefined ? asked : `${asked} leads to ${quoteInput(withoutToken(last.url, challenge))}, which`;
  if (answer.status !== 200) return `${place} answered ${answer.status}`;
  return `${place} answered 200 with ${kindOfBody(answer.body.trim())} in place of the challenge`;
}

/** Characters of a body up to which its length says something. */
const maxTellingLength = 1_000;

/** Not the body itself: a message must not show what a host says that the reader cannot reach. */
function kindOfBody(body: string): string {
  if (body === '') return 'an empty body';
  if (/^<(?:!doctype )?html\b/i.test(body)) return 'an HTML page';
  return body.length > maxTellingLength ? 'a long text' : `another value of ${body.length} characters`;
}

/** It tells a reader nothing, and is another one the next time. */
function withoutToken(text: string, { token }: HttpChallenge): string {
  return text.replaceAll(token, '…');
}
