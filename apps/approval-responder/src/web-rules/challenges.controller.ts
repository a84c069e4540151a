import { Problem } from '@certwright/errors';
import { Challenges, HttpChallenges } from '@certwright/approvals';
import { Public } from '@certwright/service';
import { Controller, Get, Header, Headers, Inject, Param } from '@nestjs/common';
import { ResponderConfig } from '../config';
import { isWellFormed, speaksFor } from './challenge-request';

/** Target of the accounts' web server rules. GET, and with it HEAD. */
@Controller(':secret/.well-known')
@Public()
export class ChallengesController {
  private readonly ownHost: string;

  constructor(
    private readonly ownLooks: HttpChallenges,
    private readonly challenges: Challenges,
    @Inject(ResponderConfig) config: Pick<ResponderConfig, 'APPROVAL_URL'>,
  ) {
    this.ownHost = new URL(config.APPROVAL_URL).host;
  }

  /** @throws Problem `not_found` for every reason, so that it does not reveal which secrets and tokens exist */
  @Get(['acme-challenge/:token', 'pki-validation/:token'])
  @Header('content-type', 'text/plain; charset=utf-8')
  async respond(
    @Param('secret') secret: string,
    @Param('token') token: string,
    @Headers('x-forwarded-host') forwardedHost: string | undefined,
  ): Promise<string> {
    const request = { secret, token, forwardedHost };
    const found = isWellFormed(request) ? await this.#found(secret, token) : null;
    if (found === null || !speaksFor(found.dnsName, forwardedHost, this.ownHost)) {
      throw new Problem('not_found', 'There is nothing at this address.');
    }
    return found.content;
  }

  /** The challenge of the prober, or else of a CA: http-01 (RFC 8555, section 8.3). */
  async #found(secret: string, token: string) {
    return (await this.ownLooks.answerFor(secret, token)) ?? (await this.challenges.fileFor(secret, token));
  }
}
