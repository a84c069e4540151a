import { createHash } from 'node:crypto';
import { EmailApprovals } from '@certwright/approvals';
import { Public } from '@certwright/service';
import { Body, Controller, Get, Headers, Inject, Param, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { ResponderConfig } from '../config';
import { approvedPage, closedPage, contentSecurityPolicy, decision, foreignPage, requestPage } from './pages';

/** base64url, at least 128 bits. Any other form was never sent. */
const tokenShape = /^[A-Za-z0-9_-]{22,128}$/;

/**
 * Target of the link in an approval mail. Only the button's POST approves: mail scanners follow links (GET, HEAD).
 */
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
    // Without the button: only shows the page again.
    if (!isPressed(form)) return await this.show(token, reply);
    const sha256 = digestOf(token);
    const outcome = sha256 === null ? null : await this.approvals.approve(sha256);
    if (outcome?.state === 'approved') sendPage(reply, 200, approvedPage(outcome.request));
    else sendPage(reply, outcome === null ? 404 : 410, closedPage);
  }
}

/** SHA-256 of the token as in the link: the token itself is not passed on. */
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

/** Headers by which a browser reports the origin of a form. */
interface FormOrigin {
  readonly secFetchSite: string | undefined;
  readonly origin: string | undefined;
}

/**
 * Whether a form may have come from our own page. The secret token in the path is the first protection; this is the
 * second. Newer browsers send Sec-Fetch-Site. Others send the origin, which is `null` for a page without referrer,
 * like ours; programs send neither.
 *
 * @param approvalUrl public URL of this process
 */
function isOwnForm({ secFetchSite, origin }: FormOrigin, approvalUrl: string): boolean {
  if (secFetchSite !== undefined) return secFetchSite === 'same-origin';
  return origin === undefined || origin === 'null' || origin === new URL(approvalUrl).origin;
}
