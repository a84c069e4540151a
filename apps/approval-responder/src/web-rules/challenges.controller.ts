import { Problem } from '@certwright/errors';
import { HttpChallenges } from '@certwright/persistence';
import { Public } from '@certwright/service';
import { Controller, Get, Header, Headers, Inject, Param } from '@nestjs/common';
import { ResponderConfig } from '../config';
import { isWellFormed, speaksFor } from './challenge-request';

/** Where the web server rules of accounts lead to. GET, and with it HEAD. */
@Controller(':secret/.well-known')
@Public()
export class ChallengesController {
  private readonly ownHost: string;

  constructor(
    private readonly challenges: HttpChallenges,
    @Inject(ResponderConfig) config: Pick<ResponderConfig, 'APPROVAL_URL'>,
  ) {
    this.ownHost = new URL(config.APPROVAL_URL).host;
  }

  /** @throws Problem `not_found`, whatever the reason is: nobody learns from it which secrets and tokens there are */
  @Get(['acme-challenge/:token', 'pki-validation/:token'])
  @Header('content-type', 'text/plain; charset=utf-8')
  async answer(
    @Param('secret') secret: string,
    @Param('token') token: string,
    @Headers('x-forwarded-host') forwardedHost: string | undefined,
  ): Promise<string> {
    const request = { secret, token, forwardedHost };
    const found = isWellFormed(request) ? await this.challenges.answerFor(secret, token) : null;
    if (found === null || !speaksFor(found.dnsName, forwardedHost, this.ownHost)) {
      throw new Problem('not_found', 'There is nothing at this address.');
    }
    return found.content;
  }
}
