import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

export interface HttpChallenge {
  /** Last part of the request path. */
  readonly token: string;
  /** The response body; cannot be derived from the token. */
  readonly content: string;
}

/**
 * A challenge is used for checks during this time, then a new one is made. Far below the 30 days that Baseline
 * Requirements 3.2.2.4.18 allow for a random value: a response in an intermediate cache must not approve later.
 */
const lifeMs = 10 * 60 * 1_000;

/** A challenge with less time left is not used any more: longer than a check takes, redirects included. */
const minLeftMs = 60 * 1_000;

/** Responses of approval-responder, by account. */
@Injectable()
export class HttpChallenges {
  constructor(private readonly database: DataSource) {}

  /**
   * The challenge for a name of an account: the stored one while it is fresh, else `fresh`.
   *
   * @returns null when the account has no web server rule: then no server could return it
   */
  async open(accountId: string, dnsName: string, fresh: HttpChallenge): Promise<HttpChallenge | null> {
    const kept = `http_challenge.expires_at > clock_timestamp() + $6 * interval '1 millisecond'`;
    const [row] = await this.database.query<[HttpChallenge?]>(
      `INSERT INTO http_challenge (token, account_id, dns_name, content, expires_at)
       SELECT $1, account_id, $3, $4, clock_timestamp() + $5 * interval '1 millisecond'
       FROM web_rule WHERE account_id = $2
       ON CONFLICT (account_id, dns_name) DO UPDATE SET
         token = CASE WHEN ${kept} THEN http_challenge.token ELSE excluded.token END,
         content = CASE WHEN ${kept} THEN http_challenge.content ELSE excluded.content END,
         expires_at = CASE WHEN ${kept} THEN http_challenge.expires_at ELSE excluded.expires_at END
       RETURNING token, content`,
      [fresh.token, accountId, dnsName, fresh.content, lifeMs, minLeftMs],
    );
    return row ?? null;
  }

  /**
   * The response to a request that came through the rule with this secret; null unless the challenge exists and
   * belongs to the same account.
   */
  async answerFor(
    ruleSecret: string,
    token: string,
  ): Promise<{ readonly dnsName: string; readonly content: string } | null> {
    const [row] = await this.database.query<[{ dnsName: string; content: string }?]>(
      `SELECT http_challenge.dns_name AS "dnsName", http_challenge.content
       FROM http_challenge JOIN web_rule ON web_rule.account_id = http_challenge.account_id
       WHERE http_challenge.token = $2 AND web_rule.secret = $1 AND http_challenge.expires_at > clock_timestamp()`,
      [ruleSecret, token],
    );
    return row ?? null;
  }

  async forgetExpired(): Promise<void> {
    await this.database.query(`DELETE FROM http_challenge WHERE expires_at <= clock_timestamp()`);
  }
}
