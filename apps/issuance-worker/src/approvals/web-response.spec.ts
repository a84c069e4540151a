import { neutralMessage } from '@certwright/outcome-messages';
import { noProbeAnswer, type WebRuleAnswer } from '@certwright/jobs';
import { checkWebResponse } from './web-response';

const challenge = { token: 'T'.repeat(27), content: 'C'.repeat(27) };
const hop = {
  url: `http://a.example.com/.well-known/acme-challenge/${challenge.token}`,
  status: 200,
  address: '127.0.0.1',
};
const answered = (also: Partial<Extract<WebRuleAnswer, { kind: 'answered' }>> = {}): WebRuleAnswer => ({
  kind: 'answered',
  status: 200,
  body: challenge.content,
  hops: [hop],
  ...also,
});
const check = (response: WebRuleAnswer) => checkWebResponse('a.example.com', challenge, response);
const problemOf = (response: WebRuleAnswer) => {
  const result = check(response);
  return result.approved ? undefined : neutralMessage(result.problem);
};

describe('checkWebResponse', () => {
  it.each([challenge.content, `${challenge.content}\n`, ` ${challenge.content}\r\n`])(
    'approves by 200 and the content: %j',
    (body) => expect(check(answered({ body }))).toEqual({ approved: true }),
  );

  it.each([
    ['another status', answered({ status: 201 })],
    ['the token in place of the content', answered({ body: challenge.token })],
    ['the content within a page', answered({ body: `<p>${challenge.content}</p>` })],
    ['an empty body', answered({ body: '' })],
    ['a failure', { kind: 'failed', problem: 'refused', hops: [hop] } as const],
    ['no look at all', noProbeAnswer],
  ])('does not approve by %s', (_, response) => expect(check(response).approved).toBe(false));

  it('reports status, place and the expected response', () => {
    expect(problemOf(answered({ status: 404 }))).toBe(
      "http://a.example.com/.well-known/acme-challenge/… responded with status 404; it must redirect or proxy to the URL of the account's web server rule.",
    );
  });

  it('reports the target of redirects, without the token', () => {
    const hops = [hop, { ...hop, url: `https://www.example.com/x/${challenge.token}` }];
    const problem = problemOf(answered({ status: 404, hops }));
    expect(problem).toContain('leads to "https://www.example.com/x/…", which responded with status 404;');
    expect(problem).not.toContain(challenge.token);
  });

  it.each([
    ['a secret of theirs', 'another value of 18 characters'],
    [' \n', 'an empty body'],
    ['<!DOCTYPE html><title>Router</title>', 'an HTML page'],
    ['\n<HTML lang="en">', 'an HTML page'],
    ['{"internal":true}', 'another value of 17 characters'],
    ['<html>'.padEnd(4_096, 'x'), 'an HTML page'],
    ['\u202e'.repeat(1_001), 'a long text'],
  ])('describes the body without quoting it: %j is %s', (body, kind) => {
    expect(problemOf(answered({ body }))).toBe(
      `http://a.example.com/.well-known/acme-challenge/… responded with ${kind} instead of the challenge; ` +
        "it must redirect or proxy to the URL of the account's web server rule.",
    );
  });

  it('reports why there was no response, if known', () => {
    const problem = `http://a.example.com/${challenge.token} refused the connection.`;
    expect(problemOf({ kind: 'failed', problem, hops: [] })).toMatch(
      /^http:\/\/a.example.com\/… refused the connection; it must /,
    );
    expect(problemOf(noProbeAnswer)).toMatch(/^http:\/\/a.example.com\/.* did not respond in time; it must /);
  });
});
