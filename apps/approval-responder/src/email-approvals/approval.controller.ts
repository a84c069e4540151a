import { createHash } from 'node:crypto';
import { EmailApprovals } from '@certwright/approvals';
import { Public } from '@certwright/service';
import { Body, Controller, Get, Headers, Inject, Param, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { ResponderConfig } from '../config';
import { approvedPage, closedPage, contentSecurityPolicy, decision, foreignPage, requestPage } from './pages';

/** base64url, at least 128 bits. What looks otherwise was never sent to anybody. */
const tokenShape = /^[A-Za-z0-9_-]{22,128}$/;

/** Where the link of an approval mail leads. Only the button's POST approves: scanners of mail follow links (GET, HEAD). */
@Controller('approve')
@Public()
export class ApprovalController {
  constructor(
    private readonly approvals: EmailApprovals,
    @Inject(ResponderConfig) private readonly config: Pick<ResponderConfig, 'APPROVAL_URL'>,
  ) {}

  @Get(':token')
  async show(@Param('token') token: string, @Res() reply: FastifyReply): Promise<void> {
    const sha256 = digestOf(token);
    const finding = sha256 === null ? null : await this.approvals.lookUp(sha256);
    if (finding?.state === 'open') sendPage(reply, 200, requestPage(finding.request));
    else sendPage(reply, finding === null ? 404 : 410, closedPage);
  }

  @Post(':token')
  async approve(
    @Param('token') token: string,
    @Body() form: unknown,
    @Headers('sec-fetch-site') secFetchSite: string | undefined,
    @Headers('origin') origin: string | undefined,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    if (!isOwnForm({ secFetchSite, origin }, this.config.APPROVAL_URL))
      return sendPage(reply, 403, foreignPage);
    // Without the button: the page again, and nothing else.
    if (!isPressed(form)) return await this.show(token, reply);
    const sha256 = digestOf(token);
    const outcome = sha256 === null ? null : await this.approvals.approve(sha256);
    if (outcome?.state === 'approved') sendPage(reply, 200, approvedPage(outcome.request));
    else sendPage(reply, outcome === null ? 404 : 410, closedPage);
  }
}

/** SHA-256 over the token as it stands in the link: the token itself goes no further. */
function digestOf(token: string): Buffer | null {
  return tokenShape.test(token) ? createHash('sha256').update(token).digest() : null;
}

function isPressed(form: unknown): boolean {
  return (form as Readonly<Record<string, unknown>> | null | undefined)?.[decision.name] === decision.value;
}

function sendPage(reply: FastifyReply, status: number, page: string): void {
  void reply
    .code(status)
    .headers({ 'content-type': 'text/html; charset=utf-8', 'content-security-policy': contentSecurityPolicy })
    .send(page);
}

/** What a browser says of where a form was. */
interface FormOrigin {
  readonly secFetchSite: string | undefined;
  readonly origin: string | undefined;
}

/**
 * Whether a form may have come from our own page. The token in the path already is what no other site knows; this is the
 * second lock. Newer browsers say it in Sec-Fetch-Site. Others say the origin, which is `null` for a page that sends no
 * referrer, as ours; programs say nothing.
 *
 * @param approvalUrl how the public reaches this process
 */
function isOwnForm({ secFetchSite, origin }: FormOrigin, approvalUrl: string): boolean {
  if (secFetchSite !== undefined) return secFetchSite === 'same-origin';
  return origin === undefined || origin === 'null' || origin === new URL(approvalUrl).origin;
}
